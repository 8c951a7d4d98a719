//! A post: where one replacement serves, how a worker calls it, and how it is let go. The README
//! beside this file has the states and the argument.

use crate::os::Futex;
use crate::primitive::Ordering;
use crate::scheduler::latch::Flag;

/// The word of one replacement, which doubles as the flag that its work lasts until: it is *set* while
/// nobody wants it.
#[derive(Debug)]
pub(crate) struct Post {
    word: Flag,
    /// Rung when a replacement that rests is called, and when the pool is closed.
    waker: Futex,
}

/// Nobody serves here yet.
const VACANT: *mut () = std::ptr::null_mut();
/// The replacement waits for its bell.
const RESTING: *mut () = std::ptr::without_provenance_mut(2);
const SILENT: u32 = 0;
const RUNG: u32 = 1;

/// The replacement of the worker with that number.
fn called_by(number: usize) -> *mut () {
    std::ptr::without_provenance_mut((number + 1) << 2)
}

fn caller(word: *mut ()) -> usize {
    (word.addr() >> 2) - 1
}

/// Who comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Called {
    /// The replacement, which rests.
    Comes,
    /// The replacement, which has not rested since it was released.
    Stays,
    /// Nobody, until the caller has found a thread for it.
    NeedsThread,
}

impl Post {
    pub(crate) fn new() -> Self {
        Self { word: Flag::holding(VACANT), waker: Futex::new(SILENT) }
    }

    /// What the replacement works until.
    pub(crate) fn is_released(&self) -> &Flag {
        &self.word
    }

    /// The number of the worker that has called the replacement; `None` if nobody wants it.
    pub(crate) fn caller(&self) -> Option<usize> {
        match self.word.seen() {
            VACANT | RESTING | Flag::SET => None,
            word => Some(caller(word)),
        }
    }

    /// A worker calls the replacement, unless somebody else has.
    pub(crate) fn call(&self, number: usize) -> Option<Called> {
        let mut before = self.word.seen();
        loop {
            let called = match before {
                VACANT => Called::NeedsThread,
                RESTING => Called::Comes,
                Flag::SET => Called::Stays,
                _ => return None,
            };
            match self.word.exchange(before, called_by(number)) {
                Ok(RESTING) => {
                    self.ring();
                    return Some(called);
                }
                Ok(_) => return Some(called),
                Err(now) => before = now,
            }
        }
    }

    /// There is no thread for the replacement.
    pub(crate) fn leave_vacant(&self, number: usize) {
        let _ = self.word.exchange(called_by(number), VACANT);
    }

    /// The worker that has called it needs it no more. The caller then wakes it, if it sleeps in
    /// the pool. `false` if it was released when the pool was closed.
    pub(crate) fn release(&self, number: usize) -> bool {
        self.word.exchange(called_by(number), Flag::SET).is_ok()
    }

    /// The pool has been closed: the replacement ends. The caller then wakes it, if it sleeps in the
    /// pool.
    pub(crate) fn close(&self) {
        // It fails if the replacement has just been let go, and if somebody else calls, that one lets
        // it go.
        let _ = self.caller().map(|number| self.release(number));
        self.ring();
    }

    fn ring(&self) {
        // Release pairs with the acquire in `attend`: who finds it rung sees why.
        self.waker.word().swap(RUNG, Ordering::Release);
        self.waker.wake();
    }

    /// The replacement waits until it is called; `false` when the pool has been closed. Calls `rests`
    /// if it has to rest before.
    pub(crate) fn attend(&self, rests: impl Fn(), is_closed: impl Fn() -> bool) -> bool {
        loop {
            match self.word.seen() {
                Flag::SET if is_closed() => return false,
                Flag::SET => {
                    // If it fails, a worker has called.
                    if self.word.exchange(Flag::SET, RESTING).is_ok() {
                        rests();
                    }
                }
                RESTING => {
                    // A ring before this is not lost: what it was for is seen by what follows. One
                    // after it ends the wait. Acquire pairs with the release in `ring`.
                    self.waker.word().swap(SILENT, Ordering::Acquire);
                    if is_closed() {
                        return false;
                    }
                    if self.word.seen() == RESTING {
                        self.waker.wait(SILENT);
                    }
                }
                _ => return true,
            }
        }
    }
}
