//! WSGI, work stealing with global information: half as many thieves as busy workers.
//!
//! Source: "BWS: Balanced Work Stealing for Time-Sharing Multicores", 2012, section 5.5: it
//! "collects the number of busy workers, the number of non-sleeping thieves, and the number of
//! sleeping thieves. By dynamically putting thieves into sleep or waking up sleeping thieves, WSGI
//! tries to keep a fixed ratio between the number of busy workers and the number of non-sleeping
//! thieves. We set the ratio to 2". The numbers are behind a lock, whose cost the paper measured.
//!
//! At least one thief is awake, or else new tasks would go unnoticed.

use std::sync::PoisonError;

use locksley_sys::primitive::Mutex;

use crate::thief::{Stealing, Thief};

/// Busy workers for each thief that is awake.
const RATIO: usize = 2;

/// WSGI.
#[derive(Default)]
pub struct GlobalInformation(Mutex<Numbers>);

/// What the workers do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) busy: usize,
    /// Thieves that do not sleep.
    pub(super) awake: usize,
    pub(super) asleep: usize,
}

/// What a thief does after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Continue,
    Sleep,
    WakeOne,
}

impl Numbers {
    /// The number of thieves that should be awake.
    fn wanted(self) -> usize {
        self.busy.div_ceil(RATIO).max(1)
    }

    pub(super) fn after_failure(self) -> Move {
        match self.awake.cmp(&self.wanted()) {
            std::cmp::Ordering::Greater => Move::Sleep,
            std::cmp::Ordering::Less if self.asleep > 0 => Move::WakeOne,
            _ => Move::Continue,
        }
    }
}

impl GlobalInformation {
    fn update<R>(&self, change: impl FnOnce(&mut Numbers) -> R) -> R {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Stealing for GlobalInformation {
    fn start(&mut self, workers: usize) {
        self.update(|it| it.busy = workers);
    }

    fn steal(&self, w: &dyn Thief) {
        self.update(|it| (it.busy, it.awake) = (it.busy - 1, it.awake + 1));
        while !w.work_is_done() && !w.steal_from(w.random_victim()) {
            let next = self.update(|it| {
                let next = it.after_failure();
                if next == Move::Sleep {
                    (it.awake, it.asleep) = (it.awake - 1, it.asleep + 1);
                }
                next
            });
            match next {
                Move::Sleep => {
                    w.sleep();
                    self.update(|it| (it.awake, it.asleep) = (it.awake + 1, it.asleep - 1));
                }
                Move::WakeOne => _ = w.wake_any(),
                Move::Continue => {}
            }
        }
        let next = self.update(|it| {
            (it.busy, it.awake) = (it.busy + 1, it.awake - 1);
            it.after_failure()
        });
        if next == Move::WakeOne {
            w.wake_any();
        }
    }
}
