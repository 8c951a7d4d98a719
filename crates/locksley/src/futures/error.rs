//! The error of a task that returned no value.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::unwind::{self, Payload};

/// The error of a task that panicked or was cancelled.
///
/// # Examples
/// ```
/// let pool = locksley::Pool::new(1)?;
/// let task = pool.spawn_future(std::future::pending::<()>());
/// task.cancel();
/// assert!(task.join().unwrap_err().is_cancelled());
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub struct JoinError {
    /// The payload; `None` if the task was cancelled. In a lock, so that the error is `Sync`.
    panic: Option<Mutex<Payload>>,
}

impl JoinError {
    pub(super) fn cancelled() -> Self {
        Self { panic: None }
    }

    pub(super) fn panicked(payload: Payload) -> Self {
        Self { panic: Some(Mutex::new(payload)) }
    }

    /// True if the task was cancelled, by [`JoinHandle::cancel`] or because its pool was dropped.
    /// Otherwise the task panicked.
    ///
    /// [`JoinHandle::cancel`]: super::JoinHandle::cancel
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.panic.is_none()
    }

    /// The payload of the task's panic, for [`resume_unwind`](std::panic::resume_unwind).
    ///
    /// # Panics
    /// If the task was cancelled.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(1)?;
    /// let error = pool.spawn_future(async { panic!("no more arrows") }).join().unwrap_err();
    /// assert_eq!(*error.into_panic().downcast::<&str>().unwrap(), "no more arrows");
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        self.try_into_panic().unwrap_or_else(|cancelled| panic!("{cancelled}"))
    }

    /// The payload of the task's panic.
    ///
    /// # Errors
    /// This error itself, if the task was cancelled.
    pub(crate) fn try_into_panic(self) -> Result<Payload, Self> {
        match self.panic {
            Some(payload) => Ok(payload.into_inner().unwrap_or_else(PoisonError::into_inner)),
            None => Err(self),
        }
    }

    /// The message of the panic, if there is one and it is text.
    fn message(&self) -> Option<String> {
        let payload = self.panic.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        unwind::message(&payload).map(str::to_owned)
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message() {
            Some(message) => write!(f, "the task panicked: {message}"),
            None if self.is_cancelled() => f.write_str("the task was cancelled"),
            None => f.write_str("the task panicked"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_cancelled() {
            return f.write_str("Cancelled");
        }
        f.debug_tuple("Panicked").field(&self.message()).finish()
    }
}

impl Error for JoinError {}
