//! LASSI: the workers of a place steal from the deque of another place.
//!
//! Source: Weibel, "An Advanced Scheduler for Intervals", 2010, "Work-Stealing Places": "When a
//! worker finds that the pool of its place is empty, it tries to steal a task from the pool of a
//! victim place chosen at random." The thesis does not say what a worker does after a failure; here
//! it yields.
//!
//! The deques of places, and the turn of threads without a place, are set by
//! [`Queues::OfPlaces`](crate::Queues::OfPlaces).

use crate::thief::{Stealing, Thief};

/// LASSI's thieves.
pub struct Lassi;

impl Stealing for Lassi {
    fn is_one_attempt(&self) -> bool {
        true
    }

    fn steal(&self, w: &dyn Thief) {
        if !w.steal_from(w.random_victim()) {
            w.yield_core();
        }
    }
}
