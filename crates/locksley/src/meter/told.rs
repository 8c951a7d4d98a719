//! What a poll tells of what it comes after.

use std::cell::Cell;

/// What the strand has told since the poll began that it is in, of those things whose paths are carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing: it may have found anything.
    #[default]
    Nothing,
    /// It has found something, and comes after that.
    Found,
    /// It waits for something, and will come after that.
    Waits,
}

impl Told {
    /// Tells it after what was told before: who waits for one thing and finds another waits for the first one all the same.
    pub(crate) fn tell(self, told: &Cell<Self>) {
        if !(self == Self::Found && told.get() == Self::Waits) {
            told.set(self);
        }
    }

    /// Whether all is known that a poll comes after which has come to that end, or is about to wait: as far as it can be seen. What it has found elsewhere
    /// without a wait cannot.
    pub(crate) fn is_enough(self, ends: bool) -> bool {
        match self {
            Self::Nothing => false,
            Self::Found => ends,
            Self::Waits => true,
        }
    }
}
