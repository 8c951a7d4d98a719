//! The error of a task that returned no value.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, PoisonError};

use crate::primitive::plain::{Mutex, MutexGuard};
use crate::shared::Shared;
use crate::unwind::{self, Payload};

/// The error of a task that panicked or was cancelled.
///
/// # Examples
/// ```
/// let pool = locksley::Pool::new(1)?;
/// let task = pool.spawn_future(std::future::pending::<()>());
/// task.abort();
/// assert!(task.join().unwrap_err().is_cancelled());
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub struct JoinError {
    /// `None` if the task was cancelled.
    panic: Option<Box<Panic>>,
}

struct Panic {
    /// `None` once it was taken. In a lock, so that the error is `Sync`.
    payload: Mutex<Option<Payload>>,
    /// The pool whose handler takes a payload that nothing has seen. Keeps the handler alive.
    pool: Option<Arc<Shared>>,
}

// The pool is not touched by code that sees the error.
impl UnwindSafe for JoinError {}
impl RefUnwindSafe for JoinError {}

impl JoinError {
    pub(super) fn cancelled() -> Self {
        Self { panic: None }
    }

    /// A panic that nothing has seen yet. If it is dropped unseen, it goes to the handler of
    /// `pool`. Without a pool, it is discarded.
    pub(super) fn panicked(payload: Payload, pool: Option<Arc<Shared>>) -> Self {
        Self { panic: Some(Box::new(Panic { payload: Mutex::new(Some(payload)), pool })) }
    }

    /// The error for the code that sees it.
    pub(super) fn seen(mut self) -> Self {
        if let Some(panic) = &mut self.panic {
            panic.pool = None;
        }
        self
    }

    /// True if the task was cancelled, by [`JoinHandle::abort`] or because its pool was dropped.
    /// Otherwise the task panicked.
    ///
    /// [`JoinHandle::abort`]: super::JoinHandle::abort
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
        match self.try_into_panic() {
            Ok(payload) => payload,
            // Not in a closure, so that the panic names the caller's line.
            Err(cancelled) => panic!("{cancelled}"),
        }
    }

    /// The payload of the task's panic.
    ///
    /// # Errors
    /// This error itself, if the task was cancelled.
    pub(crate) fn try_into_panic(self) -> Result<Payload, Self> {
        let payload = self.panic.as_ref().and_then(|panic| panic.lock().take());
        payload.ok_or(self)
    }

    /// The message of the panic, if there is one and it is text.
    fn message(&self) -> Option<String> {
        unwind::message(self.panic.as_ref()?.lock().as_ref()?).map(str::to_owned)
    }
}

impl Panic {
    fn lock(&self) -> MutexGuard<'_, Option<Payload>> {
        self.payload.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Panic {
    fn drop(&mut self) {
        let payload = self.lock().take();
        match (payload, &self.pool) {
            (Some(payload), Some(pool)) => pool.report_panic(payload),
            (Some(payload), None) => unwind::discard(payload),
            (None, _) => {}
        }
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
