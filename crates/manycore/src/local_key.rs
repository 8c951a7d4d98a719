//! Values that each virtual thread has for itself, as std's `thread_local!`.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::arena::outside;
use crate::engine::engine;
use crate::engine::locals::{AccessError, Locals};

/// Keys are numbered in the order of first use, in the whole process.
static NEXT_KEY: AtomicUsize = AtomicUsize::new(1);

thread_local! {
    /// The locals of host threads that run no machine.
    static OUTSIDE: UnsafeCell<Locals> = UnsafeCell::default();
}

/// A value for each virtual thread, made when first used. [`thread_local!`](crate::thread_local)
/// declares one.
///
/// On a host thread that runs no machine, the value belongs to that thread, and is never dropped.
pub struct LocalKey<T: 'static> {
    init: fn() -> T,
    key: AtomicUsize,
}

impl<T> std::fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T) -> Self {
        Self { init, key: AtomicUsize::new(0) }
    }

    fn key(&self) -> usize {
        match self.key.load(Relaxed) {
            0 => {
                let key = NEXT_KEY.fetch_add(1, Relaxed);
                self.key.compare_exchange(0, key, Relaxed, Relaxed).map_or_else(|old| old, |_| key)
            }
            key => key,
        }
    }

    /// Runs `use_it` with the value of this thread.
    ///
    /// # Panics
    /// If the thread has dropped the value, for it is about to end.
    pub fn with<R>(&'static self, use_it: impl FnOnce(&T) -> R) -> R {
        self.try_with(use_it).expect("the value is there until its thread ends")
    }

    /// Runs `use_it` with the value of this thread.
    ///
    /// # Errors
    /// If the thread has dropped the value, for it is about to end.
    pub fn try_with<R>(&'static self, use_it: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let key = self.key();
        let value = with_locals(|locals| locals.get(key))?.unwrap_or_else(|| {
            let value = Box::into_raw(Box::new((self.init)()));
            with_locals(|locals| outside(|| locals.insert(key, value)));
            value
        });
        // SAFETY: the slot has a value of this type, which stays where it is until it is dropped:
        // at the end of this thread, after which this frame does not exist.
        Ok(use_it(unsafe { &*value.cast::<T>() }))
    }
}

/// Runs `code` with the locals of this thread. It must not suspend, nor call this again.
fn with_locals<R>(code: impl FnOnce(&mut Locals) -> R) -> R {
    match engine() {
        Some(here) => {
            let engine = here.get();
            let thread = engine.current;
            code(&mut engine.threads[thread].locals)
        }
        // SAFETY: this host thread alone has them, and `code` does not call this again.
        None => OUTSIDE.with(|locals| code(unsafe { &mut *locals.get() })),
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Replaces the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// Copies the value.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value, and leaves the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Replaces the value, and returns the old one.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Runs `use_it` with the value.
    ///
    /// # Panics
    /// If the value is borrowed mutably.
    pub fn with_borrow<R>(&'static self, use_it: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| use_it(&cell.borrow()))
    }

    /// Runs `use_it` with the value.
    ///
    /// # Panics
    /// If the value is borrowed.
    pub fn with_borrow_mut<R>(&'static self, use_it: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| use_it(&mut cell.borrow_mut()))
    }
}
