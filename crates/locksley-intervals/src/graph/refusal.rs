//! Why an interval, an edge or the start of a draft was refused.

use std::error::Error;
use std::fmt;

/// The error of an interval that was not created, of an edge that was not added, or of a
/// [draft](crate::Draft) that was not started.
///
/// The graph is unchanged. Points are described by a text like "the end of `root`", intervals by
/// their names.
///
/// # Examples
/// ```
/// use locksley_intervals::{self as intervals, Refusal};
///
/// intervals::run("root", |root| {
///     let child = root.interval("child");
///     // The root ends after all of its children.
///     let refusal = child.after(root.end()).try_spawn(|_| ()).unwrap_err();
///     assert_eq!(
///         refusal.to_string(),
///         "an edge from the end of `root` to the start of `child` would close the cycle \
///          `child -> root -> child`",
///     );
///     let Refusal::Cycle { from, path, .. } = refusal else { unreachable!() };
///     assert_eq!((&*from, &*path.join(" ")), ("the end of `root`", "child root child"));
/// })?;
/// # Ok::<(), intervals::IntervalCancelled>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The edge would close a cycle, by itself or with another edge that was added at the same
    /// time.
    Cycle {
        /// The source of the edge.
        from: String,
        /// The target of the edge.
        to: String,
        /// The intervals of the cycle in its order. The first and the last one are the interval of
        /// the target. An arrow of the message, `child -> parent`, is an edge, or leads from the
        /// end of a child to the end of its parent.
        path: Vec<String>,
    },
    /// The target may have occurred already: the interval that adds the edge does not come before
    /// it.
    MayHaveOccurred {
        /// The interval that adds the edge.
        by: String,
        /// The target of the edge.
        to: String,
    },
    /// The edge leads from outside into an interval that holds locks, or into a descendant of one.
    /// The source may wait for the same locks. Add the edge to the start of that interval instead.
    IntoHolder {
        /// The source of the edge.
        from: String,
        /// The target of the edge.
        to: String,
        /// The interval that holds locks.
        holder: String,
    },
    /// The edge leads from or to an interval that is declared in a [draft](crate::Draft), which has
    /// not started it.
    NotStarted {
        /// The declared interval.
        interval: String,
    },
    /// The edge leads into a [draft](crate::Draft) from outside of the interval that has made the
    /// draft, and its source has not occurred. Add the edge to a new interval by
    /// [`Builder::after`](crate::Builder::after), and connect that interval instead.
    IntoDraft {
        /// The source of the edge.
        from: String,
        /// The target of the edge.
        to: String,
        /// The interval that has made the draft.
        parent: String,
    },
    /// The interval names locks, and its parent or another ancestor holds locks.
    LocksInside {
        /// The interval that was refused.
        interval: String,
        /// The interval that holds locks.
        holder: String,
    },
    /// The interval names the same lock twice.
    SameLock {
        /// The interval that was refused.
        interval: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cycle { from, to, path } => {
                let path = path.join(" -> ");
                write!(f, "an edge from {from} to {to} would close the cycle `{path}`")
            }
            Self::MayHaveOccurred { by, to } => {
                write!(f, "`{by}` does not come before {to}, which may have occurred")
            }
            Self::IntoHolder { from, to, holder } => write!(
                f,
                "an edge from {from} to {to} would make `{holder}` wait while it holds locks"
            ),
            Self::NotStarted { interval } => {
                write!(f, "`{interval}` is declared in a draft that has not started")
            }
            Self::IntoDraft { from, to, parent } => write!(
                f,
                "an edge from {from} to {to} would lead from outside of `{parent}` into its draft"
            ),
            Self::LocksInside { interval, holder } => {
                write!(f, "`{interval}` names locks inside of `{holder}`, which holds locks")
            }
            Self::SameLock { interval } => write!(f, "`{interval}` names the same lock twice"),
        }
    }
}

impl Error for Refusal {}
