//! What a parallel program does to its interactive neighbours: the question that Hood's study
//! leaves open ("The Performance of Work Stealing in Multiprogrammed Environments", 1998,
//! section 7).
//!
//! A process that mostly sleeps measures how late it wakes (`locksley once neighbour`), alone and
//! beside `locksley rounds` on each runtime. Each is a process of its own.

mod sleeper;

use std::process::Command;
use std::thread;
use std::time::Duration;

use locksley_profile::GrantMeter;
use serde::Deserialize;

use crate::experiment::child::{finds, this_program};
use crate::experiment::prelude::*;
use crate::experiment::record::others;
use crate::random::mix;
use crate::rounds::Round;
use crate::runtimes;
use sleeper::{Naps, Notes, sleep_and_wake};

const RUNTIMES: [&str; 4] = ["locksley", "rayon", "classic-hood", "static"];

/// The subject and the runtime of the sleeper without a program beside it.
const ALONE: &str = "alone";

/// A deadline every 5 ms or so; the work takes about 0.1 ms.
const NAPS: Naps = Naps { period: 5000, jitter: 1000, steps: 70_000 };

/// The program beside the sleeper begins so much earlier: by then all its workers have started.
const HEAD_START: Duration = Duration::from_millis(150);
/// And it ends so much later, because the sleeper's process takes a moment to start and to warm up.
const OVERTIME: Duration = Duration::from_millis(350);

/// The times beyond a percentile should be more than one.
const ENOUGH_FOR_P999: usize = 2000;
const P99: &str = "late p99 us";
const P999: &str = "late p99.9 us";
const RATE: &str = "rounds per second";

/// What is shown: the title of a table, the metric, and how many of a thousand times are at most
/// that long.
const FIGURES: [(&str, &str, usize); 8] = [
    ("µs: half of them", "late p50 us", 500),
    ("µs: 90 % of them", "late p90 us", 900),
    ("µs: 99 % of them", P99, 990),
    ("µs: 99.9 % of them", P999, 999),
    ("µs: the latest one", "late most us", 1000),
    ("µs: how long half of the pieces of work take at most", "work p50 us", 500),
    ("µs: 99 % of them", "work p99 us", 990),
    ("µs: the longest one", "work most us", 1000),
];

/// `locksley neighbour`
#[derive(Debug, Args)]
pub struct Neighbour {
    /// Only beside these runtimes [default: locksley, rayon, classic-hood, static]
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    runtimes: Vec<String>,
    /// How long one measurement takes, in seconds [default: 10, or 1 if quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    secs: Option<Duration>,
}

