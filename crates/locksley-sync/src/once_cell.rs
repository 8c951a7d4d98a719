//! The once cell.

use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::Future;

use super::semaphore::{Permit, Semaphore};
use locksley_sys::primitive::const_unless_loom;

/// Holds a value that the first task to ask for it makes, while others wait.
///
/// Use it for lazy initialization that awaits. If it does not, std's `OnceLock` does as well.
///
/// - **Fair.** If the task that makes the value fails, panics or is dropped, the task that has
///   waited longest makes it.
/// - **Lock-free** in itself. Only the task that makes the value delays others.
/// - **Cancellable.** A future that is dropped while it makes the value leaves that to the next.
///   There is no poisoning.
///
/// A task that asks the cell for its value while it makes that value waits forever.
///
/// # Examples
/// ```
/// use locksley_sync::OnceCell;
///
/// static TABLE: OnceCell<Vec<u32>> = OnceCell::new();
///
/// async fn table() -> &'static [u32] {
///     TABLE.get_or_init(async || (0..10).map(|n| n * n).collect()).await
/// }
///
/// assert_eq!(TABLE.get(), None);
/// assert_eq!(pollster::block_on(table())[3], 9);
/// assert!(TABLE.get().is_some());
/// ```
///
/// A cell is `Sync` if its value is `Send` and `Sync`:
/// ```compile_fail,E0277
/// fn shared<T: Sync>(_: T) {}
/// shared(locksley_sync::OnceCell::<std::cell::Cell<u32>>::new());
/// ```
pub struct OnceCell<T> {
    /// One permit: to make the value. Closed when there is a value.
    turn: Semaphore,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: a shared cell lends its value to all threads (`T: Sync`), and one thread may make it and
// another drop it (`T: Send`). Closing the semaphore synchronizes with finding it closed.
unsafe impl<T: Send + Sync> Sync for OnceCell<T> {}

impl<T> OnceCell<T> {
    const_unless_loom! {
        /// Makes an empty cell.
        ///
        /// # Examples
        /// See [`OnceCell`].
        #[must_use]
        pub fn new() -> Self {
            Self { turn: Semaphore::new(1), value: UnsafeCell::new(None) }
        }
    }

    /// Returns the value, if there is one.
    ///
    /// # Examples
    /// See [`OnceCell`].
    pub fn get(&self) -> Option<&T> {
        if !self.turn.is_closed() {
            return None;
        }
        // SAFETY: closed after the write, and not written again while the cell is shared.
        unsafe { &*self.value.get() }.as_ref()
    }

    /// Borrows the value mutably, if there is one.
    ///
    /// # Examples
    /// ```
    /// let mut cell = locksley_sync::OnceCell::from(1);
    /// *cell.get_mut().unwrap() += 1;
    /// assert_eq!(cell.into_inner(), Some(2));
    /// ```
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Returns the value, if there is one, and drops the cell.
    ///
    /// # Examples
    /// See [`get_mut`](Self::get_mut).
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Sets the value, if there is none and no task makes one.
    ///
    /// # Errors
    /// [`SetError`] returns `value`.
    ///
    /// # Examples
    /// ```
    /// use locksley_sync::{OnceCell, SetError};
    ///
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.set(1), Ok(()));
    /// assert_eq!(cell.set(2), Err(SetError::AlreadySet(2)));
    /// assert_eq!(cell.get(), Some(&1));
    /// ```
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        match self.turn.try_acquire() {
            Ok(turn) => {
                self.put(value, turn);
                Ok(())
            }
            Err(_) if self.get().is_some() => Err(SetError::AlreadySet(value)),
            Err(_) => Err(SetError::BeingMade(value)),
        }
    }

    /// Returns the value. If there is none, and no other task makes it, `make` does.
    ///
    /// # Panics
    /// If `make` panics. Then the next task in the queue makes the value.
    ///
    /// # Examples
    /// See [`OnceCell`].
    pub async fn get_or_init<F, Fut>(&self, make: F) -> &T
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        match self.get_or_try_init(async || Ok::<_, Infallible>(make().await)).await {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// Returns the value. If there is none, and no other task makes it, `make` does, or fails.
    ///
    /// # Errors
    /// The error of `make`. Then the next task in the queue makes the value.
    ///
    /// # Panics
    /// If `make` panics. Then the next task in the queue makes the value.
    ///
    /// # Examples
    /// ```
    /// use locksley_sync::OnceCell;
    ///
    /// let cell = OnceCell::new();
    /// pollster::block_on(async {
    ///     assert!(cell.get_or_try_init(async || "seven".parse::<u8>()).await.is_err());
    ///     assert_eq!(cell.get_or_try_init(async || "7".parse::<u8>()).await, Ok(&7));
    ///     assert_eq!(cell.get_or_try_init(async || "8".parse::<u8>()).await, Ok(&7));
    /// });
    /// ```
    pub async fn get_or_try_init<E, F, Fut>(&self, make: F) -> Result<&T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        match self.turn.acquire().await {
            // The permit is released if `make` fails, panics, or is dropped.
            Ok(turn) => Ok(self.put(make().await?, turn)),
            Err(_) => Ok(self.get().expect("closed when there is a value")),
        }
    }

    fn put(&self, value: T, turn: Permit<'_>) -> &T {
        // SAFETY: there is one permit, and it is not released again, so no other thread writes. No
        // thread reads before the semaphore is closed.
        let place = unsafe { &mut *self.value.get() };
        *place = Some(value);
        turn.forget();
        self.turn.close();
        self.get().expect("just put there")
    }
}

impl<T> Default for OnceCell<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for OnceCell<T> {
    /// Makes a cell with a value.
    fn from(value: T) -> Self {
        let cell = Self { turn: Semaphore::new(0), value: UnsafeCell::new(Some(value)) };
        cell.turn.close();
        cell
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnceCell").field(&self.get()).finish()
    }
}

/// Error of [`OnceCell::set`], which has an example. It returns the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// The cell has a value.
    AlreadySet(T),
    /// A task makes a value.
    BeingMade(T),
}

impl<T> fmt::Display for SetError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadySet(_) => "the cell has a value",
            Self::BeingMade(_) => "the cell's value is being made",
        })
    }
}

impl<T: fmt::Debug> Error for SetError<T> {}
