//! What is said of a record of the cliff.

pub(super) use super::found::Found;

use super::found::Point;
use super::{BUSY_THREADS, PROFILE};
use crate::experiment::prelude::*;

/// A ceiling below this is drawn.
const VISIBLE_CEILING: f64 = 0.985;
const NAMES: [(&str, &str); 3] =
    [("rayon", "rayon"), ("locksley", "Locksley"), ("static", "static partitioning")];

impl Found<'_> {
    /// What each has, and the speed that is left if the kernel treats all threads alike.
    fn pictures(&self) -> Vec<Chart> {
        let lowest = ["static"].into_iter().chain(self.record.runtimes());
        let lowest = lowest.into_iter().find_map(|runtime| self.lowest(runtime));
        let crowded = lowest.map(|point| {
            let unit = "utilization of the processors";
            let chart = self.chart(point.of.0, unit, |_| 1.0, |it| it.utilization);
            Chart { title: "More workers than processors".to_owned(), ..chart }
        });
        let mut bars = self.beside();
        let capacity = self.record.machine.capacity();
        let beside = (!bars.is_empty()).then(|| {
            bars.push(("fair share".to_owned(), capacity / (capacity + BUSY_THREADS as f64)));
            Chart::bars("Beside two busy threads", "speed over the speed alone", bars)
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
        let drawn = |runtime: &str, workers| {
            let point = self.find(subject, runtime, workers)?;
            point.is_plausible().then(|| value(point))
        };
        let mut lines = scaling::chart(self.record, subject, unit, drawn);
        let workers = scaling::workers(self.record, subject);
        let at = |ceiling: &dyn Fn(usize) -> f64| {
            let at = |&workers: &usize| {
                let granted = self.record.machine.granted(workers);
                (workers as f64, ideal(granted) * ceiling(workers))
            };
            workers.iter().map(at).collect_vec()
        };
        lines.references.push(("ideal".to_owned(), at(&|_| 1.0)));
        let ceiling = |workers| self.ceiling(subject, workers);
        if workers.iter().any(|&workers| ceiling(workers) < VISIBLE_CEILING) {
            lines.references.push(("ceiling by serial copies".to_owned(), at(&ceiling)));
        }
        lines
    }

    fn table(&self, title: &str, value: impl Fn(&Point<'_>) -> String) -> Table {
        scaling::table(self.record, title, &self.subjects, |subject, runtime, workers| {
            self.find(subject, runtime, workers).map(&value)
        })
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
            (crowded, beside, ..) => crowded.into_iter().chain(beside).join(" "),
        }
    }

    fn shares(&self) -> Table {
        let columns = ["runtime", "median", "worst", "where"];
        let mut table = Table::new("utilization with more workers than processors", columns);
        for runtime in self.record.runtimes() {
            let all = median(self.crowded(runtime).iter().map(|it| it.utilization));
            if let (Some(middle), Some(worst)) = (all, self.lowest(runtime)) {
                let [middle, least] = [middle, worst.utilization].map(percent);
                table.row([runtime, &middle, &least, &worst.name()]);
            }
        }
        table
    }

    /// Table 2 of the papers.
    fn times(&self) -> Table {
        let (record, full) =
            (self.record, self.record.machine.capacity().floor().max(1.0) as usize);
        let heads = format!("|Ts|T∞|T1/T∞|ceiling|runtime|T1|T1/Ts|T{full}|T1/T{full}|Ts/T{full}");
        let mut table = Table::new("times in seconds", heads.split('|'));
        let time = |time: Option<f64>| time.map_or_else(String::new, seconds);
        for &subject in &self.subjects {
            let serial = record.median(subject, SERIAL, 1, SECONDS);
            let profile = |metric| record.values(subject, PROFILE, 1, metric);
            let (works, spans) = (profile("work"), profile("span"));
            let parallelism = works.iter().zip(&spans).map(|it| it.0 / it.1);
            let mut of_subject = vec![
                subject.to_owned(),
                time(serial),
                time(median(&spans)),
                known(median(parallelism)),
                number(self.ceiling(subject, full)),
            ];
            for runtime in scaling::runtimes(record, subject) {
                let of = |workers| record.median(subject, runtime, workers, SECONDS);
                let over = |a: Option<f64>, b: Option<f64>| known(a.zip(b).map(|(a, b)| a / b));
                let (one, all) = (of(1), of(full));
                let mut row = std::mem::replace(&mut of_subject, vec![String::new(); 5]);
                row.extend([runtime.to_owned(), time(one), over(one, serial), time(all)]);
                row.extend([over(one, all), over(serial, all)]);
                table.row(row);
            }
        }
        table
    }
}

/// The figures of rayon, Locksley and static partitioning in words.
fn each(verb: &str, of: impl Fn(&str) -> Option<f64>) -> String {
    let found = NAMES.iter().filter_map(|(name, called)| Some((called, of(name)?)));
    let mut words = found.enumerate().map(|(index, (called, share))| {
        format!("{called}{} {}", if index == 0 { verb } else { "" }, percent(share))
    });
    words.join(", ")
}

/// A time with four significant digits.
fn seconds(seconds: f64) -> String {
    let digits = (3.0 - seconds.max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{seconds:.digits$}")
}

/// What is said of a record.
pub(super) fn of(record: &Record) -> Report {
    let found = Found::of(record);
    let subject = found.lowest("static").map(|lowest| {
        let name = lowest.name();
        format!("The first picture is of {name}, where static partitioning is at its worst.")
    });
    let explained =
        "Shares are utilizations, T1/(PA·TP). PA is the smaller of P and the number of processors.";
    let notes = subject.into_iter().chain([explained.to_owned()]).collect();
    let or_noise = |value: fn(&Point<'_>) -> f64| {
        move |it: &Point<'_>| if it.is_plausible() { number(value(it)) } else { "noise".to_owned() }
    };
    let charts = |unit: &str, ideal: fn(f64) -> f64, value: fn(&Point<'_>) -> f64| {
        let chart = |subject: &&str| found.chart(subject, unit, ideal, value);
        found.subjects.iter().map(chart).collect_vec()
    };
    let speedups = Section::new(
        "Speedup over the number of workers",
        "T1/TP, as in figure 1 of the Hood papers, each relative to its own T1. Up to the number \
         of processors, more workers should be faster; beyond it, they should not be slower.",
        [found.table("speedup, T1/TP", or_noise(|it| it.speedup))],
    );
    let utilizations = Section::new(
        "Utilization of the processors",
        "T1/(PA·TP): the share of the processors' time that goes into the work. Where it is above \
         1.2, other programs have disturbed the measurement of T1: noise.",
        [
            found.table("utilization", or_noise(|it| it.utilization)),
            found.table("utilization over the ceiling", or_noise(|it| it.utilization / it.ceiling)),
            found.table("TP, medians in seconds", |it| seconds(it.time)),
            found.table("TP, the longest over the shortest", |it| number(it.spread)),
        ],
    );
    let sections = vec![
        Section::new("More workers than processors", "", [found.shares()]),
        speedups.with_charts(charts("speedup", |processors| processors, |it| it.speedup)),
        utilizations.with_charts(charts("utilization", |_| 1.0, |it| it.utilization)),
        Section::new(
            "Times with one worker, and with one for each processor",
            "Table 2 of the papers. Ts is the serial program, T1 the parallel one with one worker. \
             T∞ is the span, by the profiler with one worker; T1 in T1/T∞ is the profiler's too. \
             The ceiling is the share of its speed that a serial copy keeps beside others, one for \
             each processor.",
            [found.times()],
        ),
        Section::new(
            "Where the time goes",
            "With as many workers as processors, and with twice as many. Times are by the clock on \
             the wall: a worker that is off its processor works, searches or waits for as long as \
             that takes. Time asleep counts as work. A yield is an involuntary switch.",
            [found.breakdown()],
        ),
    ];
    let method = include_str!("method.txt");
    let report = Report::new("the performance cliff", found.headline(), sections, method);
    Report { pictures: found.pictures(), notes, ..report }
}
