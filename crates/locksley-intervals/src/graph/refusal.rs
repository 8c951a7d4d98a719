//! Why an interval or an edge was refused.

use std::error::Error;
use std::fmt;

use crate::graph::interval::{At, Side};

/// A point, by name.
///
/// # Examples
/// See [`Refusal`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointName {
    /// The interval's name.
    pub interval: String,
    /// Which of its points.
    pub side: Side,
}

impl PointName {
    /// # Safety
    /// The interval is alive.
    pub(crate) unsafe fn of(at: At) -> Self {
        // SAFETY: as the caller promises.
        let header = unsafe { at.header() };
        Self { interval: header.name().into(), side: at.side() }
    }
}

impl fmt::Display for PointName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Start => "start",
            Side::End => "end",
        };
        write!(f, "the {side} of `{}`", self.interval)
    }
}

/// Why an interval was not made, or an edge not added. Nothing has changed then.
///
/// # Examples
/// ```
/// use locksley_intervals::{self as intervals, Refusal, Side};
///
/// intervals::run("root", |root| {
///     let inside = root.interval("inside");
///     // The root ends after all that are inside of it.
///     let refused = inside.after(root.end()).try_spawn(|_| ()).unwrap_err();
///     assert_eq!(
///         refused.to_string(),
///         "an edge from the end of `root` to the start of `inside` would close a cycle",
///     );
///     let Refusal::Cycle { from, to } = refused else { unreachable!() };
///     assert_eq!((from.side, to.side), (Side::End, Side::Start));
/// })?;
/// # Ok::<(), intervals::IntervalCancelled>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The edge would close a cycle; or it would with another one that was being added meanwhile.
    Cycle {
        /// Where it comes from.
        from: PointName,
        /// Where it goes to.
        to: PointName,
    },
    /// The point may have occurred already: the interval that adds the edge does not come before
    /// it.
    MayHaveOccurred {
        /// The interval that adds the edge.
        by: String,
        /// Where the edge goes to.
        to: PointName,
    },
    /// The edge comes from outside into an interval that holds locks, or into what was made inside
    /// of one. Its source may wait for these very locks. Let it go to that interval's start.
    IntoHolder {
        /// Where it comes from.
        from: PointName,
        /// Where it goes to.
        to: PointName,
        /// The interval that holds locks.
        holder: String,
    },
    /// The interval names locks and was to be made inside of one that holds locks.
    LocksInside {
        /// The interval that was to be made.
        interval: String,
        /// The interval that holds locks.
        holder: String,
    },
    /// The interval names the same lock twice.
    SameLock {
        /// The interval that was to be made.
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
