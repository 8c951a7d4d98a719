//! What is needed of a runtime. Each kind is written once in these terms, and so is the same for
//! all runtimes.

use std::future::{Future, poll_fn};
use std::pin::Pin;

use crate::fault::Outcome;

/// A runtime with its workers; dropping it ends them. Functions without `self` are called by tasks.
pub(super) trait Runtime: Sized + 'static {
    /// Its semaphores.
    type Semaphore: Send + Sync + 'static;
    /// Runs `main` as a task, on a worker, and waits for it.
    fn run<T: Send + 'static>(&self, main: impl Future<Output = T> + Send + 'static) -> T;

    /// Spawns a task. It goes on if what is returned is dropped.
    fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send;

    /// A semaphore without permits.
    fn semaphore() -> Self::Semaphore;
    /// Waits for a permit and does not give it back.
    fn acquire(semaphore: &Self::Semaphore) -> impl Future<Output = ()> + Send;
    /// Adds permits.
    fn add_permits(semaphore: &Self::Semaphore, number: usize);

    /// A network that is made, and then run. The default has no processes.
    type Network: Default;
    /// The end of a channel at which a process will send.
    type Outlet;
    /// The end of a channel at which a process will receive.
    type Inlet;
    /// An outlet, in its process.
    type Output: Send + 'static;
    /// An inlet, in its process.
    type Input: Send + 'static;

    /// Adds a channel that holds so many numbers.
    fn channel(network: &mut Self::Network, capacity: usize) -> (Self::Outlet, Self::Inlet);

    /// Adds a process with these ends of channels. Returns the size of its future, in bytes.
    fn process<const O: usize, const I: usize, F: Future<Output = ()> + Send + 'static>(
        &self,
        network: &mut Self::Network,
        ends: ([Self::Outlet; O], [Self::Inlet; I]),
        body: impl FnOnce([Self::Output; O], [Self::Input; I]) -> F + Send + 'static,
    ) -> usize;

    /// Runs a network until all processes have ended; else why not.
    fn complete(&self, network: Self::Network) -> Outcome<()>;

    /// Sends a number, and waits where the channel is full.
    fn send(output: &mut Self::Output, number: u64) -> impl Future<Output = ()> + Send;
    /// Waits for a number; `None` at the end of the stream.
    fn receive(input: &mut Self::Input) -> impl Future<Output = Option<u64>> + Send;
}

/// What `future` returns; calls `waits` when it begins to wait.
pub(super) fn noting_wait<F: Future>(
    mut future: Pin<&mut F>,
    waits: impl Fn(),
) -> impl Future<Output = F::Output> {
    let mut is_waiting = false;
    poll_fn(move |context| {
        let poll = future.as_mut().poll(context);
        if poll.is_pending() && !is_waiting {
            is_waiting = true;
            waits();
        }
        poll
    })
}
