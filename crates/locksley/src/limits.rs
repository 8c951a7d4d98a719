//! The one limit: how many workers of a pool may be active.
//!
//! So many of a pool's workers may be active: they work or search. A worker over the limit goes on
//! until it has run out of tasks of its own, and parks. The number is in `Sleep`; here are its
//! rules.
//!
//! | the limit | when |
//! |---|---|
//! | begins at the pool's size | the program has set a size |
//! | begins at what the system grants, the *grant* | otherwise |
//! | becomes the new size | the program resizes the pool |
//! | rises to the smaller of grant and share, at most to the size | these have risen |
//! | falls to less than are active, at least to the grant | one is ready for long ([`ReadyTime`]) |
//! | falls from the grant to the *share*, what other pools leave of it | the same (`share.rs`) |
//! | rises to the grant | tasks may wait for one another: the share pauses (`search/monitor.rs`) |
//! | doubles, up to the size | tasks wait while workers block, or run for 100 ms ([`Evidence`]) |
//!
//! More active workers than processors give nothing but unfairness to other programs, unless the
//! workers block: in a mutex, or a read from a file. (In a wait of the pool, and in
//! [`blocking`](crate::blocking()), another thread takes the index.) .NET's thread pool calls the
//! last rule *starvation avoidance*.

use std::time::Duration;

use crate::primitive::{AtomicUsize, Ordering};
use crate::tuning::{LOOK_INTERVAL, NO_PROGRESS};

/// The bounds of the limit. Accesses are relaxed: no task depends on them.
#[derive(Debug)]
pub(crate) struct Bounds {
    /// The largest limit, as the program has set it.
    most: AtomicUsize,
    /// The number of processors that the system grants; 0 while it is not known.
    granted: AtomicUsize,
    /// The share beside other pools of the user; `usize::MAX` while there are none.
    share: AtomicUsize,
}

impl Bounds {
    pub(crate) fn new(most: usize, granted: usize) -> Self {
        let [most, granted, share] = [most, granted, usize::MAX].map(AtomicUsize::new);
        Self { most, granted, share }
    }

    /// The largest limit.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// The smallest limit. 0 if the only worker is a borrowed thread, which does not count.
    pub(crate) fn least(&self) -> usize {
        self.processors().max(1).min(self.most())
    }

    /// The number of processors that the system grants.
    pub(crate) fn granted(&self) -> usize {
        self.granted.load(Ordering::Relaxed)
    }

    /// The granted processors that other pools leave to this one.
    pub(crate) fn processors(&self) -> usize {
        self.granted().min(self.share.load(Ordering::Relaxed))
    }

    /// Sets the largest limit. Returns the limit that follows.
    pub(crate) fn set_most(&self, most: usize) -> usize {
        self.most.store(most, Ordering::Relaxed);
        most
    }

    /// Sets what the system grants. Returns the limit that follows from `limit`.
    pub(crate) fn set_granted(&self, granted: usize, limit: usize) -> usize {
        self.granted.store(granted, Ordering::Relaxed);
        limit.max(self.least()).min(self.most())
    }

    /// Sets the share of what the system grants. Returns the limit that follows from `limit`.
    pub(crate) fn set_share(&self, share: usize, limit: usize) -> usize {
        self.share.store(share, Ordering::Relaxed);
        limit.max(self.least()).min(self.most())
    }

    /// The limit after an active worker has waited for a processor. The worker is one of `active`.
    pub(crate) fn lowered(&self, limit: usize, active: usize) -> usize {
        let granted = self.granted();
        if limit <= granted {
            return self.least(); // other pools want the rest
        }
        limit.min(active.saturating_sub(1)).max(granted.max(1))
    }

    /// The limit after active workers have blocked while tasks wait. `None` if fewer are `active`
    /// than may be: the thread that a wake-up has chosen may be suspended, so the monitor wakes up.
    pub(crate) fn raised(&self, limit: usize, active: usize) -> Option<usize> {
        (active >= limit).then(|| limit.saturating_mul(2).min(self.most()))
    }
}

