//! Where it is read what a pool is allowed.

use std::time::Duration;

use super::BETWEEN_READINGS;
use super::contention::ASKED;
use crate::os::{self, Affinities, LimitFault, Quota, QuotaWatch};
use crate::scheduler::Shared;

/// What the system says. Asked by one worker at a time.
pub(crate) trait Source: Send {
    /// How many processors there are that any of the pool's workers may run on; `None` where nobody says.
    fn processors(&mut self, shared: &Shared) -> Option<usize>;

    /// How much of them the process may use; `None` if all.
    fn quota(&mut self) -> Option<Quota>;

    /// In how many periods that was used up; `None` where nobody says.
    fn periods_used_up(&mut self, quota: &Quota) -> Option<u64>;

    /// How much processor time the process has used; `None` where nobody says.
    fn used(&mut self, shared: &Shared) -> Option<Duration>;

    /// For how long the first workers could have run and did not, all together; `None` where nobody says.
    fn waited(&mut self, shared: &Shared) -> Option<Duration> {
        let _ = shared;
        None
    }

    /// How much processor time the process has used, at little cost, though what its other threads did in the last milliseconds may be missing; `None` where nobody says.
    fn used_by_all(&mut self) -> Option<Duration> {
        os::process_time()
    }

    /// So long after one time of looking what is allowed comes the next.
    fn between_readings(&self) -> Duration {
        BETWEEN_READINGS
    }
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
            Self::System => Box::new(System::open()),
            #[cfg(all(test, not(loom)))]
            Self::MadeUp(make) => make(),
        }
    }
}

/// The system that there is.
#[derive(Debug)]
pub(super) struct System {
    affinities: Affinities,
    watch: QuotaWatch,
    quota: Kept,
    /// How many workers' clocks were read when somebody last asked what was used.
    clocks_read: usize,
}

impl System {
    pub(super) fn open() -> Self {
        let mut watch = QuotaWatch::of_this_process();
        let (quota, faults) = watch.quota();
        let quota = Kept { last: quota, known: faults };
        Self { affinities: Affinities::default(), watch, quota, clocks_read: 0 }
    }

    /// How many workers' clocks were brought up to date when somebody last asked what was used.
    #[cfg(all(test, target_os = "linux", not(any(loom, locksley_portable))))]
    pub(super) fn clocks_read(&self) -> usize {
        self.clocks_read
    }
}

/// The quota that was read last without any fault, but for those that were there from the beginning.
#[derive(Debug)]
struct Kept {
    last: Option<Quota>,
    known: Vec<LimitFault>,
}

impl Kept {
    /// After one more reading. One that failed, where no more files may be open, does not lift a quota.
    fn after(&mut self, quota: Option<Quota>, faults: &[LimitFault]) -> Option<Quota> {
        if faults.iter().all(|fault| self.known.contains(fault)) {
            self.last = quota;
        }
        self.last.clone()
    }
}

impl Source for System {
    fn processors(&mut self, shared: &Shared) -> Option<usize> {
        self.affinities.of_any(shared.affinities_of_workers())
    }

    fn quota(&mut self) -> Option<Quota> {
        let (quota, faults) = self.watch.quota();
        self.quota.after(quota, &faults)
    }

    fn periods_used_up(&mut self, quota: &Quota) -> Option<u64> {
        self.watch.periods_used_up(quota)
    }

    /// The kernel adds to the process's clock what its threads do on other processors when their clocks tick, which may be after 10 ms: more than
    /// the pool may be ahead of its quota. A thread whose own clock is read is up to date.
    fn used(&mut self, shared: &Shared) -> Option<Duration> {
        self.clocks_read = shared.brings_clocks_up_to_date();
        os::process_time()
    }

    fn waited(&mut self, shared: &Shared) -> Option<Duration> {
        shared.waits_of_the_first(ASKED)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_reading_that_fails_lifts_no_quota() {
        let quota = |processors| {
            let period = Duration::from_millis(100);
            Some(Quota { processors, period, file: Path::new("quota").into() })
        };
        let fault = |problem: &str| LimitFault::file("quota", problem.to_owned());
        let mut kept = Kept { last: quota(2.0), known: vec![fault("always")] };
        assert_eq!(kept.after(None, &[fault("always"), fault("too many open files")]), quota(2.0));
        assert_eq!(kept.after(quota(3.0), &[fault("too many open files")]), quota(2.0));
        assert_eq!(kept.after(quota(3.0), &[fault("always")]), quota(3.0));
        assert_eq!(kept.after(None, &[]), None);
    }
}
