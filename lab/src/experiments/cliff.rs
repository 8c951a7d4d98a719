//! The performance cliff, as in figure 1 of the Hood papers: speedup and utilization over the
//! number of workers, also with more workers than processors, and beside two busy threads. With
//! `--alternatives`, as in figures 2 and 3 of Hood's study (1998): deques with a lock, and thieves
//! that never yield.

mod breakdown;
mod found;
mod inputs;
mod report;
mod rounds;
#[cfg(test)]
mod tests;

use crate::apps;
use crate::experiment::prelude::*;
use crate::experiment::prepared::Latest;
use crate::experiment::record::SubjectMeter;
use crate::machine::available_memory;
use crate::rounds::busy;
use crate::runtimes::{self, Crew, Model};
use inputs::{FOR_ALTERNATIVES, INPUTS};
use rounds::{counts, round, time};

/// Small parallel rounds: the shortest phases of all.
const ROUNDS: &str = "rounds";
/// The same beside busy threads.
const BESIDE: &str = "rounds beside two busy threads";
const BUSY_THREADS: usize = 2;
/// Leaves in parallel, steps of a leaf (some microseconds), and leaves in a row before them.
const ROUND: &str = "64x5000+0";
/// In `--apps`: all applications of the laboratory, and rounds.
const ALL: &str = "all";

/// Where work and span are recorded; serial copies side by side are [`SERIAL`] with their number.
const PROFILE: &str = "profile";
/// The harmonic mean of the times of serial copies side by side.
const COPIES: &str = "seconds of copies";
/// What a count of the workers refers to: more than a round, where rounds are measured.
const WALL: &str = "wall seconds";

const RUNTIMES: [&str; 4] = ["static", "locksley", "classic-hood", "rayon"];
/// Locksley, and those of Hood's study.
const ALTERNATIVES: [&str; 6] = [
    "locksley",
    "classic-hood",
    "classic-blocking-yields",
    "classic-blocking",
    "classic-spinlock",
    "classic-naive",
];

/// `locksley cliff`
#[derive(Debug, Args)]
pub struct Cliff {
    /// Only these applications; or all, those of the other papers too [default: Hood's, and rounds]
    #[arg(long, value_name = "APP,..", value_delimiter = ',')]
    apps: Vec<String>,
    /// Compare these runtimes [default: static, locksley, classic-hood, rayon]
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    runtimes: Vec<String>,
    /// With these numbers of workers, and with 1 [default: 1 to 32]
    #[arg(long, value_name = "P,..", value_delimiter = ',', value_parser = workers)]
    workers: Vec<usize>,
    /// Compare other deques and other thieves, and show where the workers' time goes
    #[arg(long, conflicts_with_all = ["runtimes", "workers"])]
    alternatives: bool,
    #[arg(skip)]
    latest: Latest,
    #[arg(skip)]
    meter: SubjectMeter,
}

impl Experiment for Cliff {
    const NAME: &'static str = "cliff";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let (quick, processors) = (course.quick, Machine::here().processors);
        let repeats = course.repeats(if self.alternatives { 5 } else { 7 })?;
        let budget = if quick { 45.0 } else { 3300.0 };
        // A measurement in this process has no limit.
        let mut plan = Plan::of(course, budget, f64::from(u32::MAX));
        let (names, workers) = (self.runtimes()?, self.workers(quick, processors));
        let subjects = self.subjects(quick)?;
        for name in &names {
            plan.compare_runtime(runtimes::find(name)?);
        }
        for subject in &subjects {
            if subject.starts_with(BESIDE) {
                names.iter().for_each(|name| plan.add(subject, name, processors, repeats));
                continue;
            }
            plan.add(subject, SERIAL, 1, repeats);
            let app = (!subject.starts_with(ROUNDS)).then(|| prepared::app_and_size(subject));
            let app = app.transpose()?.map(|(app, _)| app);
            for &workers in &workers {
                for name in &names {
                    let runtime = runtimes::find(name)?;
                    if app.is_none_or(|app| runtime.can_run(app)) {
                        plan.add(subject, name, workers, repeats);
                    }
                }
            }
            if self.alternatives {
                continue;
            }
            let copies = workers.iter().map(|&it| it.min(processors)).filter(|&copies| copies > 1);
            copies.dedup().for_each(|copies| plan.add(subject, SERIAL, copies, repeats));
            if app.is_some() {
                plan.add(subject, PROFILE, 1, repeats);
            }
        }
        if quick {
            let (workers, subjects) = (workers.iter().join(" "), subjects.join(", "));
            plan.quick_subset(&format!(
                "P = {workers}; {subjects}; as many of {repeats} repetitions as fit in {budget} s"
            ));
        }
        Ok(plan)
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, _repeat: usize) -> Outcome<Readings> {
        let Cell { subject, runtime, workers, .. } = cell;
        let is_copies = runtime == SERIAL && *workers > 1;
        if is_app(subject) {
            let bytes = self.latest.of(subject, plan.seed)?.bytes;
            if is_copies && bytes * *workers as u128 > available_memory() / 2 {
                let why = format!("there is not enough memory for {workers} copies");
                return Err(Fault::Missing(why));
            }
        }
        self.meter.begin(subject);
        let mut readings = if is_copies {
            [(COPIES.to_owned(), self.seconds_of_copies(plan, cell)?)].into()
        } else if runtime == PROFILE {
            self.latest.of(subject, plan.seed)?.work_and_span()?
        } else {
            self.readings(plan, cell)?
        };
        let is_last = plan.cells.iter().rfind(|it| it.subject == *subject) == Some(cell);
        readings.extend(self.meter.end(is_last));
        Ok(readings)
    }

    fn report(record: &Record) -> Report {
        report::of(record)
    }
}

