//! What a pool may use whose number of workers nobody chose: read again while it runs, by who has nothing to do.
//!
//! The README beside this file has the states, and says who looks and why that is enough.

mod contention;
mod pace;
mod source;
#[cfg(all(test, not(loom)))]
mod tests;

use std::fmt;
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

use crate::idle::Limit;
use crate::os::{Processors, Quota};
use crate::primitive::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use crate::scheduler::Shared;
use contention::{Contention, Seen};
use pace::Pace;
pub(crate) use source::{Asked, Source};

/// A pool whose number of workers nobody chose has so many times as many as are allowed when it is built, if the machine has as many processors:
/// more may be allowed later. In programs written for rayon, which divide their work by the number of threads, it has no more.
pub(crate) const ROOM: usize = if cfg!(feature = "rayon-variables") { 1 } else { 4 };

/// Beside these it has one that may not be awake as long as all of them are: the sentinel. Not in such programs, nor where it would be too many for a place, or beside a borrowed thread
/// (`PoolBuilder::build`).
pub(crate) const SENTINELS: usize = if cfg!(feature = "rayon-variables") { 0 } else { 1 };

/// So long after one time of looking what is allowed comes the next.
const BETWEEN_READINGS: Duration = Duration::from_millis(100);
/// And so long, at least, after one look at what has been used.
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);
/// Who gets up does what it was woken for. If it is time then to read what is allowed, for so long only those do who are about to sleep.
const HEAD_START: Duration = Duration::from_millis(20);

/// How many workers may be awake, as the system allows it.
pub(crate) struct Allowance {
    since: Instant,
    /// When to look next at what has been used, in nanoseconds since then. Never, if nobody has to rest.
    clocks_due: AtomicU64,
    /// When somebody who has work does so, if nobody else has.
    clocks_overdue: AtomicU64,
    /// When to read again what is allowed, likewise.
    reading_due: AtomicU64,
    /// Until then that is left to those who are about to sleep.
    put_off: AtomicU64,
    /// How many may be awake by the last look.
    now: AtomicUsize,
    /// The same, with the one that rests.
    allowed: AtomicUsize,
    /// Whether somebody has said how many there are to be.
    is_chosen: AtomicBool,
    /// Had by who looks. Nobody waits for it.
    look: Mutex<Look>,
}

/// What was seen last.
struct Look {
    source: Box<dyn Source>,
    /// When what is allowed was read.
    read: Duration,
    /// How many processors there are, whatever a quota says.
    processors: usize,
    quota: Option<Quota>,
    /// How many workers may be awake, those that rest included.
    awake: usize,
    /// If one of them has to rest from time to time.
    pace: Option<Pace>,
    contention: Contention,
    /// Whether workers had to wait for processors lately that others had.
    is_contended: bool,
    /// What was done about it last: how many may be awake, and those without the one that rests, if one does.
    applied: (usize, usize, bool),
}

/// What a worker is about that could look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollBudget {
    /// It does not count as searching, and is to sleep next: it may take as long as it takes to read files.
    Full,
    /// It does not count as searching, and is to search next: the same, but that it has a head start after a pause.
    Hardly,
    /// It counts as searching, so pushes wake nobody meanwhile: it reads no files, and few clocks.
    Searches,
    /// It has work, and looks only if nobody else has for twice as long as somebody should.
    HasWork,
}

/// Who searches reads the clocks of no more workers than these; of more, who has stopped.
const FEW: usize = 4;

/// What follows from a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Verdict {
    awake: usize,
    /// With the one that rests.
    allowed: usize,
    /// For how long a worker rests, if one does.
    rest: Option<Duration>,
    /// When to look at clocks again, if at all; and when who has work does.
    next: Option<(Duration, Duration)>,
}

impl Allowance {
    /// Begins with what was allowed a moment ago.
    pub(crate) fn new(processors: &Processors, source: Box<dyn Source>) -> Self {
        let look = Look::new(processors.ids().len(), processors.quota_as_set().cloned(), source);
        Self {
            since: Instant::now(),
            clocks_due: AtomicU64::new(0),
            clocks_overdue: AtomicU64::new(0),
            put_off: AtomicU64::new(0),
            reading_due: AtomicU64::new(nanos(look.next_reading())),
            now: AtomicUsize::new(look.awake),
            allowed: AtomicUsize::new(look.awake),
            is_chosen: AtomicBool::new(false),
            look: Mutex::new(look),
        }
    }

