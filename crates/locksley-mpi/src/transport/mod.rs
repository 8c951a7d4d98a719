//! What carries messages between ranks.

#[cfg(feature = "mpi")]
pub(crate) mod mpi;
pub(crate) mod simulated;

use std::time::Duration;

use crate::error::Error;

/// What carries messages between the ranks of a program, seen from one of them.
///
/// Messages may overtake each other, but none is lost unless a rank dies. Implement it for another
/// engine than MPI; [`Simulated`](crate::Simulated) is a short example.
pub trait Transport {
    /// The number of this rank: below [`size`](Self::size).
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// The time since a moment that does not change.
    fn now(&self) -> Duration;

    /// Returns `Ok` if the other ranks can go on when one dies, and otherwise the reason for which
    /// [`Ranks::set_resilient`](crate::Ranks::set_resilient) is refused.
    ///
    /// # Errors
    /// The default.
    fn survives_deaths(&self) -> Result<(), &'static str> {
        Err("it ends all ranks when one dies")
    }

    /// Sends a message to another rank. It does not wait for the receiver.
    ///
    /// # Errors
    /// If the engine has failed. A receiver that has died need not be an error.
    fn send(&mut self, to: usize, message: Vec<u8>) -> Result<(), Error>;

    /// Returns the next message and the rank that has sent it, if there is one. It never waits.
    ///
    /// # Errors
    /// If the engine has failed.
    fn try_receive(&mut self) -> Result<Option<(usize, Vec<u8>)>, Error>;

    /// A rank has failed. When the transport is dropped, it must not wait for other ranks.
    fn fail(&mut self) {}
}