impl Experiment for Neighbour {
    const NAME: &'static str = "neighbour";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let quick = course.quick;
        let time = self.time(quick);
        let limit = (HEAD_START + time + OVERTIME).as_secs_f64() + 60.0;
        let mut plan = Plan::of(course, if quick { 52.0 } else { 3300.0 }, limit);
        let known: Vec<&str> = runtimes::ALL.iter().map(|runtime| runtime.name).collect();
        let names = chosen("runtime", &self.runtimes, &known, &RUNTIMES)?;
        for name in &names {
            plan.compare_runtime(runtimes::find(name)?);
        }
        let processors = Machine::here().processors;
        let workers = [processors, (4 * processors).min(MOST_WORKERS)];
        let shapes = &shapes(processors)[..if quick { 2 } else { 3 }];
        let repeats = course.repeats(if quick { 2 } else { 6 })?;
        plan.add(ALONE, ALONE, 1, repeats);
        for (shape, round) in shapes {
            for workers in workers {
                names.iter().for_each(|name| plan.add(shape, name, workers, repeats));
            }
            let Round { leaf, chunks, serial } = round;
            let round = format!("{serial} leaves of {leaf} steps in a row, {chunks} in parallel");
            plan.parameters.insert(format!("a round, {shape} parallelism"), round);
        }
        plan.parameters.insert("seconds".to_owned(), time.as_secs_f64().to_string());
        plan.quick_subset("plenty and little parallelism only");
        Ok(plan)
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, repeat: usize) -> Outcome<Readings> {
        let (time, this) = (self.time(plan.quick), this_program()?);
        let limit = plan.limit();
        let command = |words: String| {
            let mut command = Command::new(&this);
            command.args(words.split(' '));
            command
        };
        // All measurements of a rotation have the same deadlines.
        let (secs, seed) = (time.as_secs_f64(), mix(plan.seed.wrapping_add(repeat as u64)));
        let mut sleeper = command(format!("once {} {secs} {ALONE} 1 {seed}", Self::NAME));
        let mut sleep = || -> Outcome<Readings> {
            let meter = GrantMeter::start();
            let mut readings: Readings = finds(&mut sleeper, limit)?;
            // The sleeper is another process too, but it uses next to nothing.
            readings.extend(others(&meter.finish(1)).filter(|_| cell.subject == ALONE));
            Ok(readings)
        };
        if cell.subject == ALONE {
            return sleep();
        }
        let secs = (HEAD_START + time + OVERTIME).as_secs_f64();
        let Cell { subject, runtime, workers, .. } = cell;
        let Round { leaf, chunks, serial } = round(subject)?;
        let mut rounds = command(format!(
            "rounds --runtime={runtime} --workers={workers} --secs={secs} --leaf={leaf} \
             --chunks={chunks} --serial={serial}"
        ));
        thread::scope(|scope| {
            let rounds = scope.spawn(move || finds::<Line>(&mut rounds, limit));
            thread::sleep(HEAD_START);
            let slept = sleep();
            let has_ended = rounds.is_finished();
            let Line { rounds_per_s } = rounds.join().expect("reading a line does not panic")?;
            let mut readings = slept?;
            if has_ended {
                return Err(Fault::Missing("the rounds ended before the sleeper".to_owned()));
            }
            readings.insert(RATE.to_owned(), rounds_per_s);
            Ok(readings)
        })
    }

    /// The subject is the number of seconds.
    fn once(cell: &Cell, seed: u64) -> Outcome<Readings> {
        let time = seconds(&cell.subject).map_err(Fault::Input)?;
        Ok(readings(sleep_and_wake(NAPS, seed, time)))
    }

    fn report(record: &Record) -> Report {
        let sections = vec![lateness(record)];
        let method = include_str!("neighbour/method.txt");
        Report::new("interactive neighbours", headline(record), sections, method)
    }
}

impl Neighbour {
    fn time(&self, quick: bool) -> Duration {
        self.secs.unwrap_or(Duration::from_secs(if quick { 1 } else { 10 }))
    }
}

/// What `locksley rounds` prints, as far as it is needed here.
#[derive(Deserialize)]
struct Line {
    rounds_per_s: f64,
}

