//! BWS: thieves count failures and pending wake-ups, sleep, and wake each other.
//!
//! Source: "BWS: Balanced Work Stealing for Time-Sharing Multicores", 2012, section 3.2, Algorithm
//! 2, lines 8 to 42; section 4, the watchdog.
//!
//! `yield core to v` needs a system call that BWS added to its kernel: see [`Thief::yield_to`].
//!
//! The paper does not say which worker becomes the watchdog at first, or if the watchdog steals and
//! wakes no worker. Here the position is vacant then, and the next worker that would sleep takes it.

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
        self.counters = (0..workers).map(|_| CachePadded::new(WakeUpCounter::new())).collect();
    }

    fn needs_a_deque_each(&self) -> bool {
        true
    }

    fn steal(&self, w: &dyn Thief) {
        // w.n, which is 0 whenever this is called: see line 14.
        let mut n = 0;
        loop {
            let v = w.random_victim(); // line 10
            if w.steal_from(v) {
                // lines 11 and 12
                match self.watchdog.is(w.index()) {
                    true => self.watchdog.resign(w),
                    false => self.c(w.index()).add(2), // line 13
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
            } else if w.is_asleep(v) && self.c(w.index()).is_positive() {
                // line 27
                w.wake(v); // line 28
                self.c(w.index()).take_one(); // line 29
            }
            n += 1; // line 32
            if n > self.threshold {
                // line 34; lines 35 to 37
                if !self.c(w.index()).take_one() && !self.watchdog.is_or_becomes(w.index()) {
                    w.sleep();
                }
                n = 0; // line 39
            }
            if w.work_is_done() {
                return; // line 41
            }
        }
    }
}

/// The one worker that does not sleep.
pub(super) struct Watchdog(AtomicUsize);

const VACANT: usize = usize::MAX;

impl Watchdog {
    fn vacant() -> Self {
        Watchdog(AtomicUsize::new(VACANT))
    }

    pub(super) fn is(&self, worker: usize) -> bool {
        self.0.load(Ordering::Relaxed) == worker
    }

    /// True if the worker is the watchdog, or the position was vacant.
    pub(super) fn is_or_becomes(&self, worker: usize) -> bool {
        let order = Ordering::Relaxed;
        self.0.compare_exchange(VACANT, worker, order, order).is_ok() || self.is(worker)
    }

    /// The watchdog `w` has stolen a task: it wakes sleeping workers itself, two as in line 13, and
    /// appoints one of them.
    fn resign(&self, w: &dyn Thief) {
        let woken = [w.wake_any(), w.wake_any()];
        let successor = woken.into_iter().flatten().next();
        self.0.store(successor.unwrap_or(VACANT), Ordering::Relaxed);
    }
}
