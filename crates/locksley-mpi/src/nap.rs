//! How the thread that polls the transport waits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// For so long after the last message that was received or sent, an idle rank polls before its
/// first nap: longer than a busy rank takes to answer, so that both stay awake in an exchange.
const AWAKE_IDLE: Duration = Duration::from_micros(200);
/// And a rank that works: steals come in bursts.
const AWAKE_BUSY: Duration = Duration::from_micros(50);
/// The first nap.
const SHORTEST: Duration = Duration::from_micros(10);
/// The longest nap of a rank that works: this bounds the time for a steal from it. One poll takes
/// up to 30 µs of a processor, where a timer is expensive.
const LONGEST_BUSY: Duration = Duration::from_millis(2);
/// The longest nap of an idle rank, which takes less than 1% of a processor.
const LONGEST_IDLE: Duration = Duration::from_millis(5);
/// A thread that is later than this waits for a processor.
const LATE: u64 = 20_000; // ns

/// The lengths of naps, which grow while no messages are exchanged.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    length: Duration,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self { length: SHORTEST }
    }

    /// For so long after a message there are no naps.
    pub(crate) fn awake(busy: bool) -> Duration {
        if busy { AWAKE_BUSY } else { AWAKE_IDLE }
    }

    /// How long to wait now, until the thread is unparked at most, if the last message was
    /// exchanged `quiet` ago. A rank that is `busy` leaves the processor to its workers.
    pub(crate) fn next(&mut self, busy: bool, quiet: Duration) -> Duration {
        if quiet < Self::awake(busy) {
            return Duration::ZERO;
        }
        let longest = if busy { LONGEST_BUSY } else { LONGEST_IDLE };
        let length = self.length;
        self.length = longest.min(length * 3 / 2);
        length
    }
}

/// Naps by the system's clock.
pub(crate) struct Nap {
    start: Instant,
    pace: Pace,
}

impl Nap {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), pace: Pace::new() }
    }

    /// How long to wait now, as [`Pace::next`] says.
    pub(crate) fn next(&mut self, busy: bool) -> Duration {
        self.pace.next(busy, self.start.elapsed())
    }

    /// Waits as [`next`](Self::next) says.
    pub(crate) fn rest(&mut self, busy: bool) {
        rest(self.next(busy));
    }
}

fn rest(length: Duration) {
    if length.is_zero() { thread::yield_now() } else { thread::park_timeout(length) }
}

/// When the thread that polls wants a processor. The kernel may have put it behind a worker, for a
/// time slice: some milliseconds, in which thieves wait. So workers look whether it is late.
pub(crate) struct Due {
    start: Instant,
    /// Nanoseconds since `start`. Relaxed: a hint.
    time: AtomicU64,
}

impl Due {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), time: AtomicU64::new(u64::MAX) }
    }

    /// The thread rests as its `nap` says.
    pub(crate) fn rest(&self, nap: &mut Nap, busy: bool) {
        let length = nap.next(busy);
        self.set(length);
        rest(length);
        self.set(Duration::ZERO);
    }

    /// The thread polls again after this time.
    fn set(&self, after: Duration) {
        let time = self.start.elapsed() + after;
        self.time.store(time.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(crate) fn is_late(&self, now: Instant) -> bool {
        let now = now.duration_since(self.start).as_nanos() as u64;
        now > self.time.load(Ordering::Relaxed).saturating_add(LATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_late_some_time_after_its_nap() {
        let due = Due::new();
        let nap = Duration::from_secs(60);
        assert!(!due.is_late(Instant::now() + nap), "it has not polled");
        let before = Instant::now();
        due.set(nap);
        let after = Instant::now();
        assert!(!due.is_late(before + nap + Duration::from_micros(20)));
        assert!(due.is_late(after + nap + Duration::from_micros(21)));
        due.rest(&mut Nap::new(), true);
        assert!(due.is_late(Instant::now() + nap), "a thread that has woken is due");
    }
}
