//! Hood's model, T = c1·T1/PA + c∞·T∞·P/PA ("The Performance of Work Stealing in Multiprogrammed
//! Environments", 1998, sections 5 and 6): figures 2 and 4 on a machine of its own, figures 3 and 5
//! beside `cycler`, which takes a random number of processors away again and again.

pub(super) mod bound;
mod granted;
mod points;
mod report;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use locksley_profile::GrantMeter;

use super::corun::process::Company;
use crate::apps;
use crate::clock;
use crate::corunner::CyclerLine;
use crate::cycler;
use crate::experiment::prelude::*;
use crate::experiment::record::SubjectMeter;
use crate::random::mix;
use crate::runtimes;
use granted::Beside;

const ALONE: &str = "locksley";
const PROFILED: &str = "locksley profiled";
/// The subject of the cycler's calibration.
const CALIBRATION: &str = "cycler(1)";
const KINDS: [&str; 2] = ["alone", "beside"];

/// Of a tree of height h, degree d and s children in series, the work grows as d^h and the span as
/// (s+1)^h: these have parallelism from 2 to thousands.
const KNARIES: [&str; 14] = [
    "6,6,4", "7,6,4", "8,5,3", "8,6,4", "8,4,2", "9,4,2", "8,6,3", "9,3,1", "11,3,1", "7,6,2",
    "9,4,1", "7,6,1", "9,5,1", "8,5,0",
];
/// Of more than a second each, as all of the papers', with parallelism from 4 to thousands.
const LONG_KNARIES: [&str; 5] = ["9,6,4", "9,6,3", "10,5,2", "10,5,1", "10,5,0"];
const QUICK_KNARIES: [&str; 5] = ["5,6,4", "6,6,4", "8,4,2", "9,3,1", "7,5,0"];
type Sizes = (&'static str, &'static [&'static str]);
const APPS: [Sizes; 6] = [
    ("heat", &["128x64x400", "1024x512x100", "4096x512x40"]),
    ("msort", &["10K", "300K", "2M"]),
    ("mm", &["64", "256", "512"]),
    ("lu", &["128", "512", "1024"]),
    ("barnes", &["512x10", "4096x3", "16384x1"]),
    ("ray", &["4,16x16", "4,128x128", "4,256x256"]),
];
/// Computations of more than a second each.
const LONG_APPS: [Sizes; 6] = [
    ("heat", &["4096x512x600"]),
    ("msort", &["32M"]),
    ("mm", &["2048"]),
    ("lu", &["4096"]),
    ("barnes", &["16384x10"]),
    ("ray", &["4,640x640"]),
];
const QUICK_APPS: [Sizes; 3] =
    [("heat", &["128x64x200", "1024x512x20"]), ("msort", &["10K", "300K"]), ("mm", &["64", "256"])];

/// `locksley model`
#[derive(Debug, Args)]
pub struct Model {
    /// Only alone, or only beside cyclers [default: both]
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Only computations of a second and more
    #[arg(long)]
    long: bool,
    /// Only these applications [default: all]
    #[arg(long, value_name = "APP,..", value_delimiter = ',')]
    apps: Vec<String>,
    /// With these numbers of workers, and with 1 [default: 1 to 64; fewer beside cyclers]
    #[arg(long, value_name = "P,..", value_delimiter = ',', value_parser = workers)]
    workers: Vec<usize>,
    /// How long a program computes beside a cycler, in seconds [default: 0.6, or 0.4 if quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    secs: Option<Duration>,
    #[arg(skip)]
    latest: prepared::Latest,
    #[arg(skip)]
    meter: SubjectMeter,
}

impl Experiment for Model {
    const NAME: &'static str = "model";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let quick = course.quick;
        let repeats = course.repeats(if quick { 3 } else { 7 })?;
        let kinds = chosen("kind", &self.kinds, &KINDS, &KINDS)?;
        let processors = Machine::here().processors;
        let mut plan = Plan::of(course, if quick { 50.0 } else { 900.0 }, 60.0);
        let about = "this runtime, on the number of workers that is named";
        plan.compare(ALONE, env!("CARGO_PKG_VERSION"), about);
        plan.parameters.insert("seconds".to_owned(), self.time(quick).as_secs_f64().to_string());
        let (knaries, apps): (&[&str], &[Sizes]) = match (self.long, quick) {
            (true, _) => (&LONG_KNARIES, &LONG_APPS),
            (false, true) => (&QUICK_KNARIES, &QUICK_APPS),
            (false, false) => (&KNARIES, &APPS),
        };
        let choices: Vec<Sizes> =
            [("knary", knaries)].into_iter().chain(apps.iter().copied()).collect();
        let known: Vec<&str> = choices.iter().map(|(app, _)| *app).collect();
        let wanted = chosen("application", &self.apps, &known, &known)?;
        let alone: &[usize] =
            if quick { &[1, 2, 4, 16, 64] } else { &[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64] };
        let alone = self.numbers(alone.iter().copied().chain([1, processors, 2 * processors]));
        let beside = self.numbers([processors, if quick { 64 } else { 4 * processors }, 64]);
        if kinds.contains(&"beside") {
            plan.add(CALIBRATION, "an idle machine", 1, repeats);
        }
        for (app, sizes) in choices.into_iter().filter(|(app, _)| wanted.contains(app)) {
            for (place, size) in sizes.iter().enumerate() {
                apps::problem(apps::find(app)?, size)?;
                let subject = prepared::name(app, size);
                // There is time for a third beside cyclers: of each application, a middle size.
                let has_company = kinds.contains(&"beside") && (self.long || place % 3 == 1);
                let is_alone = kinds.contains(&"alone");
                if !is_alone && !has_company {
                    continue;
                }
                plan.add(&subject, PROFILED, 1, repeats);
                let alone = if is_alone { &alone[..] } else { &[1] };
                alone.iter().for_each(|&workers| plan.add(&subject, ALONE, workers, repeats));
                for cycler in cyclers(quick, processors).into_iter().filter(|_| has_company) {
                    for &workers in &beside {
                        plan.add(&subject, &cycler.runtime(), workers, repeats);
                    }
                }
            }
        }
        plan.quick_subset("fewer inputs, numbers of workers and cyclers");
        Ok(plan)
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, repeat: usize) -> Outcome<Readings> {
        let time = self.time(plan.quick);
        if cell.subject == CALIBRATION {
            return calibrate(time.min(Duration::from_secs(1)));
        }
        if let Some(beside) = Beside::of(&cell.runtime) {
            // Other choices in each rotation, and the same for all that are compared.
            let choices = mix(plan.seed.wrapping_add(repeat as u64));
            return self.beside(plan.seed, cell, beside, choices, time);
        }
        self.meter.begin(&cell.subject);
        let prepared = self.latest.of(&cell.subject, plan.seed)?;
        if cell.runtime == PROFILED {
            return prepared.work_and_span();
        }
        let crew = runtimes::find(ALONE)?.start(cell.workers)?;
        // Once for the caches.
        prepared.seconds(&crew)?;
        let mut readings = named([("seconds", prepared.seconds(&crew)?)]);
        let is_its = |it: &&Cell| it.subject == cell.subject && it.runtime == ALONE;
        readings.extend(self.meter.end(plan.cells.iter().rfind(is_its) == Some(cell)));
        Ok(readings)
    }

    fn report(record: &Record) -> Report {
        report::report(record)
    }
}

impl Model {
    fn time(&self, quick: bool) -> Duration {
        self.secs.unwrap_or(Duration::from_millis(if quick { 400 } else { 600 }))
    }

    /// The numbers of workers that were asked for, with 1 where that is usual, or else the usual.
    fn numbers(&self, usual: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut workers: Vec<usize> = usual.into_iter().collect();
        if !self.workers.is_empty() {
            workers.retain(|&workers| workers == 1);
            workers.extend(&self.workers);
        }
        numbers_of_workers(workers)
    }

    /// Computes for so much time, at least once, beside a cycler in a process of its own.
    fn beside(
        &mut self,
        seed: u64,
        cell: &Cell,
        beside: Beside,
        choices: u64,
        time: Duration,
    ) -> Outcome<Readings> {
        const PATIENCE: Duration = Duration::from_secs(30);
        let prepared = self.latest.of(&cell.subject, seed)?;
        let crew = runtimes::find(ALONE)?.start(cell.workers)?;
        prepared.seconds(&crew)?;
        let mut company = Company::of_cycler(beside.workers, beside.most, choices)?;
        let (meter, begun) = (GrantMeter::start(), clock::now());
        let (mut seconds, mut computations) = (0.0, 0.0);
        while computations == 0.0 || clock::seconds(begun, clock::now()) < time.as_secs_f64() {
            seconds += crew.compute(prepared.instance()).as_secs_f64();
            computations += 1.0;
        }
        let ended = clock::now();
        let grant = meter.finish(cell.workers);
        company.tell(0)?;
        let (number, line) = company.hear(Instant::now() + PATIENCE)?;
        let Some(line) = line else {
            return Err(Fault::Missing(company.complaint(number).to_string()));
        };
        let line: CyclerLine = serde_json::from_str(&line)
            .map_err(|error| Fault::run(format!("the cycler's line cannot be read: {error}")))?;
        company.finish()?;
        prepared.check()?;
        let others = grant.others.map(|others| others.as_secs_f64());
        let readings = [
            ("seconds", Some(seconds)),
            ("computations", Some(computations)),
            ("wall", Some(clock::seconds(begun, ended))),
            ("increments", Some(line.account().between(begun, ended))),
            ("others", others),
            ("granted", others.map(|_| grant.processors)),
            ("cycler seconds", Some(line.stretch.seconds())),
            ("cycler increments", Some(line.done.increments as f64)),
            ("cycler processor seconds", line.stretch.processor_seconds),
        ];
        let given = readings.into_iter().filter_map(|(name, it)| Some((name.to_owned(), it?)));
        Ok(given.collect())
    }
}

/// Few and many workers, which are released for tens of milliseconds; in a full run, some for
/// hundreds.
fn cyclers(quick: bool, processors: usize) -> Vec<Beside> {
    let beside = |workers, most| Beside { workers, most };
    let (few, many) = (beside((processors / 2).max(1), 100), beside(2 * processors, 100));
    if quick { vec![few, many] } else { vec![few, beside(processors, 1000), many] }
}

/// How much a cycler counts on a processor of its own in so much time; in more if it counted
/// nothing.
fn calibrate(mut time: Duration) -> Outcome<Readings> {
    loop {
        let done = cycler::calibrated(time, &AtomicBool::new(false))?;
        if done.increments > 0 {
            return Ok([("increments a second".to_owned(), done.rate())].into());
        }
        time *= 2;
    }
}
