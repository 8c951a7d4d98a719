//! Queues of LASSI's study (Weibel, "An Advanced Scheduler for Intervals", 2010, "Work-Stealing
//! Places" and "Alternative Work-Stealing Queues") on one to eight last-level caches. Where data
//! lies is not simulated: plain memory takes no time.

use super::study::{Study, report_of};
use super::subject::Subject;
use crate::experiment::prelude::*;

pub(super) const STUDY: Study = Study { name: "lassi", runtimes: &RUNTIMES, add_cells, report };

const WORKERS: &str = "lassi-workers";
const RUNTIMES: [(&str, &str); 5] = [
    (WORKERS, "a deque behind a mutex for each worker"),
    ("lassi-places", "the same for each place of eight workers"),
    ("lassi-queue", "one for all workers"),
    ("lassi-spinning", "a deque behind a spinning lock for each worker"),
    ("lassi-array", "Hood's non-blocking array for each worker"),
];
const SUBJECTS: [&str; 3] = ["tree:32768:1000", "tree:16384:10000", "rounds:100:0:128:10000"];
const PROCESSORS: [usize; 4] = [8, 16, 32, 64];

fn add_cells(plan: &mut Plan, repeats: usize) {
    for (subject, (runtime, _)) in SUBJECTS.into_iter().cartesian_product(RUNTIMES) {
        PROCESSORS.iter().for_each(|&workers| plan.add(subject, runtime, workers, repeats));
    }
}

fn report(record: &Record) -> Report {
    let heads = ["", "P", "runtime", "efficiency", "time over that of lassi-workers"];
    let mut table = Table::new("ideal time over time", heads);
    for cell in &record.plan.cells {
        let of = |runtime| record.median(&cell.subject, runtime, cell.workers, SECONDS);
        let Some((subject, seconds)) = Subject::find(&cell.subject).ok().zip(of(&cell.runtime))
        else {
            continue;
        };
        let ratios = record.ratios(&cell.subject, [&cell.runtime, WORKERS], cell.workers, SECONDS);
        let ratio = median(ratios).map_or_else(String::new, |ratio| format!("{ratio:.3}"));
        let efficiency = format!("{:.3}", subject.ideal(cell.workers) / seconds);
        let [subject, workers] = [cell.subject.clone(), cell.workers.to_string()];
        table.row([subject, workers, cell.runtime.clone(), efficiency, ratio]);
    }
    let about = "LASSI's thieves, which yield after a failure, on different queues; workers are \
                 bound to the processors of their place. Medians over seeds.";
    let model = record.simulated().unwrap_or("an unknown model");
    let headline = format!("Simulated ({model}): LASSI's queues on up to 64 processors");
    let sections = vec![Section::new("Queues", about, [table])];
    report_of("LASSI's queues, simulated", headline, sections)
}
