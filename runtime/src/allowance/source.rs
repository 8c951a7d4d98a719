//! Where it is read what a pool is allowed.

use std::time::Duration;

use crate::os::{self, Groups, Quota};
use crate::pool::Shared;

/// What the system says. Asked by one worker at a time.
pub(crate) trait Source: Send {
    /// How many processors there are that any of the pool's workers may run on; `None` where nobody says.
    fn processors(&mut self, shared: &Shared) -> Option<usize>;

    /// How much of them the process may use; `None` if all.
    fn quota(&mut self) -> Option<Quota>;

    /// In how many periods that was used up; `None` where nobody says.
    fn periods_used_up(&mut self, quota: &Quota) -> Option<u64>;

    /// How much processor time the process has used; `None` where nobody says.
    fn used(&mut self) -> Option<Duration>;
}

/// Which source a pool asks.
#[derive(Clone, Default)]
pub(crate) enum Asked {
    #[default]
    System,
    #[cfg(all(test, not(loom)))]
    MadeUp(std::sync::Arc<dyn Fn() -> Box<dyn Source> + Send + Sync>),
}

impl Asked {
    pub(crate) fn open(&self) -> Box<dyn Source> {
        match self {
            Self::System => Box::new(System(Groups::of_this_process())),
            #[cfg(all(test, not(loom)))]
            Self::MadeUp(make) => make(),
        }
    }
}

/// The system that there is.
#[derive(Debug)]
struct System(Groups);

impl Source for System {
    fn processors(&mut self, shared: &Shared) -> Option<usize> {
        shared.processors_of_workers()
    }

    fn quota(&mut self) -> Option<Quota> {
        self.0.limits().quota
    }

    fn periods_used_up(&mut self, quota: &Quota) -> Option<u64> {
        self.0.throttling_of(quota).map(|throttling| throttling.periods)
    }

    fn used(&mut self) -> Option<Duration> {
        os::process_time()
    }
}
