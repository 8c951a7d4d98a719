//! What is measured: which pairs on which runtimes, how often, and for how long at most.

use serde::{Deserialize, Serialize};

use super::pairs::{self, Pair, Part};
use super::program::Programs;
use super::record::LeftOut;
use super::unit::{Job, Unit};
use crate::apps;
use crate::fault::{Fault, Outcome};

/// Whom all others are compared with: the thieves of Arora, Blumofe and Plaxton, the paper's baseline.
pub const ABP: &str = "locksley-abp";

/// The paper's own algorithm.
pub const BWS: &str = "locksley-bws";

/// On the pairs of the target table.
const ON_TARGETS: [&str; 7] = ["locksley", "rayon", "onetbb", ABP, BWS, "libgomp", "libomp"];

/// On pairs that nobody tuned for.
const ON_OTHERS: [&str; 3] = ["locksley", "rayon", "onetbb"];

/// On all pairs of applications.
pub const ON_APPLICATIONS: [&str; 2] = ["locksley", ABP];

/// The default governor, with all assists, without any, and without one at a time.
pub const WITHOUT: [&str; 9] = [
    "locksley",
    "locksley-no-assists",
    "locksley-no-membarrier",
    "locksley-no-lowered-priority",
    "locksley-no-run-state",
    "locksley-no-switch-records",
    "locksley-no-moves",
    "locksley-no-short-turns",
    "locksley-no-runnable-threads",
];

/// What the paper compares with, on some pairs of applications.
pub const RIVALS: [&str; 6] = [
    "locksley-naive",
    "locksley-delayed",
    "locksley-selective",
    "locksley-global",
    BWS,
    "locksley-bws-busy",
];

/// The values of SleepThreshold that are compared.
pub const THRESHOLDS: [u64; 8] = [32, 64, 128, 256, 512, 1024, 2048, 4096];

/// The paper's algorithm with another SleepThreshold.
pub fn at_threshold(threshold: u64) -> String {
    format!("{BWS}-{threshold}")
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Whether it is the quick subset.
    pub quick: bool,
    /// What all random input follows from.
    pub seed: u64,
    /// For how long rounds run side by side, in seconds.
    pub seconds: f64,
    /// For how long a program repeats rounds alone.
    pub solo_seconds: f64,
    /// How often rounds run alone at most, if the time suffices. Applications in pairs do once: each time has several
    /// computations.
    pub solo_repeats: usize,
    /// How many computations of each application count in one co-run, at least; they run beside the other program from
    /// beginning to end.
    pub computations: usize,
    /// For how long, at least, applications are repeated, in seconds.
    pub application_seconds: f64,
    /// After how many seconds no further measurement is begun, except to measure each once.
    pub budget_seconds: f64,
    /// The pairs.
    pub pairs: Vec<Pair>,
}

/// What the command line may choose.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// The quick subset.
    pub quick: bool,
    /// What all random input follows from.
    pub seed: u64,
    /// Only these pairs, or parts; all where none is named.
    pub pairs: Vec<String>,
    /// Only these runtimes are compared; those of the plan where none is named.
    pub runtimes: Vec<String>,
    /// How often each pair is measured.
    pub repeats: Option<usize>,
    /// For how long rounds run side by side.
    pub seconds: Option<f64>,
}

/// How often a pair is measured in a full run: it may flip between two states, so the targets are for eight runs.
fn repeats(part: Part, quick: bool) -> usize {
    match (part, quick) {
        (_, true) => 2,
        (Part::Targets, false) => 8,
        (Part::Solo, false) => 4,
        (Part::Others, false) => 3,
        (Part::Assists, false) => 2,
        (Part::Applications, false) => 1,
    }
}

/// What a quick run has of each part.
const QUICK: [(Part, &[&str]); 4] = [
    (Part::Targets, &["par+loop", "half+loop", "p8+loop", "half+half"]),
    (Part::Assists, &["p8+loop"]),
    (Part::Others, &["par+half+loop"]),
    (Part::Applications, &["mi+mm"]),
];

