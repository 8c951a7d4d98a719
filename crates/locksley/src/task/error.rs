//! Why a task returned nothing.

use std::any::Any;
use std::error::Error;
use std::fmt;

use crate::unwind::{self, Payload};

/// Why a task returned nothing: it panicked, or it was cancelled.
///
/// # Examples
/// ```
/// let pool = locksley::Pool::new(1)?;
/// let task = pool.spawn_future(async { std::future::pending::<()>().await });
/// task.cancel();
/// assert!(task.join().unwrap_err().is_cancelled());
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub struct TaskError(Reason);

enum Reason {
    Cancelled,
    Panicked { message: Option<String>, payload: Guarded },
}

/// A payload that can be had by value only.
struct Guarded(Payload);

// SAFETY: nothing is done with the payload by shared reference.
unsafe impl Sync for Guarded {}

impl TaskError {
    pub(super) fn cancelled() -> Self {
        Self(Reason::Cancelled)
    }

    pub(crate) fn panicked(payload: Payload) -> Self {
        let text = payload.downcast_ref::<&str>().map(|text| String::from(*text));
        let message = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Self(Reason::Panicked { message, payload: Guarded(payload) })
    }

    /// Whether the task was cancelled: by [`Task::cancel`](super::Task::cancel), or because its pool was dropped.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0, Reason::Cancelled)
    }

    /// Whether the task panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        !self.is_cancelled()
    }

    /// What the task panicked with.
    ///
    /// # Errors
    /// This error itself, if the task did not panic.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(1)?;
    /// let error = pool.spawn_future(async { panic!("no more arrows") }).join().unwrap_err();
    /// assert_eq!(*error.try_into_panic().unwrap().downcast::<&str>().unwrap(), "no more arrows");
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send>, Self> {
        match self.0 {
            Reason::Panicked { payload, .. } => Ok(payload.0),
            Reason::Cancelled => Err(self),
        }
    }

    /// Goes on with the task's panic on this thread.
    ///
    /// # Panics
    /// Always: with what the task panicked with, or because it was cancelled.
    pub fn resume_panic(self) -> ! {
        match self.try_into_panic() {
            Ok(payload) => unwind::resume(payload),
            Err(cancelled) => panic!("{cancelled}"),
        }
    }
}

impl fmt::Display for TaskError {
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

impl fmt::Debug for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Cancelled => f.write_str("Cancelled"),
            Reason::Panicked { message, .. } => f.debug_tuple("Panicked").field(message).finish(),
        }
    }
}

impl Error for TaskError {}
