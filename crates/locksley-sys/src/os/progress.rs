//! What a thread has done up to now.

use std::time::Duration;

/// The processor time of a thread, and whether the thread is blocked.
///
/// If two readings are equal and `is_blocked`, the thread has not run between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The time for which the thread has run on a processor. It was read before `is_blocked`.
    pub processor_time: Duration,
    /// True if the thread neither runs nor waits for a processor.
    pub is_blocked: bool,
}
