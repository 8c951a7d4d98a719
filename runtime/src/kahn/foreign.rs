//! Waits of a process for what is no channel of its network.

use crate::worker::Worker;

/// While it lives, the process that a worker is in waits for something foreign, or is about to; if it is in none, this is nothing.
///
/// When a pool is dropped, its tasks are cancelled as soon as it owes nobody an end. A process is a task while it waits at channels, whose
/// waits end then. From this wait there is no way out but its end, which may be the matter of a future of the same pool: so long the pool owes
/// it one, as to a closure that waits.
pub(crate) struct ForeignWait<'w>(Option<&'w Worker>);

impl<'w> ForeignWait<'w> {
    /// The process also pays what it owes: this may last.
    pub(crate) fn begin(worker: &'w Worker) -> Self {
        worker.payer().pay();
        let is_owed = worker.payer().is_any() && worker.shared().begin_detached();
        Self(is_owed.then_some(worker))
    }
}

impl Drop for ForeignWait<'_> {
    fn drop(&mut self) {
        if let Some(worker) = self.0 {
            worker.shared().end_detached();
        }
    }
}
