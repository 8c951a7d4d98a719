//! How many workers may be awake, unless the program sets a number.
//!
//! Workers without tasks poll what the system allows. The README beside this file has the states,
//! and says which workers poll, and why that is enough.

mod contention;
mod pace;
mod source;
#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::{Mutex, TryLockError};
use std::time::Duration;

use crate::idle::Limit;
use crate::os::{Processors, Quota};
use crate::primitive::{AtomicBool, AtomicU64, AtomicUsize, Instant, Ordering, fence};
use crate::scheduler::Shared;
use contention::{Contention, Sample};
use pace::Pace;
pub(crate) use source::{OpenSource, Source, system};

/// A pool has this many times as many workers as are allowed when it is built, if the machine has
/// as many processors: more may be allowed later. Programs written for rayon divide their work by
/// the number of threads, so for them it has no more.
pub(crate) const GROWTH: usize = if cfg!(feature = "rayon-variables") { 1 } else { 4 };

/// The number of additional workers that stay asleep while all allowed ones are awake, except as a
/// sentinel. None for programs written for rayon; `PoolBuilder` has more exceptions.
pub(crate) const SENTINELS: usize = if cfg!(feature = "rayon-variables") { 0 } else { 1 };

/// The time between two readings of the system limits.
const READING_INTERVAL: Duration = Duration::from_millis(100);
/// The least time between two readings of the usage.
const MIN_USAGE_INTERVAL: Duration = Duration::from_millis(1);
/// A woken worker first does what it was woken for. If a reading of the system limits is due then,
/// only workers that are about to sleep do it for this long.
const HEAD_START: Duration = Duration::from_millis(20);
/// The usage of more awake workers than this takes too long to read for a worker that counts as
/// searching.
const FEW: usize = 4;

/// What the system allows, and when to poll it. Times are nanoseconds since `epoch`.
pub(crate) struct Allowance {
    epoch: Instant,
    /// When to read the usage: before the first poll at once, then never if no worker has to rest.
    usage_due: AtomicU64,
    /// When a worker with tasks reads the usage, if no other worker has.
    usage_overdue: AtomicU64,
    /// When to read the system limits.
    limits_due: AtomicU64,
    /// Until this time only workers that are about to sleep read the system limits.
    limits_postponed: AtomicU64,
    /// How many workers may be awake.
    awake_limit: AtomicUsize,
    /// True if the program has set the number of workers.
    is_stopped: AtomicBool,
    /// Locked by the worker that polls. No worker waits for it.
    state: Mutex<PollState>,
}

/// The results of the last poll.
struct PollState {
    source: Box<dyn Source>,
    /// When the system limits were read.
    read_at: Duration,
    /// The number of processors, whatever the quota.
    processors: usize,
    quota: Option<Quota>,
    /// How many workers may be awake, plus the one that rests.
    allowed: usize,
    /// Present if a worker has to rest from time to time.
    pace: Option<Pace>,
    contention: Contention,
    /// True if workers have waited for processors that other programs had.
    is_contended: bool,
    /// How many workers may be awake by the last limit that was set, without and with the one that
    /// rests.
    applied: (usize, usize),
}

/// What a worker that polls is doing, which decides what it may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollPhase {
    /// It sleeps next and does not count as searching: it reads all that is due.
    BeforeSleep,
    /// It searches next and does not count as searching: the same, except during a head start.
    BeforeSearch,
    /// It counts as searching, so pushes wake no other worker: it reads only the usage of few
    /// workers.
    Searching,
    /// It has tasks: it reads what is overdue.
    Working,
}

/// The result of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outcome {
    /// How many workers may be awake, plus the one that rests.
    allowed: usize,
    /// How long a worker rests, if one does.
    rest: Option<Duration>,
    /// When to read the usage again, and when a worker with tasks does so.
    next_usage: Option<(Duration, Duration)>,
}

