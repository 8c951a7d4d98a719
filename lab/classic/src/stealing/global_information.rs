//! WSGI, work stealing with global information: half as many thieves as busy workers.
//!
//! Source: "BWS: Balanced Work Stealing for Time-Sharing Multicores", 2012, section 5.5: it
//! "collects the number of busy workers, the number of non-sleeping thieves, and the number of
//! sleeping thieves. By dynamically putting thieves into sleep or waking up sleeping thieves, WSGI
//! tries to keep a fixed ratio between the number of busy workers and the number of non-sleeping
//! thieves. We set the ratio to 2". The numbers are behind a lock; the paper measured its cost.
//!
//! At least one thief is meant to be awake, or else new tasks would go unnoticed. Half of the busy
//! workers is rounded up. Thieves do not yield; the paper does not say whether they do.

use std::cmp::Ordering::{self, Equal, Greater, Less};
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

impl Numbers {
    /// [`Greater`] if too many thieves are awake, [`Less`] if too few.
    pub(super) fn awake_is(self) -> Ordering {
        self.awake.cmp(&self.busy.div_ceil(RATIO).max(1))
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
            let awake_is = self.update(|it| {
                let awake_is = it.awake_is();
                if awake_is == Greater {
                    (it.awake, it.asleep) = (it.awake - 1, it.asleep + 1);
                }
                awake_is
            });
            match awake_is {
                Greater => {
                    w.sleep();
                    self.update(|it| (it.awake, it.asleep) = (it.awake + 1, it.asleep - 1));
                }
                Less => _ = w.wake_any(),
                Equal => {}
            }
        }
        let awake_is = self.update(|it| {
            (it.busy, it.awake) = (it.busy + 1, it.awake - 1);
            it.awake_is()
        });
        if awake_is == Less {
            w.wake_any();
        }
    }
}
