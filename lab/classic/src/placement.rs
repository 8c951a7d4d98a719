//! The deque that receives an unblocked thread.
//!
//! Source: "A simple improvement of the work-stealing scheduling algorithm", 2010, section 3.

/// The placement of unblocked threads. In both cases the worker there runs the thread next: it goes
/// to the end of the queue that the owner uses (the *front*, in that paper).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// WS-CUR, the original algorithm: the worker that unblocks the thread.
    #[default]
    Current,
    /// WS-LAST, the paper's improvement: the worker that ran the thread last. Needs deques into
    /// which any worker may push.
    Last,
}