impl Allowance {
    /// Starts with the system limits that were read for the pool's construction.
    pub(crate) fn new(processors: &Processors, source: Box<dyn Source>) -> Self {
        let quota = processors.quota().cloned();
        let state = PollState::new(processors.ids().len(), quota, source);
        Self {
            epoch: Instant::now(),
            usage_due: AtomicU64::new(0),
            usage_overdue: AtomicU64::new(0),
            limits_due: AtomicU64::new(nanos(state.next_reading())),
            limits_postponed: AtomicU64::new(0),
            awake_limit: AtomicUsize::new(state.allowed),
            is_stopped: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    /// How many workers may be awake now.
    pub(crate) fn awake_limit(&self) -> usize {
        // Relaxed: a hint for searches.
        self.awake_limit.load(Ordering::Relaxed)
    }

    /// The present time.
    pub(crate) fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// True if a worker that is about to sleep should poll.
    pub(crate) fn is_due(&self, now: Duration) -> bool {
        !self.is_stopped() && (is_past(&self.limits_due, now) || is_past(&self.usage_due, now))
    }

    /// True if a poll is due that takes too long for a worker that counts as searching, while this
    /// many workers are awake.
    pub(crate) fn is_poll_long(&self, now: Duration, awake: usize) -> bool {
        let is_usage_long = || awake > FEW && is_past(&self.usage_due, now);
        !self.is_stopped() && (is_usage_long() || self.is_reading_due(now))
    }

    fn is_reading_due(&self, now: Duration) -> bool {
        is_past(&self.limits_due, now) && is_past(&self.limits_postponed, now)
    }

    /// Gives a woken worker a head start. Called before it counts as working.
    pub(crate) fn postpone_reading(&self, now: Duration) {
        if is_past(&self.limits_due, now) {
            // Relaxed: as all times. Workers that are about to sleep do not use it.
            self.limits_postponed.store(nanos(now + HEAD_START), Ordering::Relaxed);
        }
    }

    /// Polls if that is due and no other worker does. True if this worker has polled.
    pub(crate) fn poll(&self, now: Duration, shared: &Shared, phase: PollPhase) -> bool {
        let is_usage_due = || is_past(&self.usage_due, now);
        let (reads_limits, reads_usage) = match phase {
            PollPhase::BeforeSleep => (is_past(&self.limits_due, now), is_usage_due()),
            PollPhase::BeforeSearch => (self.is_reading_due(now), is_usage_due()),
            PollPhase::Searching => (false, is_usage_due() && shared.awake() <= FEW),
            PollPhase::Working => (
                is_past(&self.limits_due, now.saturating_sub(READING_INTERVAL))
                    && is_past(&self.limits_postponed, now),
                is_past(&self.usage_overdue, now),
            ),
        };
        if !(reads_limits || reads_usage) || self.is_stopped() {
            return false;
        }
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let outcome = state.poll(now, shared, reads_limits);
        self.limits_due.store(nanos(state.next_reading()), Ordering::Relaxed);
        let (due, overdue) = outcome.next_usage.unwrap_or((Duration::MAX, Duration::MAX));
        self.usage_due.store(nanos(due), Ordering::Relaxed);
        self.usage_overdue.store(nanos(overdue), Ordering::Relaxed);
        self.awake_limit.store(outcome.awake_limit(), Ordering::Relaxed);
        shared.sleep.set_one_more_allowed(state.allows_one_more());
        let limit = (outcome.awake_limit(), outcome.allowed);
        let before = std::mem::replace(&mut state.applied, limit);
        // Under the lock, so that limits come in order. A rest that goes on may have become
        // shorter.
        if limit != before || outcome.rest.is_some() {
            apply(outcome, shared);
        }
        // Pairs with the fence in `stop`: either `stop` restores the limits later, or its flag is
        // seen here.
        fence(Ordering::SeqCst);
        if self.is_stopped() {
            self.restore_first_limit(shared);
        }
        true
    }

    /// Ends all polls: the program has set the number of workers.
    pub(crate) fn stop(&self, shared: &Shared) {
        self.is_stopped.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.restore_first_limit(shared);
    }

    fn restore_first_limit(&self, shared: &Shared) {
        self.awake_limit.store(shared.processors_at_build(), Ordering::Relaxed);
        shared.sleep.set_one_more_allowed(false);
        shared.sleep.set_limit(shared.limit_at_build(), usize::MAX);
    }

    /// True if the program has set the number of workers.
    pub(crate) fn is_stopped(&self) -> bool {
        // Relaxed: see `poll`.
        self.is_stopped.load(Ordering::Relaxed)
    }
}

fn apply(outcome: Outcome, shared: &Shared) {
    let limit = shared.allowed_limit(outcome.awake_limit());
    let timed_park = outcome.rest.map_or(limit.timed_park, |rest| limit.timed_park.min(rest));
    shared.sleep.set_limit(Limit { timed_park, ..limit }, outcome.allowed);
}

impl Outcome {
    fn awake_limit(&self) -> usize {
        self.allowed - usize::from(self.rest.is_some())
    }
}

impl PollState {
    fn new(processors: usize, quota: Option<Quota>, source: Box<dyn Source>) -> Self {
        let mut state = Self {
            source,
            read_at: Duration::ZERO,
            processors,
            quota,
            allowed: 1,
            pace: None,
            contention: Contention::default(),
            is_contended: false,
            applied: (1, 1),
        };
        state.compute_allowed();
        state.applied = (state.allowed, state.allowed);
        state
    }

    fn poll(&mut self, now: Duration, shared: &Shared, reads_limits: bool) -> Outcome {
        if reads_limits && now >= self.next_reading() {
            self.read_at = now;
            self.read_limits(shared);
            let times = self.source.processor_wait(shared).zip(self.source.process_time());
            let sample = times.map(|(waited, used)| Sample { at: now, waited, used });
            self.is_contended = self.contention.update(sample, self.processors.max(1));
        }
        let (mut next_usage, mut rest) = (None, None);
        if let Some(pace) = &mut self.pace
            && let Some(used) = self.source.processor_time(shared)
        {
            let interval = pace.update_interval().max(MIN_USAGE_INTERVAL);
            next_usage = Some((now + interval, now + 2 * interval));
            // A worker that wakes up before the next reading is still over the push limit.
            rest = pace.update(now, used).then(|| pace.rest_duration().max(interval));
        }
        Outcome { allowed: self.allowed, rest, next_usage }
    }

    fn next_reading(&self) -> Duration {
        self.read_at + self.source.interval()
    }

    fn read_limits(&mut self, shared: &Shared) {
        let processors = self.source.processors(shared).unwrap_or(self.processors);
        let quota = self.source.quota();
        if processors != self.processors || quota != self.quota {
            (self.processors, self.quota) = (processors, quota);
            self.compute_allowed();
        }
        if let Some(pace) = &mut self.pace
            && let Some(quota) = &self.quota
            && let Some(periods) = self.source.throttled_periods(quota)
        {
            pace.record_throttled(periods);
        }
    }

    /// The quota, if it is less than all processors.
    fn tight_quota(&self) -> Option<&Quota> {
        self.quota.as_ref().filter(|quota| quota.processors < self.processors.max(1) as f64)
    }

    /// True if one more worker may be awake for tasks that are sent. Not beside a single worker,
    /// which waits only for its own time slice, and not under a quota.
    fn allows_one_more(&self) -> bool {
        self.is_contended && self.allowed > 1 && self.tight_quota().is_none()
    }

    fn compute_allowed(&mut self) {
        let all = self.processors.max(1);
        let pace = self.tight_quota().map(|quota| Pace::new(quota.processors, quota.period));
        self.allowed = pace.as_ref().map_or(all, Pace::workers).max(1);
        // A single worker cannot rest: no other worker would run the tasks.
        self.pace = pace.filter(|_| self.allowed > 1);
    }
}

/// True if the time `due` has come.
fn is_past(due: &AtomicU64, now: Duration) -> bool {
    // Relaxed: a worker that sees an old time polls too often.
    now.as_nanos() >= u128::from(due.load(Ordering::Relaxed))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
