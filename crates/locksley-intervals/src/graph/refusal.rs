//! Why an interval or an edge was refused.

use std::error::Error;
use std::fmt;

/// The error of an interval that was not created, or of an edge that was not added.
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
///         "an edge from the end of `root` to the start of `child` would close a cycle",
///     );
///     let Refusal::Cycle { from, .. } = refusal else { unreachable!() };
///     assert_eq!(from, "the end of `root`");
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
            Self::Cycle { from, to } => {
                write!(f, "an edge from {from} to {to} would close a cycle")
            }
            Self::MayHaveOccurred { by, to } => {
                write!(f, "`{by}` does not come before {to}, which may have occurred")
            }
            Self::IntoHolder { from, to, holder } => write!(
                f,
                "an edge from {from} to {to} would make `{holder}` wait while it holds locks"
            ),
            Self::LocksInside { interval, holder } => {
                write!(f, "`{interval}` names locks inside of `{holder}`, which holds locks")
            }
            Self::SameLock { interval } => write!(f, "`{interval}` names the same lock twice"),
        }
    }
}

impl Error for Refusal {}
