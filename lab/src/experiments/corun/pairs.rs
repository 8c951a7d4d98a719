//! The programs that run side by side: pairs of them, or three at once; and those that run alone.

use serde::{Deserialize, Serialize};

use super::unit::{Job, Unit};
use crate::rounds::Round;
use crate::rounds::busy::LOOP;

/// Two programs, or three, that run at the same time; or one, alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Its name.
    pub name: String,
    /// Why it is measured.
    pub part: Part,
    /// What it is there to show.
    pub shows: String,
    /// The programs.
    pub programs: Vec<Program>,
    /// The runtimes that are compared, in the order of their turns.
    pub runtimes: Vec<String>,
    /// Those of them that have their turn after everybody else's, and half as often.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<String>,
    /// What is wanted of Locksley.
    pub target: Option<Target>,
    /// How often it is measured on each runtime, if the time suffices.
    pub repeats: usize,
}

/// What a pair is measured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Rounds for which there is a target.
    Targets,
    /// Applications alone: section 5.5 of the paper.
    Solo,
    /// Rounds of the target table, with the kernel's assists switched off.
    Assists,
    /// Rounds that nobody tuned for.
    Others,
    /// Applications: the method of the paper.
    Applications,
}

impl Part {
    /// All of them, in the order of their turns.
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

/// One of the programs of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// What it is called in this experiment.
    pub name: String,
    /// What it computes.
    pub job: Job,
    /// The number of workers.
    pub workers: usize,
    /// Its runtime; none for one that is compared.
    pub runtime: Option<String>,
}

/// What is wanted: at most this unfairness, in percentage points, at least this share of the machine in use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// The mean.
    pub mean: f64,
    /// The worst.
    pub worst: f64,
    /// The share.
    pub useful: f64,
}

impl Pair {
    fn new(part: Part, name: &str, shows: &str, programs: &[Program]) -> Pair {
        Pair {
            name: name.to_owned(),
            part,
            shows: shows.to_owned(),
            programs: programs.to_vec(),
            runtimes: Vec::new(),
            later: Vec::new(),
            target: None,
            repeats: 0,
        }
    }

    /// How often it is measured on `runtime`, if the time suffices.
    pub fn repeats_on(&self, runtime: &str) -> usize {
        if self.is_later(runtime) { self.repeats.div_ceil(2) } else { self.repeats }
    }

    /// Whether `runtime` has its turn after others.
    pub fn is_later(&self, runtime: &str) -> bool {
        self.later.iter().any(|later| later == runtime)
    }

    /// Its programs where `runtime` is compared.
    pub fn units(&self, runtime: &str) -> Vec<Unit> {
        let unit = |program: &Program| Unit {
            job: program.job.clone(),
            runtime: program.runtime.clone().unwrap_or_else(|| runtime.to_owned()),
            workers: program.workers,
        };
        self.programs.iter().map(unit).collect()
    }
}

/// The rounds of the target table, by name, for a machine with so many processors.
///
/// With two, they are those of the table; with more there are as many leaves for each worker.
struct Shapes {
    processors: u64,
}

impl Shapes {
    fn program(&self, name: &str) -> Program {
        let all = self.processors as usize;
        let (leaf, chunks, serial, workers) = match name {
            // Half of the time, there is work for one only.
            "half" => (5000, 16 * self.processors, 16, all),
            // One chunk more than workers: the last one leaves all but one of them without work.
            "few" => (20_000, self.processors + 1, 0, all),
            "p8" => (5000, 8 * self.processors, 0, 4 * all),
            _ => (5000, 8 * self.processors, 0, all),
        };
        rounds(name, leaf, chunks, serial, workers)
    }

    fn busy(&self, threads: usize) -> Program {
        Program {
            name: LOOP.to_owned(),
            job: Unit::busy(5000, threads).job,
            workers: threads,
            runtime: Some(LOOP.to_owned()),
        }
    }
}

fn rounds(name: &str, leaf: u64, chunks: u64, serial: u64, workers: usize) -> Program {
    let job = Job::Rounds(Round { leaf, chunks, serial });
    Program { name: name.to_owned(), job, workers, runtime: None }
}

