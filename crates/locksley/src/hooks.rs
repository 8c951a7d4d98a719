//! Hooks of satellites: what runs on a worker's thread at certain moments of its loop.
//!
//! A satellite that keeps something per worker keeps it in a thread-local of its own, and registers
//! [`Hooks`] that look after it. Without hooks, each of these moments costs one load.

use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// What a satellite does at certain moments of each worker, in all pools of the process.
///
/// The functions must not block, and must not panic: a panic ends the process.
#[derive(Debug)]
pub struct Hooks {
    /// The worker is about to wait, to block, or to leave a task's frame for other work.
    pub pause: fn(),
    /// The worker has run a task that it took from a queue.
    pub executed: fn(),
    /// The worker has found nothing and is about to park. Returns true if a task may be ready now.
    pub idle: fn() -> bool,
    is_registered: AtomicBool,
    /// Written once, before the hooks can be found. Null for those that were registered first.
    next: AtomicPtr<Hooks>,
}

impl Hooks {
    /// Hooks that were not registered yet.
    #[must_use]
    pub const fn new(pause: fn(), executed: fn(), idle: fn() -> bool) -> Self {
        let (is_registered, next) = (AtomicBool::new(false), AtomicPtr::new(std::ptr::null_mut()));
        Self { pause, executed, idle, is_registered, next }
    }
}

static FIRST: AtomicPtr<Hooks> = AtomicPtr::new(std::ptr::null_mut());

/// Registers hooks for the rest of the process. Does nothing if they are registered already.
pub fn register(hooks: &'static Hooks) {
    // Relaxed: nothing is read because of it, and only one caller goes on.
    if hooks.is_registered.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut first = FIRST.load(Ordering::Acquire);
    loop {
        hooks.next.store(first, Ordering::Relaxed);
        let new = std::ptr::from_ref(hooks).cast_mut();
        // Release pairs with the acquire in `all`: whatever finds the hooks sees `next`.
        match FIRST.compare_exchange(first, new, Ordering::Release, Ordering::Acquire) {
            Ok(_) => return,
            Err(now) => first = now,
        }
    }
}

#[inline]
fn all() -> Option<&'static Hooks> {
    // SAFETY: null, or a `&'static Hooks` that was registered.
    unsafe { FIRST.load(Ordering::Acquire).as_ref() }
}

fn following(hooks: &'static Hooks) -> Option<&'static Hooks> {
    // Acquire as in `all`.
    // SAFETY: as in `all`.
    unsafe { hooks.next.load(Ordering::Acquire).as_ref() }
}

fn registered() -> impl Iterator<Item = &'static Hooks> {
    std::iter::successors(all(), |hooks| following(hooks))
}

#[inline]
pub(crate) fn pause() {
    registered().for_each(|hooks| (hooks.pause)());
}

#[inline]
pub(crate) fn executed() {
    registered().for_each(|hooks| (hooks.executed)());
}

/// True if a task may be ready now.
#[inline]
pub(crate) fn idle() -> bool {
    // All of them, whatever the first says.
    registered().filter(|hooks| (hooks.idle)()).count() > 0
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Hooks, register, registered};

    #[test]
    fn hooks_that_are_registered_twice_are_called_once() {
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
