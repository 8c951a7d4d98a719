//! What is noted of a channel if somebody has asked for that: apart from it, so that others have no room for it.

use std::sync::{Arc, OnceLock};

use super::stamps::Stamps;
use crate::kahn::report::Measures;
use crate::meter::Region;

#[derive(Default)]
pub(super) struct Watch {
    measures: OnceLock<Measures>,
    stamps: OnceLock<Stamps>,
}

impl Watch {
    pub(super) fn measure(&self) {
        self.measures.get_or_init(Measures::default);
    }

    pub(super) fn meter(&self, region: &Arc<Region>, is_sent: bool, is_received: bool) {
        self.stamps.get_or_init(|| Stamps::new(region, is_sent, is_received));
    }

    #[inline]
    pub(super) fn measures(&self) -> Option<&Measures> {
        self.measures.get()
    }

    #[inline]
    pub(super) fn stamps(&self) -> Option<&Stamps> {
        self.stamps.get()
    }
}
