//! Futures that are tasks, whose path goes on from one poll to the next.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::job::{self, Job, Kind};
use crate::meter::{Meeting, Path, Region, Site, Told};
use crate::unwind;
use crate::worker::Worker;

/// What is known of such a task by who meters it: its job's kind lies in here, instead of the job's own, and by that it is found. So
/// the task itself has no room for it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Followed {
    /// The first field: who has the job finds the rest by it.
    kind: Kind,
    own: &'static Kind,
    region: Arc<Region>,
    site: Option<Site>,
    /// Where its next poll begins: after its spawning, the poll before, and all who have woken it.
    next: Meeting,
    /// Where whoever has polled it last leaves the path to its end.
    end: Meeting,
    /// Whether it knows, of the poll that goes on, the paths to what it has found without a wait.
    tells: AtomicBool,
}

impl Followed {
    /// Follows a task from where it is spawned.
    ///
    /// # Safety
    /// It is alive, nobody else has its word or can wake it yet, and its kind is its own. Whoever frees it [forgets](Self::forget) it before.
    pub(crate) unsafe fn begin(task: NonNull<Job>, region: &Arc<Region>, from: Path) {
        // SAFETY: alive, and not run, as the caller promises.
        let own = unsafe { job::kind(task) };
        // SAFETY: the kind of a job that is its own is a constant.
        let own = unsafe { &*own };
        let (next, end) = (Meeting::new(), Meeting::new());
        next.arrive(&from);
        let kind = Kind::of_followed(execute);
        let (region, site) = (Arc::clone(region), from.site());
        let tells = AtomicBool::new(false);
        let this = Box::new(Self { kind, own, region, site, next, end, tells });
        // SAFETY: nobody has its word, as the caller promises; and the kind is there until the task is freed.
        unsafe { job::becomes(task, Box::into_raw(this).cast()) };
    }

    /// That of a task that is followed.
    ///
    /// # Safety
    /// It is, and is alive as long as the result is used.
    pub(crate) unsafe fn of<'t>(task: NonNull<Job>) -> &'t Self {
        // SAFETY: alive, and its header is not changed after `begin`, so it may be read by all who know of the task.
        let kind = unsafe { job::kind(task) };
        // SAFETY: the kind is the first field of a `Self`, which is there as long as the task.
        unsafe { &*kind.cast() }
    }

    /// The task is about to be freed.
    ///
    /// # Safety
    /// It was followed, and the caller alone has it.
    pub(crate) unsafe fn forget(task: NonNull<Job>) {
        // SAFETY: as the caller promises.
        let kind = unsafe { job::kind(task) };
        // SAFETY: made of a box in `begin`, of which it is the first field; and freed once, with the task.
        drop(unsafe { Box::from_raw(kind.cast_mut().cast::<Self>()) });
    }

    /// The calling thread is about to wake it: what it does next comes after that.
    #[cold]
    pub(crate) fn is_woken(&self) {
        Worker::with_current(|current| match self.path_of(current) {
            Some(path) => self.next.arrive(&path.along(self.region.burden())),
            None => self.region.has_uncarried(),
        });
    }

    /// It is being run by that worker, from now on: after all who have woken it until then, also those who did when its path had been looked at.
    #[cold]
    pub(crate) fn begins(&self, worker: &Worker) {
        if self.region_of(Some(worker)).is_some() {
            worker.comes_after(&self.next);
        }
    }

    /// It is being run by that worker, and is about to wait.
    #[cold]
    pub(crate) fn pauses(&self, worker: &Worker) {
        self.has_been_polled(worker, false);
        self.path_of(Some(worker)).into_iter().for_each(|path| self.next.arrive(&path));
    }

    /// It is being run by that worker, and its end is about to be told.
    #[cold]
    pub(crate) fn ends(&self, worker: &Worker) {
        self.has_been_polled(worker, true);
        if let Some(region) = self.region_of(Some(worker)) {
            self.end.arrive(&worker.task_ends(region).along(self.region.burden()));
        }
    }

    /// What it has found in this poll without a wait, it has come after by itself: the poll is not counted.
    pub(crate) fn tells_by_itself(&self) {
        // Relaxed: read by who polls it, as this is.
        self.tells.store(true, Ordering::Relaxed);
    }

    /// Whatever it has waited for, or did not have to.
    fn has_been_polled(&self, worker: &Worker, ends: bool) {
        let is_told = worker.running().told().take().is_enough(ends);
        if !self.tells.swap(false, Ordering::Relaxed) && !is_told {
            worker.has_uncarried();
        }
    }

    /// Where that worker has come to, if it runs a strand of the same region.
    fn path_of(&self, worker: Option<&Worker>) -> Option<Path> {
        Some(worker?.settles(self.region_of(worker)?))
    }

    /// The region of the strand that it runs, if that has the same beginning.
    fn region_of<'w>(&self, worker: Option<&'w Worker>) -> Option<&'w Arc<Region>> {
        worker?.region().filter(|its| its.is_one_with(&self.region))
    }

    /// The calling thread is about to wait for its end: it will come after that.
    #[cold]
    pub(crate) fn is_about_to_be_awaited(&self) {
        Worker::with_current(|current| {
            let its = current.filter(|_| self.region_of(current).is_some());
            its.into_iter().for_each(|worker| Told::Waits.tell(worker.running().told()));
        });
    }

    /// The calling thread, which is that worker or none, has seen its end.
    #[cold]
    pub(crate) fn is_awaited_by(&self, caller: Option<&Worker>) {
        let Some(worker) = caller else { return };
        match worker.region() {
            Some(its) if its.is_one_with(&self.region) => {
                worker.comes_after(&self.end);
                Told::Found.tell(worker.running().told());
            }
            _ => worker.has_uncarried(),
        }
    }
}

/// Polls it, as a strand as long as anybody may ask what became of it.
unsafe fn execute(task: NonNull<Job>, worker: &Worker, from: usize) {
    // SAFETY: such is its kind; used only before the task is polled, which may free it.
    let this = unsafe { Followed::of(task) };
    let (own, site, region) = (this.own, this.site, Arc::clone(&this.region));
    if region.is_over() {
        // SAFETY: as the caller promises; it is the job's own kind.
        let ended =
            worker.while_aside(|| unwind::halt(|| unsafe { own.execute(task, worker, from) }));
        return ended.unwrap_or_else(|payload| unwind::resume(payload));
    }
    let next = this.next.latest().expect("it was spawned").at(site);
    region.runs_in(worker.shared().address());
    worker.shared().works_for(&region);
    let run = || {
        worker.running().is_counted().set(true);
        // SAFETY: as the caller promises; it is the job's own kind.
        unsafe { own.execute(task, worker, from) };
    };
    let (ended, ()) = worker.as_strand_to(&region, &next, run, |_| ());
    ended.unwrap_or_else(|payload| unwind::resume(payload));
}
