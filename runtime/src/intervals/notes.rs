//! What is noted of an interval beside what is needed to run it.

use super::interval::Header;
use super::paths::Paths;
use super::record::Record;
use crate::meter::Path;

/// Lies apart from the interval: one that nobody records or meters has a null pointer for it.
#[derive(Debug)]
pub(super) struct Notes {
    /// If its root is recorded.
    pub(super) record: Option<Record>,
    /// If its root is metered.
    pub(super) paths: Option<Paths>,
}

impl Notes {
    /// `None` if there is nothing to be noted.
    pub(super) fn new(record: Option<Record>, paths: Option<Paths>) -> Option<Box<Self>> {
        (record.is_some() || paths.is_some()).then(|| Box::new(Self { record, paths }))
    }

    /// The start of that interval, whose notes these are, is about to occur. The path to it, if it is metered.
    ///
    /// # Safety
    /// The caller has it occur; nobody else does.
    #[cold]
    pub(super) unsafe fn start_occurs(&self, header: &Header) -> Option<&Path> {
        self.record.iter().for_each(|record| record.starts(header.core()));
        // SAFETY: as the caller promises.
        self.paths.as_ref().and_then(|paths| unsafe { paths.start().occurs() })
    }

    /// The same of its end.
    ///
    /// # Safety
    /// As above.
    #[cold]
    pub(super) unsafe fn end_occurs(&self, header: &Header) -> Option<&Path> {
        self.record.iter().for_each(|record| record.ends(header.core()));
        // SAFETY: as the caller promises.
        self.paths.as_ref().and_then(|paths| unsafe { paths.end().occurs() })
    }
}
