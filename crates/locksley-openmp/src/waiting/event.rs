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

impl Event {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { epoch: AtomicU32::new(0), sleepers: AtomicU32::new(0) }
        }
    }

    /// Waits until `is_done`.
    pub(crate) fn wait(&self, is_done: impl Fn() -> bool) {
        self.wait_and_work(is_done, || false, || false);
    }

    /// Waits until `is_done`. Meanwhile calls `work`, which returns true if it has found some. The
    /// thread sleeps only while `has_work` is false, which must be true whenever `work` would find
    /// some.
    pub(crate) fn wait_and_work(
        &self,
        is_done: impl Fn() -> bool,
        work: impl Fn() -> bool,
        has_work: impl Fn() -> bool,
    ) {
        let mut patience = Patience::new();
        while !is_done() {
            if work() {
                patience = Patience::new();
            } else if !patience.pause() {
                if !self.sleep_unless(|| is_done() || has_work()) {
                    // Another thread may have what is ready, such as the lock of a queue.
                    std::thread::yield_now();
                }
                patience = Patience::new();
            }
        }
    }

    /// Sleeps until a notification, unless `is_ready`. Returns true if it has slept.
    fn sleep_unless(&self, is_ready: impl Fn() -> bool) -> bool {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // Acquire: pairs with the release in `notify`. After a changed epoch, what its notifier
        // changed before is seen.
        let epoch = self.epoch.load(Ordering::Acquire);
        // Pairs with the fence in `notify`.
        fence(Ordering::SeqCst);
        let sleeps = !is_ready();
        if sleeps {
            // Not where a thread waits for a lock: any thread of the process may have that.
            #[cfg(not(loom))]
            super::machine::end_if_orphaned();
            futex::wait(&self.epoch, epoch);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
        sleeps
    }

    /// Wakes all sleepers. The caller has changed what they wait for.
    pub(crate) fn notify_all(&self) {
        // Pairs with the fence in `sleep_unless`, as does the next one.
        fence(Ordering::SeqCst);
        self.wake(i32::MAX.cast_unsigned());
    }

    /// Wakes one sleeper, if there is one. Only where any sleeper can do what there is to do.
    pub(crate) fn notify_one(&self) -> bool {
        fence(Ordering::SeqCst);
        self.wake(1)
    }

    /// True if there was a sleeper.
    fn wake(&self, count: u32) -> bool {
        let sleepers = self.sleepers.load(Ordering::Relaxed);
        if sleepers == 0 {
            return false;
        }
        // Release: pairs with the acquire in `sleep_unless`.
        self.epoch.fetch_add(1, Ordering::Release);
        // Not `sleepers` at most: in the kernel's queue, threads that have counted themselves since
        // may be in front.
        futex::wake(&self.epoch, count, count.min(sleepers));
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use std::time::{Duration, Instant};

    use super::*;

    /// The notifier has looked before the second sleeper counted itself.
    #[test]
    fn all_are_woken_however_many_the_notifier_has_seen() {
        let shared = Arc::new((Event::new(), AtomicUsize::new(0), AtomicBool::new(false)));
        for _ in 0..2 {
            let other = Arc::clone(&shared);
            std::thread::spawn(move || {
                other.0.sleep_unless(|| other.2.load(Ordering::Relaxed));
                other.1.fetch_add(1, Ordering::Relaxed);
            });
        }
        while shared.0.sleepers.load(Ordering::Relaxed) < 2 {
            std::thread::yield_now();
        }
        // Both sleep by then. A late one would find the condition true.
        std::thread::sleep(Duration::from_millis(50));
        shared.0.sleepers.store(1, Ordering::Relaxed);
        shared.2.store(true, Ordering::Relaxed);
        shared.0.notify_all();
        let began = Instant::now();
        while shared.1.load(Ordering::Relaxed) < 2 {
            assert!(began.elapsed() < Duration::from_secs(20), "one still sleeps");
            std::thread::yield_now();
        }
    }
}
