//! Why there are no permits.

use std::error::Error;
use std::fmt;

/// The semaphore is closed.
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

/// Why permits could not be taken at once. See
/// [`Semaphore::try_acquire`](super::Semaphore::try_acquire) for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are too few, or others wait for them.
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
