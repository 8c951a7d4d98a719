//! Naive non-blocking: thieves neither yield nor sleep.
//!
//! Source: "The Performance of Work Stealing in Multiprogrammed Environments", 1998, section 4.

use crate::thief::{Stealing, Thief};

/// The study's third alternative; with a deque in a lock, its other two.
pub struct Naive;

impl Stealing for Naive {
    fn is_one_attempt(&self) -> bool {
        true
    }

    fn steal(&self, w: &dyn Thief) {
        w.steal_from(w.random_victim());
    }
}
