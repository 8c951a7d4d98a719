//! Where the workers' time goes: figure 3 of Hood's study.

use super::found::{Found, Repeat};
use super::{WALL, crowds};
use crate::experiment::prelude::*;

impl Found<'_> {
    /// Where the workers' time goes: figure 3 of the study.
    pub(super) fn breakdown(&self) -> Table {
        let title = "time relative to the first of the two, shares of the workers' time, and rates";
        let columns = "|runtime|P|time|work|search|locks|steal attempts/s|voluntary switches/s\
                       |involuntary/s";
        let mut table = Table::new(title, columns.split('|'));
        for &subject in &self.subjects {
            for runtime in scaling::runtimes(self.record, subject) {
                let mut first = None;
                for workers in crowds(self.record.machine.processors) {
                    let repeats = self.repeats(subject, runtime, workers);
                    let average = |value: &dyn Fn(&Repeat<'_>) -> Option<f64>| {
                        mean(repeats.iter().filter_map(value))
                    };
                    let per = |it: &Repeat<'_>, name: &str| {
                        Some(it.get(name)? / it.get(WALL).or(it.get(SECONDS))?)
                    };
                    let rate = |name: &str| average(&|it| per(it, name));
                    let (Some(time), Some(locks)) =
                        (average(&|it| it.get(SECONDS).copied()), rate("lock seconds"))
                    else {
                        continue;
                    };
                    // A search that waits for a lock counts as that.
                    let search = average(&|it| {
                        Some((per(it, "search seconds")? - per(it, "lock seconds")?).max(0.0))
                    });
                    let locks = (locks / workers as f64).min(1.0);
                    let search = (search.unwrap_or(0.0) / workers as f64).min(1.0 - locks);
                    let attempts =
                        average(&|it| Some(per(it, "steals")? + per(it, "failed steals")?));
                    let rates =
                        [attempts, rate("voluntary switches"), rate("involuntary switches")];
                    let mut row = vec![subject.to_owned(), runtime.to_owned(), workers.to_string()];
                    row.push(number(time / *first.get_or_insert(time)));
                    row.extend([1.0 - search - locks, search, locks].map(percent));
                    row.extend(rates.map(known));
                    table.row(row);
                }
            }
        }
        table
    }
}
