//! Waits of a process for what is no channel of its network.

use super::payer::Foreign;
use crate::worker::Worker;

/// While it lives, the process that a worker is in waits for something foreign, or is about to; if it is in none, or in such a wait already,
/// this is nothing.
///
/// When a pool is dropped, its tasks are cancelled as soon as it owes nobody an end. A process is a task while it waits at channels, whose
/// waits end then. From this wait there is no way out but its end, which may be the matter of a future of the same pool: so the pool owes
/// it one, as to a closure that waits, if it begins before the last of these has ended.
pub(crate) struct ForeignWait<'w>(Option<&'w Worker>);

impl<'w> ForeignWait<'w> {
    /// The process also pays what it owes: this may last.
    pub(crate) fn begin(worker: &'w Worker) -> Self {
        worker.payer().pay();
        let is_outermost = worker.payer().foreign() == Some(Foreign::No);
        if is_outermost {
            goes_abroad(worker);
        }
        Self(is_outermost.then_some(worker))
    }
}

impl Drop for ForeignWait<'_> {
    fn drop(&mut self) {
        if let Some(worker) = self.0 {
            comes_home(worker);
        }
    }
}

/// While it lives, a process waits at a channel, from which it comes back when tasks are cancelled: maybe in the middle of a foreign wait, which
/// is none meanwhile.
pub(crate) struct ChannelWait<'w>(Option<&'w Worker>);

impl<'w> ChannelWait<'w> {
    /// The process also pays what it owes.
    pub(crate) fn begin(worker: &'w Worker) -> Self {
        worker.payer().pay();
        let is_abroad = worker.payer().foreign().is_some_and(|foreign| foreign != Foreign::No);
        if is_abroad {
            comes_home(worker);
        }
        Self(is_abroad.then_some(worker))
    }
}

impl Drop for ChannelWait<'_> {
    fn drop(&mut self) {
        if let Some(worker) = self.0 {
            goes_abroad(worker);
        }
    }
}

fn goes_abroad(worker: &Worker) {
    let is_owed = worker.shared().begin_foreign();
    worker.payer().waits(if is_owed { Foreign::Owed } else { Foreign::NotOwed });
}

fn comes_home(worker: &Worker) {
    if worker.payer().waits(Foreign::No) == Some(Foreign::Owed) {
        worker.shared().end_foreign();
    }
}
