//! What ranks tell each other while they process a bag.

use serde::{Deserialize, Serialize};

/// A message about tasks `T` and outputs `R`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Message<T, R> {
    /// A request for tasks. Along a lifeline, it stays until there are some.
    Steal { lifeline: bool },
    /// The answer to a request that is not along a lifeline: there are none.
    Nothing,
    /// The answer to a request.
    Loot { lifeline: bool, tasks: T },
    /// Down the tree: count what was sent and received.
    Wave,
    /// Up the tree: the sums over a subtree.
    Counts { sent: u64, received: u64 },
    /// Down the tree: there are no tasks any more.
    Done,
    /// Up the tree: the output of a subtree.
    Output(R),
    /// To the supervisor: the output of a job.
    JobOutput { job: u64, output: R },
    /// From the supervisor: the output of a job is not needed.
    Cancel { job: u64 },
    /// Down the tree, and to the next rank: the root has the output.
    Leave,
}

/// Messages to be sent, with their receivers.
pub(crate) type Outgoing<T, R> = Vec<(usize, Message<T, R>)>;
