//! Delay-yielding: a thief yields after each failure beyond twice the number of workers.
//!
//! Source: "BWS: Balanced Work Stealing for Time-Sharing Multicores", 2012, section 5.3, after
//! Intel's TBB of that time.
//!
//! The count begins anew after each steal.

use crate::thief::{Stealing, Thief};

/// The delay-yielding of BWS's comparison.
pub struct Delayed;

impl Stealing for Delayed {
    fn steal(&self, w: &dyn Thief) {
        let threshold = 2 * w.workers();
        let mut failures = 0;
        while !w.work_is_done() && !w.steal_from(w.random_victim()) {
            failures += 1;
            if failures > threshold {
                w.yield_core();
            }
        }
    }
}
