//! When which thread was which worker: the slot of a guest has one thread after the other.

use std::collections::HashMap;

use crate::read::ThreadTrace;
use crate::record::{Kind, Record};

/// The number of a pool, and a slot in it.
pub(super) type WorkerId = (u32, u32);

/// A time in which a thread was one worker.
pub(super) struct Stint<'t> {
    pub(super) track: usize,
    pub(super) worker: WorkerId,
    /// From its first record on, or from before it.
    pub(super) begin: u64,
    /// What it recorded meanwhile.
    pub(super) records: &'t [Record],
    /// True if it was no worker afterwards.
    pub(super) ends: bool,
}

/// Those of all threads. What a thread was before its first change is known only if there is none.
pub(super) fn all<'t>(threads: &[&'t ThreadTrace]) -> Vec<Stint<'t>> {
    let mut stints = Vec::new();
    for (track, thread) in threads.iter().enumerate() {
        let is_change = |record: &Record| matches!(record.kind, Kind::Attached | Kind::Detached);
        let first = thread.records.iter().position(is_change);
        let mut worker = thread.slot.map(|slot| (thread.pool, slot)).filter(|_| first.is_none());
        let mut rest = &thread.records[first.unwrap_or(0)..];
        while let Some((change, after)) = rest.split_first() {
            match change.kind {
                Kind::Attached => worker = Some((change.detail, change.arg)),
                Kind::Detached => worker = None,
                _ => {}
            }
            let length = 1 + after.iter().position(is_change).unwrap_or(after.len());
            let (records, later) = rest.split_at(length);
            let ends = !later.is_empty();
            let begin = if first.is_some() { change.at } else { 0 };
            stints.extend(worker.map(|worker| Stint { track, worker, begin, records, ends }));
            rest = later;
        }
    }
    stints
}

/// Which thread was a worker at a moment.
pub(super) struct Holders(HashMap<WorkerId, Vec<(u64, usize)>>);

impl Holders {
    pub(super) fn new(stints: &[Stint<'_>]) -> Self {
        let mut holders: HashMap<_, Vec<_>> = HashMap::new();
        for stint in stints {
            holders.entry(stint.worker).or_default().push((stint.begin, stint.track));
        }
        holders.values_mut().for_each(|it| it.sort_unstable());
        Self(holders)
    }

    /// The track of the thread. For a moment before all, that of the first one.
    pub(super) fn at(&self, worker: WorkerId, at: u64) -> Option<usize> {
        let holders = self.0.get(&worker)?;
        let before = holders.partition_point(|&(begin, _)| begin <= at);
        Some(holders[before.saturating_sub(1)].1)
    }
}
