//! Hooks of satellites: what runs on a worker's thread at certain moments of its loop.
//!
//! A satellite that keeps something per worker keeps it in a thread-local of its own, and registers
//! [`Hooks`] that look after it. Without hooks, each of these moments costs one load.

use std::sync::atomic::{AtomicPtr, Ordering};

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
    /// The next registered hooks; null until they are registered.
    pub next: AtomicPtr<Hooks>,
}

impl Hooks {
    /// Hooks that were not registered yet.
    #[must_use]
    pub const fn new(pause: fn(), executed: fn(), idle: fn() -> bool) -> Self {
        Self { pause, executed, idle, next: AtomicPtr::new(std::ptr::null_mut()) }
    }
}

static FIRST: AtomicPtr<Hooks> = AtomicPtr::new(std::ptr::null_mut());

/// Registers hooks for the rest of the process. Each is to be registered once.
pub fn register(hooks: &'static Hooks) {
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
