//! Signs of life along a ring of all ranks: each rank watches the one before it.

use std::time::Duration;

use crate::error::Error;

/// The time between two signs of life.
const PERIOD: Duration = Duration::from_millis(500);
/// After this time without a message, a rank has died.
const PATIENCE: Duration = Duration::from_secs(3);

/// What one rank knows about the rank before it.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    rank: usize,
    size: usize,
    /// The rank before this one.
    watched: usize,
    /// The rank that watches this one.
    pub(crate) next: usize,
    /// The time of the next sign of life.
    pub(crate) next_beat: Duration,
    /// The last message of the watched rank in this run. `None` before the first one,
    /// if it may be busy with something else.
    heard: Option<Duration>,
    last_poll: Duration,
}

impl Heartbeat {
    pub(crate) fn new(rank: usize, size: usize, now: Duration) -> Self {
        let (watched, next) = ((rank + size - 1) % size, (rank + 1) % size);
        Self { rank, size, watched, next, next_beat: now, heard: None, last_poll: now }
    }

    /// Leaves a rank that has died out of the ring. To be called once.
    pub(crate) fn skip(&mut self, dead: usize) {
        if self.watched == dead {
            self.watched = (dead + self.size - 1) % self.size;
            self.heard = None;
        }
        if self.next == dead {
            self.next = (dead + 1) % self.size;
        }
    }

    pub(crate) fn on_message(&mut self, from: usize, now: Duration) {
        if from == self.watched {
            self.heard = Some(now);
        }
    }

    /// The watched rank begins this run at about the same time, so it is watched from now on.
    pub(crate) fn expect(&mut self, now: Duration) {
        self.heard = (self.watched != self.rank).then_some(now);
    }

    /// To be called after all messages were received. Returns true if it is time for a sign of
    /// life.
    ///
    /// # Errors
    /// If the watched rank has died.
    pub(crate) fn poll(&mut self, now: Duration) -> Result<bool, Error> {
        if now.saturating_sub(self.last_poll) > PERIOD {
            // This rank was suspended itself. Messages may have waited for it elsewhere.
            self.heard = self.heard.map(|_| now);
        }
        self.last_poll = now;
        if let Some(heard) = self.heard {
            let time = now.saturating_sub(heard);
            if time > PATIENCE {
                return Err(Error::Silent { rank: self.watched, time });
            }
        }
        let is_time = now >= self.next_beat;
        if is_time {
            self.next_beat = now + PERIOD;
        }
        Ok(is_time)
    }
}
