//! Where the paths meet of tasks that are waited for together: those of a scope.

use std::ptr::NonNull;
use std::sync::Arc;

use super::carried::carried_from;
use crate::job::Job;
use crate::meter::{Meeting, Path, Region};
use crate::worker::Worker;

/// Such a place, if who waits there is metered.
#[derive(Debug)]
pub(crate) struct Rendezvous {
    region: Arc<Region>,
    /// The path to where it was opened: all tasks come after that, whoever spawns them.
    from: Path,
    meeting: Meeting,
}

impl Rendezvous {
    pub(crate) fn new(region: &Arc<Region>, from: Path) -> Box<Self> {
        Box::new(Self { region: Arc::clone(region), from, meeting: Meeting::new() })
    }

    /// One for who runs on that worker, in a region.
    pub(crate) fn of(worker: &Worker) -> Option<Box<Self>> {
        Some(Self::new(worker.region()?, worker.path()?))
    }

    /// A task ends that is waited for here. To be said before that can be learnt.
    pub(crate) fn is_reached_by(&self, worker: &Worker) {
        match worker.region() {
            Some(its) if its.is_one_with(&self.region) => worker.arrives_at(&self.meeting),
            // Its path begins elsewhere, or nowhere.
            _ => {
                worker.arrives();
                self.region.has_uncarried();
            }
        }
    }

    /// Where those have come to that have ended.
    pub(crate) fn meeting(&self) -> &Meeting {
        &self.meeting
    }

    /// The word to push or send instead of that of `job`, one of these tasks, if its caller is no strand: of what comes before it no more is known
    /// than that it comes after the beginning.
    ///
    /// # Safety
    /// As for [`Worker::carried`].
    unsafe fn carried(&self, job: NonNull<Job>) -> NonNull<Job> {
        self.region.has_uncarried();
        let from = self.from.along(self.region.burden());
        // Nobody has pushed it, so nobody's seat will be asked for.
        // SAFETY: as the caller promises.
        unsafe { carried_from(&self.region, from, job, 0) }
    }
}

/// The word to push or send instead of that of `job`, which will be waited for there, if anybody meters that, or the caller.
///
/// # Safety
/// As for [`Worker::carried`].
pub(crate) unsafe fn carried_to(
    place: Option<&Rendezvous>,
    caller: Option<&Worker>,
    job: NonNull<Job>,
) -> NonNull<Job> {
    match (caller.filter(|worker| worker.is_metered()), place) {
        // SAFETY: as the caller promises.
        (Some(worker), _) => unsafe { worker.carried(job) },
        // SAFETY: as the caller promises.
        (None, Some(place)) => unsafe { place.carried(job) },
        (None, None) => job,
    }
}