    /// Returns when who looks at this moment has said all that follows.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn settle(&self) {
        drop(self.look.lock());
    }

    /// How many workers may be awake now.
    pub(crate) fn awake(&self) -> usize {
        // Relaxed: a figure for those who decide how to search.
        self.now.load(Ordering::Relaxed)
    }

    /// The same, whether one of them rests or not.
    pub(crate) fn allowed(&self) -> usize {
        // Relaxed: a figure for those who ask.
        self.allowed.load(Ordering::Relaxed)
    }

    /// Whether it is time to look for who is to sleep.
    pub(crate) fn is_due(&self) -> bool {
        let is_due = |now| is_past(&self.reading_due, now) || is_past(&self.clocks_due, now);
        !self.is_chosen() && is_due(self.since.elapsed())
    }

    /// Whether it is time to look for who searches, and that takes longer than it may count as searching in a pool in which so many are awake.
    pub(crate) fn takes_long(&self, awake: usize) -> bool {
        !self.is_chosen() && self.takes_long_at(self.since.elapsed(), awake)
    }

    fn takes_long_at(&self, now: Duration, awake: usize) -> bool {
        awake > FEW && is_past(&self.clocks_due, now) || self.is_reading_wanted(now)
    }

    fn is_reading_wanted(&self, now: Duration) -> bool {
        is_past(&self.reading_due, now) && is_past(&self.put_off, now)
    }

    /// A worker has got up, and what it was woken for comes first. Called before it counts as working.
    pub(crate) fn puts_off_reading(&self) {
        if !self.is_chosen() {
            self.puts_off_reading_at(self.since.elapsed());
        }
    }

    fn puts_off_reading_at(&self, now: Duration) {
        if is_past(&self.reading_due, now) {
            // Relaxed: as all that is compared with the time. Whoever is about to sleep does not go by it.
            self.put_off.store(nanos(now + HEAD_START), Ordering::Relaxed);
        }
    }

    /// Looks again, if that is due and nobody else does. Called by the pool's workers when they have nothing to do, and otherwise seldom. Says whether it
    /// has looked.
    pub(crate) fn attend(&self, shared: &Shared, budget: PollBudget) -> bool {
        !self.is_chosen() && self.poll_at(self.since.elapsed(), shared, budget)
    }

    fn poll_at(&self, now: Duration, shared: &Shared, budget: PollBudget) -> bool {
        let reads = match budget {
            PollBudget::Full => is_past(&self.reading_due, now),
            PollBudget::Hardly => self.is_reading_wanted(now),
            PollBudget::Searches => false,
            PollBudget::HasWork => {
                let was_due = now.saturating_sub(BETWEEN_READINGS);
                is_past(&self.reading_due, was_due) && is_past(&self.put_off, now)
            }
        };
        let looks = reads
            || match budget {
                PollBudget::Full | PollBudget::Hardly => is_past(&self.clocks_due, now),
                PollBudget::Searches => is_past(&self.clocks_due, now) && shared.awake() <= FEW,
                PollBudget::HasWork => is_past(&self.clocks_overdue, now),
            };
        if !looks {
            return false;
        }
        let mut look = match self.look.try_lock() {
            Ok(look) => look,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let verdict = look.at(now, shared, reads);
        self.reading_due.store(nanos(look.next_reading()), Ordering::Relaxed);
        let (due, overdue) = verdict.next.unwrap_or((Duration::MAX, Duration::MAX));
        self.clocks_due.store(nanos(due), Ordering::Relaxed);
        self.clocks_overdue.store(nanos(overdue), Ordering::Relaxed);
        self.now.store(verdict.awake, Ordering::Relaxed);
        self.allowed.store(verdict.allowed, Ordering::Relaxed);
        // One that is alone waits for its turn, and nobody for it.
        let is_welcome = look.is_contended && look.awake > 1 && look.tight_quota().is_none();
        shared.sleep().welcomes_one_more(is_welcome);
        let after = verdict.numbers();
        let before = std::mem::replace(&mut look.applied, after);
        // Before the next one looks, so that the numbers come in order. A rest that goes on may be shorter than it was.
        if after != before || verdict.rest.is_some() {
            self.apply(verdict, shared);
        }
        true
    }

    fn apply(&self, verdict: Verdict, shared: &Shared) {
        let limit = shared.limit_where_allowed(verdict.awake);
        let timed_park = verdict.rest.map_or(limit.timed_park, |rest| limit.timed_park.min(rest));
        shared.sleep().limit_to(Limit { timed_park, ..limit }, verdict.allowed);
        // Pairs with the fence in `ends`: either that comes later and has the last word, or it is seen here.
        fence(Ordering::SeqCst);
        if self.is_chosen() {
            self.let_go(shared);
        }
    }

    /// From now on somebody has said how many workers there are to be, and nobody looks any more.
    pub(crate) fn ends(&self, shared: &Shared) {
        self.is_chosen.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.let_go(shared);
    }

    fn let_go(&self, shared: &Shared) {
        self.now.store(shared.processors_at_first(), Ordering::Relaxed);
        shared.sleep().limit_to(shared.limit_at_first(), usize::MAX);
    }

    /// Whether somebody has said how many workers there are to be.
    pub(crate) fn is_chosen(&self) -> bool {
        // Relaxed: see `apply`.
        self.is_chosen.load(Ordering::Relaxed)
    }
}

