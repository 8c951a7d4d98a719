//! What is said of a record of the cliff.

use std::collections::BTreeMap;

use super::{BESIDE, BUSY_THREADS, COPIES, GRANTED, METERED, PROFILE, ROUNDS, WALL, crowds};
use crate::experiment::estimate::median;
use crate::experiment::scaling::{self, SECONDS, SERIAL};
use crate::experiment::text::{number, percent};
use crate::experiment::{Chart, Record, Report, Section, Table};

/// A utilization above this one is noise. Caches can make a parallel program a little faster than
/// the serial one.
const MOST_UTILIZATION: f64 = 1.2;
/// Other programs are worth a warning from this share of the machine on.
const DISTURBANCE: f64 = 0.03;
/// A ceiling below this is drawn.
const VISIBLE_CEILING: f64 = 0.985;
const NAMES: [(&str, &str); 3] =
    [("rayon", "rayon"), ("locksley", "Locksley"), ("static", "static partitioning")];

/// What was measured of a subject on a runtime with a number of workers.
pub(super) struct Point<'a> {
    /// Subject, runtime, and P.
    pub(super) of: (&'a str, &'a str, usize),
    /// The median of TP, and the longest over the shortest.
    time: f64,
    spread: f64,
    /// T1/TP.
    pub(super) speedup: f64,
    /// T1/(PA·TP).
    pub(super) utilization: f64,
    /// The share of its speed that a serial copy keeps beside PA − 1 others.
    pub(super) ceiling: f64,
}

impl Point<'_> {
    /// False if other programs must have taken processors while T1 was measured.
    pub(super) fn is_plausible(&self) -> bool {
        self.utilization <= MOST_UTILIZATION
    }

    fn name(&self) -> String {
        format!("{} at P = {}", self.of.0, self.of.2)
    }
}

/// The readings of a repetition, by metric.
type Repeat<'a> = BTreeMap<&'a str, f64>;

/// All that a record says, sorted out once.
pub(super) struct Found<'a> {
    record: &'a Record,
    /// Without the one beside busy threads.
    subjects: Vec<&'a str>,
    pub(super) points: Vec<Point<'a>>,
}

impl<'a> Found<'a> {
    pub(super) fn of(record: &'a Record) -> Found<'a> {
        let mut subjects: Vec<&str> = Vec::new();
        let mut times: BTreeMap<(&str, &str, usize), Vec<f64>> = BTreeMap::new();
        for it in record.samples.iter().filter(|it| it.metric == SECONDS && it.value > 0.0) {
            if !it.subject.starts_with(BESIDE) && !subjects.contains(&it.subject.as_str()) {
                subjects.push(&it.subject);
            }
            times.entry((&it.subject, &it.runtime, it.workers)).or_default().push(it.value);
        }
        let mut found = Found { record, subjects, points: Vec::new() };
        for (&(subject, runtime, workers), all) in &times {
            let work = times.get(&(subject, runtime, 1)).cloned();
            let work = work.and_then(|mut work| median(&mut work));
            let (mut times, Some(work)) = (all.clone(), work) else { continue };
            if runtime == SERIAL || subject.starts_with(BESIDE) {
                continue;
            }
            times.sort_by(f64::total_cmp);
            let spread = times[times.len() - 1] / times[0];
            let time = median(&mut times).expect("there is a time");
            let speedup = work / time;
            let utilization = speedup / record.machine.granted(workers);
            let ceiling = found.ceiling(subject, workers);
            let of = (subject, runtime, workers);
            found.points.push(Point { of, time, spread, speedup, utilization, ceiling });
        }
        found
    }

    fn find(&self, subject: &str, runtime: &str, workers: usize) -> Option<&Point<'a>> {
        self.points.iter().find(|it| it.of == (subject, runtime, workers))
    }

    /// A ceiling is what can be reached, so the best of each counts: a disturbance must not lower it.
    fn ceiling(&self, subject: &str, workers: usize) -> f64 {
        let least = |workers, metric| {
            self.record.values(subject, SERIAL, workers, metric).into_iter().reduce(f64::min)
        };
        let copies = self.record.machine.granted(workers).ceil() as usize;
        let share = || Some((least(1, SECONDS)? / least(copies, COPIES)?).min(1.0));
        share().unwrap_or(1.0)
    }

