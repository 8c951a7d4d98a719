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

use crate::limits::Sample;
use crate::os::{Board, PARTS};
use crate::periodic::Periodic;
use crate::primitive::Instant;
use crate::tuning::{SAMPLE_WEIGHT, SHARE_INTERVAL};

/// What one pool knows of its share.
#[derive(Debug)]
pub(crate) struct Share(Periodic<State>);

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
        let looked = Instant::now();
        let state = State { board: None, wanted: 0, looked, sample: Sample::default() };
        Self(Periodic::new(is_asked_for.then_some(SHARE_INTERVAL), state))
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
        let mut state = self.0.take(now, SHARE_INTERVAL)?;
        if !is_busy {
            return Some(usize::MAX);
        }
        if state.board.is_none() {
            state.board = Board::open();
        }
        if state.board.is_none() {
            self.0.end();
            return Some(usize::MAX);
        }
        let (workers, sample) = workers();
        let share = state.exchange(now, workers.min(granted), sample, granted);
        // A pause may have begun meanwhile.
        let is_paused = self.0.is_postponed(now + 2 * SHARE_INTERVAL);
        Some(share.unwrap_or(usize::MAX)).filter(|_| !is_paused)
    }

    /// Tasks of the pool may wait for one another: it takes no part in the division until then.
    pub(crate) fn pause(&self, until: Instant) {
        self.0.postpone(until);
    }

    /// True if the pool is asked to divide the processors with others, and can.
    pub(crate) fn is_asked_for(&self) -> bool {
        !self.0.has_ended()
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

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

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
        let before = Instant::now();
        let share = Share::new(true);
        let workers = || (2, Sample::default());
        let read = |time, is_busy| share.read(before + time, is_busy, 2, workers);
        let just_before = SHARE_INTERVAL - Duration::from_nanos(1);
        assert_eq!(read(just_before, true), None, "it is not due");
        let later = Duration::from_secs(60);
        assert_eq!(read(later, false), Some(usize::MAX));
        assert_eq!(read(later + just_before, true), None);
        // Other pools of this user may compute meanwhile; and there may be no board.
        let own = read(later + SHARE_INTERVAL, true);
        assert!(matches!(own, Some(1 | 2 | usize::MAX)), "{own:?}");
    }

    #[test]
    fn a_pool_that_pauses_does_not_look() {
        let before = Instant::now();
        let share = Share::new(true);
        let read = |seconds| {
            let now = before + Duration::from_secs(seconds);
            share.read(now, false, 2, || unreachable!())
        };
        share.pause(before + Duration::from_secs(90));
        assert_eq!((read(89), read(90)), (None, Some(usize::MAX)));
        assert!(share.is_asked_for());
    }

    #[test]
    fn a_pool_without_a_board_never_looks() {
        let share = Share::new(false);
        let year = Duration::from_secs(365 * 86_400);
        assert_eq!(share.read(Instant::now() + year, true, 2, || unreachable!()), None);
        assert!(!share.is_asked_for());
    }
}
