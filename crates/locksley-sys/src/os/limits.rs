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
    /// For so long it is measured out at a time.
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
/// use locksley::os::{LimitFault, Processors};
///
/// for fault in Processors::allowed().faults() {
///     match fault {
///         LimitFault::File { path, problem } => eprintln!("{}: {problem}", path.display()),
///         other => eprintln!("{other}"),
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitFault {
    /// A file could not be read, or makes no sense.
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The process is in a control group that this process cannot see, since no file system that is
    /// mounted here shows it.
    Hidden {
        /// Its path.
        group: String,
    },
}

impl LimitFault {
    #[cfg_attr(
        not(all(target_os = "linux", not(locksley_portable))),
        allow(dead_code, reason = "there are no such files")
    )]
    /// What is wrong with a file.
    #[doc(hidden)]
    pub fn file(path: impl AsRef<Path>, problem: String) -> Self {
        Self::File { path: path.as_ref().to_owned(), problem }
    }
}

impl fmt::Display for LimitFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, problem } => write!(f, "{}: {problem}", path.display()),
            Self::Hidden { group } => write!(f, "control group {group} is not mounted here"),
        }
    }
}

impl Error for LimitFault {}
