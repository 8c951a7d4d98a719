//! What this experiment needs of a runtime: processes, and channels of numbers.

use std::future::Future;

/// A runtime with its workers; dropping it ends them.
pub(super) trait Runtime {
    /// Its networks.
    type Network<'r>: Network
    where
        Self: 'r;

    /// A network of nothing.
    fn network(&self) -> Self::Network<'_>;
}

/// A network that is made, and then run.
pub(super) trait Network {
    /// The end of a channel at which a process will send.
    type Outlet;
    /// The end of a channel at which a process will receive.
    type Inlet;
    /// The same in a process.
    type Output: Output;
    /// The same in a process.
    type Input: Input;

    /// A channel that holds so many numbers.
    fn channel(&mut self, capacity: usize) -> (Self::Outlet, Self::Inlet);

    /// A process with these ends of channels. Says how large its future is, in bytes.
    fn process<const O: usize, const I: usize, R>(
        &mut self,
        outputs: [Self::Outlet; O],
        inputs: [Self::Inlet; I],
        body: impl FnOnce([Self::Output; O], [Self::Input; I]) -> R + Send + 'static,
    ) -> u64
    where
        R: Future<Output = ()> + Send + 'static;

    /// Runs it until all processes have ended; else why not.
    fn run(self) -> Result<(), String>;
}

/// The end of a channel at which a process sends.
pub(super) trait Output: Send + 'static {
    /// Sends a number, and waits where the channel is full.
    fn send(&mut self, number: u64) -> impl Future<Output = ()> + Send;
}

/// The end of a channel at which a process receives.
pub(super) trait Input: Send + 'static {
    /// Waits for a number; `None` at the end of the stream.
    fn receive(&mut self) -> impl Future<Output = Option<u64>> + Send;
}