    /// True if a point is not plausible: then nothing can be concluded from the record as a whole.
    fn is_noisy(&self) -> bool {
        !self.points.iter().all(Point::is_plausible)
    }

    /// The plausible points of a runtime with more workers than processors.
    fn crowded(&self, runtime: &str) -> Vec<&Point<'a>> {
        let capacity = self.record.machine.capacity();
        let is_it = |it: &&Point<'_>| it.of.1 == runtime && it.of.2 as f64 > capacity;
        self.points.iter().filter(is_it).filter(|it| it.is_plausible()).collect()
    }

    fn lowest(&self, runtime: &str) -> Option<&Point<'a>> {
        let crowded = self.crowded(runtime);
        crowded.into_iter().min_by(|a, b| a.utilization.total_cmp(&b.utilization))
    }

    /// Speed beside two busy threads over speed alone, with a worker for each processor.
    pub(super) fn beside(&self) -> Vec<(String, f64)> {
        let median = |subject: &str, runtime: &str| {
            let name = self.record.samples.iter().find(|it| it.subject.starts_with(subject))?;
            let workers = self.record.machine.processors;
            self.record.median(&name.subject, runtime, workers, SECONDS)
        };
        let share = |runtime: &str| {
            let share = median(&format!("{ROUNDS} "), runtime)? / median(BESIDE, runtime)?;
            Some((runtime.to_owned(), share))
        };
        // The name with the longer beginning comes last in a record, so `rounds` is found first.
        self.record.runtimes().into_iter().filter_map(share).collect()
    }

    /// What each has, and the speed that is left if the kernel treats all threads alike.
    fn pictures(&self) -> Vec<Chart> {
        let lowest = ["static"].into_iter().chain(self.record.runtimes());
        let lowest = lowest.into_iter().find_map(|runtime| self.lowest(runtime));
        let crowded = lowest.map(|point| {
            let unit = "utilization of the processors";
            let mut chart = self.chart(point.of.0, unit, |_| 1.0, |it| it.utilization);
            if let Chart::Lines(lines) = &mut chart {
                lines.title = "More workers than processors".to_owned();
            }
            chart
        });
        let mut bars = self.beside();
        let capacity = self.record.machine.capacity();
        let beside = (!bars.is_empty()).then(|| {
            bars.push(("fair share".to_owned(), capacity / (capacity + BUSY_THREADS as f64)));
            let (title, unit) = ("Beside two busy threads", "speed over the speed alone");
            Chart::Bars { title: title.to_owned(), unit: unit.to_owned(), bars }
        });
        crowded.into_iter().chain(beside).collect()
    }

    /// A figure over the number of workers. Noise is not drawn.
    fn chart(
        &self,
        subject: &str,
        unit: &str,
        ideal: impl Fn(f64) -> f64,
        value: impl Fn(&Point<'_>) -> f64,
    ) -> Chart {
        let drawn = |_: &Record, subject: &str, runtime: &str, workers| {
            let point = self.find(subject, runtime, workers)?;
            point.is_plausible().then(|| value(point))
        };
        let mut chart = scaling::chart(self.record, subject, unit, drawn);
        if let Chart::Lines(lines) = &mut chart {
            let workers = scaling::workers(self.record, subject);
            let at = |ceiling: &dyn Fn(usize) -> f64| {
                let at = |&workers: &usize| {
                    let granted = self.record.machine.granted(workers);
                    (workers as f64, ideal(granted) * ceiling(workers))
                };
                workers.iter().map(at).collect::<Vec<_>>()
            };
            lines.references.push(("ideal".to_owned(), at(&|_| 1.0)));
            let ceiling = |workers| self.ceiling(subject, workers);
            if workers.iter().any(|&workers| ceiling(workers) < VISIBLE_CEILING) {
                lines.references.push(("ceiling by serial copies".to_owned(), at(&ceiling)));
            }
        }
        chart
    }

    fn table(&self, title: &str, value: impl Fn(&Point<'_>) -> String) -> Table {
        let text = |_: &Record, subject: &str, runtime: &str, workers| {
            self.find(subject, runtime, workers).map(&value)
        };
        scaling::table_of(self.record, title, &self.subjects, text)
    }

    /// The headline: where static partitioning falls lowest, and beside two busy threads.
    fn headline(&self) -> String {
        if self.is_noisy() {
            return "This machine was too noisy for a verdict: measure again while nothing else runs"
                .to_owned();
        }
        let crowded = self.lowest("static").map(|lowest| {
            let of = |name: &str| Some(self.find(lowest.of.0, name, lowest.of.2)?.utilization);
            let (workers, capacity) = (lowest.of.2, self.record.machine.capacity());
            format!(
                "{workers} workers on {capacity} processors: {} of the machine.",
                each(" uses", of)
            )
        });
        let shares = self.beside();
        let of = |name: &str| Some(shares.iter().find(|(runtime, _)| runtime == name)?.1);
        let beside = of("rayon").or(of("locksley")).map(|_| {
            format!("Beside two busy threads: {} of the speed alone.", each(" keeps", of))
        });
        let others = self.record.runtimes().into_iter().filter(|name| *name != "locksley");
        let worst = others.filter_map(|name| self.lowest(name));
        let worst = worst.min_by(|a, b| a.utilization.total_cmp(&b.utilization));
        match (crowded, beside, self.lowest("locksley"), worst) {
            (None, None, Some(ours), Some(worst)) => format!(
                "More workers than processors: Locksley uses at least {} of the machine, {} {}",
                percent(ours.utilization),
                worst.of.1,
                percent(worst.utilization)
            ),
            (None, None, ..) => "Speedup and utilization over the number of workers".to_owned(),
            (crowded, beside, ..) => {
                crowded.into_iter().chain(beside).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// The processors that the system had for this program while a subject was measured.
    pub(super) fn granted(&self, subject: &str) -> Option<f64> {
        let values = |metric: &'static str| {
            let of_it = self.record.samples.iter().filter(move |it| it.subject == subject);
            of_it.filter(move |it| it.metric == metric).map(|it| (it.repeat, it.value))
        };
        let seconds: BTreeMap<usize, f64> = values(METERED).collect();
        let pairs = || values(GRANTED).filter_map(|it| Some((it.1, *seconds.get(&it.0)?)));
        let all: f64 = pairs().map(|(_, seconds)| seconds).sum();
        (all > 0.0).then(|| pairs().map(|(granted, seconds)| granted * seconds).sum::<f64>() / all)
    }

    /// What other programs took on average, if that is much; and the least and most that they left.
    fn others(&self) -> (Option<String>, String) {
        let capacity = self.record.machine.capacity();
        let mut left: Vec<f64> = self.subjects.iter().filter_map(|it| self.granted(it)).collect();
        left.sort_by(f64::total_cmp);
        let [Some(least), Some(most)] = [left.first(), left.last()] else {
            return (None, "What other programs took was not metered.".to_owned());
        };
        let taken = capacity - left.iter().sum::<f64>() / left.len() as f64;
        let warning = format!(
            "Other programs took {taken:.2} processors while this was measured. All figures suffer \
             from that; measure again while nothing else runs."
        );
        let method = format!(
            "Other programs left {least:.2} to {most:.2} of {capacity} processors, by subject."
        );
        ((taken > DISTURBANCE * capacity).then_some(warning), method)
    }

    fn shares(&self) -> Table {
        let columns = ["runtime", "median", "worst", "where"];
        let mut table = Table::new("utilization with more workers than processors", &columns);
        for runtime in self.record.runtimes() {
            let mut all: Vec<f64> = self.crowded(runtime).iter().map(|it| it.utilization).collect();
            if let (Some(middle), Some(worst)) = (median(&mut all), self.lowest(runtime)) {
                let name = runtime.to_owned();
                table.row([name, percent(middle), percent(worst.utilization), worst.name()]);
            }
        }
        table
    }

    /// Table 2 of the papers.
    fn times(&self) -> Table {
        let (record, full) =
            (self.record, self.record.machine.capacity().floor().max(1.0) as usize);
        let heads = format!(
            "|Ts|T∞|T1/T∞|ceiling|processors left|runtime|T1|T1/Ts|T{full}|T1/T{full}|Ts/T{full}"
        );
        let mut table = Table::new("times in seconds", &heads.split('|').collect::<Vec<_>>());
        let time = |time: Option<f64>| time.map_or_else(String::new, seconds);
        let figure = |figure: Option<f64>| figure.map_or_else(String::new, number);
        for &subject in &self.subjects {
            let serial = record.median(subject, SERIAL, 1, SECONDS);
            let profile = |metric| record.values(subject, PROFILE, 1, metric);
            let (works, mut spans) = (profile("work"), profile("span"));
            let mut parallelism: Vec<f64> =
                works.iter().zip(&spans).map(|it| it.0 / it.1).collect();
            let mut of_subject = vec![
                subject.to_owned(),
                time(serial),
                time(median(&mut spans)),
                figure(median(&mut parallelism)),
                number(self.ceiling(subject, full)),
                figure(self.granted(subject)),
            ];
            for runtime in scaling::runtimes(record, subject) {
                let of = |workers| record.median(subject, runtime, workers, SECONDS);
                let over = |a: Option<f64>, b: Option<f64>| figure(a.zip(b).map(|(a, b)| a / b));
                let (one, all) = (of(1), of(full));
                let mut row = std::mem::replace(&mut of_subject, vec![String::new(); 6]);
                row.extend([runtime.to_owned(), time(one), over(one, serial), time(all)]);
                row.extend([over(one, all), over(serial, all)]);
                table.row(row);
            }
        }
        table
    }

    /// Where the workers' time goes: figure 3 of the study.
    pub(super) fn breakdown(&self) -> Table {
        let title = "time relative to the first of the two, shares of the workers' time, and rates";
        let columns = "|runtime|P|time|work|search|locks|steal attempts/s|voluntary switches/s\
                       |involuntary/s";
        let mut table = Table::new(title, &columns.split('|').collect::<Vec<_>>());
        for &subject in &self.subjects {
            for runtime in scaling::runtimes(self.record, subject) {
                let mut first = None;
                for workers in crowds(self.record.machine.processors) {
                    let repeats = self.repeats(subject, runtime, workers);
                    let mean = |value: &dyn Fn(&Repeat<'_>) -> Option<f64>| {
                        let values: Vec<f64> = repeats.iter().filter_map(value).collect();
                        (!values.is_empty())
                            .then(|| values.iter().sum::<f64>() / values.len() as f64)
                    };
                    let per = |it: &Repeat<'_>, name: &str| {
                        Some(it.get(name)? / it.get(WALL).or(it.get(SECONDS))?)
                    };
                    let rate = |name: &str| mean(&|it| per(it, name));
                    let (Some(time), Some(locks)) =
                        (mean(&|it| it.get(SECONDS).copied()), rate("lock seconds"))
                    else {
                        continue;
                    };
                    // A search that waits for a lock counts as that.
                    let search = mean(&|it| {
                        Some((per(it, "search seconds")? - per(it, "lock seconds")?).max(0.0))
                    });
                    let locks = (locks / workers as f64).min(1.0);
                    let search = (search.unwrap_or(0.0) / workers as f64).min(1.0 - locks);
                    let attempts = mean(&|it| Some(per(it, "steals")? + per(it, "failed steals")?));
                    let rates =
                        [attempts, rate("voluntary switches"), rate("involuntary switches")];
                    let mut row = vec![subject.to_owned(), runtime.to_owned(), workers.to_string()];
                    row.push(number(time / *first.get_or_insert(time)));
                    row.extend([1.0 - search - locks, search, locks].map(percent));
                    row.extend(rates.map(|rate| rate.map_or_else(String::new, number)));
                    table.row(row);
                }
            }
        }
        table
    }

    /// The readings of each repetition.
    fn repeats(&self, subject: &str, runtime: &str, workers: usize) -> Vec<Repeat<'_>> {
        let mut repeats: BTreeMap<usize, Repeat<'_>> = BTreeMap::new();
        for it in &self.record.samples {
            if (it.subject.as_str(), it.runtime.as_str(), it.workers) == (subject, runtime, workers)
            {
                repeats.entry(it.repeat).or_default().insert(&it.metric, it.value);
            }
        }
        repeats.into_values().collect()
    }
}

/// The figures of rayon, Locksley and static partitioning in words.
fn each(verb: &str, of: impl Fn(&str) -> Option<f64>) -> String {
    let found = NAMES.iter().filter_map(|(name, called)| Some((called, of(name)?)));
    let words = found.enumerate().map(|(index, (called, share))| {
        format!("{called}{} {}", if index == 0 { verb } else { "" }, percent(share))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// A time with four significant digits.
fn seconds(seconds: f64) -> String {
    let digits = (3.0 - seconds.max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{seconds:.digits$}")
}

/// What is said of a record.
pub(super) fn of(record: &Record) -> Report {
    let found = Found::of(record);
    let (warning, metered) = found.others();
    let subject = found.lowest("static").map(|lowest| {
        let name = lowest.name();
        format!("The first picture is of {name}, where static partitioning is at its worst.")
    });
    let explained =
        "Shares are utilizations, T1/(PA·TP). PA is the smaller of P and the number of processors.";
    let notes = subject.into_iter().chain([explained.to_owned()]).chain(warning).collect();
    let or_noise = |value: fn(&Point<'_>) -> f64| {
        move |it: &Point<'_>| if it.is_plausible() { number(value(it)) } else { "noise".to_owned() }
    };
    let charts = |unit: &str, ideal: fn(f64) -> f64, value: fn(&Point<'_>) -> f64| {
        found.subjects.iter().map(|subject| found.chart(subject, unit, ideal, value)).collect()
    };
    let section = |title: &str, about: &str, charts, tables| Section {
        title: title.to_owned(),
        about: about.to_owned(),
        charts,
        tables,
    };
    let speedups = section(
        "Speedup over the number of workers",
        "T1/TP, as in figure 1 of the Hood papers, each relative to its own T1. Up to the number of \
         processors, more workers should be faster; beyond it, they should not be slower.",
        charts("speedup", |processors| processors, |it| it.speedup),
        vec![found.table("speedup, T1/TP", or_noise(|it| it.speedup))],
    );
    let utilizations = section(
        "Utilization of the processors",
        "T1/(PA·TP): the share of the processors' time that goes into the work. Where it is above \
         1.2, other programs have disturbed the measurement of T1: noise.",
        charts("utilization", |_| 1.0, |it| it.utilization),
        vec![
            found.table("utilization", or_noise(|it| it.utilization)),
            found.table("utilization over the ceiling", or_noise(|it| it.utilization / it.ceiling)),
            found.table("TP, medians in seconds", |it| seconds(it.time)),
            found.table("TP, the longest over the shortest", |it| number(it.spread)),
        ],
    );
    let breakdown = section(
        "Where the time goes",
        "With as many workers as processors, and with twice as many. Times are by the clock on the \
         wall: a worker that is off its processor works, searches or waits for as long as that \
         takes. Time asleep counts as work. A yield is an involuntary switch.",
        Vec::new(),
        vec![found.breakdown()],
    );
    let times = section(
        "Times with one worker, and with one for each processor",
        "Table 2 of the papers. Ts is the serial program, T1 the parallel one with one worker. T∞ is \
         the span, by the profiler with one worker; T1 in T1/T∞ is the profiler's too. The ceiling is \
         the share of its speed that a serial copy keeps beside others, one for each processor.",
        Vec::new(),
        vec![found.times()],
    );
    let shares = section("More workers than processors", "", Vec::new(), vec![found.shares()]);
    Report {
        title: "the performance cliff".to_owned(),
        headline: found.headline(),
        pictures: found.pictures(),
        notes,
        sections: vec![shares, speedups, utilizations, times, breakdown],
        method: [
            "All P workers have started before a time begins. Every answer is checked. Runtimes take \
             turns; figures are medians, those of the breakdown means.",
            "The static versions give each of P threads an equal share, with a barrier after each \
             phase. The kernel's time slices even out long phases.",
            "For the ceiling, PA serial copies run side by side; their best time is compared with the \
             best of one alone. No scheduler can win back what they lose.",
            &metered,
        ]
        .map(str::to_owned)
        .to_vec(),
    }
}
