//! What this experiment needs of a runtime.

use std::future::Future;

/// A runtime with its workers; dropping it ends them.
pub(super) trait Runtime {
    /// What its tasks have.
    type Tasks: Tasks;

    /// What its tasks have.
    fn tasks(&self) -> Self::Tasks;

    /// Runs `main` as a task, on a worker, and waits for it.
    fn run<T: Send + 'static>(&self, main: impl Future<Output = T> + Send + 'static) -> T;
}

/// What a task has of its runtime.
pub(super) trait Tasks: Send + Sync + 'static {
    /// Its semaphores.
    type Permits: Permits;
    /// What its tasks use to wait for the signals of several others.
    type Countdown: Countdown;

    /// Spawns a task, to be awaited.
    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send;

    /// Spawns a task that nobody awaits.
    fn detach(&self, future: impl Future<Output = ()> + Send + 'static);
}

/// A semaphore.
pub(super) trait Permits: Send + Sync + 'static {
    /// One without permits.
    fn none() -> Self;
    /// Waits for a permit and takes it for good.
    fn take(&self) -> impl Future<Output = ()> + Send;
    /// Adds permits.
    fn give(&self, number: usize);
}

/// What waits for a number of signals.
pub(super) trait Countdown: Send + Sync + 'static {
    /// One that waits for so many signals.
    fn of(signals: usize) -> Self;
    /// Sends one of them.
    fn signal(&self);
    /// Waits for all of them. There is one waiter.
    fn all(&self) -> impl Future<Output = ()> + Send;
}
