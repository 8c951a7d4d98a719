//! The mutex.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::semaphore::{Permit, Semaphore};
use locksley_sys::primitive::const_unless_loom;

/// Protects a value that one task at a time may use, across `await` if need be.
///
/// Where no task waits while it holds the lock, std's mutex does as well, and costs less. Keep
/// critical sections short: a worker that the kernel suspends while it holds a lock excludes all
/// others.
///
/// - **Fair.** Tasks get the lock in the order of their first polls of [`lock`](Self::lock).
/// - **Lock-free** in itself: it is a [`Semaphore`] with one permit. Only the holder of the lock
///   excludes others.
/// - **Cancellable.** A dropped `lock` leaves the queue. If it was granted the lock, the next task
///   gets it.
/// - **No poisoning.** A guard unlocks when it is dropped, by a panic, too. A cancelled future can
///   also leave a value half changed, without a panic, and poisoning would not report that. So code
///   that changes the value in steps restores it by a guard of its own.
///
/// # Examples
/// ```
/// use locksley_sync::Mutex;
///
/// let words = Mutex::new(vec!["robin"]);
/// pollster::block_on(async {
///     let mut guard = words.lock().await;
///     guard.push("marian");
/// });
/// assert_eq!(words.into_inner(), ["robin", "marian"]);
/// ```
///
/// A value that may not be sent to other threads is not shared by a mutex either:
/// ```compile_fail,E0277
/// use std::rc::Rc;
///
/// let shared = locksley_sync::Mutex::new(Rc::new(1));
/// std::thread::scope(|scope| {
///     scope.spawn(|| drop(shared.try_lock()));
/// });
/// ```
pub struct Mutex<T: ?Sized> {
    permit: Semaphore,
    value: UnsafeCell<T>,
}

// SAFETY: the value is sent with the mutex.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: a shared mutex lends its value to one thread at a time, the one with the permit, and so
// does not need `T: Sync`. Releasing a permit synchronizes with acquiring it.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    const_unless_loom! {
        /// Makes an unlocked mutex.
        ///
        /// # Examples
        /// ```
        /// use locksley_sync::Mutex;
        ///
        /// static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
        /// assert!(NAMES.try_lock().is_some());
        /// ```
        #[must_use]
        pub fn new(value: T) -> Self {
            Self { permit: Semaphore::new(1), value: UnsafeCell::new(value) }
        }
    }

    /// Returns the value.
    ///
    /// # Examples
    /// See [`Mutex`].
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    ///
    /// # Examples
    /// See [`Mutex`].
    pub async fn lock(&self) -> MutexGuard<'_, T> {
        let permit = self.permit.acquire().await;
        MutexGuard::new(self, permit.expect("a mutex does not close its semaphore"))
    }

    /// Takes the lock, if it is free and no task waits for it.
    ///
    /// # Examples
    /// ```
    /// let number = locksley_sync::Mutex::new(1);
    /// let guard = number.try_lock().unwrap();
    /// assert!(number.try_lock().is_none());
    /// drop(guard);
    /// assert!(number.try_lock().is_some());
    /// ```
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.permit.try_acquire().ok().map(|permit| MutexGuard::new(self, permit))
    }

    /// Borrows the value without locking.
    ///
    /// # Examples
    /// ```
    /// let mut number = locksley_sync::Mutex::new(1);
    /// *number.get_mut() += 1;
    /// assert_eq!(number.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Mutex");
        match self.try_lock() {
            Some(guard) => shown.field("value", &&*guard),
            None => shown.field("value", &format_args!("<locked>")),
        };
        shown.finish()
    }
}

/// Access to the value of a locked [`Mutex`]. It unlocks when it is dropped.
///
/// It is `Send` if the value is, and so is a future that keeps it across `await`:
/// ```compile_fail,E0277
/// use std::rc::Rc;
///
/// fn sent<T: Send>(_: T) {}
/// let here = locksley_sync::Mutex::new(Rc::new(1));
/// sent(here.try_lock().unwrap());
/// ```
/// It is `Sync` if the value is:
/// ```compile_fail,E0277
/// use std::cell::Cell;
///
/// fn shared<T: Sync>(_: T) {}
/// let cell = locksley_sync::Mutex::new(Cell::new(1));
/// shared(cell.try_lock().unwrap());
/// ```
#[must_use = "the mutex is unlocked when this is dropped"]
pub struct MutexGuard<'m, T: ?Sized> {
    pub(super) mutex: &'m Mutex<T>,
    /// Unlocks when it is dropped.
    _permit: Permit<'m>,
    /// It is `Send` and `Sync` as a mutable reference is.
    access: PhantomData<&'m mut T>,
}

impl<'m, T: ?Sized> MutexGuard<'m, T> {
    fn new(mutex: &'m Mutex<T>, permit: Permit<'m>) -> Self {
        Self { mutex, _permit: permit, access: PhantomData }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard has the only permit, and is borrowed.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard has the only permit, and is borrowed mutably.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
