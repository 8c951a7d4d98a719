//! The once cell.

use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};

use super::semaphore::{Permit, Semaphore};
use locksley_sys::primitive::const_unless_loom;

/// A cell that can be written to only once. The first task that needs the value initializes it, and
/// other tasks wait.
///
/// Use it for asynchronous initialization. If the initialization does not await, use std's
/// `OnceLock`.
///
/// - **Fair.** If an initialization fails, panics or is dropped, the task that has waited longest
///   initializes the cell.
/// - **Lock-free** in itself. A task waits only while another one initializes the cell.
/// - **Cancellable.** A future may be dropped during the initialization. There is no poisoning.
///
/// A task that needs the value of a cell while it initializes that cell waits forever.
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
    /// One permit: to initialize the value. Closed when the value is set.
    turn: Semaphore,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: a shared cell lends its value to all threads (`T: Sync`), and one thread may set it and
// another drop it (`T: Send`). Closing the semaphore synchronizes with finding it closed.
unsafe impl<T: Send + Sync> Sync for OnceCell<T> {}

// As std's `OnceLock`: an initialization that panics leaves the cell empty.
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceCell<T> {}

impl<T> OnceCell<T> {
    const_unless_loom! {
        /// Creates an empty cell.
        ///
        /// # Examples
        /// See [`OnceCell`].
        #[must_use]
        pub fn new() -> Self {
            Self { turn: Semaphore::new(1), value: UnsafeCell::new(None) }
        }
    }

    /// Returns the value, or `None` if the cell is empty.
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

    /// Borrows the value mutably, or returns `None` if the cell is empty.
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

    /// Consumes the cell, and returns its value, or `None` if it is empty.
    ///
    /// # Examples
    /// See [`get_mut`](Self::get_mut).
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Sets the value, if the cell is empty and no task initializes it.
    ///
    /// # Errors
    /// [`SetError`], which contains `value`.
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
            Err(_) => Err(SetError::Initializing(value)),
        }
    }

    /// Returns the value. If the cell is empty, initializes it with `init`, or waits for the task
    /// that initializes it.
    ///
    /// # Panics
    /// If `init` panics. Then the next task in the queue initializes the cell.
    ///
    /// # Examples
    /// See [`OnceCell`].
    pub async fn get_or_init<F, Fut>(&self, init: F) -> &T
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        match self.get_or_try_init(async || Ok::<_, Infallible>(init().await)).await {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// As [`get_or_init`](Self::get_or_init), with an initialization that can fail.
    ///
    /// # Errors
    /// The error of `init`. Then the next task in the queue initializes the cell.
    ///
    /// # Panics
    /// If `init` panics. Then the next task in the queue initializes the cell.
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
    pub async fn get_or_try_init<E, F, Fut>(&self, init: F) -> Result<&T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        match self.turn.acquire().await {
            // The permit is released if `init` fails, panics, or is dropped.
            Ok(turn) => Ok(self.put(init().await?, turn)),
            Err(_) => Ok(self.get().expect("closed when the value is set")),
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
    /// Creates a cell that contains `value`.
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

/// The error of [`OnceCell::set`], which has an example. It contains the value that was not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// The cell has a value already.
    AlreadySet(T),
    /// A task is initializing the cell.
    Initializing(T),
}

impl<T> fmt::Display for SetError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadySet(_) => "the cell has a value",
            Self::Initializing(_) => "the cell is being initialized",
        })
    }
}

impl<T: fmt::Debug> Error for SetError<T> {}
