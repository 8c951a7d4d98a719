//! The error of building or resizing a pool.

use std::error::Error;
use std::fmt;
use std::io;

use crate::os::UnknownAssist;

/// The reason why a pool could not be built or [resized](crate::Pool::resize). If it could not be
/// built, workers that had started have ended again.
#[non_exhaustive]
pub enum BuildError {
    /// The requested number of workers, or the largest one, is 0.
    NoWorkers,
    /// The requested number of workers is too large.
    TooManyWorkers {
        /// The requested number.
        asked: usize,
        /// The largest possible number: [`max_workers`](crate::PoolBuilder::max_workers), or
        /// 65,534.
        most: usize,
    },
    /// The environment variable `LOCKSLEY_WORKERS` is not a positive number.
    Environment {
        /// The value of the variable.
        value: String,
    },
    /// The environment variable `LOCKSLEY_ASSISTS` names an unknown assist.
    Assists(UnknownAssist),
    /// A [thread name](crate::PoolBuilder::thread_name) contains a NUL byte.
    ThreadName {
        /// The worker that the name is for.
        worker: usize,
        /// The name.
        name: String,
    },
    /// A thread could not be started.
    Thread {
        /// The worker that the thread was for.
        worker: usize,
        /// The error of the system, or of the program's own `spawn`.
        source: io::Error,
    },
    /// A start hook, a worker-data hook or the idle policy panicked while a worker started.
    Hook {
        /// The worker that was starting.
        worker: usize,
        /// The panic message, if it was text.
        message: String,
    },
    /// The calling thread was to become a worker, and is a worker already.
    AlreadyAWorker,
    /// The global pool exists already.
    GlobalPoolExists,
}

impl BuildError {
    pub(super) fn check_number(asked: usize, most: usize) -> Result<(), Self> {
        match asked {
            0 => Err(Self::NoWorkers),
            _ if asked > most => Err(Self::TooManyWorkers { asked, most }),
            _ => Ok(()),
        }
    }
}

/// The same text as the `Display` form, since a `main` that returns the error prints this one.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

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
            Self::ThreadName { worker, name } => {
                write!(f, "the thread name of worker {worker} contains a NUL byte: {name:?}")
            }
            Self::Thread { worker, source } => {
                write!(f, "no thread could be started for worker {worker}: {source}")
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