/// How long a worker has been ready without running, between two looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadyTime {
    pub(crate) elapsed: Duration,
    pub(crate) waited: Duration,
}

impl ReadyTime {
    /// True if the worker has waited for processors: for a quarter of the time. On an idle machine,
    /// threads that sleep and wake up wait for less in most programs. Two workers that share two
    /// processors with a thread that never sleeps wait for at least a quarter each.
    pub(crate) fn is_long(self) -> bool {
        self.elapsed >= LOOK_INTERVAL && self.waited * 4 >= self.elapsed
    }
}

/// Some workers that have a task, at one look.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    /// The numbers of their slots.
    pub(crate) workers: Vec<usize>,
    /// How long they have run since they started, in total. `None` where the system does not tell.
    pub(crate) ran: Option<Duration>,
    /// How long they have waited for a processor, in total.
    pub(crate) waited: Duration,
    /// How many of them block.
    pub(crate) blocked: usize,
}

/// The times of a worker between two looks, the mean of those that were sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) ran: Duration,
    /// How long it ran or waited for a processor.
    pub(crate) busy: Duration,
}

impl Sample {
    /// The times of these workers since an earlier sample of them. `None` where they are not known.
    ///
    /// The kernel tells how long a thread has waited only when it runs again. So a worker that is
    /// runnable at this look counts as busy all the time. If no worker has a task, none blocks.
    pub(crate) fn since(&self, before: &Self, elapsed: Duration) -> Option<Times> {
        if self.workers.is_empty() && before.workers.is_empty() {
            return Some(Times { ran: elapsed, busy: elapsed });
        }
        let workers = u32::try_from(self.workers.len()).ok().filter(|&workers| workers > 0)?;
        let ran = before.ran.zip(self.ran);
        let (ran_before, now) = ran.filter(|_| before.workers == self.workers)?;
        let ran = now.saturating_sub(ran_before) / workers;
        let waited = self.waited.saturating_sub(before.waited) / workers;
        let runnable = workers - self.blocked as u32;
        Some(Times { ran, busy: (ran + waited).max(elapsed * runnable / workers) })
    }
}

/// What the monitor has seen of active workers while the same tasks waited, between two looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Evidence {
    pub(crate) elapsed: Duration,
    /// The mean times of those that were sampled. `None` where the system does not tell: then they
    /// count as blocked.
    pub(crate) times: Option<Times>,
    /// For how long they have run since the same tasks lie in a queue, on average.
    pub(crate) ran: Duration,
}

impl Evidence {
    /// True if the limit is to be raised: active workers have blocked for a quarter of the time. Or
    /// they make no progress.
    pub(crate) fn calls_for_more(self) -> bool {
        let are_blocked = self.times.is_none_or(|times| times.busy * 4 < self.elapsed * 3);
        are_blocked || self.is_without_progress()
    }

