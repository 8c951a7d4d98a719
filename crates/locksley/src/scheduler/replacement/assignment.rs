//! The assignment of one replacement: which worker it replaces, and how it waits for one. The
//! README beside this file has the states and the argument.

use crate::scheduler::latch::Flag;
use crate::scheduler::worker::WaitParker;

/// The state of one replacement: vacant, assigned to a worker, released, or parked.
///
/// The word is also the flag that the replacement works until: it is *set* in the state released,
/// and in no other.
#[derive(Debug, Default)]
pub(crate) struct Assignment {
    word: Flag,
    /// Notified when a parked replacement is assigned, and when the pool is closed.
    parker: WaitParker,
}

/// The replacement has no thread yet: the default of a flag.
const VACANT: *mut () = std::ptr::null_mut();
/// The worker is back, or the pool is closed. The replacement's thread has not parked yet.
const RELEASED: *mut () = Flag::SET;
/// The replacement's thread is parked, or about to park.
const PARKED: *mut () = std::ptr::without_provenance_mut(2);

/// The word of a replacement that is assigned to the worker with this index: it runs tasks.
fn assigned(index: usize) -> *mut () {
    std::ptr::without_provenance_mut((index + 1) << 2)
}

fn index_of(word: *mut ()) -> usize {
    (word.addr() >> 2) - 1
}

/// The state of a replacement before it was assigned, and what the caller does for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Assigned {
    /// It was parked, and `try_assign` has woken it. The caller does nothing.
    Woken,
    /// It was released, and had not parked. It reads the new assignment by itself.
    StillAwake,
    /// It was vacant. The caller starts its thread.
    NeedsThread,
}

impl Assignment {
    /// The flag that is set while the replacement is released. It works until then.
    pub(crate) fn release_flag(&self) -> &Flag {
        &self.word
    }

    /// The index of the worker that the replacement is assigned to.
    pub(crate) fn worker(&self) -> Option<usize> {
        match self.word.load() {
            VACANT | PARKED | RELEASED => None,
            word => Some(index_of(word)),
        }
    }

    /// True if the replacement has no thread, or its thread is parked, or about to park.
    pub(crate) fn is_parked(&self) -> bool {
        matches!(self.word.load(), VACANT | PARKED)
    }

    /// Assigns the replacement to a worker. `None` if it is assigned already.
    pub(crate) fn try_assign(&self, index: usize) -> Option<Assigned> {
        let assign = |word| matches!(word, VACANT | PARKED | RELEASED).then(|| assigned(index));
        let outcome = match self.word.update(assign).ok()? {
            VACANT => Assigned::NeedsThread,
            PARKED => Assigned::Woken,
            _ => Assigned::StillAwake,
        };
        if outcome == Assigned::Woken {
            self.parker.unpark(|| ());
        }
        Some(outcome)
    }

    /// Undoes an assignment for which no thread could be started.
    pub(crate) fn cancel(&self, index: usize) {
        let _ = self.word.compare_exchange(assigned(index), VACANT);
    }

    /// Releases the replacement from its worker. The caller then wakes it, if it sleeps in the
    /// pool. `false` if closing the pool has released it.
    pub(crate) fn release(&self, index: usize) -> bool {
        self.word.compare_exchange(assigned(index), RELEASED).is_ok()
    }

    /// Releases and unparks the replacement after the pool has been closed. The caller then wakes
    /// it, if it sleeps in the pool. Its thread finds the pool closed, and ends.
    pub(crate) fn close(&self) {
        // No thread is to be woken. One that starts later sees the pool closed before it parks, by
        // the fence of `Replacements::close`.
        if self.word.load() == VACANT {
            return;
        }
        // This fails if the worker has just released it. If another worker assigns it, that one
        // releases it.
        let _ = self.worker().map(|index| self.release(index));
        self.parker.unpark(|| ());
    }

    /// Waits, on the replacement's thread, for an assignment; `false` when the pool is closed.
    /// Calls `before_park` when it changes from released to parked.
    pub(crate) fn wait(&self, before_park: impl Fn(), is_closed: impl Fn() -> bool) -> bool {
        loop {
            match self.word.load() {
                RELEASED | PARKED if is_closed() => return false,
                RELEASED => {
                    // This fails if a worker has assigned it.
                    if self.word.compare_exchange(RELEASED, PARKED).is_ok() {
                        before_park();
                    }
                }
                PARKED => self.parker.park(|| is_closed() || self.word.load() != PARKED, None),
                _ => return true,
            }
        }
    }
}