/// The pairs for which there are targets.
pub fn targets(processors: usize) -> Vec<Pair> {
    let shapes = Shapes { processors: processors as u64 };
    let pair = |name: &str, shows: &str, programs: [Program; 2], wanted: [f64; 3]| Pair {
        target: Some(Target { mean: wanted[0], worst: wanted[1], useful: wanted[2] }),
        ..Pair::new(Part::Targets, name, shows, &programs)
    };
    let of = |name: &str| shapes.program(name);
    let on = |runtime: &str| Program { runtime: Some(runtime.to_owned()), ..of("par") };
    let beside_loop = |name: &str, shows: &str, wanted| {
        pair(&format!("{name}+loop"), shows, [of(name), shapes.busy(processors)], wanted)
    };
    let with_itself = |name: &str| {
        pair(&format!("{name}+{name}"), "two of a kind", [of(name), of(name)], [3.0, 8.0, 0.98])
    };
    vec![
        beside_loop("par", "work for all workers", [8.0, 20.0, 0.98]),
        beside_loop("half", "a serial part in each round", [20.0, 40.0, 0.98]),
        beside_loop("few", "one chunk more than workers", [40.0, 60.0, 0.97]),
        beside_loop("p8", "four workers for each processor", [10.0, 25.0, 0.98]),
        with_itself("half"),
        with_itself("few"),
        with_itself("p8"),
        pair("par+onetbb", "beside oneTBB's par", [of("par"), on("onetbb")], [15.0, 40.0, 0.98]),
        pair("par+rayon", "beside rayon's par", [of("par"), on("rayon")], [15.0, 40.0, 0.98]),
    ]
}

/// Those of the target table whose programs are all on the runtime that is compared, or busy threads.
pub fn assists(processors: usize) -> Vec<Pair> {
    let is_our_own = |pair: &Pair| {
        let is_fixed = |program: &Program| program.runtime.as_deref().is_some_and(|it| it != LOOP);
        !pair.programs.iter().any(is_fixed)
    };
    let with_part = |pair| Pair { part: Part::Assists, target: None, ..pair };
    targets(processors).into_iter().filter(is_our_own).map(with_part).collect()
}

/// Pairs that nobody tuned for.
pub fn others(processors: usize) -> Vec<Pair> {
    let shapes = Shapes { processors: processors as u64 };
    let all = processors as u64;
    let pair = |name: &str, shows: &str, programs: &[Program]| {
        Pair::new(Part::Others, name, shows, programs)
    };
    let of = |name: &str| shapes.program(name);
    let busy = || shapes.busy(processors);
    let fine = rounds("fine", 500, 16 * all, 0, processors);
    let coarse = rounds("coarse", 100_000, 4 * all, 1, processors);
    let odd = rounds("odd", 3000, 4 * all - 1, 3, processors + 1);
    let wide = rounds("wide", 5000, 128 * all, 0, 2 * processors);
    vec![
        pair("par+one", "beside one busy thread", &[of("par"), shapes.busy(1)]),
        pair("half+one", "a serial part beside one busy thread", &[of("half"), shapes.busy(1)]),
        pair("fine+loop", "leaves of a tenth", &[fine, busy()]),
        pair("coarse+loop", "leaves of twenty times", &[coarse, busy()]),
        pair("odd+loop", "odd numbers of everything", &[odd.clone(), busy()]),
        pair("wide+loop", "many leaves, two workers for each processor", &[wide, busy()]),
        pair("half+few", "two different programs", &[of("half"), of("few")]),
        pair("par+half+loop", "three programs", &[of("par"), of("half"), busy()]),
        pair("par+odd+loop", "three programs, odd numbers", &[of("par"), odd, busy()]),
        pair("par+par+par", "three of a kind", &[of("par"), of("par"), of("par")]),
    ]
}

/// The applications of the paper, in alphabetical order, and their sizes in a full run: some tenths of a second on two
/// processors, which is many of the kernel's time slices; each is repeated for seconds.
const SIZES: [(&str, &str); 8] = [
    ("bfs", "18,16"),
    ("cg", "W"),
    ("clip", "20000x64"),
    ("ep", "256"),
    ("loop", "32x6000000"),
    ("mi", "500x8"),
    ("mm", "1024"),
    ("raytracer", "400x300"),
];

/// Their size in a quick run: what each application takes for quick.
const QUICK: &str = "quick";

/// The applications by name.
pub fn names() -> impl Iterator<Item = &'static str> {
    SIZES.iter().map(|(name, _)| *name)
}

/// Those of which it says that they do not scale well: its second group.
const GROUP_2: [&str; 3] = ["cg", "clip", "mi"];

/// The pairs on which rivals and thresholds are compared: some of each kind, those among them of which the paper speaks.
pub const STATED: [&str; 6] = ["bfs+ep", "bfs+mm", "clip+mi", "clip+mm", "ep+mi", "loop+mi"];

/// The groups of the paper's figures 2 and 3, by letter.
pub const GROUPS: [(char, &str); 3] = [
    ('a', "both of group 1, which scales well"),
    ('b', "both of group 2, which scales less well"),
    ('c', "one of each group"),
];

/// The group of a pair of applications, by letter.
pub fn group(pair: &Pair) -> char {
    let second = pair.programs.iter().filter(|program| is_second(&program.name)).count();
    ['a', 'c', 'b'][second.min(2)]
}

