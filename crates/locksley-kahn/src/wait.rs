//! What a process waits for, in one word that others read.
//!
//! | bits  | field                                  | changes when           |
//! |-------|----------------------------------------|------------------------|
//! | 0     | `WAITS`                                | a wait begins or ends  |
//! | 1     | `ROOM`: for room, not for a message    | a wait begins          |
//! | 2–25  | the channel, by number                 | a wait begins          |
//! | 26–63 | the epoch: how many waits have begun   | a wait begins          |
//!
//! Written by the process alone. If two loads give the same waiting word, the process waited all
//! the time in between: the epoch comes round after 2³⁸ waits, which take a process hours.

use locksley_sys::primitive::{AtomicU64, Ordering};

const WAITS: u64 = 1;
const ROOM: u64 = 1 << 1;
const CHANNEL: u32 = 2;
const EPOCH: u32 = 26;

/// How many channels a network may have.
pub(super) const MOST_CHANNELS: usize = 1 << (EPOCH - CHANNEL);

/// What a process waits for at a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Message,
    Room,
}

/// The word at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait(u64);

impl Wait {
    /// What is waited for, and where; `None` if the process does not wait.
    #[inline]
    pub(super) fn target(self) -> Option<(u32, Need)> {
        let channel = (self.0 >> CHANNEL) as u32 & (MOST_CHANNELS as u32 - 1);
        let need = if self.0 & ROOM != 0 { Need::Room } else { Need::Message };
        (self.0 & WAITS != 0).then_some((channel, need))
    }

    fn next(self, channel: u32, need: Need) -> Self {
        debug_assert!((channel as usize) < MOST_CHANNELS);
        let epoch = (self.0 >> EPOCH).wrapping_add(1) << EPOCH;
        let room = if need == Need::Room { ROOM } else { 0 };
        Self(epoch | u64::from(channel) << CHANNEL | room | WAITS)
    }

    fn over(self) -> Self {
        Self(self.0 & !WAITS)
    }
}

#[derive(Debug)]
pub(super) struct WaitWord(AtomicU64);

impl WaitWord {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Acquire pairs with the release in `begin`: what the process has sent and taken before it
    /// waited is seen.
    #[inline]
    pub(super) fn read(&self) -> Wait {
        Wait(self.0.load(Ordering::Acquire))
    }

    /// The process's own view.
    pub(super) fn own(&self) -> Wait {
        Wait(self.0.load(Ordering::Relaxed))
    }

    /// The process begins to wait.
    pub(super) fn begin(&self, channel: u32, need: Need) {
        // Release pairs with the acquire in `read`.
        self.0.store(self.own().next(channel, need).0, Ordering::Release);
    }

    /// It does not wait any more.
    pub(super) fn end(&self) {
        // Relaxed: a reader of the old word looks at the channel, which has changed.
        self.0.store(self.own().over().0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_another_word_with_its_own_fields() {
        // The epoch wraps without touching the other fields.
        let word = WaitWord(AtomicU64::new(!0));
        let last = MOST_CHANNELS as u32 - 1;
        assert_eq!(word.read().target(), Some((last, Need::Room)));
        let waits =
            [(0, Need::Message), (last, Need::Room), (last, Need::Room), (7, Need::Message)];
        for (channel, need) in waits {
            let before = word.read();
            word.begin(channel, need);
            assert_eq!(word.read().target(), Some((channel, need)));
            assert_ne!(word.read(), before);
            word.end();
            assert_eq!(word.read().target(), None);
        }
    }
}
