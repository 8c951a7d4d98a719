//! The programs that run side by side: two of them, or three; and applications alone.

use crate::apps;
use crate::experiment::prelude::*;
use crate::rounds::Round;
use crate::rounds::busy::LOOP;
use crate::runtimes;

/// Programs that run at the same time; or one, alone.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Its name: the subject of its cells.
    pub name: String,
    /// What it is measured for.
    pub part: Part,
    /// What it shows.
    pub shows: &'static str,
    /// The programs.
    pub programs: Vec<Program>,
}

/// What a pair is measured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Rounds for which Locksley was tuned.
    Targets,
    /// Applications alone: section 5.5 of the paper.
    Solo,
    /// Rounds of the target table, with the kernel's assists switched off.
    Assists,
    /// Rounds for which no part of Locksley was tuned.
    Others,
    /// Applications: the method of the paper.
    Applications,
}

/// One of the programs of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its name: the subject of its cells where it runs alone.
    pub name: String,
    /// What it computes.
    pub job: Job,
    /// The number of workers.
    pub workers: usize,
    /// The number of workers beside others.
    pub workers_beside: usize,
    /// Its runtime; none for one that is compared.
    pub runtime: Option<&'static str>,
}

/// What a program computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Rounds, for a fixed time. On the runtime [`LOOP`], threads that are busy with leaves.
    Rounds(Round),
    /// The application of that name with this size, again and again.
    App(&'static str),
}

/// The sizes of applications.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Size {
    /// Those of `--size quick`.
    Quick,
    /// Some tenths of a second on two processors.
    #[default]
    Short,
    /// Those of the paper.
    Paper,
}

impl Size {
    /// The parameter of a plan that has it.
    pub const PARAMETER: &str = "sizes of applications";

    /// That of a plan.
    pub fn of(plan: &Plan) -> Size {
        match plan.parameters.get(Size::PARAMETER).map(String::as_str) {
            Some("paper") => Size::Paper,
            _ if plan.quick => Size::Quick,
            _ => Size::Short,
        }
    }
}

impl Part {
    /// All of them, in the order of measurement.
    pub const ALL: [Part; 5] =
        [Part::Targets, Part::Solo, Part::Assists, Part::Others, Part::Applications];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Part::Targets => "targets",
            Part::Solo => "solo",
            Part::Assists => "assists",
            Part::Others => "others",
            Part::Applications => "applications",
        }
    }
}

impl Program {
    /// The runtime that it runs on where `runtime` is compared.
    pub fn on<'a>(&'a self, runtime: &'a str) -> &'a str {
        self.runtime.unwrap_or(runtime)
    }

    /// Whether its application has a version for a runtime of this build; rounds run on all.
    pub fn can_run_on(&self, runtime: &str) -> bool {
        let (app, runtime) = (apps::find(&self.name), runtimes::find(self.on(runtime)));
        self.round().is_some() || app.is_ok_and(|app| runtime.is_ok_and(|it| it.can_run(app)))
    }

    /// The round; `None` for an application.
    pub fn round(&self) -> Option<Round> {
        match self.job {
            Job::Rounds(round) => Some(round),
            Job::App(_) => None,
        }
    }

    /// What it computes, in words, with the application's own parameters.
    ///
    /// # Errors
    ///
    /// [`crate::fault::Fault::Input`] if there is no such application, or not of this size.
    pub fn about(&self) -> Outcome<String> {
        Ok(match self.job {
            Job::App(size) => apps::problem(apps::find(&self.name)?, size)?.parameters,
            Job::Rounds(Round { leaf, chunks, serial }) => {
                let workers = self.workers;
                format!(
                    "{serial} leaves of {leaf} steps in a row, {chunks} in parallel, P = {workers}"
                )
            }
        })
    }
}

/// Threads that are busy with leaves of so many steps.
pub fn busy(leaf: u64, workers: usize) -> Program {
    let job = Job::Rounds(Round { leaf, chunks: 1, serial: 0 });
    let name = format!("leaf {leaf}");
    Program { name, job, workers, workers_beside: workers, runtime: Some(LOOP) }
}

/// The rounds of that name, for a machine with so many processors. With two, the first four are
/// those of the target table; with more there are as many leaves for each worker.
fn rounds(name: &str, processors: usize) -> Program {
    let all = processors as u64;
    let (leaf, chunks, serial, workers) = match name {
        // Half of the time, there is work for one only.
        "half" => (5000, 16 * all, 16, processors),
        // One chunk more than workers: the last one leaves all but one of them without work.
        "few" => (20_000, all + 1, 0, processors),
        "p8" => (5000, 8 * all, 0, 4 * processors),
        "fine" => (500, 16 * all, 0, processors),
        "coarse" => (100_000, 4 * all, 1, processors),
        "odd" => (3000, 4 * all - 1, 3, processors + 1),
        "wide" => (5000, 128 * all, 0, 2 * processors),
        _ => (5000, 8 * all, 0, processors),
    };
    let job = Job::Rounds(Round { leaf, chunks, serial });
    let name = name.to_owned();
    Program { name, job, workers, workers_beside: workers, runtime: None }
}

