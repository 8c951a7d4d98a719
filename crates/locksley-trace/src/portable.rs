//! Where there is no recorder: nothing is ever recorded.

use std::path::Path;
use std::time::Duration;

use crate::error::Error;

#[allow(missing_docs, reason = "documented in `recorder`")]
#[derive(Clone, Debug, Default)]
pub struct Recorder(());

#[allow(missing_docs, reason = "documented in `recorder`")]
#[derive(Debug)]
pub enum Recording {}

#[allow(missing_docs, clippy::missing_errors_doc, reason = "documented in `recorder`")]
impl Recorder {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn events(self, _events: usize) -> Self {
        self
    }

    pub fn record_to(&self, _path: impl AsRef<Path>) -> Result<Recording, Error> {
        Err(Error::Unsupported)
    }

    pub fn record_live(&self) -> Result<Recording, Error> {
        Err(Error::Unsupported)
    }

    pub fn record_in_memory(&self) -> Result<Recording, Error> {
        Err(Error::Unsupported)
    }
}

#[allow(missing_docs, clippy::missing_errors_doc, reason = "documented in `recorder`")]
impl Recording {
    pub fn dump(&self, _path: impl AsRef<Path>, _last: Duration) -> Result<(), Error> {
        match *self {}
    }

    pub(crate) fn end_at_exit(self) {
        match self {}
    }
}
