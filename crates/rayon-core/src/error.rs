//! Why a pool could not be built.

use std::error::Error;
use std::fmt;
use std::io;

use locksley::BuildError;

/// Why a pool could not be built.
///
/// # Examples
/// ```
/// rayon_core::ThreadPoolBuilder::new().build_global().unwrap();
/// let error = rayon_core::ThreadPoolBuilder::new().build_global().unwrap_err();
/// assert_eq!(error.to_string(), "The global thread pool has already been initialized.");
/// ```
#[derive(Debug)]
pub struct ThreadPoolBuildError(Kind);

#[derive(Debug)]
enum Kind {
    Misuse(&'static str),
    System(io::Error),
}

// Rayon's own words, which programs may look for.
const GLOBAL_POOL_EXISTS: &str = "The global thread pool has already been initialized.";
const ALREADY_IN_A_POOL: &str = "The current thread is already part of another thread pool.";

impl From<BuildError> for ThreadPoolBuildError {
    fn from(error: BuildError) -> Self {
        Self(match error {
            BuildError::GlobalPoolExists => Kind::Misuse(GLOBAL_POOL_EXISTS),
            BuildError::AlreadyAWorker => Kind::Misuse(ALREADY_IN_A_POOL),
            BuildError::Thread { source, .. } => Kind::System(source),
            // Such as a LOCKSLEY_WORKERS that is no number: rayon has no kind for that.
            other => Kind::System(io::Error::new(io::ErrorKind::InvalidInput, other)),
        })
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::System(error) => error.fmt(f),
            Kind::Misuse(text) => f.pad(text),
        }
    }
}

impl Error for ThreadPoolBuildError {
    #[allow(deprecated)]
    fn description(&self) -> &str {
        match &self.0 {
            Kind::System(error) => error.description(),
            Kind::Misuse(text) => text,
        }
    }

    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Kind::System(error) => Some(error),
            Kind::Misuse(_) => None,
        }
    }
}