/// The plan for a machine with so many processors.
pub fn plan(choice: &Choice, processors: usize) -> Outcome<Plan> {
    let quick = choice.quick;
    let mut pairs = pairs::targets(processors);
    pairs.extend(pairs::solo(quick, processors));
    pairs.extend(pairs::assists(processors));
    pairs.extend(pairs::others(processors));
    pairs.extend(pairs::applications(quick, processors));
    check_names(&choice.pairs, &pairs)?;
    if choice.repeats == Some(0) {
        return Err(Fault::input("--repeats must be at least 1"));
    }
    let named = |pair: &Pair| {
        let is_it = |name: &String| name == name_of(pair) || *name == pair.part.name();
        choice.pairs.iter().any(is_it)
    };
    let is_wanted = |pair: &Pair| match choice.pairs.is_empty() {
        true => !quick || is_quick(pair),
        false => named(pair),
    };
    pairs.retain(is_wanted);
    for pair in &mut pairs {
        pair.runtimes = choice.runtimes.clone();
        if choice.runtimes.is_empty() {
            (pair.runtimes, pair.later) = runtimes(pair, quick);
        }
        // Whoever says how often means everybody.
        if choice.repeats.is_some() {
            pair.later.clear();
        }
        pair.repeats = choice.repeats.unwrap_or_else(|| repeats(pair.part, quick));
    }
    Ok(Plan {
        quick,
        seed: choice.seed,
        seconds: choice.seconds.unwrap_or(if quick { 1.0 } else { 3.0 }),
        solo_seconds: choice.seconds.unwrap_or(if quick { 0.4 } else { 1.0 }).min(1.0),
        solo_repeats: if quick { 2 } else { 5 },
        computations: if quick { 2 } else { 3 },
        application_seconds: choice.seconds.unwrap_or(if quick { 0.5 } else { 1.5 }),
        budget_seconds: if quick { 50.0 } else { 2900.0 },
        pairs,
    })
}

/// What the command line calls a pair. Those whose programs are also a target, without assists, have the part's name.
fn name_of(pair: &Pair) -> &str {
    if pair.part == Part::Assists { pair.part.name() } else { &pair.name }
}

fn is_quick(pair: &Pair) -> bool {
    let names = QUICK.iter().find(|(part, _)| *part == pair.part).map(|(_, names)| *names);
    names.is_some_and(|names| names.contains(&pair.name.as_str()))
}

fn check_names(names: &[String], pairs: &[Pair]) -> Outcome<()> {
    let mut known: Vec<&str> = Part::ALL.map(Part::name).to_vec();
    known.extend(pairs.iter().map(name_of).filter(|name| *name != Part::Assists.name()));
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(unknown) => {
            Err(Fault::input(format!("unknown pair '{unknown}'; there are {}", known.join(", "))))
        }
    }
}

/// The runtimes that are compared on a pair, and which of them come later.
fn runtimes(pair: &Pair, quick: bool) -> (Vec<String>, Vec<String>) {
    let is_stated = pairs::STATED.contains(&pair.name.as_str());
    let is_beside_loop = pair.name.ends_with("loop");
    let rivals = || ["rayon"].into_iter().chain(RIVALS);
    let (all, later): (Vec<&str>, Vec<&str>) = match pair.part {
        Part::Targets | Part::Others if quick => (ON_OTHERS.to_vec(), Vec::new()),
        Part::Assists if quick => (WITHOUT[..2].to_vec(), Vec::new()),
        Part::Solo | Part::Applications if quick => (ON_APPLICATIONS.to_vec(), Vec::new()),
        // OpenMP where its threads are beside busy ones; beside themselves they would tell nothing new.
        Part::Targets if is_beside_loop => (ON_TARGETS.to_vec(), ON_TARGETS[3..].to_vec()),
        Part::Targets => (ON_TARGETS[..5].to_vec(), ON_TARGETS[3..5].to_vec()),
        Part::Solo => (ON_APPLICATIONS.into_iter().chain(rivals()).collect(), rivals().collect()),
        Part::Assists => (WITHOUT.to_vec(), Vec::new()),
        Part::Others => (ON_OTHERS.to_vec(), Vec::new()),
        Part::Applications => (ON_APPLICATIONS.to_vec(), Vec::new()),
    };
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let (mut all, mut later) = (owned(all), owned(later));
    if pair.part == Part::Applications && is_stated && !quick {
        later = owned(rivals().collect());
        later.extend(THRESHOLDS.map(at_threshold));
        all.extend(later.clone());
    }
    (all, later)
}

/// A measurement of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The programs.
    pub units: Vec<Unit>,
    /// How often at most.
    pub repeats: usize,
}

/// Turns, each of which occurs once.
struct Turns(Vec<Turn>);

impl Turns {
    fn add(&mut self, units: Vec<Unit>, repeats: usize) {
        match self.0.iter_mut().find(|turn| turn.units == units) {
            Some(turn) => turn.repeats = turn.repeats.max(repeats),
            None => self.0.push(Turn { units, repeats }),
        }
    }

