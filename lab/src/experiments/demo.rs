//! The first impression, in a minute: five scenes, in each of which Locksley and rayon take turns.
//!
//! Four compare speeds of one computation, the rounds of [`Round`]: alone, beside busy threads,
//! with more threads than processors, under a quota. Machines are noisy, so what counts are ratios
//! of runs of one turn: their median, with its interval. In the fifth, a lock is held
//! across a parallel call, which may never end.

mod locked;
#[cfg(test)]
mod tests;

use std::thread;
use std::time::Duration;

use locksley::Pool;

use crate::control_group::Group;
use crate::experiment::estimate::FEWEST;
use crate::experiment::prelude::*;
use crate::experiment::record::SubjectMeter;
use crate::machine;
use crate::rounds::{Round, busy};
use crate::runtimes::{self, Crew};

const ALONE: &str = "alone";
const BESIDE: &str = "beside two busy threads";
const CROWDED: &str = "more threads than processors";
const QUOTA: &str = "under a quota of 1.5 processors";
const LOCKED: &str = "a lock held across a parallel call";

const LOCKSLEY: &str = "locksley";
const RAYON: &str = "rayon";
const STATIC: &str = "static";

/// What is compared in a scene.
const SCENES: [(&str, &[&str]); 5] = [
    (ALONE, &[LOCKSLEY, RAYON]),
    (BESIDE, &[LOCKSLEY, RAYON]),
    (CROWDED, &[LOCKSLEY, RAYON, STATIC]),
    (QUOTA, &[LOCKSLEY, RAYON]),
    (LOCKED, &[LOCKSLEY, RAYON]),
];

const RATE: &str = "rounds per second";
const THREADS: &str = "threads";
const CALLS: &str = "completed calls";

const BUSY_THREADS: usize = 2;
const QUOTA_HUNDREDTHS: u64 = 150;
/// Under a quota, each chooses its number of workers.
const CHOSEN: usize = 0;
/// Under a quota, rounds are repeated for a period of the kernel before they are timed, and then
/// for four.
const PERIOD: Duration = Duration::from_millis(100);
/// As many as fit into the time, or a few more.
const REPEATS: usize = 25;

/// Ratios between these and their reciprocals are called even.
const EVEN: f64 = 1.05;

/// `locksley demo`
#[derive(Debug, Default, Args)]
pub struct Demo {
    #[arg(skip)]
    meter: SubjectMeter,
}

impl Experiment for Demo {
    const NAME: &'static str = "demo";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let repeats = course.repeats(if course.quick { FEWEST } else { REPEATS })?;
        let mut plan = Plan::of(course, if course.quick { 25.0 } else { 50.0 }, 20.0);
        for name in [LOCKSLEY, RAYON, STATIC] {
            plan.compare_runtime(runtimes::find(name)?);
        }
        let processors = machine::processors();
        let crowd = (16 * processors).min(256).max(2 * processors).min(MOST_WORKERS);
        for (scene, names) in SCENES {
            let (workers, repeats) = match scene {
                CROWDED => (crowd, repeats),
                QUOTA => (CHOSEN, repeats),
                LOCKED => (processors.max(2), 1),
                _ => (processors, repeats),
            };
            match check_possible(scene, processors) {
                Err(why) => _ = plan.left_out.insert(format!("the scene '{scene}'"), why),
                Ok(()) => names.iter().for_each(|name| plan.add(scene, name, workers, repeats)),
            }
        }
        let Round { leaf, chunks, .. } = round();
        let round = format!("{chunks} leaves of {leaf} steps in parallel");
        plan.parameters.insert("a round".to_owned(), round);
        plan.parameters.insert(LOCKED.to_owned(), format!("{} calls", locked::CALLS));
        plan.quick_subset(&format!("{FEWEST} runs of each instead of {REPEATS}"));
        Ok(plan)
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, _repeat: usize) -> Outcome<Readings> {
        let Cell { subject, runtime, workers, .. } = cell;
        let (busy, millis) = match &subject[..] {
            QUOTA | LOCKED => {
                let cell = Cell { workers: (*workers).max(1), ..cell.clone() };
                return child::once(Self::NAME, plan, &cell);
            }
            // Longer than some turns of the kernel's scheduler.
            BESIDE => (BUSY_THREADS, 200),
            _ => (0, 100),
        };
        self.meter.begin(subject);
        let crew = runtimes::find(runtime)?.start(*workers)?;
        let time = Duration::from_millis(millis);
        let rate = busy::beside(busy, || round().repeat_on(&crew, time))?;
        let mut readings = named([(RATE, rate.per_second())]);
        let is_last = plan.cells.iter().rfind(|it| it.subject == *subject) == Some(cell);
        readings.extend(self.meter.end(is_last));
        Ok(readings)
    }

    fn once(cell: &Cell, _seed: u64) -> Outcome<Readings> {
        match &cell.subject[..] {
            QUOTA => rate_under_quota(&cell.runtime),
            LOCKED => locked::watch(&cell.runtime, cell.workers, locked::PATIENCE),
            other => Err(Fault::input(format!("'{other}' needs no process of its own"))),
        }
    }

    fn report(record: &Record) -> Report {
        let mut findings = Vec::new();
        let columns = ["", "threads", "", "Locksley", "the other", "ratio", "95 %", "of", ""];
        let mut rates =
            Table::new("rounds per second, and Locksley's over those of the other", columns);
        let mut pictures = Vec::new();
        for (scene, workers) in record.groups(RATE) {
            let (median, mut name) = (|of| record.median(scene, of, workers, RATE), scene);
            let others = record.runtimes().into_iter().filter(|other| *other != LOCKSLEY);
            for other in others {
                let ratios = record.ratios(scene, [LOCKSLEY, other], workers, RATE);
                let Some(found) = Estimate::of_median(&ratios) else { continue };
                let chosen = |of: &&str| record.median(scene, of, workers, THREADS);
                let threads = match workers {
                    CHOSEN => [LOCKSLEY, other].iter().filter_map(chosen).join(" and "),
                    workers => workers.to_string(),
                };
                let of = |name| known(median(name));
                rates.row([
                    std::mem::take(&mut name),
                    &threads,
                    other,
                    &of(LOCKSLEY),
                    &of(other),
                    &number(found.figure),
                    &interval(&found),
                    &ratios.len().to_string(),
                    &words(found, other),
                ]);
                if other == RAYON {
                    findings.push(format!("{}: {}.", capitalized(scene), words(found, other)));
                }
            }
            let bars =
                record.runtimes().into_iter().filter_map(|of| Some((of.to_owned(), median(of)?)));
            pictures.push(Chart::bars(capitalized(scene), "rounds per second", bars.collect()));
        }
        let (calls, picture) = locked_calls(record, &mut findings);
        pictures.extend(picture);
        let about = "More rounds are better. Each ratio is of two runs of one turn; of these ratios, \
                     the median and its interval of 95 % are shown.";
        let sections = vec![Section::new("The scenes", about, [rates, calls])];
        let headline = match findings.is_empty() {
            true => "Locksley beside rayon".to_owned(),
            false => findings.join(" "),
        };
        let report =
            Report::new("a first impression", headline, sections, include_str!("demo/method.txt"));
        Report { pictures, ..report }
    }
}

