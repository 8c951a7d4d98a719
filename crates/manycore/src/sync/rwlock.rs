//! As [`std::sync::RwLock`]. Writers wait for readers, and readers for a writer; neither is
//! preferred.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{LockResult, PoisonError};

use crate::atomic::{AtomicBool, AtomicU32};
use crate::os::{futex_wait, futex_wake};
use crate::thread::panicking;

const WRITER: u32 = u32::MAX >> 1;
/// Some thread waits for the word to change.
const WAITED_FOR: u32 = 1 << 31;

/// As [`std::sync::RwLock`].
#[derive(Default)]
pub struct RwLock<T: ?Sized> {
    /// How many readers there are, or `WRITER`.
    state: AtomicU32,
    poisoned: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the lock gives the value to one writer, or to readers.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above; readers share the value.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

/// Shared access to the value of a [`RwLock`].
#[must_use = "the lock is given back when this is dropped"]
pub struct RwLockReadGuard<'a, T: ?Sized>(&'a RwLock<T>, std::marker::PhantomData<*const ()>);

/// Access to the value of a [`RwLock`].
#[must_use = "the lock is given back when this is dropped"]
pub struct RwLockWriteGuard<'a, T: ?Sized>(
    &'a RwLock<T>,
    bool,
    std::marker::PhantomData<*const ()>,
);

impl<T> RwLock<T> {
    /// A lock that is free.
    pub const fn new(value: T) -> Self {
        let (state, poisoned) = (AtomicU32::new(0), AtomicBool::new(false));
        Self { state, poisoned, value: UnsafeCell::new(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until there is no writer.
    ///
    /// # Errors
    /// If a writer has panicked; the error has the guard.
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.acquire(|count| (count < WRITER - 1).then_some(count + 1));
        self.poison(RwLockReadGuard(self, std::marker::PhantomData))
    }

    /// Waits until there is neither a reader nor a writer.
    ///
    /// # Errors
    /// If a writer has panicked; the error has the guard.
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.acquire(|count| (count == 0).then_some(WRITER));
        self.poison(RwLockWriteGuard(self, panicking(), std::marker::PhantomData))
    }

    fn acquire(&self, enter: impl Fn(u32) -> Option<u32>) {
        let mut state = self.state.load(Relaxed);
        loop {
            if let Some(count) = enter(state & !WAITED_FOR) {
                let new = count | state & WAITED_FOR;
                match self.state.compare_exchange(state, new, Acquire, Relaxed) {
                    Ok(_) => return,
                    Err(now) => state = now,
                }
                continue;
            }
            let marked = state | WAITED_FOR;
            if state == marked
                || self.state.compare_exchange(state, marked, Relaxed, Relaxed).is_ok()
            {
                futex_wait(&self.state, marked, None);
            }
            state = self.state.load(Relaxed);
        }
    }

    /// Gives back `count` readers. The last one wakes all that wait.
    fn release(&self, count: u32) {
        let left = self.state.fetch_sub(count, Release) - count;
        if left == WAITED_FOR
            && self.state.compare_exchange(WAITED_FOR, 0, Relaxed, Relaxed).is_ok()
        {
            futex_wake(&self.state, usize::MAX);
        }
    }

    fn poison<G>(&self, guard: G) -> LockResult<G> {
        if self.poisoned.peek() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread is counted as a reader.
        unsafe { &*self.0.value.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread is the writer.
        unsafe { &*self.0.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread is the writer.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.0.release(1);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        if !self.1 && panicking() {
            self.0.poisoned.store(true, Relaxed);
        }
        self.0.release(WRITER);
    }
}

impl<T: ?Sized> std::fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RwLock").finish_non_exhaustive()
    }
}
