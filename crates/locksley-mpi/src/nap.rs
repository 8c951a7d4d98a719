//! How the thread that polls the transport waits.

use std::thread;
use std::time::Duration;

/// So often an idle rank polls before its first nap: for about as long as a message takes.
const POLLS: u32 = 100;
/// The first nap.
const SHORTEST: Duration = Duration::from_micros(10);
/// The longest nap of a rank that works: this bounds the time for a steal from it. One poll takes
/// up to 30 µs of a processor, where a timer is expensive.
const LONGEST_BUSY: Duration = Duration::from_millis(2);
/// The longest nap of an idle rank, which takes less than 1% of a processor.
const LONGEST_IDLE: Duration = Duration::from_millis(5);

/// Naps that grow while nothing arrives.
pub(crate) struct Nap {
    polls: u32,
    length: Duration,
}

impl Nap {
    pub(crate) fn new() -> Self {
        Self { polls: 0, length: SHORTEST }
    }

    /// Waits, until the thread is unparked at most. A rank that is `busy` leaves the processor to
    /// its workers.
    pub(crate) fn rest(&mut self, busy: bool) {
        if !busy && self.polls < POLLS {
            self.polls += 1;
            return thread::yield_now();
        }
        thread::park_timeout(self.length);
        let longest = if busy { LONGEST_BUSY } else { LONGEST_IDLE };
        self.length = longest.min(self.length * 3 / 2);
    }
}
