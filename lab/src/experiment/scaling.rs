//! Times of applications over the number of workers: speedup and utilization, as in figure 1 of the
//! Hood papers.

use itertools::Itertools;

use super::Record;
use super::record::Sample;
use super::report::{Chart, Section, Table};
use super::text::number;

/// The metric of times, in seconds.
pub const SECONDS: &str = "seconds";

/// The runtime under which the serial program is recorded.
pub const SERIAL: &str = "serial";

/// The speedup T1/TP of a runtime: one worker's median time over that of P workers.
pub fn speedup(record: &Record, subject: &str, runtime: &str, workers: usize) -> Option<f64> {
    let work = record.median(subject, runtime, 1, SECONDS)?;
    Some(work / record.median(subject, runtime, workers, SECONDS)?)
}

/// The numbers of workers of a subject that were measured, in ascending order.
pub fn workers(record: &Record, subject: &str) -> Vec<usize> {
    let of_it = record.samples.iter().filter(|it| it.subject == subject && it.metric == SECONDS);
    of_it.map(|sample| sample.workers).sorted_unstable().dedup().collect()
}

/// The runtimes on which a subject was measured, but not the serial program.
pub fn runtimes<'a>(record: &'a Record, subject: &str) -> Vec<&'a str> {
    let is_measured = |runtime: &&str| {
        let is_it = |it: &Sample| it.subject == subject && it.runtime == **runtime;
        record.samples.iter().any(|it| it.metric == SECONDS && is_it(it))
    };
    record.runtimes().into_iter().filter(|name| *name != SERIAL).filter(is_measured).collect()
}

/// A figure over the number of workers, one line for each runtime.
pub fn chart(
    record: &Record,
    subject: &str,
    unit: &str,
    value: impl Fn(&str, usize) -> Option<f64>,
) -> Chart {
    let workers = workers(record, subject);
    let line = |runtime: &str| {
        let at = |&workers: &usize| Some((workers as f64, value(runtime, workers)?));
        (runtime.to_owned(), workers.iter().filter_map(at).collect())
    };
    let capacity = record.machine.capacity();
    Chart {
        title: subject.to_owned(),
        across: "P, workers".to_owned(),
        unit: unit.to_owned(),
        is_logarithmic: true,
        mark: (capacity > 1.0).then(|| (capacity, format!("{capacity} processors"))),
        lines: runtimes(record, subject).into_iter().map(line).collect(),
        ..Chart::default()
    }
}

/// A figure over the number of workers as a table: a row for each subject and runtime.
pub fn table(
    record: &Record,
    title: &str,
    subjects: &[&str],
    value: impl Fn(&str, &str, usize) -> Option<String>,
) -> Table {
    let all = subjects.iter().flat_map(|it| workers(record, it)).sorted_unstable().dedup();
    let all = all.collect_vec();
    let heads = all.iter().map(|workers| format!("P = {workers}"));
    let mut table = Table::new(title, ["", "runtime"].map(str::to_owned).into_iter().chain(heads));
    for &subject in subjects {
        let mut name = subject;
        for runtime in runtimes(record, subject) {
            let values = all.iter().map(|&workers| value(subject, runtime, workers)).collect_vec();
            if values.iter().any(Option::is_some) {
                let names = [std::mem::take(&mut name), runtime].map(str::to_owned).into_iter();
                table.row(names.chain(values.into_iter().map(Option::unwrap_or_default)));
            }
        }
    }
    table
}

/// Charts and a table of the speedup.
pub fn section(record: &Record, title: &str, about: &str, subjects: &[&str]) -> Section {
    let chart = |subject: &&str| {
        let value = |runtime: &str, workers| speedup(record, subject, runtime, workers);
        chart(record, subject, "speedup", value)
    };
    let speedups = table(record, "speedup, T1/TP", subjects, |subject, runtime, workers| {
        speedup(record, subject, runtime, workers).map(number)
    });
    let times =
        table(record, "medians of TP, in seconds", subjects, |subject, runtime, workers| {
            record.median(subject, runtime, workers, SECONDS).map(number)
        });
    Section::new(title, about, [speedups, times]).with_charts(subjects.iter().map(chart))
}
