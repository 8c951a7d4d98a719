//! ABP: a worker without a task yields, and then tries one random victim. It never sleeps.
//!
//! Source: "BWS: Balanced Work Stealing for Time-Sharing Multicores", 2012, section 2.3, Algorithm
//! 1, lines 16 and 17: `yield(); RandomSteal(w)`. Lines 12 to 15 are the scheduling loop. Cilk++
//! implements it so.

use crate::thief::{Stealing, Thief};

/// Algorithm 1 of BWS.
pub struct Abp;

impl Stealing for Abp {
    fn is_one_attempt(&self) -> bool {
        true
    }

    fn steal(&self, w: &dyn Thief) {
        w.yield_core(); // line 16
        let v = w.random_victim(); // line 6
        w.steal_from(v); // lines 7 and 8
    }
}
