//! What a pool knows about the machine: the only place that tells whether it is busy.
//!
//! - How many processors the system grants: affinity and quotas, read now and then.
//! - Whether other programs want processors: the number of runnable threads, sampled by thieves,
//!   and with a board by the monitor.

use crate::os::{self, Assists, LimitFault, Processors, Quota, QuotaWatch, ThreadAffinity};
use crate::periodic::Periodic;
use crate::primitive::{AtomicU64, Instant, Ordering};
use crate::tuning::{GRANT_INTERVAL, LOOK_INTERVAL, QUIET, SAMPLE_WEIGHT};

/// What one pool knows about the machine.
#[derive(Debug)]
pub(crate) struct Machine {
    /// The processors that the process was allowed to use when the pool was built.
    at_build: Processors,
    tells_runnable_threads: bool,
    since: Instant,
    grant: Periodic<Grant>,
    /// When the runnable threads were last counted, in nanoseconds after `since`.
    sampled: AtomicU64,
    /// The smoothed number of runnable threads of other programs, in units of 1/[`ONE`], or
    /// [`UNKNOWN`].
    others: AtomicU64,
}

const ONE: u64 = 1 << 16;
/// No sample has been taken. As if the machine were shared, which costs less if it is wrong.
const UNKNOWN: u64 = u64::MAX;

/// How the number of granted processors is read.
#[derive(Debug)]
struct Grant {
    watch: QuotaWatch,
    quota: Option<Quota>,
    /// The faults of the first reading. A later reading with other faults, for example because no
    /// more files can be opened, does not lift a quota.
    known_faults: Vec<LimitFault>,
}

impl Machine {
    pub(crate) fn new(assists: Assists) -> Self {
        let watch = QuotaWatch::of_this_process();
        let (quota, known_faults) = watch.quota();
        Self {
            at_build: Processors::allowed(),
            tells_runnable_threads: assists.has(Assists::RUNNABLE_THREADS),
            since: Instant::now(),
            grant: Periodic::new(Some(GRANT_INTERVAL), Grant { watch, quota, known_faults }),
            sampled: AtomicU64::new(0),
            others: AtomicU64::new(UNKNOWN),
        }
    }

    /// The processors that the process was allowed to use when the pool was built.
    pub(crate) fn at_build(&self) -> &Processors {
        &self.at_build
    }

    fn nanos(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.since).as_nanos() as u64
    }

    /// The number of processors that threads with these affinities are granted now, if it is time
    /// to read that, and no other worker does.
    pub(crate) fn read_grant<'a>(
        &self,
        now: Instant,
        affinities: impl Iterator<Item = &'a ThreadAffinity>,
    ) -> Option<usize> {
        let mut grant = self.grant.take(now, GRANT_INTERVAL)?;
        let by_affinity = ThreadAffinity::count_union(affinities);
        let by_affinity = by_affinity.unwrap_or(self.at_build.ids().len());
        Some(granted(by_affinity, grant.read_quota()))
    }

    /// True if other programs have hardly wanted a processor lately.
    pub(crate) fn is_quiet(&self) -> bool {
        self.others.load(Ordering::Relaxed) < QUIET
    }

    /// True if it is known that other programs want processors.
    pub(crate) fn is_busy(&self) -> bool {
        (QUIET..UNKNOWN).contains(&self.others.load(Ordering::Relaxed))
    }

    /// Counts the runnable threads that are none of the pool's `active` ones, if it is time for
    /// that and no other thief does. Where the system does not tell, other programs count as
    /// wanting all processors.
    pub(crate) fn sample(&self, now: Instant, active: impl FnOnce() -> usize) {
        let (now, last) = (self.nanos(now), self.sampled.load(Ordering::Relaxed));
        let is_due = now.saturating_sub(last) >= LOOK_INTERVAL.as_nanos() as u64;
        let is_mine = || {
            self.sampled.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if is_due && is_mine() {
            let runnable = self.tells_runnable_threads.then(os::runnable_threads).flatten();
            let others = runnable.map(|runnable| runnable.saturating_sub(active()));
            self.add(others.unwrap_or_else(|| self.at_build.count()));
        }
    }

    fn add(&self, others: usize) {
        let sample = others as u64 * ONE;
        let after = match self.others.load(Ordering::Relaxed) {
            UNKNOWN => sample,
            before => before - before / SAMPLE_WEIGHT + sample / SAMPLE_WEIGHT,
        };
        self.others.store(after, Ordering::Relaxed);
    }
}

impl Grant {
    fn read_quota(&mut self) -> Option<&Quota> {
        let (quota, faults) = self.watch.quota();
        if faults.iter().all(|fault| self.known_faults.contains(fault)) {
            self.quota = quota;
        }
        self.quota.as_ref()
    }
}

/// A quota is rounded up: rounded down, a quota of one and a half processors would leave a third of
/// it unused.
fn granted(processors: usize, quota: Option<&Quota>) -> usize {
    let by_quota = quota.map_or(usize::MAX, |quota| quota.processors.ceil() as usize);
    processors.min(by_quota).max(1)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_quota_is_rounded_up_and_counts_only_below_the_affinity() {
        let with = |processors, quota| {
            let period = Duration::from_millis(100);
            let file = std::path::Path::new("fake").into();
            granted(processors, Some(&Quota { processors: quota, period, file }))
        };
        assert_eq!([with(4, 1.5), with(4, 2.0), with(4, 0.1), with(2, 3.5)], [2, 2, 1, 2]);
        assert_eq!([granted(4, None), granted(0, None)], [4, 1]);
    }

    #[test]
    fn the_grant_is_read_when_it_is_due() {
        let machine = Machine::new(Assists::ALL);
        let own = [ThreadAffinity::of_this_thread()];
        let read = |time| machine.read_grant(machine.since + time, own.iter());
        assert_eq!(read(GRANT_INTERVAL - Duration::from_nanos(1)), None);
        let later = Duration::from_secs(60);
        let granted = read(later);
        assert!(granted.is_some_and(|granted| granted >= 1), "{granted:?}");
        assert_eq!(read(later + GRANT_INTERVAL - Duration::from_nanos(1)), None);
        assert!(read(later + GRANT_INTERVAL).is_some());
    }

    #[test]
    fn the_machine_is_quiet_after_a_while_without_others_and_busy_beside_one() {
        let machine = Machine::new(Assists::ALL);
        assert!(!machine.is_quiet(), "it is not known yet");
        machine.add(0);
        assert!(machine.is_quiet());
        let machine = Machine::new(Assists::ALL);
        machine.add(1);
        (0..9).for_each(|_| machine.add(0));
        assert!(!machine.is_quiet());
        machine.add(0);
        assert!(machine.is_quiet());
        (0..90).for_each(|_| machine.add(0));
        (0..2).for_each(|_| machine.add(1));
        assert!(machine.is_quiet(), "a thread that runs now and then");
        machine.add(1);
        assert!(!machine.is_quiet());
    }
}
