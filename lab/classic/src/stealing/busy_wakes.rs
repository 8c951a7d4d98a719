//! Downgraded BWS: busy workers wake thieves.
//!
//! Source: "BWS: Balanced Work Stealing for Time-Sharing Multicores", 2012, section 5.5: "when a
//! busy worker generates a new task, it wakes up two sleeping workers if there are any, and a thief
//! goes to sleep when its number of unsuccessful steals exceeds a threshold." The yield to a
//! preempted victim is that of Algorithm 2. There is no watchdog.

use super::SLEEP_THRESHOLD;
use crate::thief::{Stealing, Thief};

/// BWS without wake-up counters.
pub struct BusyWakes;

impl Stealing for BusyWakes {
    fn generated(&self, w: &dyn Thief) {
        if w.wake_any().is_some() {
            w.wake_any();
        }
    }

    fn steal(&self, w: &dyn Thief) {
        let mut failures = 0;
        while !w.work_is_done() {
            let v = w.random_victim();
            if w.steal_from(v) {
                return;
            }
            if w.has_task(v) && w.is_preempted(v) {
                w.yield_to(v);
            }
            failures += 1;
            if failures > SLEEP_THRESHOLD {
                w.sleep();
                failures = 0;
            }
        }
    }
}