    /// True if they have run for long: they may spin until one of the waiting tasks has run.
    pub(crate) fn is_without_progress(self) -> bool {
        self.ran >= NO_PROGRESS
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    #[test]
    fn the_limit_stays_between_what_is_granted_and_what_the_program_has_set() {
        let bounds = Bounds::new(8, 2);
        assert_eq!((bounds.least(), bounds.most()), (2, 8));
        let lowered = [(8, 8), (8, 4), (4, 8), (2, 2), (3, 3), (8, 0)];
        let lowered = lowered.map(|(limit, active)| bounds.lowered(limit, active));
        assert_eq!(lowered, [7, 3, 4, 2, 2, 2]);
        let raised = [1, 2, 3, 4, 5, 8].map(|limit| bounds.raised(limit, limit).unwrap());
        assert_eq!(raised, [2, 4, 6, 8, 8, 8]);
        assert_eq!((bounds.raised(3, 2), bounds.raised(3, 4)), (None, Some(6)));
        // Other pools want their shares.
        assert_eq!((bounds.set_share(1, 2), bounds.least(), bounds.processors()), (2, 1, 1));
        let lowered = [(8, 8), (4, 4), (3, 3), (2, 2), (1, 1), (2, 0)];
        let lowered = lowered.map(|(limit, active)| bounds.lowered(limit, active));
        assert_eq!(lowered, [7, 3, 2, 1, 1, 1], "to what is granted, and then to the share");
        assert_eq!(bounds.set_granted(8, 4), 4, "a share of eight processors");
        assert_eq!((bounds.lowered(8, 8), bounds.set_share(3, 1)), (1, 3));
        assert_eq!((bounds.set_share(usize::MAX, 3), bounds.set_granted(2, 3)), (8, 3));
        // More is granted than there are workers, then nothing is known.
        assert_eq!((bounds.set_granted(16, 2), bounds.least()), (8, 8));
        assert_eq!((bounds.set_granted(0, 8), bounds.least()), (8, 1));
        assert_eq!(bounds.set_granted(3, 2), 3);
        // The program lowers the most.
        assert_eq!((bounds.set_most(1), bounds.least(), bounds.raised(1, 1)), (1, 1, Some(1)));
    }

    #[test]
    fn a_worker_has_waited_if_it_was_a_quarter_of_the_time_and_long_enough() {
        let waits = |elapsed, waited| ReadyTime { elapsed, waited }.is_long();
        assert!(waits(8 * MILLI, 2 * MILLI) && waits(2 * MILLI, MILLI / 2));
        assert!(!waits(8 * MILLI, 2 * MILLI - Duration::from_nanos(1)));
        assert!(!waits(2 * MILLI - Duration::from_nanos(1), MILLI));
    }

    #[test]
    fn the_limit_is_raised_if_tasks_wait_and_workers_block_for_a_quarter_of_the_time() {
        let (elapsed, ran) = (4 * MILLI, Duration::ZERO);
        let seen = Evidence { elapsed, times: None, ran };
        assert!(seen.calls_for_more(), "the system does not tell");
        let busy = |busy| Evidence { times: Some(Times { ran: MILLI, busy }), ..seen };
        let nano = Duration::from_nanos(1);
        assert!(busy(3 * MILLI - nano).calls_for_more());
        assert!(!busy(3 * MILLI).calls_for_more());
        let spins = |ran| Evidence { ran, ..busy(4 * MILLI) };
        assert!(spins(NO_PROGRESS).calls_for_more());
        assert!(!spins(NO_PROGRESS - nano).calls_for_more());
    }

    #[test]
    fn samples_of_the_same_workers_are_compared() {
        let sample = |workers: &[usize], ran: u32, blocked| {
            let (workers, waited) = (workers.to_vec(), Duration::ZERO);
            Sample { workers, ran: Some(ran * MILLI), waited, blocked }
        };
        let before = sample(&[0, 2], 10, 1);
        let since = |now: Sample| now.since(&before, 4 * MILLI);
        let times = |ran, busy| Some(Times { ran: ran * MILLI, busy: busy * MILLI });
        assert_eq!(since(sample(&[0, 2], 10, 0)), times(0, 4), "they wait for processors");
        assert_eq!(since(sample(&[0, 2], 12, 1)), times(1, 2));
        assert_eq!(since(sample(&[0, 2], 16, 1)), times(3, 3), "one blocks since a moment ago");
        assert_eq!(since(sample(&[0, 2], 10, 2)), times(0, 0));
        assert_eq!(since(sample(&[0, 3], 16, 0)), None);
        assert_eq!(since(Sample { ran: None, ..sample(&[0, 2], 0, 0) }), None);
        let waited = Sample { waited: 4 * MILLI, ..sample(&[0, 2], 12, 2) };
        assert_eq!(since(waited), times(1, 3));
        let none = sample(&[], 0, 0).since(&sample(&[], 0, 0), MILLI);
        assert_eq!(none, Some(Times { ran: MILLI, busy: MILLI }), "none has a task");
    }
}
