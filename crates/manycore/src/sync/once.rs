//! As [`std::sync::Once`], [`std::sync::OnceLock`] and [`std::sync::LazyLock`].

use std::cell::{Cell, UnsafeCell};
use std::ops::Deref;
use std::sync::atomic::Ordering::{Acquire, Release};

use super::mutex::RawMutex;
use crate::atomic::AtomicBool;

/// As [`std::sync::OnceLock`].
pub struct OnceLock<T> {
    is_set: AtomicBool,
    lock: RawMutex,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written once, by the thread that has the lock, before `is_set` says so.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}
// SAFETY: it owns its value.
unsafe impl<T: Send> Send for OnceLock<T> {}

struct Unlock<'a>(&'a RawMutex);

impl Drop for Unlock<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

impl<T> OnceLock<T> {
    /// A cell without a value.
    pub const fn new() -> Self {
        let (is_set, lock) = (AtomicBool::new(false), RawMutex::new());
        Self { is_set, lock, value: UnsafeCell::new(None) }
    }

    /// The value, if it is set.
    pub fn get(&self) -> Option<&T> {
        // Pairs with the store in `get_or_init`.
        if !self.is_set.load(Acquire) {
            return None;
        }
        // SAFETY: the value is never written again.
        unsafe { &*self.value.get() }.as_ref()
    }

    /// The value, to which the caller has the only reference.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Sets the value, unless it is set.
    ///
    /// # Errors
    /// The given value, if there is one already.
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("it is taken once"));
        value.map_or(Ok(()), Err)
    }

    /// The value, which `init` makes if it is not set. One thread makes it, and others wait.
    pub fn get_or_init(&self, init: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        self.lock.lock();
        let unlock = Unlock(&self.lock);
        if !self.is_set.load(Acquire) {
            let value = init();
            // SAFETY: this thread has the lock, and no reference exists before `is_set`.
            unsafe { *self.value.get() = Some(value) };
            // Pairs with the load in `get`.
            self.is_set.store(true, Release);
        }
        drop(unlock);
        self.get().expect("it is set")
    }

    /// The value.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value out.
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        let (is_set, lock) = (AtomicBool::new(true), RawMutex::new());
        Self { is_set, lock, value: UnsafeCell::new(Some(value)) }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OnceLock").field(&self.get()).finish()
    }
}

/// As [`std::sync::Once`], without poisoning: after a panic, the next call runs its closure.
#[derive(Debug, Default)]
pub struct Once(OnceLock<()>);

impl Once {
    /// Code that has not run.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Runs `code` if no call has completed. One thread runs it, and others wait.
    pub fn call_once(&self, code: impl FnOnce()) {
        self.0.get_or_init(code);
    }

    /// Whether a call has completed.
    pub fn is_completed(&self) -> bool {
        self.0.get().is_some()
    }
}

/// As [`std::sync::LazyLock`].
pub struct LazyLock<T, F = fn() -> T> {
    cell: OnceLock<T>,
    init: Cell<Option<F>>,
}

// SAFETY: the initializer is taken by the one thread that initializes the cell.
unsafe impl<T: Send + Sync, F: Send> Sync for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A value that `init` makes when it is first used.
    pub const fn new(init: F) -> Self {
        Self { cell: OnceLock::new(), init: Cell::new(Some(init)) }
    }

    /// Makes the value if there is none, and returns it.
    ///
    /// # Panics
    /// If the initializer has panicked before.
    pub fn force(this: &Self) -> &T {
        this.cell.get_or_init(|| this.init.take().expect("the initializer has panicked")())
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T: std::fmt::Debug, F> std::fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LazyLock").field(&self.cell.get()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::atomic::AtomicU32;
    use crate::{Machine, os, thread};

    #[test]
    fn code_runs_once_and_all_calls_wait_for_it() {
        let outcome = Machine::builder().cores(4).run(|| {
            let (once, runs) = (Once::new(), AtomicU32::new(0));
            assert!(!once.is_completed());
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        once.call_once(|| {
                            os::work(Duration::from_micros(50));
                            runs.fetch_add(1, Release);
                        });
                        assert!(once.is_completed() && runs.load(Acquire) == 1);
                    });
                }
            });
            runs.into_inner()
        });
        assert_eq!(outcome.value, 1);
    }
}