impl Verdict {
    fn numbers(self) -> (usize, usize, bool) {
        (self.awake, self.allowed, self.rest.is_some())
    }
}

impl Look {
    fn new(processors: usize, quota: Option<Quota>, source: Box<dyn Source>) -> Self {
        let (read, applied) = (Duration::ZERO, (1, 1, false));
        let (contention, is_contended) = (Contention::default(), false);
        let mut look = Self {
            source,
            read,
            processors,
            quota,
            awake: 1,
            pace: None,
            contention,
            is_contended,
            applied,
        };
        look.conclude();
        look.applied = (look.awake, look.awake, false);
        look
    }

    fn at(&mut self, now: Duration, shared: &Shared, reads: bool) -> Verdict {
        if reads && now >= self.next_reading() {
            self.read = now;
            self.read_again(shared);
            let seen = self.source.waited(shared).zip(self.source.used_by_all());
            let seen = seen.map(|(waited, used)| Seen { at: now, waited, used });
            self.is_contended = self.contention.look(seen, self.processors.max(1));
        }
        let (mut next, mut rest) = (None, None);
        if let Some(pace) = &mut self.pace
            && let Some(used) = self.source.used(shared)
        {
            let pause = pace.between_looks().max(BETWEEN_LOOKS);
            next = Some((now + pause, now + 2 * pause));
            // Who gets up before somebody may look again is still over the limit.
            rest = pace.look(now, used).then(|| pace.rest().max(pause));
        }
        let awake = self.awake - usize::from(rest.is_some());
        Verdict { awake, allowed: self.awake, rest, next }
    }

    fn next_reading(&self) -> Duration {
        self.read + self.source.between_readings()
    }

    fn read_again(&mut self, shared: &Shared) {
        let processors = self.source.processors(shared).unwrap_or(self.processors);
        let quota = self.source.quota();
        if processors != self.processors || quota != self.quota {
            (self.processors, self.quota) = (processors, quota);
            self.conclude();
        }
        if let Some(pace) = &mut self.pace
            && let Some(quota) = &self.quota
            && let Some(periods) = self.source.periods_used_up(quota)
        {
            pace.was_used_up(periods);
        }
    }

    /// The quota, if that is less than all processors.
    fn tight_quota(&self) -> Option<&Quota> {
        self.quota.as_ref().filter(|quota| quota.processors < self.processors.max(1) as f64)
    }

    /// From what was read.
    fn conclude(&mut self) {
        let all = self.processors.max(1);
        let quota = self.tight_quota();
        let pace = quota.map(|quota| Pace::new(quota.processors, quota.period));
        self.awake = pace.as_ref().map_or(all, Pace::workers).max(1);
        // A worker that is alone cannot rest: nobody would do the work.
        self.pace = pace.filter(|_| self.awake > 1);
    }
}

impl fmt::Debug for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allowance").field("is_chosen", &self.is_chosen()).finish_non_exhaustive()
    }
}

/// Whether that many nanoseconds have passed.
fn is_past(due: &AtomicU64, now: Duration) -> bool {
    // Relaxed: who sees an old number looks too often.
    now.as_nanos() >= u128::from(due.load(Ordering::Relaxed))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
