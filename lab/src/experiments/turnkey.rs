//! Turnkey: whether a pool that chooses its number of workers does as well as with the best number
//! that could have been given. Alone, beside a program that takes processors away, under quotas.
//!
//! An application is measured in one process, in which all contestants take turns in random order:
//! in a rotation they have the same input in the same memory, and what disturbs the machine for
//! longer than some turns disturbs all of them.

mod contest;
mod groups;
mod once;
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

/// For how long all contestants together run: alone, beside a cycler, and each under a quota.
const SECONDS: [f64; 3] = [0.8, 1.6, 1.0];
const QUICK_SECONDS: [f64; 3] = [0.35, 0.7, 0.2];

/// `locksley turnkey`
#[derive(Debug, Default, Args)]
pub struct Turnkey {
    /// Under quotas, instead of without them
    #[arg(long)]
    quotas: bool,
    /// How often each is measured, if the time suffices [default: 40, or 8 if quick]
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
        let all = plan.cells.iter().filter(|other| other.subject == cell.subject);
        let all = all.map(|cell| of(cell).to_string());
        // Repetitions differ in their input, in the order of turns, and in what the cycler does.
        let seed = Random::new(plan.seed).ahead(repeat as u64).next_u64();
        let child = Cell {
            subject: format!("{} for {} s", cell.subject, seconds(plan.quick, subject.setting)),
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
        let repeats = plan::repeats(self.repeats, if quick { 8 } else { 40 })?;
        let apps = if quick { &QUICK_APPS[..] } else { &APPS[..] };
        let workers = if quick { &QUICK_WORKERS[..] } else { &WORKERS[..] };
        let mut plan = Plan::of(course, if quick { 50.0 } else { 3300.0 }, 120.0);
        plan.compare(
            TURNKEY.runtime,
            env!("CARGO_PKG_VERSION"),
            runtimes::find(TURNKEY.runtime)?.about,
        );
        let settings = if self.quotas {
            let why = |why| Fault::input(format!("this needs control groups: {why}"));
            let version = format!("version {}", ground.map_err(why)?.version);
            plan.parameters.insert("control groups".to_owned(), version);
            &SETTINGS[2..]
        } else {
            &SETTINGS[..2]
        };
        for &setting in settings {
            for app in apps {
                let subject = Subject { app, setting }.to_string();
                for Contestant { runtime, workers } in
                    [TURNKEY].into_iter().chain(workers.iter().copied().map(fixed))
                {
                    plan.add(&subject, runtime, workers, repeats);
                }
            }
        }
        plan.quick_subset("fewer applications and numbers");
        Ok(plan)
    }
}

fn seconds(quick: bool, setting: Setting) -> f64 {
    let [alone, beside, under] = if quick { QUICK_SECONDS } else { SECONDS };
    match setting {
        Setting::Alone => alone,
        Setting::Beside => beside,
        Setting::Under(_) => under,
    }
}

fn of(cell: &Cell) -> Contestant<'_> {
    Contestant { runtime: &cell.runtime, workers: cell.workers }
}

#[cfg(test)]
mod tests;
