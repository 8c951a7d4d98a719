//! BWS: thieves count failures and pending wake-ups, sleep, and wake each other.
//!
//! Source: "BWS: Balanced Work Stealing for Time-Sharing Multicores", 2012, section 3.2, Algorithm
//! 2, lines 8 to 42; section 4, the watchdog.
//!
//! `yield core to v` needs a system call that BWS added to its kernel: see [`Thief::yield_to`].
//!
//! The paper does not say which worker is the first watchdog, or which one follows a watchdog that
//! woke no worker. Here the position is vacant then, and the next worker that would sleep takes it.
//! Nor does it say how many workers the watchdog wakes: here two, as after other steals.

use locksley_sys::primitive::{AtomicUsize, CachePadded, Ordering};

use super::SLEEP_THRESHOLD;
use crate::thief::{Stealing, Thief};
use crate::wake_ups::WakeUpCounter;

/// Algorithm 2 of BWS, with the watchdog.
pub struct Bws {
    threshold: u64,
    counters: Box<[CachePadded<WakeUpCounter>]>,
    pub(super) watchdog: Watchdog,
}

impl Bws {
    /// BWS with this `SleepThreshold`. The paper has 64, and varies it from 32 to 4096.
    pub fn with_threshold(threshold: u64) -> Bws {
        Bws { threshold, counters: Box::default(), watchdog: Watchdog::vacant() }
    }

    /// The paper's *c* of a worker.
    pub(super) fn c(&self, worker: usize) -> &WakeUpCounter {
        &self.counters[worker]
    }
}

impl Default for Bws {
    fn default() -> Self {
        Bws::with_threshold(SLEEP_THRESHOLD)
    }
}

impl Stealing for Bws {
    fn start(&mut self, workers: usize) {
        self.counters = (0..workers).map(|_| CachePadded::default()).collect();
    }

    fn steal(&self, w: &dyn Thief) {
        // w.n, which is 0 whenever this is called: see line 14.
        let mut n = 0;
        loop {
            let v = w.random_victim(); // line 10
            if w.steal_from(v) {
                // lines 11 and 12
                if self.watchdog.is(w.index()) {
                    self.watchdog.resign(w);
                } else {
                    self.c(w.index()).add(2); // line 13
                }
                return; // lines 14 and 15
            }
            if w.has_task(v) {
                // line 17
                if w.is_preempted(v) {
                    w.yield_to(v); // lines 18 and 19
                } else if self.c(v).take_one() {
                    self.c(w.index()).add(1); // lines 21 to 23
                }
            } else if w.is_asleep(v) && self.c(w.index()).take_one() && !w.wake(v) {
                // lines 27 to 29: the counter first, or a thief could take the same unit. Another
                // worker has woken v.
                self.c(w.index()).add(1);
            }
            n += 1; // line 32
            // line 34
            if n > self.threshold {
                // lines 35 to 37
                if !self.c(w.index()).take_one() && !self.watchdog.try_become(w.index()) {
                    w.sleep();
                }
                n = 0; // line 39
            }
            if w.work_is_done() {
                self.watchdog.vacate(w.index());
                return; // line 41
            }
        }
    }
}

/// The one worker that does not sleep.
pub(super) struct Watchdog(AtomicUsize);

const VACANT: usize = usize::MAX;
/// The workers that the watchdog wakes: as many as line 13 has others wake.
const WAKES: usize = 2;

impl Watchdog {
    fn vacant() -> Self {
        Watchdog(AtomicUsize::new(VACANT))
    }

    pub(super) fn is(&self, worker: usize) -> bool {
        self.0.load(Ordering::Relaxed) == worker
    }

    /// Gives the position to the worker if it is vacant. Returns true if the worker has it.
    pub(super) fn try_become(&self, worker: usize) -> bool {
        let order = Ordering::Relaxed;
        self.0.compare_exchange(VACANT, worker, order, order).is_ok() || self.is(worker)
    }

    /// The worker leaves the position if it has it.
    fn vacate(&self, worker: usize) {
        let _ = self.0.compare_exchange(worker, VACANT, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The watchdog `w` has stolen a task. It wakes sleeping workers itself, and appoints one of
    /// them, before it wakes it: that worker is a thief then, and no other becomes the watchdog.
    fn resign(&self, w: &dyn Thief) {
        self.0.store(VACANT, Ordering::Relaxed);
        for _ in 0..WAKES {
            let Some(sleeper) = w.sleeper() else { return };
            let is_appointed = self.try_become(sleeper);
            if !w.wake(sleeper) && is_appointed {
                // Another worker has woken it, so it may work already.
                self.vacate(sleeper);
            }
        }
    }
}