/// Leaves of a few microseconds, many for each processor.
fn round() -> Round {
    Round { leaf: 5000, chunks: 32 * machine::processors() as u64, serial: 0 }
}

/// Whether a scene can be measured here; else why not, in words that are equal in each run.
fn check_possible(scene: &str, processors: usize) -> Result<(), String> {
    if scene != QUOTA {
        return Ok(());
    }
    if processors < 2 {
        return Err("this process may use one processor only".to_owned());
    }
    // The rest of the message has names of files, which have the number of this process.
    let reason = |why: String| why.rsplit(": ").next().unwrap_or_default().to_owned();
    Group::probe().map_err(|why| format!("no control group can be made here: {}", reason(why)))
}

/// Joins a control group with a quota, and then starts the workers: each runtime has as many as it
/// chooses there.
fn rate_under_quota(runtime: &str) -> Outcome<Readings> {
    let _group = Group::with_quota(QUOTA_HUNDREDTHS, "demo").map_err(Fault::Missing)?;
    let (crew, threads) = match runtime {
        LOCKSLEY => {
            let pool = Pool::builder().build().map_err(Fault::run)?;
            let workers = pool.workers();
            (Crew::Locksley(pool), workers)
        }
        // As rayon's own default.
        RAYON => {
            let threads = thread::available_parallelism().map_or(1, usize::from);
            (runtimes::find(RAYON)?.start(threads)?, threads)
        }
        other => return Err(Fault::input(format!("'{other}' does not choose its workers"))),
    };
    round().repeat_on(&crew, PERIOD)?;
    let rate = round().repeat_on(&crew, 4 * PERIOD)?;
    Ok(named([(RATE, rate.per_second()), (THREADS, threads as f64)]))
}

/// What a ratio says, in words.
fn words(ratio: Estimate, other: &str) -> String {
    if !ratio.is_bounded() {
        format!("too few runs beside {other}")
    } else if ratio.low >= 1.0 / EVEN && ratio.high <= EVEN {
        format!("even with {other}")
    } else if ratio.low > 1.0 || ratio.high < 1.0 {
        format!("{} times {other}'s speed", number(ratio.figure))
    } else {
        format!("no difference from {other} seen")
    }
}

/// The calls under a lock that each has completed, as a table and a picture; says which hung.
fn locked_calls(record: &Record, findings: &mut Vec<String>) -> (Table, Option<Chart>) {
    let columns = ["", "threads", "completed", ""];
    let title = format!("calls completed of {}", locked::CALLS);
    let mut table = Table::new(&title, columns);
    let (mut bars, mut said) = (Vec::new(), Vec::new());
    for (scene, workers) in record.groups(CALLS) {
        for runtime in record.runtimes() {
            let Some(calls) = record.median(scene, runtime, workers, CALLS) else { continue };
            let seconds = record.median(scene, runtime, workers, SECONDS);
            let outcome = match seconds {
                Some(seconds) => format!("completes in {} s", number(seconds)),
                None => format!("hangs: no progress in {} s", locked::PATIENCE.as_secs()),
            };
            let name = if runtime == LOCKSLEY { "Locksley" } else { runtime };
            said.push(format!("{name} {outcome}"));
            table.row([runtime, &workers.to_string(), &calls.to_string(), &outcome]);
            bars.push((runtime.to_owned(), calls));
        }
    }
    if bars.is_empty() {
        return (table, None);
    }
    findings.push(format!("{}: {}.", capitalized(LOCKED), said.join("; ")));
    (table, Some(Chart::bars(capitalized(LOCKED), "calls completed", bars)))
}

fn capitalized(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}
