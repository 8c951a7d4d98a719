//! Selective-yielding: a thief yields once after every 64 failures.
//!
//! Source: "BWS: Balanced Work Stealing for Time-Sharing Multicores", 2012, section 5.3.
//!
//! The count begins anew after each steal.

use crate::thief::{Stealing, Thief};

/// The selective-yielding of BWS's comparison.
pub struct Selective;

/// The example of the paper.
const FAILURES: u64 = 64;

impl Stealing for Selective {
    fn steal(&self, w: &dyn Thief) {
        let mut failures = 0;
        while !w.work_is_done() && !w.steal_from(w.random_victim()) {
            failures += 1;
            if failures % FAILURES == 0 {
                w.yield_core();
            }
        }
    }
}
