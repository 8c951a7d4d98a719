//! Errors of the semaphore.

use std::error::Error;
use std::fmt;

/// Error of [`Semaphore::acquire`](super::Semaphore::acquire): the semaphore is closed.
///
/// # Examples
/// ```
/// let semaphore = locksley_sync::Semaphore::new(1);
/// semaphore.close();
/// let error = pollster::block_on(semaphore.acquire()).unwrap_err();
/// assert_eq!(error.to_string(), "the semaphore is closed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the semaphore is closed")
    }
}

impl Error for Closed {}

/// Error of [`Semaphore::try_acquire`](super::Semaphore::try_acquire), which has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are too few permits, or other tasks wait for them.
    NoPermits,
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => Closed.fmt(f),
            Self::NoPermits => f.write_str("the semaphore has too few permits"),
        }
    }
}

impl Error for TryAcquireError {}