/// The type of executions of `app` beside `other`, as in the paper's figure 4: 1 to 4.
pub fn execution_type(app: &str, other: &str) -> usize {
    match (is_second(app), is_second(other)) {
        (true, true) => 1,
        (true, false) => 2,
        (false, true) => 3,
        (false, false) => 4,
    }
}

fn is_second(app: &str) -> bool {
    GROUP_2.contains(&app)
}

/// Each application alone.
pub fn solo(quick: bool, workers: usize) -> Vec<Pair> {
    let alone = |size: &(&'static str, &str)| {
        Pair::new(Part::Solo, size.0, "alone", &[application(*size, quick, workers)])
    };
    SIZES.iter().map(alone).collect()
}

fn application((app, size): (&str, &str), quick: bool, workers: usize) -> Program {
    let job = Job::app(app, if quick { QUICK } else { size });
    Program { name: app.to_owned(), job, workers, runtime: None }
}

/// All pairs of different applications.
pub fn applications(quick: bool, workers: usize) -> Vec<Pair> {
    let program = |size: &(&str, &str)| application(*size, quick, workers);
    let mut pairs = Vec::new();
    for (place, first) in SIZES.iter().enumerate() {
        for second in &SIZES[place + 1..] {
            let name = format!("{}+{}", first.0, second.0);
            let programs = [program(first), program(second)];
            let mut pair = Pair::new(Part::Applications, &name, "", &programs);
            let found = GROUPS.iter().find(|(letter, _)| *letter == group(&pair));
            pair.shows = found.map_or(String::new(), |(_, shows)| (*shows).to_owned());
            pairs.push(pair);
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apps;

    #[test]
    fn with_two_processors_the_rounds_are_those_of_the_target_table() {
        let shapes = Shapes { processors: 2 };
        let shape = |name: &str| {
            let program = shapes.program(name);
            let Round { leaf, chunks, serial } = program.job.round().unwrap();
            (leaf, chunks, serial, program.workers)
        };
        assert_eq!(shape("par"), (5000, 16, 0, 2));
        assert_eq!(shape("half"), (5000, 32, 16, 2));
        assert_eq!(shape("few"), (20_000, 3, 0, 2));
        assert_eq!(shape("p8"), (5000, 16, 0, 8));
    }

    #[test]
    fn the_paper_has_28_pairs_in_three_groups() {
        let pairs = applications(false, 2);
        assert_eq!(pairs.len(), 28);
        let number = |letter| pairs.iter().filter(|pair| group(pair) == letter).count();
        // Of 5 and of 3 applications, and 5 times 3.
        assert_eq!([number('a'), number('b'), number('c')], [10, 3, 15]);
        for stated in STATED {
            assert!(pairs.iter().any(|pair| pair.name == stated), "{stated}");
        }
        assert_eq!(
            [("cg", "mi"), ("cg", "mm"), ("mm", "cg"), ("mm", "ep")]
                .map(|(app, other)| execution_type(app, other)),
            [1, 2, 3, 4]
        );
    }

    #[test]
    fn applications_understand_their_sizes() {
        for (name, size) in SIZES {
            // Without an application, its pairs are left out, and named.
            if let Ok(app) = apps::find(name) {
                apps::problem(app, size).unwrap();
            }
        }
        assert!(apps::find("mm").is_ok());
    }

    #[test]
    fn a_pair_runs_on_the_runtime_that_is_compared_but_for_what_is_fixed() {
        let pairs = targets(2);
        let named = |name: &str| pairs.iter().find(|pair| pair.name == name).unwrap();
        let runtimes = |pair: &Pair| -> Vec<String> {
            pair.units("locksley").into_iter().map(|unit| unit.runtime).collect()
        };
        assert_eq!(runtimes(named("par+loop")), ["locksley", "loop"]);
        assert_eq!(runtimes(named("half+half")), ["locksley", "locksley"]);
        assert_eq!(runtimes(named("par+onetbb")), ["locksley", "onetbb"]);
        assert_eq!(others(2).iter().filter(|pair| pair.programs.len() == 3).count(), 3);
        assert!(solo(true, 2).iter().all(|pair| runtimes(pair) == ["locksley"]));
    }

    #[test]
    fn assists_are_compared_where_only_the_pools_in_question_and_busy_threads_run() {
        let names: Vec<String> = assists(2).into_iter().map(|pair| pair.name).collect();
        let expected =
            ["par+loop", "half+loop", "few+loop", "p8+loop", "half+half", "few+few", "p8+p8"];
        assert_eq!(names, expected);
    }

    #[test]
    fn who_comes_later_comes_half_as_often() {
        let mut pair = targets(2).remove(0);
        pair.later = vec!["a".to_owned()];
        pair.repeats = 5;
        assert_eq!([pair.repeats_on("a"), pair.repeats_on("b")], [3, 5]);
    }
}
