//! Context switches of a thread.

/// The direction of a context switch, and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// The thread runs, or ran when this was read.
    In,
    /// It was switched out though it could have run on.
    Preempted,
    /// It waits for something.
    Blocked,
}

/// A context switch of a thread, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedSwitch {
    /// The direction, and the reason.
    pub switch: Switch,
    /// Nanoseconds of the monotonic clock.
    pub at: u64,
    /// The processor that the thread came to or left.
    pub processor: u32,
}