impl Cliff {
    fn runtimes(&self) -> Outcome<Vec<&str>> {
        for name in &self.runtimes {
            if matches!(runtimes::find(name)?.model, Model::Serial) {
                return Err(Fault::input(format!("cliff measures '{name}' in any case")));
            }
        }
        Ok(match self.runtimes.is_empty() {
            true if self.alternatives => ALTERNATIVES.to_vec(),
            true => RUNTIMES.to_vec(),
            false => self.runtimes.iter().map(String::as_str).unique().collect(),
        })
    }

    /// The numbers of the papers, and those that tell most on this machine.
    fn workers(&self, quick: bool, processors: usize) -> Vec<usize> {
        let mut workers: Vec<usize> = match (self.alternatives, quick) {
            _ if !self.workers.is_empty() => [&[1], &self.workers[..]].concat(),
            (true, true) => [&[1, 2, 4, 8][..], &crowds(processors)].concat(),
            (true, false) => {
                [&[1, 2, 3, 4, 6, 8, 16, processors + 1], &crowds(processors)[..]].concat()
            }
            (false, true) => vec![1, 2, 3, 4, 8, 32, processors, processors + 1],
            (false, false) => vec![1, 2, 3, 4, 6, 8, 12, 16, 24, 32, processors, processors + 1],
        };
        if self.workers.is_empty() && !self.alternatives && 2 * processors > 32 {
            workers.push(2 * processors);
        }
        numbers_of_workers(workers)
    }

    /// The applications with their sizes, and rounds.
    fn subjects(&self, quick: bool) -> Outcome<Vec<String>> {
        let inputs = if self.alternatives { FOR_ALTERNATIVES } else { INPUTS };
        let has_input = |app: &str| inputs.iter().any(|input| input.0 == app);
        let is_all = self.apps.iter().any(|name| name == ALL);
        for name in self.apps.iter().filter(|name| ![ROUNDS, ALL].contains(&name.as_str())) {
            if !has_input(apps::find(name)?.name) {
                return Err(Fault::input(format!("cliff has no input for {name}, but in '{ALL}'")));
            }
        }
        let is_wanted =
            |app: &str| is_all || self.apps.is_empty() || self.apps.iter().any(|name| name == app);
        let mut subjects = Vec::new();
        for (app, full, small) in inputs.iter().filter(|input| is_wanted(input.0)) {
            let size = if quick { small } else { full };
            if !size.is_empty() {
                apps::problem(apps::find(app)?, size)?;
                subjects.push(prepared::name(app, size));
            }
        }
        for app in apps::ALL.iter().filter(|app| is_all && !has_input(app.name)) {
            let size = if quick { app.quick_size } else { app.paper_size };
            subjects.push(prepared::name(app.name, size));
        }
        if is_wanted(ROUNDS) {
            subjects.push(prepared::name(ROUNDS, ROUND));
            if !self.alternatives {
                subjects.push(prepared::name(BESIDE, ROUND));
            }
        }
        if subjects.is_empty() {
            return Err(Fault::input("cliff has no inputs of this size for these applications"));
        }
        Ok(subjects)
    }

    /// The time of a cell, and with `--alternatives` what the workers did meanwhile.
    fn readings(&mut self, plan: &Plan, cell: &Cell) -> Outcome<Readings> {
        let Cell { subject, runtime, workers, .. } = cell;
        let runtime = runtimes::find(runtime)?;
        let is_counted = self.alternatives && crowds(Machine::here().processors).contains(workers);
        // All ratios depend on the times with one worker: each is the mean of two.
        let runs = if *workers == 1 && !self.alternatives { 2 } else { 1 };
        let mut readings = Readings::new();
        for _ in 0..runs {
            // New workers each time: a single one stays on the processor where it began, and the
            // processors of some machines differ.
            let crew = runtime.start(*workers)?;
            let (seconds, wall, before, after) = if is_app(subject) {
                let prepared = self.latest.of(subject, plan.seed)?;
                let (seconds, before, after) = prepared.metered(&crew, || counts(&crew))?;
                (seconds, None, before, after)
            } else {
                let before = counts(&crew);
                let busy = if subject.starts_with(BESIDE) { BUSY_THREADS } else { 0 };
                let (round, time) = (round(subject)?, time(plan, subject));
                let rate = busy::beside(busy, || round.repeat_on(&crew, time))?;
                (rate.per_second().recip(), Some(rate.time), before, counts(&crew))
            };
            *readings.entry(SECONDS.to_owned()).or_default() += seconds / f64::from(runs);
            if is_counted {
                let since =
                    |(name, count): (&str, f64)| (name.to_owned(), (count - before[name]).max(0.0));
                readings.extend(after.into_iter().map(since));
                readings.extend(wall.map(|wall| (WALL.to_owned(), wall.as_secs_f64())));
            }
        }
        Ok(readings)
    }

    fn seconds_of_copies(&mut self, plan: &Plan, cell: &Cell) -> Outcome<f64> {
        let (subject, number) = (&cell.subject, cell.workers);
        if is_app(subject) {
            return self.latest.of(subject, plan.seed)?.seconds_of_copies(number);
        }
        let (round, time) = (round(subject)?, time(plan, subject));
        prepared::harmonic_mean(vec![(); number], |()| {
            Ok(round.repeat_on(&Crew::Serial, time)?.per_second().recip())
        })
    }
}

/// The numbers of workers for which the time is broken down, as in figure 3 of the study.
fn crowds(processors: usize) -> [usize; 2] {
    [processors, 2 * processors]
}

fn is_app(subject: &str) -> bool {
    !subject.starts_with(ROUNDS)
}
