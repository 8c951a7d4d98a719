//! What can go wrong.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a recording does not begin, or a file cannot be read. Its text is one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be made, written or read.
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// There is a recording already. A process has one at a time.
    AlreadyRecording,
    /// The system is not Linux.
    Unsupported,
    /// The file is no recording.
    NotATrace(PathBuf),
    /// Another version of this crate wrote the file.
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
}

impl Error {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
            Self::AlreadyRecording => f.write_str("this process records already"),
            Self::Unsupported => f.write_str("recordings need Linux"),
            Self::NotATrace(path) => write!(f, "{} is no recording", path.display()),
            Self::Version { path, found } => write!(
                f,
                "{} has version {found} of the format, and this program reads {}",
                path.display(),
                crate::format::VERSION
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
            _ => None,
        }
    }
}
