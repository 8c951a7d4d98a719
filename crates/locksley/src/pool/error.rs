//! Why a pool could not be built.

use std::error::Error;
use std::fmt;
use std::io;

use crate::os::UnknownAssist;

/// Why a pool could not be built. Nothing is left behind: workers that had started have ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A pool of no workers was asked for.
    NoWorkers,
    /// More workers were asked for than can be counted.
    TooManyWorkers {
        /// How many were asked for.
        asked: usize,
        /// The most that there may be.
        most: usize,
    },
    /// The environment variable `LOCKSLEY_WORKERS` is not a number of workers.
    Environment {
        /// What the variable says.
        value: String,
    },
    /// The environment variable `LOCKSLEY_ASSISTS` names something that is no assist.
    Assists(UnknownAssist),
    /// The system refused a thread.
    Thread {
        /// The worker that was to run on it.
        worker: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A start hook, a worker-data hook or the idle policy panicked while a worker started.
    Hook {
        /// The worker that was starting.
        worker: usize,
        /// What the panic said, if it was text.
        message: String,
    },
    /// The thread that was to become a worker is one already.
    AlreadyAWorker,
    /// The global pool exists already.
    GlobalPoolExists,
}

/// A pool cannot have so many workers at work: see [`Pool::resize`](crate::Pool::resize).
///
/// # Examples
/// ```
/// let error = locksley::Pool::new(2)?.resize(3).unwrap_err();
/// assert_eq!((error.asked, error.most), (3, 2));
/// assert_eq!(error.to_string(), "from 1 to 2 workers can be at work, not 3");
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SizeError {
    /// How many were asked for.
    pub asked: usize,
    /// How many workers the pool has.
    pub most: usize,
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "from 1 to {} workers can be at work, not {}", self.most, self.asked)
    }
}

impl Error for SizeError {}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorkers => write!(f, "a pool needs at least one worker"),
            Self::TooManyWorkers { asked, most } => {
                write!(f, "a pool has at most {most} workers, not {asked}")
            }
            Self::Environment { value } => {
                write!(f, "LOCKSLEY_WORKERS must be a whole number from 1, not {value:?}")
            }
            Self::Assists(unknown) => write!(f, "LOCKSLEY_ASSISTS: {unknown}"),
            Self::Thread { worker, source } => {
                write!(f, "the system refused a thread for worker {worker}: {source}")
            }
            Self::Hook { worker, message } => {
                write!(f, "a hook panicked while worker {worker} started: {message}")
            }
            Self::AlreadyAWorker => write!(f, "the calling thread is a worker already"),
            Self::GlobalPoolExists => write!(f, "the global pool exists already"),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Thread { source, .. } => Some(source),
            Self::Assists(unknown) => Some(unknown),
            _ => None,
        }
    }
}
