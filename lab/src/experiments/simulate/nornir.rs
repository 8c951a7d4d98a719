//! Figures 3, 4 and 6 of Nornir's study (Vrba, Halvorsen and Griwodz, "A simple improvement of the
//! work-stealing scheduling algorithm", 2010, section 4) on as many processors as the study has,
//! with fewer rounds.

use super::program::{FAILED, STEALS};
use super::study::{Study, report_of};
use super::subject::Subject;
use crate::experiment::prelude::*;

pub(super) const STUDY: Study = Study { name: "nornir", runtimes: &RUNTIMES, add_cells, report };

const RUNTIMES: [(&str, &str); 2] = [
    ("nornir-last", "the study's WS-LAST: an unblocked process returns to its last worker"),
    ("nornir-cur", "the study's WS-CUR: it goes to the worker that unblocks it"),
];
const PROCESSORS: usize = 8;

/// Figure 3 has the same work in smaller and smaller messages: 1 s / d each.
const DIVISIONS: [u64; 4] = [1000, 10_000, 40_000, 100_000];
const DIVIDED: [u64; 2] = [50, 250];
/// In nanoseconds, of 50 s in the study.
const WORK: u64 = 2_000_000_000;
/// Figures 4 and 6 have more and more processes, and 12,500 rounds in the study.
const PROCESSES: [u64; 6] = [8, 16, 32, 64, 128, 256];
const ROUNDS: u64 = 200;
const MESSAGE: u64 = 100_000;
const SAW: std::ops::RangeInclusive<u64> = 16..=48;
const ROUNDS_OF_SAW: u64 = 20;
const MESSAGE_OF_SAW: u64 = 800_000;

/// Adds the networks. Figure 6 has only WS-LAST.
fn add_cells(plan: &mut Plan, repeats: usize) {
    plan.notes.push(format!(
        "Figure 3 has 2 s of work, which is 1/25 of the study's 50 s; figures 4 and 6 have {ROUNDS} \
         and {ROUNDS_OF_SAW} of its 12,500 rounds."
    ));
    let divided = DIVIDED.into_iter().cartesian_product(DIVISIONS).map(|(processes, division)| {
        let message = 1_000_000_000 / division;
        (2, processes, WORK / (processes * message), message)
    });
    let more = PROCESSES.map(|processes| (2, processes, ROUNDS, MESSAGE));
    let saw = SAW.map(|processes| (1, processes, ROUNDS_OF_SAW, MESSAGE_OF_SAW));
    for (runtimes, processes, rounds, message) in divided.chain(more).chain(saw) {
        for (runtime, _) in RUNTIMES.into_iter().take(runtimes) {
            let network = format!("scatter:{processes}:{rounds}:{message}");
            plan.add(&network, runtime, PROCESSORS, repeats);
        }
    }
}

fn report(record: &Record) -> Report {
    let heads = ["network", "runtime", "P", "speedup", "10³ attempts/s"];
    let mut table = Table::new("speedup: work / time", heads);
    for cell in &record.plan.cells {
        let of = |metric| record.median(&cell.subject, &cell.runtime, cell.workers, metric);
        let Some((subject, seconds)) = Subject::find(&cell.subject).ok().zip(of(SECONDS)) else {
            continue;
        };
        let attempts = of(STEALS).zip(of(FAILED)).map(|(steals, failed)| steals + failed);
        table.row([
            cell.subject.clone(),
            cell.runtime.clone(),
            cell.workers.to_string(),
            format!("{:.2}", subject.work() / seconds),
            known(attempts.map(|attempts| attempts / seconds / 1e3)),
        ]);
    }
    let about = "scatter:n:m:w: a process sends a message to each of n others, which compute for w \
                 ns and answer; m rounds, fewer than in the study. The work is n·m·w: the time of \
                 one worker is not measured. Medians over seeds.";
    let model = record.simulated().unwrap_or("an unknown model");
    let headline = format!("Simulated ({model}): Nornir's networks on {PROCESSORS} processors");
    let sections = vec![Section::new("Speedup", about, [table])];
    report_of("Nornir's study, simulated", headline, sections)
}
