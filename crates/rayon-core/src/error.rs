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
    GlobalPoolExists,
    AlreadyInAPool,
    System(io::Error),
}

impl Kind {
    /// Rayon's own words, which programs may look for.
    fn text(&self) -> Option<&'static str> {
        match self {
            Self::GlobalPoolExists => Some("The global thread pool has already been initialized."),
            Self::AlreadyInAPool => {
                Some("The current thread is already part of another thread pool.")
            }
            Self::System(_) => None,
        }
    }
}

impl From<BuildError> for ThreadPoolBuildError {
    fn from(error: BuildError) -> Self {
        Self(match error {
            BuildError::GlobalPoolExists => Kind::GlobalPoolExists,
            BuildError::AlreadyAWorker => Kind::AlreadyInAPool,
            BuildError::Thread { source, .. } => Kind::System(source),
            // Such as a LOCKSLEY_WORKERS that is no number: rayon has no kind for that.
            other => Kind::System(io::Error::new(io::ErrorKind::InvalidInput, other)),
        })
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0, self.0.text()) {
            (Kind::System(error), _) => error.fmt(f),
            (_, text) => f.pad(text.unwrap_or_default()),
        }
    }
}

impl Error for ThreadPoolBuildError {
    #[allow(deprecated)]
    fn description(&self) -> &str {
        match &self.0 {
            Kind::System(error) => error.description(),
            other => other.text().unwrap_or_default(),
        }
    }

    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Kind::System(error) => Some(error),
            Kind::GlobalPoolExists | Kind::AlreadyInAPool => None,
        }
    }
}
