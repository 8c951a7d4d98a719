//! Acquired permits.

use super::Semaphore;

/// Permits of a semaphore, released when this is dropped.
///
/// It may be sent to another thread. See [`Semaphore`] for an example.
#[derive(Debug)]
#[must_use = "the permits are released when this is dropped"]
pub struct Permit<'s> {
    pub(super) semaphore: &'s Semaphore,
    pub(crate) permits: usize,
}

impl Permit<'_> {
    /// Drops the permits without releasing them. [`Semaphore::add_permits`] can replace them.
    ///
    /// # Examples
    /// ```
    /// let semaphore = locksley_sync::Semaphore::new(3);
    /// semaphore.try_acquire()?.forget();
    /// assert_eq!(semaphore.available_permits(), 2);
    /// # Ok::<(), locksley_sync::TryAcquireError>(())
    /// ```
    pub fn forget(mut self) {
        self.permits = 0;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.semaphore.add_permits(self.permits);
    }
}
