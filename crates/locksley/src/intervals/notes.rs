//! What is noted of an interval beside what is needed to run it.

use std::ptr::NonNull;

use super::arena::Lane;
use super::interval::Header;
use super::paths::Paths;
use super::record::Record;
use super::root::Core;
use crate::strand::Known;

/// Lies apart from the interval, in its root's arena: one that nobody records or meters has a null pointer for it.
#[derive(Debug)]
pub(super) struct Notes {
    /// If its root is recorded.
    pub(super) record: Option<Record>,
    /// If its root is metered.
    pub(super) paths: Option<Paths>,
}

impl Notes {
    /// Where they lie as long as the root. Who refers to them drops them.
    #[inline(always)] // else all is moved there
    pub(super) fn placed(
        core: &Core<'_>,
        lane: Lane,
        record: Option<Record>,
        paths: Option<Paths>,
    ) -> NonNull<Self> {
        // The place first: then all is written where it is to lie, and not moved there.
        let place = core.arena().room::<Self>(lane);
        // SAFETY: it is room for this.
        unsafe { place.write(Self { record, paths }) };
        place
    }

    /// The start of that interval, whose notes these are, is about to occur. The path to it, if it is metered.
    ///
    /// # Safety
    /// The caller has it occur; nobody else does.
    #[cold]
    pub(super) unsafe fn start_occurs(&self, header: &Header) -> Option<Known<'_>> {
        self.record.iter().for_each(|record| record.starts(header.core()));
        // SAFETY: as the caller promises.
        self.paths.as_ref().and_then(|paths| unsafe { paths.start().longest() })
    }

    /// The same of its end.
    ///
    /// # Safety
    /// As above.
    #[cold]
    pub(super) unsafe fn end_occurs(&self, header: &Header) -> Option<Known<'_>> {
        self.record.iter().for_each(|record| record.ends(header.core()));
        // SAFETY: as the caller promises.
        self.paths.as_ref().and_then(|paths| unsafe { paths.end().longest() })
    }
}
