//! A pool's share of the processors, beside other pools of the same user.
//!
//! Pools that are asked to ([`Assists::BOARD`](crate::os::Assists::BOARD)) tell each other on a
//! *board* how many processors they want, and each lowers its limit to its share. Then fewer
//! workers wait for processors than if each pool used all of them, and each pool gets as much as
//! the others. The kernel, which divides processors among threads, gives more to a pool with more
//! threads.
//!
//! A share is only how far the limit may fall once workers wait for processors. While no other
//! program wants a processor, a pool neither looks at the board nor makes it.
//!
//! Tasks that wait for one another, without the pool's knowing, need a worker each. So a pool whose
//! tasks make no progress takes no part for a while.

use std::sync::TryLockError;
use std::time::Duration;

use crate::limits::Sample;
use crate::os::{Board, PARTS};
use crate::primitive::plain::Mutex;
use crate::primitive::{AtomicU64, Instant, Ordering};
use crate::tuning::{SAMPLE_WEIGHT, SHARE_INTERVAL};

/// What one pool knows of its share.
#[derive(Debug)]
pub(crate) struct Share {
    since: Instant,
    /// When the board is looked at again, in nanoseconds after `since`.
    due: AtomicU64,
    /// Locked by the worker that looks. No worker waits for it.
    own: Mutex<State>,
}

#[derive(Debug)]
struct State {
    board: Option<Board>,
    /// The smoothed number of processors that the pool wants, in units of 1/[`PARTS`].
    wanted: u32,
    looked: Instant,
    /// The workers that were seen then.
    sample: Sample,
}

impl Share {
    /// `is_asked_for`: the pool is to take part in the division of processors.
    pub(crate) fn new(is_asked_for: bool) -> Self {
        let since = Instant::now();
        let own = State { board: None, wanted: 0, looked: since, sample: Sample::default() };
        let due = AtomicU64::new(if is_asked_for { nanos(SHARE_INTERVAL) } else { u64::MAX });
        Self { since, due, own: Mutex::new(own) }
    }

    /// The pool's share of `granted` processors, if it is time to look at the board, and no other
    /// worker does. `usize::MAX` if no other program wants processors, and where there is no board.
    /// `None` during a pause.
    ///
    /// `workers` are those that are active; if they are as many as the limit allows, all of the
    /// pool.
    pub(crate) fn read(
        &self,
        now: Instant,
        is_busy: bool,
        granted: usize,
        workers: impl FnOnce() -> (usize, Sample),
    ) -> Option<usize> {
        // Relaxed: a worker that sees an old time looks too often.
        if self.nanos(now) < self.due.load(Ordering::Relaxed) {
            return None;
        }
        let mut own = match self.own.try_lock() {
            Ok(own) => own,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let due = self.nanos(now + SHARE_INTERVAL);
        // A pause may have begun meanwhile.
        self.due.fetch_max(due, Ordering::Relaxed);
        if !is_busy {
            return Some(usize::MAX);
        }
        if own.board.is_none() {
            own.board = Board::open();
        }
        if own.board.is_none() {
            self.due.store(u64::MAX, Ordering::Relaxed);
            return Some(usize::MAX);
        }
        let (workers, sample) = workers();
        let share = own.exchange(now, workers.min(granted), sample, granted);
        let is_paused = self.due.load(Ordering::Relaxed) > due;
        Some(share.unwrap_or(usize::MAX)).filter(|_| !is_paused)
    }

    /// Tasks of the pool may wait for one another: it takes no part in the division until then.
    pub(crate) fn pause(&self, until: Instant) {
        self.due.fetch_max(self.nanos(until), Ordering::Relaxed);
    }

    /// True if the pool is asked to divide the processors with others, and can.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.due.load(Ordering::Relaxed) < u64::MAX
    }

    fn nanos(&self, now: Instant) -> u64 {
        nanos(now.saturating_duration_since(self.since))
    }
}

impl State {
    fn exchange(
        &mut self,
        now: Instant,
        workers: usize,
        sample: Sample,
        granted: usize,
    ) -> Option<usize> {
        let weight = SAMPLE_WEIGHT as u32;
        let wanted = self.used(now, sample) * u32::try_from(workers).unwrap_or(u32::MAX >> 9);
        self.wanted = match self.wanted {
            0 => wanted,
            before => before - before.div_ceil(weight) + wanted / weight,
        };
        self.board.as_mut()?.exchange(self.wanted, granted)
    }

