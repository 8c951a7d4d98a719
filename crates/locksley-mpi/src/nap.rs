//! How the thread that polls the transport waits.

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

/// Naps that grow while no messages are exchanged.
pub(crate) struct Nap {
    start: Instant,
    length: Duration,
}

impl Nap {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), length: SHORTEST }
    }

    /// Waits, until the thread is unparked at most. A rank that is `busy` leaves the processor to
    /// its workers.
    pub(crate) fn rest(&mut self, busy: bool) {
        let (awake, longest) =
            if busy { (AWAKE_BUSY, LONGEST_BUSY) } else { (AWAKE_IDLE, LONGEST_IDLE) };
        if self.start.elapsed() < awake {
            return thread::yield_now();
        }
        thread::park_timeout(self.length);
        self.length = longest.min(self.length * 3 / 2);
    }
}
