//! What limits a process's processor time beside its affinity: a control group's quota; and what
//! could not be read of it.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A control group's quota.
#[derive(Clone, Debug, PartialEq)]
pub struct Quota {
    /// Processors' worth of time: more than 0, and not always whole.
    pub processors: f64,
    /// The time in which this much is granted at once.
    pub period: Duration,
    /// The file that sets it.
    pub file: Arc<Path>,
}

/// Something about limits that could not be read, and was taken as none. See
/// [`Processors::faults`](super::Processors::faults).
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// for fault in locksley::os::Processors::allowed().faults() {
///     eprintln!("{}: {}", fault.path.display(), fault.problem);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitFault {
    /// The file that could not be read, or makes no sense.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

impl LimitFault {
    /// What is wrong with a file.
    #[doc(hidden)]
    pub fn of(path: impl Into<PathBuf>, problem: String) -> Self {
        Self { path: path.into(), problem }
    }
}

impl fmt::Display for LimitFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl Error for LimitFault {}
