//! A mutex for tasks: who finds it locked waits, and its worker works on.

use std::cell::UnsafeCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::semaphore::{Acquire, Permit, Semaphore};
use locksley_sys::primitive::const_unless_loom;

/// A value that one task at a time may use, across `await` if need be.
///
/// Where no task waits for anything while it has the lock, std's mutex does as well, and costs
/// less. But a worker that the kernel suspends while it holds a lock, this one or another, keeps
/// out who wants it: what is locked should be little.
///
/// - **Fair.** Tasks get the lock in the order in which they first polled [`lock`](Self::lock);
///   nobody takes it past somebody who waits.
/// - **Non-blocking** in itself: it is a [`Semaphore`] of one permit. Only who has the lock can
///   keep it from others.
/// - **Cancellation.** A `lock` that is dropped leaves the line. If it had been given the lock, the
///   next gets it.
/// - **No poisoning.** A guard unlocks when it is dropped, in a panic too. A panic of a task
///   reaches whoever waits for the task; and that a future with a guard can be dropped in the
///   middle of what it does, with no panic at all, is something that poisoning would not tell. So
///   whoever changes the value in steps restores it by a guard of their own.
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
/// What may not be sent to other threads is not shared by a lock either:
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

// SAFETY: with the mutex goes its value. (As it would by itself.)
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: a shared mutex hands its value to one thread at a time: who has the permit. It never
// shares it, so `Sync` is not needed; and what one thread wrote is seen by the next, since giving a
// permit and taking it synchronize.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    const_unless_loom! {
        /// An unlocked mutex.
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

    /// The value.
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
    pub fn lock(&self) -> Lock<'_, T> {
        Lock { mutex: self, permit: self.permit.acquire() }
    }

    /// Takes the lock, if nobody has it or waits for it.
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

    /// The value of a mutex that nobody else knows.
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

/// Waits for a lock: see [`Mutex::lock`]. It stands in line from when it is first polled until it
/// is dropped.
#[must_use = "futures do nothing unless they are polled"]
pub struct Lock<'m, T: ?Sized> {
    mutex: &'m Mutex<T>,
    permit: Acquire<'m>,
}

impl<'m, T: ?Sized> Future for Lock<'m, T> {
    type Output = MutexGuard<'m, T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mutex = self.mutex;
        Pin::new(&mut self.permit).poll(context).map(|permit| {
            let permit = permit.expect("a mutex does not close its semaphore");
            MutexGuard::new(mutex, permit)
        })
    }
}

impl<T: ?Sized> fmt::Debug for Lock<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("permit", &self.permit).finish_non_exhaustive()
    }
}

/// The value of a locked [`Mutex`]; dropped, it unlocks.
///
/// It may be dropped on another thread than the one that locked, if the value may be sent there.
/// Then a future that keeps it across `await` is `Send` too; if not, not:
/// ```compile_fail,E0277
/// use std::rc::Rc;
///
/// fn sent<T: Send>(_: T) {}
/// let here = locksley_sync::Mutex::new(Rc::new(1));
/// sent(here.try_lock().unwrap());
/// ```
/// And it is shared only if the value may be:
/// ```compile_fail,E0277
/// use std::cell::Cell;
///
/// fn shared<T: Sync>(_: T) {}
/// let cell = locksley_sync::Mutex::new(Cell::new(1));
/// shared(cell.try_lock().unwrap());
/// ```
#[must_use = "the mutex is unlocked when this is dropped"]
pub struct MutexGuard<'m, T: ?Sized> {
    mutex: &'m Mutex<T>,
    /// Unlocks.
    _permit: Permit<'m>,
    /// It gives access as a mutable reference does, and is sent and shared as one.
    access: PhantomData<&'m mut T>,
}

impl<'m, T: ?Sized> MutexGuard<'m, T> {
    fn new(mutex: &'m Mutex<T>, permit: Permit<'m>) -> Self {
        Self { mutex, _permit: permit, access: PhantomData }
    }

    /// Whose it is.
    pub(super) fn mutex(&self) -> &'m Mutex<T> {
        self.mutex
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: we have the permit, so no other guard is there; this one is borrowed.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we have the permit, so no other guard is there; this one is borrowed mutably.
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