    /// How much of a processor an active worker has wanted since the last look, in units of
    /// 1/[`PARTS`]: one that blocks wants none.
    fn used(&mut self, now: Instant, sample: Sample) -> u32 {
        let elapsed = now.saturating_duration_since(std::mem::replace(&mut self.looked, now));
        let before = std::mem::replace(&mut self.sample, sample);
        let times = self.sample.since(&before, elapsed).filter(|_| !elapsed.is_zero());
        times.map_or(PARTS, |times| {
            let used = times.busy.as_secs_f64() / elapsed.as_secs_f64();
            (used.min(1.0) * f64::from(PARTS)) as u32
        })
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    fn own() -> State {
        State { board: None, wanted: 0, looked: Instant::now(), sample: Sample::default() }
    }

    #[test]
    fn workers_that_block_want_nothing_and_others_a_processor_each() {
        let mut own = own();
        let start = own.looked;
        let sample = |workers: &[usize], ran, blocked| Sample {
            workers: workers.to_vec(),
            ran,
            waited: Duration::ZERO,
            blocked,
        };
        let at = |millis: u32| start + millis * MILLI;
        assert_eq!(own.used(at(10), sample(&[0, 1], Some(4 * MILLI), 2)), PARTS, "the first look");
        assert_eq!(own.used(at(20), sample(&[0, 1], Some(4 * MILLI), 0)), PARTS, "they wait");
        assert_eq!(own.used(at(30), sample(&[0, 1], Some(9 * MILLI), 2)), PARTS / 4);
        assert_eq!(own.used(at(40), sample(&[0, 1], Some(9 * MILLI), 1)), PARTS / 2);
        assert_eq!(own.used(at(50), sample(&[0, 1], Some(9 * MILLI), 2)), 0);
        assert_eq!(own.used(at(60), sample(&[0, 2], Some(9 * MILLI), 2)), PARTS, "another worker");
        assert_eq!(own.used(at(70), sample(&[0, 2], None, 0)), PARTS, "the system does not tell");
    }

    #[test]
    fn what_is_wanted_is_smoothed() {
        let mut own = own();
        let mut look = |workers| {
            own.exchange(own.looked + 10 * MILLI, workers, Sample::default(), 8);
            (own.wanted + PARTS / 2) / PARTS
        };
        assert_eq!([look(8), look(8), look(0), look(0), look(8)], [8, 8, 7, 6, 6]);
        assert_eq!((0..60).map(|_| look(8)).last(), Some(8));
        assert_eq!((0..99).map(|_| look(0)).last(), Some(0));
    }

    #[test]
    fn the_board_is_looked_at_when_it_is_due_and_others_are_busy() {
        let share = Share::new(true);
        let workers = || (2, Sample::default());
        let at = |time| share.since + time;
        let just_before = SHARE_INTERVAL - Duration::from_nanos(1);
        assert_eq!(share.read(at(just_before), true, 2, workers), None);
        assert_eq!(share.read(at(SHARE_INTERVAL), false, 2, workers), Some(usize::MAX));
        assert_eq!(share.read(at(SHARE_INTERVAL + just_before), true, 2, workers), None);
        let held = share.own.lock().unwrap();
        assert_eq!(share.read(at(2 * SHARE_INTERVAL), true, 2, workers), None);
        drop(held);
        // Other pools of this user may compute meanwhile; and there may be no board.
        let own = share.read(at(2 * SHARE_INTERVAL), true, 2, workers);
        assert!(matches!(own, Some(1 | 2 | usize::MAX)), "{own:?}");
        let share = Share::new(true);
        let at = |time| share.since + time;
        let end = Duration::from_secs(9);
        share.pause(at(end));
        assert_eq!(share.read(at(end - Duration::from_nanos(1)), false, 2, workers), None);
        assert_eq!(share.read(at(end), false, 2, workers), Some(usize::MAX));
    }

    #[test]
    fn a_pool_without_a_board_never_looks() {
        let share = Share::new(false);
        let year = Duration::from_secs(365 * 86_400);
        assert_eq!(share.read(share.since + year, true, 2, || unreachable!()), None);
    }
}
