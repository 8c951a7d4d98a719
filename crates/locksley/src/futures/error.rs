//! The error of a task that returned no value.

use std::any::Any;
use std::error::Error;
use std::fmt;

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
pub struct JoinError(Reason);

enum Reason {
    Cancelled,
    Panicked { message: Option<String>, payload: OnlyByValue },
}

/// A payload that is reached by value only.
struct OnlyByValue(Payload);

// SAFETY: a shared reference gives no access to the payload.
unsafe impl Sync for OnlyByValue {}

impl JoinError {
    pub(super) fn cancelled() -> Self {
        Self(Reason::Cancelled)
    }

    pub(super) fn panicked(payload: Payload) -> Self {
        let message = unwind::message(&payload).map(str::to_owned);
        Self(Reason::Panicked { message, payload: OnlyByValue(payload) })
    }

    /// True if the task was cancelled, by [`JoinHandle::cancel`] or because its pool was dropped.
    /// Otherwise the task panicked.
    ///
    /// [`JoinHandle::cancel`]: super::JoinHandle::cancel
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0, Reason::Cancelled)
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
        match self.0 {
            Reason::Panicked { payload, .. } => Ok(payload.0),
            Reason::Cancelled => Err(self),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Cancelled => f.write_str("the task was cancelled"),
            Reason::Panicked { message: Some(message), .. } => {
                write!(f, "the task panicked: {message}")
            }
            Reason::Panicked { message: None, .. } => f.write_str("the task panicked"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Cancelled => f.write_str("Cancelled"),
            Reason::Panicked { message, .. } => f.debug_tuple("Panicked").field(message).finish(),
        }
    }
}

impl Error for JoinError {}
