//! An event count: threads sleep until a condition holds that other threads make true.
//!
//! *Invariant.* A thread that changes the condition and then calls `notify` wakes every thread that
//! sleeps without having seen the change. *Argument.* The sleeper counts itself, makes a fence and
//! reads the condition; the notifier changes the condition, makes a fence and reads the count. So
//! the sleeper sees the change, or the notifier sees the sleeper and changes the epoch. The sleeper
//! has read the epoch before the condition, so that its futex no longer has the value it expects.

use locksley_sys::primitive::{AtomicU32, Ordering, const_unless_loom, fence};

use super::Patience;
use super::futex;

/// A place to wait at.
#[derive(Debug)]
pub(crate) struct Event {
    epoch: AtomicU32,
    sleepers: AtomicU32,
}

/// What a thread found when it looked whether it may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Poll {
    /// The wait is over.
    Done,
    /// It has done other work meanwhile.
    Worked,
    /// Nothing to do yet.
    Idle,
}

impl Event {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { epoch: AtomicU32::new(0), sleepers: AtomicU32::new(0) }
        }
    }

    /// Waits until `is_done`.
    pub(crate) fn wait(&self, is_done: impl Fn() -> bool) {
        self.wait_and_work(|| if is_done() { Poll::Done } else { Poll::Idle }, &is_done);
    }

    /// Waits until `poll` is done. It may work meanwhile. The thread sleeps while `is_ready` is
    /// false, which is to be true if `poll` would not find itself idle.
    pub(crate) fn wait_and_work(
        &self,
        mut poll: impl FnMut() -> Poll,
        is_ready: impl Fn() -> bool,
    ) {
        let mut patience = Patience::new();
        loop {
            match poll() {
                Poll::Done => return,
                Poll::Worked => patience = Patience::new(),
                Poll::Idle if patience.pause() => (),
                Poll::Idle => {
                    self.sleep_unless(&is_ready);
                    patience = Patience::new();
                }
            }
        }
    }

    /// Sleeps until a notification, unless `is_ready`.
    fn sleep_unless(&self, is_ready: impl Fn() -> bool) {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // Acquire: pairs with the release in `notify`. After a changed epoch, what its notifier
        // changed before is seen.
        let epoch = self.epoch.load(Ordering::Acquire);
        // Pairs with the fence in `notify`.
        fence(Ordering::SeqCst);
        if !is_ready() {
            futex::wait(&self.epoch, epoch);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Wakes all sleepers. The caller has changed what they wait for.
    pub(crate) fn notify_all(&self) {
        // Pairs with the fence in `sleep_unless`, as do the next two.
        fence(Ordering::SeqCst);
        self.wake(i32::MAX.cast_unsigned());
    }

    /// Wakes one sleeper. Only where any sleeper can do what there is to do.
    pub(crate) fn notify_one(&self) {
        fence(Ordering::SeqCst);
        self.wake(1);
    }

    /// Wakes one sleeper of the first of these events that has any.
    pub(crate) fn notify_one_of(events: [&Self; 2]) {
        fence(Ordering::SeqCst);
        let _ = events[0].wake(1) || events[1].wake(1);
    }

    /// True if there was a sleeper.
    fn wake(&self, count: u32) -> bool {
        let sleepers = self.sleepers.load(Ordering::Relaxed);
        if sleepers == 0 {
            return false;
        }
        // Release: pairs with the acquire in `sleep_unless`.
        self.epoch.fetch_add(1, Ordering::Release);
        futex::wake(&self.epoch, count.min(sleepers));
        true
    }
}
