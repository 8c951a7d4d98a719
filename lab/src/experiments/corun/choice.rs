//! Which pairs are measured on which runtimes, and how often.

use super::figures::{ABP, BWS, WITHOUT};
use super::pairs::{self, Pair, Part};
use super::{Corun, program_of};
use crate::experiment::prelude::*;
use crate::rounds::busy::LOOP;
use crate::runtimes;

/// The runtimes of the programs that `peers/build` makes.
pub(super) const PEERS: [&str; 3] = ["onetbb", "libgomp", "libomp"];
/// On the pairs of the target table.
const ON_TARGETS: [&str; 7] = ["locksley", "rayon", "onetbb", ABP, BWS, "libgomp", "libomp"];
/// On pairs for which no part of Locksley was tuned.
const ON_OTHERS: [&str; 3] = ["locksley", "rayon", "onetbb"];
/// On all pairs of applications.
const ON_APPLICATIONS: [&str; 3] = ["locksley", BWS, ABP];
/// What the paper compares with on some pairs of applications, and rayon.
const RIVALS: [&str; 6] = [
    "rayon",
    "classic-naive",
    "classic-delayed",
    "classic-selective",
    "classic-global",
    "classic-busy-wakes",
];
/// The values of SleepThreshold that are compared.
const THRESHOLDS: [u64; 8] = [32, 64, 128, 256, 512, 1024, 2048, 4096];
/// What a quick run has.
pub(super) const QUICK: [(Part, &str); 7] = [
    (Part::Targets, "par+loop"),
    (Part::Targets, "half+loop"),
    (Part::Targets, "p8+loop"),
    (Part::Targets, "half+half"),
    (Part::Assists, "p8+loop"),
    (Part::Others, "par+half+loop"),
    (Part::Applications, "mi+mm"),
];

/// A pair on a runtime.
pub(super) struct Run<'a> {
    pub(super) pair: &'a Pair,
    pub(super) runtime: String,
    /// Measured after the others of its part, and half as often.
    pub(super) is_later: bool,
}

/// How often a pair is measured by default: it may flip between two states.
pub(super) fn repeats(part: Part, quick: bool) -> usize {
    match part {
        _ if quick => 2,
        Part::Targets => 8,
        Part::Solo => 4,
        Part::Others => 3,
        Part::Assists => 2,
        Part::Applications => 1,
    }
}

impl Corun {
    /// The pairs that were asked for.
    pub(super) fn chosen(&self, all: &[Pair], quick: bool) -> Outcome<Vec<Pair>> {
        let mut known: Vec<&str> = Part::ALL.map(Part::name).to_vec();
        known.extend(all.iter().map(|pair| pair.name.as_str()));
        let asked = chosen("pair", &self.pairs, &known, &known[..5])?;
        let is_wanted = |pair: &Pair| match self.pairs.is_empty() {
            true => !quick || QUICK.contains(&(pair.part, &pair.name)),
            false => {
                let is_named = pair.part != Part::Assists && asked.contains(&pair.name.as_str());
                is_named || asked.contains(&pair.part.name())
            }
        };
        let pairs = all.iter().cloned().chain(pairs::assists(all));
        Ok(pairs.filter(is_wanted).collect())
    }

    /// The pairs on the runtimes that are there. The plan names those, and the peers that are not.
    pub(super) fn runs<'a>(
        &self,
        pairs: &'a [Pair],
        course: &Course,
        plan: &mut Plan,
    ) -> Outcome<Vec<Run<'a>>> {
        let mut runs: Vec<Run<'_>> = Vec::new();
        for pair in pairs {
            let (names, later) = self.runtimes(pair, course);
            for (place, runtime) in names.iter().enumerate() {
                let partners = pair.programs.iter().map(|program| program.on(runtime));
                let needed: Vec<&str> =
                    partners.filter(|name| *name != LOOP).chain([&**runtime]).collect();
                needed.iter().try_for_each(|name| self.compare(name, pair, plan))?;
                let can_run = pair.programs.iter().all(|program| program.can_run_on(runtime));
                if can_run && !needed.iter().any(|name| plan.left_out.contains_key(*name)) {
                    let is_later = place >= names.len() - later;
                    runs.push(Run { pair, runtime: runtime.clone(), is_later });
                }
            }
        }
        Ok(runs)
    }

    /// Adds a runtime to those of the plan, or a peer that is not there to what is left out.
    fn compare(&self, name: &str, pair: &Pair, plan: &mut Plan) -> Outcome<()> {
        if plan.runtimes.iter().any(|known| known.name == name) {
            return Ok(());
        }
        if !PEERS.contains(&name) {
            plan.compare_runtime(runtimes::find(name)?);
            return Ok(());
        }
        let is_required =
            self.pairs.contains(&pair.name) || self.runtimes.iter().any(|it| it == name);
        if plan.left_out.contains_key(name) && !is_required {
            return Ok(());
        }
        let program = self.peers.join(program_of(name));
        plan.compare_peer(name, &program, "a peer's program", is_required)
    }

    /// The runtimes that are compared on a pair, and how many of them, at the end, come later.
    fn runtimes(&self, pair: &Pair, course: &Course) -> (Vec<String>, usize) {
        let quick = course.quick;
        if !self.runtimes.is_empty() {
            return (self.runtimes.clone(), 0);
        }
        let is_stated = pairs::STATED.contains(&pair.name.as_str());
        let without = runtimes::ALL.iter().map(|it| it.name).filter(|it| it.starts_with(WITHOUT));
        let mut names: Vec<&str> = match pair.part {
            Part::Targets | Part::Others if quick => ON_OTHERS.to_vec(),
            Part::Assists if quick => vec!["locksley", "locksley-no-assists"],
            // OpenMP where its threads are beside busy ones.
            Part::Targets if pair.name.ends_with("+loop") => ON_TARGETS.to_vec(),
            Part::Targets => ON_TARGETS[..5].to_vec(),
            Part::Assists => ["locksley"].into_iter().chain(without).collect(),
            Part::Others => ON_OTHERS.to_vec(),
            Part::Solo | Part::Applications => ON_APPLICATIONS.to_vec(),
        };
        let first = if pair.part == Part::Targets { 3 } else { names.len() };
        let is_with_rivals = pair.part == Part::Solo || is_stated;
        if is_with_rivals && !quick {
            names.extend(RIVALS);
        }
        let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        if is_stated && !quick {
            names.extend(THRESHOLDS.map(|threshold| format!("{BWS}-{threshold}")));
        }
        let later = if course.repeats.is_some() { 0 } else { names.len() - first };
        (names, later)
    }
}
