//! What the subject has said, and the verdict on what it holds.

use std::collections::BTreeMap;
use std::time::Duration;

use itertools::Itertools;
use serde::Serialize;

use super::adversary::Adversary;
use super::resources::Resources;
use super::subject::Line;
use crate::fault::{Fault, Outcome};

/// From the second quarter of the cycles to the last one, the median of the resident memory may
/// grow by an eighth and this: the allocator keeps some of what was freed.
const SLACK: u64 = 4 << 20;

/// What was run, as JSON keeps it.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    seconds: f64,
    seed: u64,
    workers: usize,
    cycles: usize,
    activities: BTreeMap<String, Count>,
    /// How often the adversary has struck, by kind.
    faults: BTreeMap<&'static str, u64>,
    /// Kinds that this machine does not allow, and why.
    skipped: BTreeMap<&'static str, String>,
    /// After the last cycle.
    left: Resources,
    /// Medians of the second and the last quarter of cycles, in bytes; none if there are few.
    memory: Option<[u64; 2]>,
}

/// What an activity did.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Count {
    rounds: u64,
    checks: u64,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    activities: BTreeMap<String, Count>,
    open: BTreeMap<usize, String>,
    start: Option<Resources>,
    cycles: Vec<Resources>,
}

impl Tally {
    /// Counts a line.
    pub(super) fn add(&mut self, line: Line) -> Outcome<()> {
        match line {
            Line::Begun { driver, activity } => {
                self.open.insert(driver, activity);
            }
            Line::Done { driver, activity, checks } => {
                self.open.remove(&driver);
                let count = self.activities.entry(activity).or_default();
                *count = Count { rounds: count.rounds + 1, checks: count.checks + checks };
            }
            Line::Wrong { activity, what } => {
                return Err(Fault::run(format!("{activity} is wrong: {what}")));
            }
            Line::Start(start) => self.start = Some(start),
            Line::Cycle(left) => {
                self.cycles.push(left);
                let start = self.start.ok_or_else(|| Fault::run("a cycle before the start"))?;
                if !left.is_back_at(start) {
                    return Err(Fault::run(format!("not given back: {left:?} after {start:?}")));
                }
            }
        }
        Ok(())
    }

    /// The activities that have begun and not ended.
    pub(super) fn open(&self) -> String {
        let open = self.open.values().join(", ");
        if open.is_empty() { "the end of a cycle".to_owned() } else { open }
    }

    /// The report, if the memory has not grown.
    pub(super) fn report(
        self,
        seed: u64,
        workers: usize,
        time: Duration,
        adversary: &Adversary,
    ) -> Outcome<Report> {
        let left = *self.cycles.last().ok_or_else(|| Fault::run("no cycle was completed"))?;
        let quarter = self.cycles.len() / 4;
        let memory = (quarter >= 3).then(|| {
            let (second, last) = (quarter..2 * quarter, self.cycles.len() - quarter..);
            [median(&self.cycles[second]), median(&self.cycles[last])]
        });
        if let Some([second, last]) = memory
            && last > second + second / 8 + SLACK
        {
            let growth = format!("the resident memory grew from {second} to {last} bytes");
            return Err(Fault::run(growth));
        }
        Ok(Report {
            seconds: time.as_secs_f64(),
            seed,
            workers,
            cycles: self.cycles.len(),
            activities: self.activities,
            faults: adversary.struck.clone(),
            skipped: adversary.skipped.clone(),
            left,
            memory,
        })
    }
}

fn median(cycles: &[Resources]) -> u64 {
    let memory: Vec<u64> = cycles.iter().map(|cycle| cycle.memory).sorted().collect();
    memory[memory.len() / 2]
}

impl Report {
    /// One line for each activity and each kind of fault.
    pub fn text(&self) -> String {
        let mut lines = vec![format!("{} cycles with {} workers", self.cycles, self.workers)];
        for (name, Count { rounds, checks }) in &self.activities {
            lines.push(format!("{name:<12} {rounds:>8} rounds {checks:>10} checks"));
        }
        lines.extend(
            self.faults.iter().map(|(name, times)| format!("{name:<12} {times:>8} faults")),
        );
        lines.extend(self.skipped.iter().map(|(name, why)| format!("{name:<12} skipped: {why}")));
        let Resources { threads, files, .. } = self.left;
        let memory = self.memory.map_or_else(String::new, |[second, last]| {
            format!(", memory {} to {} KiB", second >> 10, last >> 10)
        });
        lines.push(format!("left: threads {threads}, files {files}{memory}"));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(memory: impl IntoIterator<Item = u64>) -> Outcome<Report> {
        let start = Some(Resources { threads: 1, files: 4, memory: 0 });
        let mut tally = Tally { start, ..Tally::default() };
        for memory in memory {
            tally.add(Line::Cycle(Resources { threads: 1, files: 4, memory }))?;
        }
        tally.report(1, 2, Duration::ZERO, &Adversary::new(1))
    }

    #[test]
    fn memory_that_grows_is_found() {
        let mebibytes = |number: u64| number << 20;
        assert!(after([mebibytes(20); 40]).is_ok());
        assert!(after((0..40).map(|cycle| mebibytes(20 + cycle))).is_err());
        // The first cycles fill caches; one large cycle is no trend.
        let flat = |cycle| mebibytes(if cycle < 10 { cycle } else { 20 });
        assert!(after((0..40).map(flat)).is_ok());
        assert!(after((0..40).map(|cycle| mebibytes(if cycle == 39 { 90 } else { 20 }))).is_ok());
        assert!(after([]).is_err(), "nothing was run");
    }

    #[test]
    fn threads_and_files_return_to_the_start() {
        let mut tally = Tally::default();
        let start = Resources { threads: 1, files: 4, memory: 1 };
        tally.add(Line::Start(start)).unwrap();
        tally.add(Line::Cycle(Resources { memory: 2, ..start })).unwrap();
        assert!(tally.add(Line::Cycle(Resources { threads: 2, ..start })).is_err());
        assert!(tally.add(Line::Cycle(Resources { files: 6, ..start })).is_err());
    }
}
