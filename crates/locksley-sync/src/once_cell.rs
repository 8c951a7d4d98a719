//! A cell that is written once, by one of the tasks that want to read it.

use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::Future;

use super::semaphore::{Permit, Semaphore};
use locksley_sys::primitive::const_unless_loom;

/// A value that the first task which asks for it makes, while all others wait for that one.
///
/// - **Fair.** If the one that makes the value fails, panics or is dropped, the one that has waited
///   longest makes it.
/// - **Non-blocking** in itself; who makes the value can keep it from others, as who has a lock
///   can.
/// - **Cancellation.** A future that is dropped while it waits leaves the line; dropped while it
///   makes the value, it lets the next do it. No poisoning.
///
/// Whoever asks the cell for its value while making it waits for ever.
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
/// A shared cell moves its value from the thread that makes it to those that read it, so these must
/// be allowed to have it:
/// ```compile_fail,E0277
/// fn shared<T: Sync>(_: T) {}
/// shared(locksley_sync::OnceCell::<std::cell::Cell<u32>>::new());
/// ```
pub struct OnceCell<T> {
    /// One permit: to make the value. Closed when there is one.
    turn: Semaphore,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: a shared cell gives references to its value to all threads (`T: Sync`), and lets one
// thread make it and another drop it (`T: Send`). What the maker wrote is seen by who finds the
// semaphore closed: closing releases, looking acquires.
unsafe impl<T: Send + Sync> Sync for OnceCell<T> {}

impl<T> OnceCell<T> {
    const_unless_loom! {
        /// An empty cell.
        ///
        /// # Examples
        /// See [`OnceCell`].
        #[must_use]
        pub fn new() -> Self {
            Self { turn: Semaphore::new(1), value: UnsafeCell::new(None) }
        }
    }

    /// The value, if it has been made.
    ///
    /// # Examples
    /// See [`OnceCell`].
    pub fn get(&self) -> Option<&T> {
        if !self.turn.is_closed() {
            return None;
        }
        // SAFETY: closed after it was written, and not written again while the cell is shared.
        unsafe { &*self.value.get() }.as_ref()
    }

    /// The value, if it has been made.
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

    /// The value, if it has been made.
    ///
    /// # Examples
    /// See [`get_mut`](Self::get_mut).
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Puts a value in, if there is none and nobody makes one.
    ///
    /// # Errors
    /// [`SetError`] gives it back.
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

    /// The value. If there is none, and it is this one's turn, `make` makes it.
    ///
    /// # Panics
    /// If `make` does. Then the next in line makes it.
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

    /// The value. If there is none, and it is this one's turn, `make` makes it, or fails.
    ///
    /// # Errors
    /// That of `make`. Then the next in line makes the value.
    ///
    /// # Panics
    /// If `make` does. Then the next in line makes it.
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
            // The turn is given back if `make` fails, panics, or is dropped.
            Ok(turn) => Ok(self.put(make().await?, turn)),
            Err(_) => Ok(self.get().expect("closed when there is a value")),
        }
    }

    fn put(&self, value: T, turn: Permit<'_>) -> &T {
        // SAFETY: one permit, never given back: nobody else writes; nobody reads before it is
        // closed.
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
    /// A cell that has its value.
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

/// A cell's value could not be set; it is given back. See [`OnceCell::set`] for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// There is one.
    AlreadySet(T),
    /// Somebody makes one.
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
