//! Hooks: functions that run on a worker's thread at certain points of its loop.
//!
//! A library that defers work per worker keeps it in a thread-local, and registers [`Hooks`] that
//! flush it. Without hooks, each point costs one load.

use crate::primitive::Ordering;
use crate::primitive::plain::{AtomicBool, AtomicPtr};

/// Functions that each worker of each pool of the process calls at certain points.
///
/// The functions must not block, and must not panic: a panic ends the process.
#[derive(Debug)]
pub struct Hooks {
    /// Called before the worker waits, blocks, or leaves a task's frame for other work.
    pub pause: fn(),
    /// Called after the worker has run a task that it took from a queue.
    pub executed: fn(),
    /// Called when the worker has found no task, before it parks. Returns true if a task may be
    /// ready now.
    pub idle: fn() -> bool,
    is_registered: AtomicBool,
    /// Written once, before the hooks can be found. Null for those that were registered first.
    next: AtomicPtr<Hooks>,
}

impl Hooks {
    /// Hooks that are not registered yet.
    #[must_use]
    pub const fn new(pause: fn(), executed: fn(), idle: fn() -> bool) -> Self {
        let (is_registered, next) = (AtomicBool::new(false), AtomicPtr::new(std::ptr::null_mut()));
        Self { pause, executed, idle, is_registered, next }
    }
}

static FIRST: AtomicPtr<Hooks> = AtomicPtr::new(std::ptr::null_mut());

/// Registers hooks for the rest of the process. Does nothing if they are registered already.
pub fn register(hooks: &'static Hooks) {
    // Relaxed: it orders nothing. Only the first caller continues.
    if hooks.is_registered.swap(true, Ordering::Relaxed) {
        return;
    }
    let link = |first| {
        hooks.next.store(first, Ordering::Relaxed);
        Some(std::ptr::from_ref(hooks).cast_mut())
    };
    // Release pairs with the acquire in `registered`: whatever finds the hooks sees `next`.
    let _ = FIRST.fetch_update(Ordering::Release, Ordering::Acquire, link);
}

#[inline]
fn registered() -> impl Iterator<Item = &'static Hooks> {
    let load = |pointer: &AtomicPtr<Hooks>| {
        // SAFETY: null, or a `&'static Hooks` that was registered.
        unsafe { pointer.load(Ordering::Acquire).as_ref() }
    };
    std::iter::successors(load(&FIRST), move |hooks| load(&hooks.next))
}

#[inline]
pub(crate) fn pause() {
    registered().for_each(|hooks| (hooks.pause)());
}

#[inline]
pub(crate) fn executed() {
    registered().for_each(|hooks| (hooks.executed)());
}

/// Has libraries publish what they have deferred. Returns true if a task may be ready now.
#[inline]
pub(crate) fn flush() -> bool {
    // Calls all of them, even if the first returns true.
    registered().filter(|hooks| (hooks.idle)()).count() > 0
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Hooks, register, registered};

    #[test]
    fn hooks_that_are_registered_twice_are_in_the_list_once() {
        static ONE: Hooks = Hooks::new(|| {}, || {}, || false);
        static OTHER: Hooks = Hooks::new(|| {}, || {}, || false);
        for hooks in [&ONE, &OTHER, &ONE] {
            register(hooks);
        }
        for hooks in [&ONE, &OTHER] {
            assert_eq!(registered().filter(|&found| std::ptr::eq(found, hooks)).count(), 1);
        }
    }
}
