//! Turnkey: whether a pool that chooses its number of workers does as well as with the best number
//! that could have been given; alone, beside a program that takes processors away, under quotas,
//! and moved between control groups.
//!
//! An application is measured in one process, in which all contestants take turns in random order:
//! in a rotation they have the same input in the same memory, and what disturbs the machine for
//! longer than some turns disturbs all of them. All else has a process for each contestant.

mod contest;
mod groups;
mod once;
mod pools;
mod report;
mod subject;

use clap::Args;

use crate::experiment::{
    Cell, Course, Experiment, Measured, Plan, Readings, Record, Report, child, plan,
};
use crate::fault::{Fault, Outcome};
use crate::random::Random;
use crate::runtimes;
pub(crate) use groups::Ground;
use subject::{Contestant, Setting, Subject, TURNKEY, fixed};

/// The target: at most so many times as long as with the best number of workers.
const TARGET: f64 = 1.03;

/// The numbers of workers that could be given.
const WORKERS: [usize; 4] = [1, 2, 4, 8];
const QUICK_WORKERS: [usize; 3] = [1, 2, 4];

/// Runtimes of which all workers run, whatever the quota is.
const RIVALS: [(&str, &[usize]); 2] = [("locksley-awake", &[2, 4, 8]), ("rayon", &[1, 2, 4, 8])];
const QUICK_RIVALS: [(&str, &[usize]); 2] = [("locksley-awake", &[4]), ("rayon", &[4])];

/// Some milliseconds each: the machine has one speed during neighbouring turns, and a period of the
/// kernel's has several computations.
const APPS: [&str; 7] = [
    "heat 1024x512x30",
    "msort 300K",
    "mm 256",
    "lu 512",
    "barnes 1024x1",
    "ray 4,64x64",
    "knary 8,4,1",
];
const QUICK_APPS: [&str; 3] = ["heat 1024x512x20", "msort 300K", "knary 8,4,1"];

const SETTINGS: [Setting; 4] =
    [Setting::Alone, Setting::Beside, Setting::Under(100), Setting::Under(150)];

/// Quotas of rounds, in hundredths of a processor.
const QUOTAS: [u64; 3] = [50, 100, 150];
const QUICK_QUOTAS: [u64; 1] = [150];

const KINDS: [&str; 5] = ["apps", "under", "phases", "quota", "moved"];

/// `locksley turnkey`
#[derive(Debug, Default, Args)]
pub struct Turnkey {
    /// Only these: apps, under (applications under quotas), phases, quota, moved [default: all]
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    kinds: Vec<String>,
    /// How often each is measured, if the time suffices [default: 40, or 8 if quick; the phases and
    /// the move at most 5, or once]
    #[arg(long, value_name = "K")]
    repeats: Option<usize>,
    /// What was measured last, with all that took turns in it.
    #[arg(skip)]
    latest: Option<(Cell, Result<Readings, String>)>,
}

impl Experiment for Turnkey {
    const NAME: &'static str = "turnkey";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        self.plan_on(course, Ground::find())
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, repeat: usize) -> Measured {
        let subject = Subject::parse(&cell.subject)?;
        let is_measured = |other: &&Cell| {
            *other == cell || subject.is_measured_in_turn() && other.subject == cell.subject
        };
        let all = plan.cells.iter().filter(is_measured).map(|cell| of(cell).to_string());
        // Repetitions differ in their input, in the order of turns, and in what the cycler does.
        let seed = Random::new(plan.seed).ahead(repeat as u64).next_u64();
        let child = Cell {
            subject: format!("{} for {} s", cell.subject, seconds(plan.quick, subject)),
            runtime: all.collect::<Vec<_>>().join(","),
            workers: 1,
            repeats: repeat,
        };
        if self.latest.as_ref().is_none_or(|(latest, _)| *latest != child) {
            let plan = Plan { seed, ..plan.clone() };
            let found = child::once(Self::NAME, &plan, &child)?;
            self.latest = Some((child, found));
        }
        let (_, found) = self.latest.as_ref().expect("it was measured");
        let name = format!("{} ", of(cell));
        let its = |(metric, value): (&String, &f64)| {
            Some((metric.strip_prefix(&name)?.to_owned(), *value))
        };
        Ok(found.as_ref().map(|all| all.iter().filter_map(its).collect()).map_err(Clone::clone))
    }

    fn once(cell: &Cell, seed: u64) -> Outcome<Readings> {
        let wrong = || Fault::input(format!("'{}' is not SUBJECT for SECONDS s", cell.subject));
        let (subject, time) = cell.subject.rsplit_once(" for ").ok_or_else(wrong)?;
        let time = time.strip_suffix(" s").ok_or_else(wrong)?;
        let time = crate::experiment::seconds(time).map_err(|_| wrong())?;
        let contestants: Vec<Contestant<'_>> =
            cell.runtime.split(',').map(Contestant::parse).collect::<Outcome<_>>()?;
        once::measure(Subject::parse(subject)?, &contestants, time, seed)
    }

    fn report(record: &Record) -> Report {
        report::of(record)
    }
}

