//! A worker's record of the wake-up that it last asked for.

use std::cell::Cell;
use std::ops::Range;

use super::Snapshot;

/// Limits a worker to one wake-up under way, and says which sleepers are near to it.
///
/// A wake-up takes some 50 µs on a virtual machine. Until any worker has woken up since the last
/// request, that request is under way, and another one would only cost a system call. The
/// number of wake-ups wraps after 2³¹: at worst one request is omitted, as during a search.
///
/// The default is the token of a worker that prefers none.
#[derive(Debug, Default)]
pub(crate) struct WakeToken {
    /// The number of wake-ups when this worker last asked for one.
    wakeups_at_request: Cell<Option<u32>>,
    /// The sleepers that are woken first.
    near: Cell<(usize, usize)>,
}

impl WakeToken {
    /// The token of a worker that prefers to wake the workers in `near`.
    pub(crate) fn with_neighbours(near: Range<usize>) -> Self {
        Self { wakeups_at_request: Cell::new(None), near: Cell::new((near.start, near.end)) }
    }

    /// Replaces the preferred workers: a replacement worker serves one place after the other.
    pub(crate) fn set_neighbours(&self, near: Range<usize>) {
        self.near.set((near.start, near.end));
    }

    /// The workers that are woken first.
    pub(crate) fn neighbours(&self) -> Range<usize> {
        let (first, end) = self.near.get();
        first..end
    }

    /// Returns true if no wake-up is under way that this worker has claimed. The worker has then
    /// claimed one, and causes it.
    pub(super) fn claim_wakeup(&self, snapshot: Snapshot) -> bool {
        let wakeups = Some(snapshot.wakeups());
        self.wakeups_at_request.replace(wakeups) != wakeups
    }
}
