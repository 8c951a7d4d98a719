//! Permits that somebody has.

use super::Semaphore;

/// So many permits of a semaphore, given back when this is dropped.
///
/// It may go to another thread. See [`Semaphore`] for an example.
#[derive(Debug)]
#[must_use = "the permits are given back when this is dropped"]
pub struct Permit<'s> {
    semaphore: &'s Semaphore,
    permits: usize,
}

impl<'s> Permit<'s> {
    /// The caller has taken so many.
    pub(super) fn new(semaphore: &'s Semaphore, permits: usize) -> Self {
        Self { semaphore, permits }
    }

    /// How many they are.
    ///
    /// # Examples
    /// See [`Semaphore::try_acquire_many`].
    pub fn permits(&self) -> usize {
        self.permits
    }

    /// Keeps the semaphore from getting them back, other than by [`Semaphore::add_permits`].
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
        if self.permits > 0 {
            self.semaphore.give(self.permits);
        }
    }
}
