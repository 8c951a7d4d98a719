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
const ON_APPLICATIONS: [&str; 3] = ["locksley", ABP, "rayon"];

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
    /// How often rounds run alone, if the time suffices. Applications do once: each time has several computations.
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
    /// What runs alone besides what occurs in pairs: all applications on all governors (section 5.5 of the paper).
    pub solos: Vec<Unit>,
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
        (Part::Targets, false) => 8,
        (Part::Others, false) => 4,
        (_, true) => 2,
        (Part::Applications, false) => 1,
    }
}

/// The pairs of a quick run.
const QUICK: [&str; 5] = ["par+loop", "half+loop", "p8+loop", "half+half", "mi+mm"];

/// The plan for a machine with so many processors.
pub fn plan(choice: &Choice, processors: usize) -> Outcome<Plan> {
    let quick = choice.quick;
    let mut pairs = pairs::targets(processors);
    pairs.extend(pairs::others(processors));
    pairs.extend(pairs::applications(quick, processors));
    check_names(&choice.pairs, &pairs)?;
    if choice.repeats == Some(0) {
        return Err(Fault::input("--repeats must be at least 1"));
    }
    let named = |pair: &Pair| {
        let is_it = |name: &String| *name == pair.name || *name == pair.part.name();
        choice.pairs.iter().any(is_it)
    };
    let is_wanted = |pair: &Pair| match choice.pairs.is_empty() {
        true => !quick || QUICK.contains(&pair.name.as_str()),
        false => named(pair),
    };
    pairs.retain(is_wanted);
    for pair in &mut pairs {
        pair.runtimes = match choice.runtimes.is_empty() {
            true => runtimes(pair, quick),
            false => choice.runtimes.clone(),
        };
        pair.repeats = choice.repeats.unwrap_or_else(|| repeats(pair.part, quick));
    }
    Ok(Plan {
        quick,
        seed: choice.seed,
        seconds: choice.seconds.unwrap_or(if quick { 1.0 } else { 3.0 }),
        solo_seconds: choice.seconds.unwrap_or(if quick { 0.4 } else { 1.0 }).min(1.0),
        solo_repeats: if quick { 2 } else { 5 },
        computations: if quick { 2 } else { 3 },
        application_seconds: choice.seconds.unwrap_or(if quick { 0.5 } else { 2.0 }),
        budget_seconds: if quick { 50.0 } else { 3400.0 },
        solos: solos(&pairs, choice, processors),
        pairs,
    })
}

fn check_names(names: &[String], pairs: &[Pair]) -> Outcome<()> {
    let parts = Part::ALL.map(Part::name);
    let known: Vec<&str> = parts.into_iter().chain(pairs.iter().map(|p| p.name.as_str())).collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(unknown) => {
            Err(Fault::input(format!("unknown pair '{unknown}'; there are {}", known.join(", "))))
        }
    }
}

fn runtimes(pair: &Pair, quick: bool) -> Vec<String> {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    match pair.part {
        Part::Targets | Part::Others if quick => owned(&ON_OTHERS),
        // OpenMP where its threads are beside busy ones; beside themselves they would tell nothing new.
        Part::Targets if pair.name.ends_with("loop") => owned(&ON_TARGETS),
        Part::Targets => owned(&ON_TARGETS[..5]),
        Part::Others => owned(&ON_OTHERS),
        Part::Applications if quick => owned(&ON_APPLICATIONS[..2]),
        Part::Applications if pairs::STATED.contains(&pair.name.as_str()) => {
            let mut all = owned(&ON_APPLICATIONS);
            all.extend(owned(&RIVALS));
            all.extend(THRESHOLDS.map(at_threshold));
            all
        }
        Part::Applications => owned(&ON_APPLICATIONS),
    }
}

/// All applications that occur, on all governors.
fn solos(pairs: &[Pair], choice: &Choice, processors: usize) -> Vec<Unit> {
    if choice.quick || !choice.runtimes.is_empty() {
        return Vec::new();
    }
    let programs = pairs.iter().flat_map(|pair| &pair.programs);
    let mut units = Vec::new();
    for program in programs.filter(|program| program.job.round().is_none()) {
        for &runtime in ON_APPLICATIONS.iter().chain(&RIVALS) {
            let job = program.job.clone();
            let unit = Unit { job, runtime: runtime.to_owned(), workers: processors };
            if !units.contains(&unit) {
                units.push(unit);
            }
        }
    }
    units
}

/// A measurement of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The programs.
    pub units: Vec<Unit>,
    /// How often at most.
    pub repeats: usize,
}

impl Plan {
    /// What is measured in each rotation, in order: each program alone, and then the pairs, runtimes in turn. What occurs
    /// twice is measured once.
    pub fn turns(&self) -> Vec<Turn> {
        let pairs = || {
            self.pairs.iter().flat_map(|pair| {
                pair.runtimes.iter().map(|runtime| (pair.units(runtime), pair.repeats))
            })
        };
        let mut turns: Vec<Turn> = Vec::new();
        let mut add =
            |units: Vec<Unit>, repeats| match turns.iter_mut().find(|turn| turn.units == units) {
                Some(turn) => turn.repeats = turn.repeats.max(repeats),
                None => turns.push(Turn { units, repeats }),
            };
        for (units, _) in pairs() {
            for unit in units {
                match unit.job {
                    Job::Rounds(round) => {
                        add(vec![Unit::busy(round.leaf, 1)], self.solo_repeats);
                        add(vec![unit], self.solo_repeats);
                    }
                    Job::App { .. } => add(vec![unit], 1),
                }
            }
        }
        for unit in &self.solos {
            add(vec![unit.clone()], 1);
        }
        for (units, repeats) in pairs() {
            add(units, repeats);
        }
        turns
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
            pair.runtimes = kept;
        }
        self.pairs.retain(|pair| !pair.runtimes.is_empty());
        self.solos.retain(|unit| programs.lacks(unit).is_none());
        if self.pairs.is_empty() {
            return Err(Fault::input("nothing is left to be measured"));
        }
        self.write_out_sizes()?;
        Ok(left_out)
    }

    /// Sizes as the applications themselves write them: a record says what was computed.
    fn write_out_sizes(&mut self) -> Outcome<()> {
        let programs = self.pairs.iter_mut().flat_map(|pair| &mut pair.programs);
        let jobs = programs.map(|program| &mut program.job);
        for job in jobs.chain(self.solos.iter_mut().map(|unit| &mut unit.job)) {
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
    let pairs: Vec<&str> = plan.pairs.iter().map(|pair| pair.name.as_str()).collect();
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