/// The pairs of rounds: what each shows, and what it is measured for.
const ROUNDS: [(&str, &str, Part); 19] = [
    ("par+loop", "work for all workers", Part::Targets),
    ("half+loop", "a serial part in each round", Part::Targets),
    ("few+loop", "one chunk more than workers", Part::Targets),
    ("p8+loop", "four workers for each processor", Part::Targets),
    ("half+half", "two of a kind", Part::Targets),
    ("few+few", "two of a kind", Part::Targets),
    ("p8+p8", "two of a kind", Part::Targets),
    ("par+onetbb", "beside oneTBB's par", Part::Targets),
    ("par+rayon", "beside rayon's par", Part::Targets),
    ("par+one", "beside one busy thread", Part::Others),
    ("half+one", "a serial part beside one busy thread", Part::Others),
    ("fine+loop", "leaves of a tenth", Part::Others),
    ("coarse+loop", "leaves of twenty times", Part::Others),
    ("odd+loop", "odd numbers of everything", Part::Others),
    ("wide+loop", "many leaves, two workers for each processor", Part::Others),
    ("half+few", "two different programs", Part::Others),
    ("par+half+loop", "three programs", Part::Others),
    ("par+odd+loop", "three programs, odd numbers", Part::Others),
    ("par+par+par", "three of a kind", Part::Others),
];

/// The applications of the paper and their sizes in a full run: some tenths of a second on two
/// processors, which is many of the kernel's time slices; each is repeated for seconds.
pub const APPS: [(&str, &str); 8] = [
    ("bfs", "18,16"),
    ("cg", "W"),
    ("clip", "20000x64"),
    ("ep", "256"),
    ("loop", "32x6000000"),
    ("mi", "500x8"),
    ("mm", "1024"),
    ("raytracer", "400x300"),
];

/// Those of which the paper says that they do not scale well: its second group.
const GROUP_2: [&str; 3] = ["cg", "clip", "mi"];

/// The pairs on which alternatives and thresholds are compared: some of each kind, among them those
/// of which the paper speaks.
pub const STATED: [&str; 6] = ["bfs+ep", "bfs+mm", "clip+mi", "clip+mm", "ep+mi", "loop+mi"];

/// CG with half of its workers: section 2.3.2 of the paper.
const HALF: &str = "half of the workers for cg";

/// The groups of the paper's figures 2 and 3, as pairs of applications show them.
pub const GROUPS: [&str; 3] = [
    "(a) both of group 1, which scales well",
    "(b) both of group 2, which scales less well",
    "(c) one of each group",
];

/// The type of executions of `app` beside `other`, as in the paper's figure 4: 1 to 4.
pub fn execution_type(app: &str, other: &str) -> usize {
    match (GROUP_2.contains(&app), GROUP_2.contains(&other)) {
        (true, true) => 1,
        (true, false) => 2,
        (false, true) => 3,
        (false, false) => 4,
    }
}

/// All pairs for a machine with so many processors, but for those of [`Part::Assists`].
pub fn all(processors: usize, size: Size) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    for (name, shows, part) in ROUNDS {
        let program = |name: &str| match name {
            "loop" => busy(5000, processors),
            "one" => busy(5000, 1),
            "rayon" => Program { runtime: Some("rayon"), ..rounds("par", processors) },
            "onetbb" => Program { runtime: Some("onetbb"), ..rounds("par", processors) },
            name => rounds(name, processors),
        };
        let (name, programs) = (name.to_owned(), name.split('+').map(program).collect());
        pairs.push(Pair { name, part, shows, programs });
    }
    let application = |(name, short): (&str, &'static str)| {
        let job = Job::App(match size {
            Size::Quick => "quick",
            Size::Short => short,
            Size::Paper => apps::find(name).map_or("", |app| app.bws_size.unwrap_or("paper")),
        });
        // Threads that know no work stealing.
        let runtime = (name == "loop").then_some("static");
        let (name, workers) = (name.to_owned(), processors);
        Program { name, job, workers, workers_beside: workers, runtime }
    };
    for app in APPS {
        let (name, programs) = (app.0.to_owned(), vec![application(app)]);
        pairs.push(Pair { name, part: Part::Solo, shows: "alone", programs });
    }
    for (place, first) in APPS.into_iter().enumerate() {
        for second in &APPS[place + 1..] {
            let number = [first.0, second.0].iter().filter(|app| GROUP_2.contains(app)).count();
            let shows = [GROUPS[0], GROUPS[2], GROUPS[1]][number];
            let programs = vec![application(first), application(*second)];
            let (name, part) = (format!("{}+{}", first.0, second.0), Part::Applications);
            pairs.push(Pair { name, part, shows, programs });
        }
    }
    let half = pairs.iter().find(|pair| pair.name == "cg+mm").cloned().map(|mut pair| {
        pair.programs[0].workers_beside = processors.div_ceil(2);
        Pair { name: "cg/2+mm".to_owned(), shows: HALF, ..pair }
    });
    pairs.extend(half);
    pairs
}

/// The pairs that are measured with assists switched off: those of the target table of which the
/// programs are all on the runtime that is compared, or busy threads.
pub fn assists(all: &[Pair]) -> impl Iterator<Item = Pair> + '_ {
    let is_own = |pair: &&Pair| {
        let mut fixed = pair.programs.iter().filter_map(|program| program.runtime);
        pair.part == Part::Targets && fixed.all(|runtime| runtime == LOOP)
    };
    all.iter().filter(is_own).map(|pair| Pair { part: Part::Assists, ..pair.clone() })
}

/// The programs of the cell with that subject: of a pair, or one alone.
pub fn programs(pairs: &[Pair], subject: &str, workers: usize) -> Option<Vec<Program>> {
    if let Some(leaf) = subject.strip_prefix("leaf ") {
        return Some(vec![busy(leaf.parse().ok()?, workers)]);
    }
    let pair = pairs.iter().find(|pair| pair.name == subject);
    pair.map(|pair| pair.programs.clone()).or_else(|| {
        let mut programs = pairs.iter().flat_map(|pair| &pair.programs);
        let found = programs.find(|program| program.name == subject)?;
        let (workers_beside, runtime) = (found.workers, None);
        Some(vec![Program { workers_beside, runtime, ..found.clone() }])
    })
}
