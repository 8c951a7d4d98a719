//! The queue of events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nanoseconds of virtual time.
pub(super) type Time = u64;

/// What happens to a rank.
#[derive(Debug)]
pub(super) enum Kind {
    /// What a worker does may have come to its end.
    Work { worker: usize },
    /// A message arrives.
    Arrival { from: usize, message: Vec<u8> },
    /// A sign of life may be due.
    Beat,
    /// The rank polls, if this is still the time for it.
    Poll,
}

#[derive(Debug)]
pub(super) struct Event {
    pub(super) time: Time,
    pub(super) rank: usize,
    pub(super) kind: Kind,
}

/// By time, rank, kind and number. At one moment, work ends first, worker by worker, then messages
/// arrive, then the rank polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    time: Time,
    rank: u32,
    /// The kind is above the number, or above the worker.
    order: u64,
    /// A worker, or the index of a message in `messages`.
    payload: u32,
}

const NUMBER_BITS: u32 = 56;

/// The events that are to come, and a hash of those that had an effect.
#[derive(Debug)]
pub(super) struct Events {
    queue: BinaryHeap<Reverse<Key>>,
    messages: Vec<(usize, Vec<u8>)>,
    /// Indices in `messages` that are free.
    free: Vec<u32>,
    pushed: u64,
    pub(super) popped: u64,
    pub(super) hash: u64,
}

impl Events {
    pub(super) fn new() -> Self {
        Self {
            queue: BinaryHeap::new(),
            messages: Vec::new(),
            free: Vec::new(),
            pushed: 0,
            popped: 0,
            // FNV-1a's.
            hash: 0xcbf2_9ce4_8422_2325,
        }
    }

    pub(super) fn push(&mut self, time: Time, rank: usize, kind: Kind) {
        self.pushed += 1;
        let (kind, number, payload) = match kind {
            Kind::Work { worker } => (0, worker as u64, worker as u32),
            Kind::Arrival { from, message } => (1, self.pushed, self.keep(from, message)),
            Kind::Beat => (2, self.pushed, 0),
            Kind::Poll => (3, self.pushed, 0),
        };
        let order = kind << NUMBER_BITS | number;
        self.queue.push(Reverse(Key { time, rank: rank as u32, order, payload }));
    }

    fn keep(&mut self, from: usize, message: Vec<u8>) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.messages.push((0, Vec::new()));
            self.messages.len() as u32 - 1
        });
        self.messages[place as usize] = (from, message);
        place
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        let Reverse(Key { time, rank, order, payload }) = self.queue.pop()?;
        self.popped += 1;
        let kind = match order >> NUMBER_BITS {
            0 => Kind::Work { worker: payload as usize },
            1 => {
                self.free.push(payload);
                let (from, message) = std::mem::take(&mut self.messages[payload as usize]);
                Kind::Arrival { from, message }
            }
            2 => Kind::Beat,
            _ => Kind::Poll,
        };
        Some(Event { time, rank: rank as usize, kind })
    }

    /// An event has had an effect.
    pub(super) fn record(&mut self, time: Time, rank: usize, words: [u64; 2]) {
        for word in [time, rank as u64].into_iter().chain(words) {
            self.hash = (self.hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
        }
    }
}
