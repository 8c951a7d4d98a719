//! What few intervals have: a place, locks, a trace. Most have none, and one test says so.

use crate::graph::lock::LockSet;
use crate::graph::trace::Trace;

/// Options of an interval.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    /// The place at which it should run.
    pub(crate) place: Option<usize>,
    /// The locks that it holds itself, from its start to its end.
    pub(crate) locks: Option<LockSet>,
    /// Present in roots that are recorded, checked or observed.
    pub(crate) trace: Option<Trace>,
}
