//! Where ready threads wait.
//!
//! Source: Weibel, "An Advanced Scheduler for Intervals", 2010, "Work-Stealing Places" and
//! "Alternative Designs".

/// The queues of the workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Queues {
    /// Each worker has a deque.
    #[default]
    OfWorkers,
    /// Each worker has a deque and a mailbox: see `mailbox.rs`.
    WithMailboxes,
    /// Each place has a deque, which its workers share. A thread without a place goes to one place
    /// after the other; joined and unblocked threads go to the place of the worker that pushes
    /// them. The vector has the place of each worker, from 0 on.
    OfPlaces(Vec<usize>),
}
