//! What the forks of a computation cost, by the times of a record.

use super::local::Subject;
use super::{COUNTED, INSTRUCTIONS, PLAIN, SERIAL, has_forks};
use crate::experiment::prelude::*;

/// A computation of a record.
pub(super) struct Input<'a> {
    pub(super) record: &'a Record,
    pub(super) subject: &'a str,
}

impl Input<'_> {
    /// The times of a runtime with one worker.
    fn times(&self, runtime: &str) -> Vec<f64> {
        self.record.values(self.subject, runtime, 1, SECONDS)
    }

    /// Nanoseconds for each fork beyond `base`, of the figures that `of` makes of times.
    pub(super) fn nanos(
        &self,
        runtime: &str,
        base: &str,
        of: fn(Vec<f64>) -> Option<f64>,
    ) -> Option<f64> {
        let forks = Subject::find(self.subject).ok()?.forks();
        Some((of(self.times(runtime))? - of(self.times(base))?) / forks as f64 * 1e9)
    }

    /// Ts/TP.
    pub(super) fn speedup(&self, runtime: &str, workers: usize) -> Option<f64> {
        let serial = median(self.times(PLAIN))?;
        Some(serial / self.record.median(self.subject, runtime, workers, SECONDS)?)
    }

    fn forking(&self) -> impl Iterator<Item = &str> {
        let runtimes = scaling::runtimes(self.record, self.subject);
        runtimes.into_iter().filter(|runtime| has_forks(runtime))
    }

    pub(super) fn chart(&self) -> Chart {
        let bar = |name: &str| Some((name.to_owned(), self.nanos(name, PLAIN, median)?));
        Chart::bars(self.subject, "ns a fork", self.forking().filter_map(bar).collect())
    }

    pub(super) fn table(&self) -> Table {
        let time = |runtime| median(self.times(runtime));
        let forks = Subject::find(self.subject).map_or(0, Subject::forks);
        let [plain, calls] = [PLAIN, SERIAL].map(|name| known(time(name)));
        let spread = most(self.times(PLAIN)).zip(least(self.times(PLAIN)));
        let title = format!(
            "{}: {forks} forks; Ts = {plain} s (longest over shortest: {}); with two calls for a \
             fork {calls} s",
            self.subject,
            known(spread.map(|(most, least)| most / least))
        );
        let columns = ["", "ns a fork", "shortest", "over calls", "instructions", "T1, s", "T1/Ts"];
        let mut table = Table::new(&title, columns);
        for name in self.forking() {
            let is_counted = self.subject.starts_with("fib");
            let figures = [
                self.nanos(name, PLAIN, median),
                self.nanos(name, PLAIN, least),
                self.nanos(name, SERIAL, median),
                is_counted.then(|| counted(self.record, name)).flatten(),
                time(name),
                time(name).zip(time(PLAIN)).map(|(work, serial)| work / serial),
            ];
            table.row([name.to_owned()].into_iter().chain(figures.map(known)));
        }
        table
    }
}

pub(super) fn least(numbers: Vec<f64>) -> Option<f64> {
    numbers.into_iter().reduce(f64::min)
}

pub(super) fn most(numbers: Vec<f64>) -> Option<f64> {
    numbers.into_iter().reduce(f64::max)
}

/// Instructions for each fork beyond those of the serial code.
fn counted(record: &Record, runtime: &str) -> Option<f64> {
    let [small, large] = COUNTED;
    let forks = Subject::Fib(large).forks() - Subject::Fib(small).forks();
    let each = |runtime: &str| {
        let of = |n| record.median(&format!("{INSTRUCTIONS} {n}"), runtime, 1, INSTRUCTIONS);
        Some((of(large)? - of(small)?) / forks as f64)
    };
    Some(each(runtime)? - each(SERIAL)?)
}
