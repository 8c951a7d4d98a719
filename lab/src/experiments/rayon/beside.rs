//! A workload beside busy threads.

use super::program::{LOOP_PROCESSORS, LOOP_RATE, MS, PROCESSORS};
use super::{ALONE, OURS, RUNTIMES, parts, verdict};

use crate::experiment::text::{number, percent};
use crate::experiment::{Record, Table};
use crate::experiments::corun::metrics::{mean, slowdown, throughput, unfairness};
use crate::rounds::busy::LOOP;

/// What is wanted of the mean unfairness, in percentage points: as of pairs in `corun`.
const MOST_UNFAIRNESS: f64 = 15.0;

/// What the workloads and the busy threads leave each other. The means are added to the targets.
pub(super) fn table(record: &Record, subjects: &[(&str, usize)], targets: &mut Table) -> Table {
    let title = "beside busy threads: slowdowns; unfairness in percentage points, mean and worst";
    let columns = "|core|slowdown|of loop|unfairness|worst|throughput|processors|of loop";
    let mut table = Table::new(title, &columns.split('|').collect::<Vec<_>>());
    let points = |share: f64| format!("{:.0}", 100.0 * share);
    for runtime in RUNTIMES {
        let mut all: Vec<[f64; 2]> = Vec::new();
        for &(subject, workers) in subjects {
            let Some(found) = balance(record, subject, workers, runtime) else { continue };
            let [of_program, of_loop, unfairness, worst, throughput] = found;
            let mut row = vec![parts(subject).0.to_owned(), runtime.to_owned()];
            row.extend([of_program, of_loop].map(percent));
            row.extend([points(unfairness), points(worst), number(throughput)]);
            row.extend([PROCESSORS, LOOP_PROCESSORS].map(|metric| {
                let had = mean(&record.values(subject, runtime, workers, metric));
                had.map_or_else(String::new, number)
            }));
            table.row(row);
            all.push([unfairness, worst]);
        }
        let worst = all.iter().map(|found| found[1]).fold(0.0, f64::max);
        let all: Vec<f64> = all.into_iter().map(|found| found[0]).collect();
        let Some(mean) = mean(&all) else { continue };
        let about = format!("mean unfairness on {runtime}, worst run {}", points(worst));
        let (wanted, word) = match runtime {
            OURS => (number(MOST_UNFAIRNESS), verdict(100.0 * mean <= MOST_UNFAIRNESS)),
            _ => Default::default(),
        };
        targets.row([about, points(mean), wanted, word]);
    }
    table
}

/// A program beside `loop`: the slowdown `Tc/Ts - 1` of either, the unfairness, that of the worst
/// run, and the weighted speedup; but for the worst, means of all runs.
pub(super) fn balance(
    record: &Record,
    subject: &str,
    workers: usize,
    runtime: &str,
) -> Option<[f64; 5]> {
    let alone = format!("{}, {ALONE}", parts(subject).0);
    let rate = |runtime: &str| Some(record.median(&alone, runtime, workers, MS)?.recip());
    let alone = [rate(runtime)?, record.median(LOOP, LOOP, workers, LOOP_RATE)?];
    let best = [RUNTIMES.into_iter().filter_map(rate).fold(alone[0], f64::max), alone[1]];
    let found = |metric| record.repeated(subject, runtime, workers, metric);
    let mut all: [Vec<f64>; 4] = Default::default();
    for (repeat, ms) in found(MS) {
        let Some((_, of_loop)) = found(LOOP_RATE).find(|it| it.0 == repeat) else { continue };
        let rates = [ms.recip(), of_loop];
        let slow = [0, 1].map(|place| slowdown(alone[place], rates[place]));
        let speedup = throughput(rates.into_iter().zip(best));
        let figures = [slow[0], slow[1], unfairness(&slow), speedup];
        all.iter_mut().zip(figures).for_each(|(all, one)| all.push(one));
    }
    let worst = all[2].iter().copied().reduce(f64::max)?;
    Some([mean(&all[0])?, mean(&all[1])?, mean(&all[2])?, worst, mean(&all[3])?])
}
