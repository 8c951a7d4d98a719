//! As [`std::sync::Mutex`], with std's protocol on Linux: 0 is free, 1 locked, 2 contended.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use crate::atomic::{AtomicBool, AtomicU32};
use crate::hint::spin_loop;
use crate::os::{futex_wait, futex_wake};
use crate::thread::panicking;

const FREE: u32 = 0;
const LOCKED: u32 = 1;
const CONTENDED: u32 = 2;
/// How often a thread looks at a lock that is not contended before it blocks.
const SPINS: u32 = 100;

/// The lock, without poisoning and without a value.
#[derive(Default)]
pub(crate) struct RawMutex(AtomicU32);

impl RawMutex {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(FREE))
    }

    pub(crate) fn try_lock(&self) -> bool {
        self.0.compare_exchange(FREE, LOCKED, Acquire, Relaxed).is_ok()
    }

    pub(crate) fn lock(&self) {
        if !self.try_lock() {
            self.lock_contended();
        }
    }

    #[cold]
    fn lock_contended(&self) {
        let mut state = self.spin();
        if state == FREE {
            match self.0.compare_exchange(FREE, LOCKED, Acquire, Relaxed) {
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
        loop {
            if state != CONTENDED && self.0.swap(CONTENDED, Acquire) == FREE {
                return;
            }
            futex_wait(&self.0, CONTENDED, None);
            state = self.spin();
        }
    }

    fn spin(&self) -> u32 {
        let mut spins = SPINS;
        loop {
            let state = self.0.load(Relaxed);
            if state != LOCKED || spins == 0 {
                return state;
            }
            spin_loop();
            spins -= 1;
        }
    }

    pub(crate) fn unlock(&self) {
        if self.0.swap(FREE, Release) == CONTENDED {
            futex_wake(&self.0, 1);
        }
    }
}

/// As [`std::sync::Mutex`].
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    pub(crate) raw: RawMutex,
    poisoned: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the lock gives the value to one thread at a time.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// Access to the value of a [`Mutex`] until it is dropped.
#[must_use = "the lock is given back when this is dropped"]
pub struct MutexGuard<'a, T: ?Sized> {
    pub(crate) mutex: &'a Mutex<T>,
    was_panicking: bool,
    /// A guard stays on its thread.
    not_send: std::marker::PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// A lock that is free.
    pub const fn new(value: T) -> Self {
        Self {
            raw: RawMutex::new(),
            poisoned: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// The value.
    ///
    /// # Errors
    /// If a thread has panicked while it had the lock; the error has the value.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.is_poisoned();
        poison(self.value.into_inner(), poisoned)
    }
}

fn poison<T>(value: T, poisoned: bool) -> LockResult<T> {
    if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    ///
    /// # Errors
    /// If a thread has panicked while it had the lock; the error has the guard.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.raw.lock();
        self.guard()
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// If it is not free, or poisoned.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        if self.raw.try_lock() { Ok(self.guard()?) } else { Err(TryLockError::WouldBlock) }
    }

    /// The guard of a lock that this thread has just taken.
    pub(crate) fn guard(&self) -> LockResult<MutexGuard<'_, T>> {
        let not_send = std::marker::PhantomData;
        let guard = MutexGuard { mutex: self, was_panicking: panicking(), not_send };
        poison(guard, self.is_poisoned())
    }

    /// Whether a thread has panicked while it had the lock.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.peek()
    }

    /// Forgets that a thread has panicked.
    pub fn clear_poison(&self) {
        self.poisoned.store(false, Relaxed);
    }

    /// The value, to which the caller has the only reference.
    ///
    /// # Errors
    /// If a thread has panicked while it had the lock; the error has the value.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.is_poisoned();
        poison(self.value.get_mut(), poisoned)
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the lock.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if !self.was_panicking && panicking() {
            self.mutex.poisoned.store(true, Relaxed);
        }
        self.mutex.raw.unlock();
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}
