//! The same where nobody watches: nothing.

use super::Wait;
use crate::worker::Worker;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Place;

impl Place {
    #[inline(always)]
    pub(crate) fn here() -> Self {
        Self
    }
}

#[derive(Debug)]
pub(crate) struct Hold;

impl Hold {
    #[inline(always)]
    pub(crate) fn ours(_name: &'static str, _taken_at: Place) -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn foreign(_name: &'static str, _taken_at: Place) -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn place(&self) -> Place {
        Place
    }
}

#[derive(Debug, Default)]
pub(crate) struct Context;

impl Context {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn within<R>(&self, code: impl FnOnce() -> R) -> R {
        code()
    }
}

#[inline(always)]
pub(crate) fn apart<R>(task: impl FnOnce() -> R) -> R {
    task()
}

#[inline(always)]
pub(crate) fn then_wait<R>(
    _waiter: Option<&Worker>,
    _wait: Wait,
    _place: Place,
    own: impl FnOnce() -> R,
) -> R {
    own()
}

#[inline(always)]
pub(crate) fn tell(_waiter: Option<&Worker>, _wait: Wait, _place: Place) {}

#[inline(always)]
pub(crate) fn tell_here(_wait: Wait, _place: Place) {}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Mutex;

    use super::super::{Mark, Marked};
    use super::{Context, Hold, Place};

    #[test]
    fn what_nobody_watches_takes_no_room() {
        let sizes =
            [size_of::<Hold>(), size_of::<Place>(), size_of::<Context>(), size_of::<Mark>()];
        assert_eq!(sizes, [0; 4]);
        let mutex = Mutex::new(1_u8);
        let guard = mutex.lock().unwrap();
        let size = size_of_val(&guard);
        assert_eq!(size_of_val(&Marked::new("mutex", guard)), size);
        // With one, a future keeps no drop flag for nothing.
        assert!(!std::mem::needs_drop::<Mark>());
    }
}