/// Leaves of some microseconds, more or less of them at a time.
fn shapes(processors: usize) -> [(&'static str, Round); 3] {
    let processors = processors as u64;
    let shapes = [("plenty", 256 * processors, 0), ("little", 16 * processors, 16), ("no", 0, 64)];
    shapes.map(|(name, chunks, serial)| (name, Round { leaf: 5000, chunks, serial }))
}

fn round(shape: &str) -> Outcome<Round> {
    let shapes = shapes(Machine::here().processors).into_iter();
    let mut found = shapes.filter(|(name, _)| *name == shape).map(|(_, round)| round);
    found.next().ok_or_else(|| Fault::input(format!("there is no shape '{shape}'")))
}

/// The figures of what a sleeper noted.
fn readings(mut notes: Notes) -> Readings {
    notes.late.sort_unstable();
    notes.work.sort_unstable();
    let number = notes.late.len();
    let known = FIGURES.into_iter().filter(|it| it.1 != P999 || number >= ENOUGH_FOR_P999);
    let figures = known.map(|(_, metric, of_thousand)| {
        let times = if metric.starts_with("late") { &notes.late } else { &notes.work };
        let rank = (of_thousand * number).div_ceil(1000);
        (metric.to_owned(), times[rank - 1] as f64 / 1e3)
    });
    figures.chain([("wake-ups".to_owned(), number as f64)]).collect()
}

fn name((subject, workers): (&str, usize)) -> String {
    match subject {
        ALONE => ALONE.to_owned(),
        shape => format!("{shape} parallelism, P = {workers}"),
    }
}

/// The computation and number of workers where the 99th percentile is highest beside `runtime`.
fn worst<'a>(record: &'a Record, runtime: &str) -> Option<((&'a str, usize), f64)> {
    let late = record.groups(P99).into_iter().filter_map(|(subject, workers)| {
        Some(((subject, workers), record.median(subject, runtime, workers, P99)?))
    });
    late.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The computation where the sleeper is latest beside Locksley, and the same beside rayon.
fn headline(record: &Record) -> String {
    let Some((place, late)) = worst(record, "locksley") else {
        return "How late a sleeper wakes beside a parallel program".to_owned();
    };
    let other = |what: &str, (subject, workers): (&str, usize), runtime: &str| {
        let late = record.median(subject, runtime, workers, P99);
        late.map_or(String::new(), |late| format!(", {what} {}", number(late)))
    };
    format!(
        "99 of 100 wake-ups are late by at most {} µs beside Locksley at its worst{}{} ({})",
        number(late),
        other("beside rayon", place, "rayon"),
        other("alone", (ALONE, 1), ALONE),
        name(place)
    )
}

/// The 99th percentile with charts, and tables of all figures.
fn lateness(record: &Record) -> Section {
    let of = |metric: &str, unit: &str| {
        let metric = Metric { name: metric, unit, base: None };
        let about = "Lower is better. Each wake-up is followed by a small piece of work.";
        Section::of_metric(record, "How late the sleeper wakes", about, metric, |_, _| true)
    };
    let mut section = of(P99, "µs: 99 % of the wake-ups are late by at most that");
    for (unit, metric, _) in FIGURES.into_iter().filter(|it| it.1 != P99) {
        section.tables.extend(of(metric, unit).tables);
    }
    section.tables.extend(of(RATE, RATE).tables);
    section
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::record::Sample;

    fn times(microseconds: impl IntoIterator<Item = u64>) -> Vec<u64> {
        microseconds.into_iter().map(|time| 1000 * time).collect()
    }

    fn record(cells: &[(&str, &str, usize, Vec<u64>)]) -> Record {
        let mut record = Record::new("neighbour", Plan::default());
        for (subject, runtime, workers, late) in cells {
            let earlier = record.values(subject, runtime, *workers, P99).len();
            let notes = Notes { late: late.clone(), work: times(late.iter().map(|_| 100)) };
            record.samples.extend(readings(notes).into_iter().map(|(metric, value)| Sample {
                experiment: "neighbour".to_owned(),
                subject: (*subject).to_owned(),
                runtime: (*runtime).to_owned(),
                workers: *workers,
                repeat: earlier,
                metric,
                value,
            }));
        }
        record
    }

    #[test]
    fn the_headline_compares_where_the_sleeper_is_latest() {
        let record = record(&[
            (ALONE, ALONE, 1, times([64; 100])),
            ("plenty", "locksley", 2, times([256; 10])),
            ("plenty", "locksley", 8, times([512; 10])),
            ("plenty", "rayon", 8, times([4096; 10])),
            ("little", "rayon", 8, times([9000; 10])),
        ]);
        let headline = Neighbour::report(&record).headline;
        for part in ["at most 512 µs", "rayon 4096", "alone 64.0", "(plenty parallelism, P = 8)"] {
            assert!(headline.contains(part), "{headline}");
        }
        assert_eq!(worst(&record, "rayon").unwrap().0, ("little", 8));
        assert!(worst(&record, "static").is_none());
    }

    #[test]
    fn rare_delays_need_many_wake_ups() {
        let of = |number| {
            readings(Notes { late: times([500; 1].repeat(number)), work: times(vec![1; number]) })
        };
        assert!(!of(1999).contains_key("late p99.9 us"));
        let many = of(2000);
        assert!((many["late p99.9 us"] / 500.0 - 1.0).abs() < 0.03, "{many:?}");
        assert_eq!((many["late most us"], many["wake-ups"]), (500.0, 2000.0));
        // Two of 2000 are later.
        let late = times(1..=2000);
        let ranked = readings(Notes { work: late.clone(), late });
        assert_eq!((ranked["late p99.9 us"], ranked["late p50 us"]), (1998.0, 1000.0));
    }

    #[test]
    fn all_rounds_can_be_measured() {
        for (_, round) in shapes(64) {
            round.validate().unwrap();
        }
        assert!(round("no").is_ok() && matches!(round("much"), Err(Fault::Input(_))));
    }
}