    /// What the slowdown of `unit` beside others is relative to, and the time of a leaf.
    fn add_alone(&mut self, unit: Unit, repeats: usize) {
        match unit.job {
            Job::Rounds(round) => {
                self.add(vec![Unit::busy(round.leaf, 1)], repeats);
                self.add(vec![unit], repeats);
            }
            Job::App { .. } => self.add(vec![unit], 1),
        }
    }
}

impl Plan {
    /// What is measured in each rotation, in order: part by part, those who come later at its end; of each part first each
    /// program alone and then the pairs, runtimes in turn. What occurs twice is measured once, where it occurs first.
    pub fn turns(&self) -> Vec<Turn> {
        let mut turns = Turns(Vec::new());
        for part in Part::ALL {
            for later in [false, true] {
                let runs = || self.runs(part).filter(|(pair, on)| pair.is_later(on) == later);
                for (pair, runtime) in runs() {
                    let repeats = pair.repeats_on(runtime);
                    for unit in pair.units(runtime) {
                        turns.add_alone(unit, repeats.min(self.solo_repeats));
                    }
                }
                for (pair, runtime) in runs() {
                    turns.add(pair.units(runtime), pair.repeats_on(runtime));
                }
            }
        }
        turns.0
    }

    /// The pairs of a part, on each of their runtimes.
    fn runs(&self, part: Part) -> impl Iterator<Item = (&Pair, &str)> {
        self.part(part).flat_map(|pair| pair.runtimes.iter().map(move |on| (pair, on.as_str())))
    }

    /// Takes out whatever cannot be measured here, and says why. What was asked for by name must be there.
    pub fn keep_what_is_there(
        &mut self,
        programs: &Programs,
        choice: &Choice,
    ) -> Outcome<Vec<LeftOut>> {
        let mut left_out: Vec<LeftOut> = Vec::new();
        let mut note = |name: &str, reason: String| {
            let reason = LeftOut { name: name.to_owned(), reason };
            if !left_out.contains(&reason) {
                left_out.push(reason);
            }
        };
        for pair in &mut self.pairs {
            let mut kept = Vec::new();
            for runtime in &pair.runtimes {
                let missing = pair.units(runtime).iter().find_map(|unit| programs.lacks(unit));
                match missing {
                    None => kept.push(runtime.clone()),
                    Some(missing) => {
                        let is_compared = missing.name == *runtime;
                        let was_asked_for = match is_compared {
                            true => choice.runtimes.contains(runtime) && !missing.only_applications,
                            false => choice.pairs.contains(&pair.name),
                        };
                        if was_asked_for {
                            let reason = format!("{}: {}", missing.name, missing.reason);
                            return Err(Fault::input(reason));
                        }
                        note(&missing.name, missing.reason);
                    }
                }
            }
            pair.later.retain(|name| kept.contains(name));
            pair.runtimes = kept;
        }
        self.pairs.retain(|pair| !pair.runtimes.is_empty());
        if self.pairs.is_empty() {
            return Err(Fault::input("nothing is left to be measured"));
        }
        self.write_out_sizes()?;
        Ok(left_out)
    }

    /// Sizes as the applications themselves write them: a record says what was computed.
    fn write_out_sizes(&mut self) -> Outcome<()> {
        let programs = self.pairs.iter_mut().flat_map(|pair| &mut pair.programs);
        for job in programs.map(|program| &mut program.job) {
            if let Job::App { app, size } = job {
                *size = apps::problem(apps::find(app)?, size)?.parameters();
            }
        }
        Ok(())
    }

    /// The pairs of a part.
    pub fn part(&self, part: Part) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(move |pair| pair.part == part)
    }
}

/// In words, what a quick run leaves out.
pub fn subset(plan: &Plan) -> String {
    let name = |pair: &Pair| match pair.part {
        Part::Assists => format!("{} without assists", pair.name),
        _ => pair.name.clone(),
    };
    let pairs: Vec<String> = plan.pairs.iter().map(name).collect();
    format!(
        "Quick subset: the pairs {} only; rounds side by side for {} s; at least {} computations of an application; up to \
         {} rotations, if {} s suffice",
        pairs.join(", "),
        plan.seconds,
        plan.computations,
        plan.pairs.iter().map(|pair| pair.repeats).max().unwrap_or(0),
        plan.budget_seconds
    )
}