impl Turnkey {
    /// The plan for a machine where control groups can be made, or cannot for that reason.
    fn plan_on(&self, course: &Course, ground: Result<Ground, String>) -> Outcome<Plan> {
        let quick = course.quick;
        // In a quick run "under" only if it is asked for: the rest can be measured more often.
        let default: Vec<&str> =
            KINDS.into_iter().filter(|&kind| !quick || kind != "under").collect();
        let kinds = plan::chosen("kind", &self.kinds, &KINDS, &default)?;
        let repeats = plan::repeats(self.repeats, if quick { 8 } else { 40 })?;
        let (apps, quotas) =
            if quick { (&QUICK_APPS[..], &QUICK_QUOTAS[..]) } else { (&APPS[..], &QUOTAS[..]) };
        let (workers, rivals) =
            if quick { (&QUICK_WORKERS[..], QUICK_RIVALS) } else { (&WORKERS[..], RIVALS) };
        let mut all: Vec<(&str, Subject<'_>)> = Vec::new();
        for setting in SETTINGS {
            let kind = if matches!(setting, Setting::Under(_)) { "under" } else { "apps" };
            all.extend(apps.iter().map(|app| (kind, Subject::App(app, setting))));
        }
        all.push(("phases", Subject::Phases));
        all.extend(quotas.iter().map(|&hundredths| ("quota", Subject::Quota(hundredths))));
        all.push(("moved", Subject::Moved));
        all.retain(|(kind, it)| kinds.contains(kind) && (ground.is_ok() || !it.needs_group()));
        let mut plan = Plan::of(course, if quick { 50.0 } else { 3300.0 }, 120.0);
        for name in [TURNKEY.runtime].into_iter().chain(rivals.map(|(name, _)| name)) {
            plan.compare(name, env!("CARGO_PKG_VERSION"), runtimes::find(name)?.about);
        }
        for (_, subject) in all {
            let mut contestants = vec![TURNKEY];
            match subject {
                Subject::Moved => {}
                // The phases take long.
                Subject::Phases if quick => contestants.extend(workers.last().copied().map(fixed)),
                _ => contestants.extend(workers.iter().copied().map(fixed)),
            }
            for (runtime, numbers) in rivals.into_iter().filter(|_| subject.is_under()) {
                contestants.extend(numbers.iter().map(|&workers| Contestant { runtime, workers }));
            }
            // They say nothing about a few percent.
            let is_seldom = matches!(subject, Subject::Phases | Subject::Moved);
            let most = if quick { 1 } else { 5 };
            let repeats = if is_seldom { repeats.min(most) } else { repeats };
            for Contestant { runtime, workers } in contestants {
                plan.add(&subject.to_string(), runtime, workers, repeats);
            }
        }
        match ground {
            Ok(ground) => {
                let version = format!("version {}", ground.version);
                plan.parameters.insert("control groups".to_owned(), version);
            }
            Err(why) if plan.cells.is_empty() => {
                return Err(Fault::input(format!("this needs control groups: {why}")));
            }
            Err(why) => {
                plan.left_out.insert("quotas and moves".to_owned(), why);
            }
        }
        plan.quick_subset("fewer applications, numbers and quotas");
        Ok(plan)
    }
}

/// For how long a subject is measured: all contestants together, or each of them.
fn seconds(quick: bool, subject: Subject<'_>) -> f64 {
    let [alone, beside, other] = if quick { [0.35, 0.7, 0.2] } else { [0.8, 1.6, 1.0] };
    match subject {
        Subject::App(_, Setting::Alone) => alone,
        Subject::App(_, Setting::Beside) => beside,
        _ => other,
    }
}

fn of(cell: &Cell) -> Contestant<'_> {
    Contestant { runtime: &cell.runtime, workers: cell.workers }
}

#[cfg(test)]
mod tests;
