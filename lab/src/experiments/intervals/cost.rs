//! What an interval costs: graphs whose intervals do next to nothing, on one worker. The experiment has each read by a process of
//! its own, whose memory holds nothing else: what others have freed would be used again without being seen to be.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use locksley::Pool;
use locksley_intervals::{Handle, Root};

use super::record::{Plan, Reading};
use crate::apps::size;
use crate::experiments::memory;
use crate::fault::{Fault, Outcome};
use crate::machine::available_memory;
use crate::record::Cell;

/// A graph of which something is read. Each interval comes after the one before and the one before that: two edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// How long it takes, from before the first is made until the last has ended.
    Chain,
    /// How much memory it takes while none has ended.
    Graph,
}

/// Intervals of one root: their memory is in the cache, as that of a program is that has not many at a time.
const OF_A_ROOT: usize = 1000;

/// What an interval takes at the most, in bytes.
const BYTES: usize = 200;

impl Cost {
    /// Both.
    pub const ALL: [Cost; 2] = [Cost::Chain, Cost::Graph];

    /// The one that is recorded under this name.
    pub fn find(name: &str) -> Option<Cost> {
        Cost::ALL.into_iter().find(|cost| cost.name() == name)
    }

    /// Its name among the applications.
    pub fn name(self) -> &'static str {
        match self {
            Cost::Chain => "chain",
            Cost::Graph => "graph",
        }
    }

    /// What its measurements are recorded under.
    pub(super) fn cell(self, plan: &Plan, runtime: &str) -> Cell {
        let number = match self {
            Cost::Chain => plan.chain,
            Cost::Graph => plan.graph,
        };
        let (app, runtime) = (self.name().to_owned(), runtime.to_owned());
        Cell { app, size: number.to_string(), runtime, workers: 1 }
    }

    /// The unit of a figure for each interval.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Cost::Chain => "ns",
            Cost::Graph => "bytes",
        }
    }

    /// What a figure for each interval is the figure of.
    pub(super) fn about(self) -> &'static str {
        match self {
            Cost::Chain => "an interval with two edges, from creation to end, P = 1",
            Cost::Graph => "an interval in a large graph",
        }
    }

    /// Reads it of so many intervals, in this process. Refused where there is no memory for them.
    pub fn read(self, number: usize) -> Outcome<Reading> {
        let at_a_time = match self {
            Cost::Chain => number.min(OF_A_ROOT),
            Cost::Graph => number,
        };
        let (needed, available) = (size::product(&[at_a_time, BYTES]), available_memory());
        if needed > available {
            return Err(Fault::input(format!(
                "a graph of {number} intervals needs {} of memory, and {} are available",
                size::in_bytes(needed),
                size::in_bytes(available)
            )));
        }
        let pool = Pool::new(1).map_err(|error| Fault::run(error.to_string()))?;
        match self {
            Cost::Chain => pool.install(|_| time(number)),
            Cost::Graph => pool.install(|_| bytes(number)),
        }
    }
}

/// How many intervals a cost is that of.
pub fn number(size: &str) -> Outcome<usize> {
    let number = size.parse().ok().filter(|&number: &usize| number > 0);
    number.ok_or_else(|| Fault::input(format!("'{size}' is no number of intervals")))
}

/// Runs a graph of so many on the calling worker, and calls `made` when all were made.
fn run(number: usize, made: impl FnOnce() + Send) -> Outcome<()> {
    let ended = AtomicUsize::new(0);
    let one_more = || {
        // No addition: edges let one run at a time, and what it sees is what the one before has left.
        ended.store(ended.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    };
    let root = Root::new("root").run(|root| {
        let mut last: [Option<Handle<'_, ()>>; 2] = [None; 2];
        for _ in 0..number {
            let next = root.interval("next").after_all(last.into_iter().flatten());
            last = [last[1], Some(next.spawn(|_| one_more()))];
        }
        made();
    });
    root.map_err(|cancelled| Fault::run(cancelled.to_string()))?;
    match ended.into_inner() {
        ended if ended == number => Ok(()),
        ended => Err(Fault::run(format!("{ended} intervals have ended instead of {number}"))),
    }
}

fn time(number: usize) -> Outcome<Reading> {
    run(OF_A_ROOT, || ())?;
    let start = Instant::now();
    for first in (0..number).step_by(OF_A_ROOT) {
        run(OF_A_ROOT.min(number - first), || ())?;
    }
    Ok(Reading::Time { seconds: start.elapsed().as_secs_f64() })
}

fn bytes(number: usize) -> Outcome<Reading> {
    let before = memory::resident().map_err(Fault::run)?;
    let mut after = Ok(before);
    run(number, || after = memory::resident())?;
    Ok(Reading::Memory { bytes: after.map_err(Fault::run)?.saturating_sub(before) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_take_time_and_graphs_take_memory() {
        let Ok(Reading::Time { seconds }) = Cost::Chain.read(2500) else { panic!("a time") };
        assert!(seconds > 0.0);
        if memory::can_be_told() {
            assert!(matches!(Cost::Graph.read(1000), Ok(Reading::Memory { .. })));
        }
        let Err(Fault::Input(why)) = Cost::Graph.read(usize::MAX) else {
            panic!("it has no memory")
        };
        assert!(why.contains("of memory") && why.lines().count() == 1, "{why}");
        assert_eq!(Cost::find("graph"), Some(Cost::Graph));
        assert_eq!(Cost::find("heat"), None);
    }
}
