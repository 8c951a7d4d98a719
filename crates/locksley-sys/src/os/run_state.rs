//! Where a peer is, as its kernel sees it.

/// Where a peer's thread is, as far as that is known; it was true a moment ago.
///
/// `locksley::idle::IdleContext` has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunState {
    /// It runs on another processor.
    Runs,
    /// It could run, and waits for the processor of the thread that asks.
    WaitsHere,
    /// It could run, and waits for another processor.
    WaitsElsewhere,
    /// It waits for something else than a processor.
    Blocked,
    /// The system does not tell.
    Unknown,
}
