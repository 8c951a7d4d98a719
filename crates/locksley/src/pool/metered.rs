//! Metering: of what a task does, or of all that a pool does.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::Write;
#[cfg(unix)]
use std::os::fd::AsFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use super::{Pool, Shared};
use crate::job::{self, Job, Role};
use crate::meter::{
    Clock, Crew, Figures, Meeting, Path, PoolStats, Region, Report, Site, Surroundings,
};
use crate::os;
use crate::strand::{self, Rendezvous};
use crate::unwind;
use crate::worker::Worker;

impl Pool {
    /// [Runs](Self::run) `task`, and reports its work, its critical path, and what the pool's workers did meanwhile.
    ///
    /// What belongs to the task are its own strands and those of all that it joins, spawns into scopes, sends to other workers, or
    /// spawns detached, as far as that has ended when the task has. The report says what is not carried along
    /// ([`Report::uncarried`]). Where intervals have [locks](crate::intervals::Lock), the critical path is that of the order in which they had them. Counters
    /// and times of workers are those of the whole pool. While a task is
    /// metered each of its forks costs some more, which is in the figures: see the README of `meter`. For who is
    /// not metered, a fork has the same instructions as if there were no meter, or three more while others look for work; a scope, a task and a wait
    /// compare a word or two.
    ///
    /// Inside of another metered task, the inner one's work and path are a part of the outer one's. What the task calls for in another pool
    /// is a part of it, too; then the report says that work and times are not of the same workers ([`Report::is_mixed`]).
    ///
    /// # Panics
    /// If the task panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, Worker};
    ///
    /// fn sum(worker: &Worker, numbers: &[u64]) -> u64 {
    ///     if numbers.len() <= 1000 {
    ///         return numbers.iter().sum();
    ///     }
    ///     let (left, right) = numbers.split_at(numbers.len() / 2);
    ///     let (a, b) = worker.join(|w| sum(w, left), |w| sum(w, right));
    ///     a + b
    /// }
    ///
    /// let (pool, numbers) = (Pool::new(2)?, vec![1; 1 << 20]);
    /// let (total, report) = pool.metered(|worker| sum(worker, &numbers));
    /// assert_eq!(total, 1 << 20);
    /// assert_eq!(report.forks, 2047);
    /// assert!(report.critical_path <= report.work);
    /// println!("{report}");
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn metered<F, R>(&self, task: F) -> (R, Report)
    where
        F: FnOnce(&Worker) -> R + Send,
        R: Send,
    {
        let (shared, clock) = (self.shared(), Clock::best());
        let before = Surroundings::new(clock, || (shared.stats_with_waits(), shared.crew()));
        let (result, figures) = self.metered_by(clock, task);
        let wall = before.elapsed();
        let report = before.report(wall, &figures, shared.stats_with_waits(), shared.crew());
        (result, report)
    }

    /// The report alone, on the clock of tests.
    #[cfg(all(test, not(loom)))]
    #[track_caller]
    pub(crate) fn metered_virtually(&self, task: impl FnOnce(&Worker) + Send) -> Report {
        let shared = self.shared();
        let around = || (shared.stats_with_waits(), shared.crew());
        let before = Surroundings::new(Clock::Virtual, around);
        let ((), figures) = self.metered_by(Clock::Virtual, task);
        let (stats, crew) = around();
        before.report(before.elapsed(), &figures, stats, crew)
    }

    /// The same with that clock.
    #[track_caller]
    pub(crate) fn metered_by<F, R>(&self, clock: Clock, task: F) -> (R, Figures)
    where
        F: FnOnce(&Worker) -> R + Send,
        R: Send,
    {
        let site = Site::here();
        let (result, figures) = self.run(|worker| worker.in_region(clock, site, task));
        (result.unwrap_or_else(|payload| unwind::resume(payload)), figures)
    }

    /// What the pool has done so far, if it was [asked to meter](crate::PoolBuilder::metered) all that it does.
    ///
    /// Of tasks that have not ended ([`Report::under_way`]) it has what they have done before they last spawned or waited;
    /// of the one that asks, all.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).metered(true).build()?;
    /// pool.run(|w| w.join(|_| (), |_| ()));
    /// assert_eq!(pool.report().expect("it is metered").forks, 1);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn report(&self) -> Option<Report> {
        self.shared_now().report()
    }

    /// What that would be made of.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn figures(&self) -> Figures {
        self.shared_now().meter().expect("it is metered").figures()
    }

    /// Whether the report is to be printed when the pool ends.
    pub(super) fn prints_report(&self) -> bool {
        self.shared_now().meter().is_some_and(|meter| meter.is_printed)
    }
}

impl Shared {
    fn report(&self) -> Option<Report> {
        let meter = self.meter()?;
        let (wall, figures) = (meter.before.elapsed(), meter.figures());
        let report = meter.before.report(wall, &figures, self.stats_with_waits(), self.crew());
        let has_guest = meter.has_guest.load(Ordering::Relaxed);
        let is_mixed = report.is_mixed || meter.works_for_others.load(Ordering::Relaxed);
        Some(Report { has_guest, is_mixed, is_of_pool: true, ..report })
    }

    /// What is to be printed when all that the pool has accepted has ended, if anything is.
    pub(super) fn last_words(&self) -> Option<Report> {
        // What a child of the process has of it is the parent's to say.
        let is_asked = !self.is_lost() && self.meter().is_some_and(|meter| meter.is_printed);
        let report = is_asked.then(|| self.report()).flatten();
        report.filter(|report| !report.work.is_zero() || report.is_mixed || report.has_guest)
    }

    /// For who finds the pool in memory: what regions know it by.
    pub(crate) fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// One of its workers begins a strand of that region.
    pub(crate) fn works_for(&self, region: &Region) {
        if let Some(meter) = self.meter().filter(|meter| !meter.region.is_one_with(region)) {
            meter.works_for_others.store(true, Ordering::Relaxed);
        }
    }

    /// One of its workers is a thread of the program's own.
    pub(super) fn has_guest(&self) {
        if let Some(meter) = self.meter() {
            meter.has_guest.store(true, Ordering::Relaxed);
        }
    }

    /// Runs what was asked for by one of its own workers, on that: as a strand, if all that the pool does is metered and the worker runs none,
    /// as a guest does.
    pub(super) fn run_here<R>(
        &self,
        worker: &Worker,
        site: Site,
        task: impl FnOnce(&Worker) -> R,
    ) -> R {
        match self.meter() {
            Some(meter) if !worker.is_metered() => meter.run(worker, site, task),
            _ => task(worker),
        }
    }

    /// Where a task begins that the caller, which is that worker or none, is about to push or send, and of which region it is; if it is metered.
    /// From then on the region counts it as under way.
    #[inline]
    pub(crate) fn path_of_what_is_sent(
        &self,
        caller: Option<&Worker>,
    ) -> Option<(Arc<Region>, Path)> {
        match (caller, self.meter()) {
            (Some(worker), _) if worker.is_metered() => worker.path_of_what_is_spawned(),
            (_, Some(meter)) => Some(meter.path_of_what_is_sent(caller)),
            (_, None) => None,
        }
    }

    /// The region of what the caller, which is that worker or none, is about to spawn here; if it is metered.
    pub(crate) fn region_of_what_is_sent<'r>(
        &'r self,
        caller: Option<&'r Worker>,
    ) -> Option<&'r Arc<Region>> {
        let its = caller.and_then(Worker::region);
        its.or_else(|| self.meter().map(|meter| &meter.region))
    }

    /// The word to send instead of that of `job`, if that is sent by a strand, or if all that the pool does is metered.
    ///
    /// # Safety
    /// As for [`Worker::carried`].
    pub(super) unsafe fn metered(&self, job: NonNull<Job>) -> NonNull<Job> {
        Worker::with_current(|current| match (current, self.meter()) {
            // SAFETY: as the caller promises.
            (Some(worker), _) if worker.is_metered() => unsafe { worker.carried(job) },
            // SAFETY: as the caller promises.
            (_, Some(meter)) => unsafe { meter.carried(current, job) },
            (_, None) => job,
        })
    }

    /// A place where the paths of tasks meet for which the caller is going to wait, which is that worker or none; if it is metered.
    pub(crate) fn rendezvous(&self, caller: Option<&Worker>) -> Option<Box<Rendezvous>> {
        match (caller, self.meter()) {
            (Some(worker), _) if worker.is_metered() => Rendezvous::of(worker),
            (_, Some(meter)) => Some(meter.rendezvous(caller)),
            (_, None) => None,
        }
    }

    /// The caller, which is that worker or none, has waited for what has arrived there.
    pub(crate) fn meter_comes_after(&self, caller: Option<&Worker>, meeting: &Meeting) {
        match (caller, self.meter()) {
            (Some(worker), _) if worker.is_metered() => worker.comes_after(meeting),
            (_, Some(meter)) => meter.comes_after(caller, meeting),
            (_, None) => {}
        }
    }

    /// The caller, which is that worker or none, is about to send a job for what is called at that place.
    #[inline]
    pub(crate) fn is_sent_from(&self, caller: Option<&Worker>, site: Site) {
        match (caller, self.meter()) {
            (Some(worker), _) if worker.is_metered() => worker.spawns_at(site),
            // On a thread that ends it is not known.
            (_, Some(_)) => drop(SENDING.try_with(|sending| sending.set(Some(site)))),
            (_, None) => {}
        }
    }
}

/// Prints a report to standard error, in one piece. It does not wait for who has that locked, and may not go on while the process ends: nothing is
/// kept back there that would have to come first.
pub(super) fn print(report: &Report) {
    let text = report.to_string();
    #[cfg(unix)]
    let unlocked = std::io::stderr().as_fd().try_clone_to_owned().map(std::fs::File::from);
    #[cfg(not(unix))]
    let unlocked = std::io::Result::Ok(std::io::stderr());
    // Who cannot be told need not stop.
    let _ = unlocked.and_then(|mut unlocked| unlocked.write_all(text.as_bytes()));
}

/// What a pool has that is metered as long as it lives.
pub(super) struct Meter {
    region: Arc<Region>,
    before: Surroundings,
    /// Whether the report is, when the pool ends.
    is_printed: bool,
    /// Whether a worker has run strands of another pool's, or of a task that is metered there.
    works_for_others: AtomicBool,
    has_guest: AtomicBool,
}

/// Whether all that a pool does is metered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metering {
    Off,
    On,
    /// And printed.
    Printed,
    /// On a clock for tests.
    #[cfg(all(test, not(loom)))]
    Virtual,
}

thread_local! {
    /// On a thread that is no worker: the regions of pools that it has waited for, and the path to where it went on after that.
    static OUTSIDE: RefCell<Vec<(Weak<Region>, Path)>> = const { RefCell::new(Vec::new()) };
    /// Where who runs no strand is about to send something to a metered pool.
    static SENDING: Cell<Option<Site>> = const { Cell::new(None) };
}

impl Meter {
    /// For a pool with so many seats.
    pub(super) fn start(metering: Metering, seats: usize) -> Option<Self> {
        let (is_printed, clock) = match metering {
            Metering::Off => return None,
            Metering::On => (false, Clock::best()),
            Metering::Printed => (true, Clock::best()),
            #[cfg(all(test, not(loom)))]
            Metering::Virtual => (false, Clock::Virtual),
        };
        let before = Surroundings::new(clock, || (PoolStats::none(), Crew::default()));
        Some(Self {
            region: Arc::new(Region::new(clock, seats)),
            before,
            is_printed,
            works_for_others: AtomicBool::new(false),
            has_guest: AtomicBool::new(false),
        })
    }

    /// What has been done so far; by the calling thread, all.
    fn figures(&self) -> Figures {
        Worker::with_current(|current| {
            current.into_iter().for_each(|worker| _ = worker.settles_in(&self.region));
        });
        self.region.figures()
    }

    /// Runs `task` on a worker of this pool that runs no strand.
    #[cold]
    #[inline(never)]
    fn run<R>(&self, worker: &Worker, site: Site, task: impl FnOnce(&Worker) -> R) -> R {
        let from = self.outside(Some(worker)).at(Some(site));
        let (region, seat) = (&self.region, worker.seat_index());
        region.runs_in(worker.shared().address());
        region.hands_over(seat);
        let (result, path) = worker.as_strand(region, &from, || task(worker));
        region.has_ended(seat);
        self.goes_on_after(path, Some(worker));
        result.unwrap_or_else(|payload| unwind::resume(payload))
    }

    /// Where the caller has come to, which is that worker or none, and runs no strand: a thread of the program's own goes on after what it has
    /// waited for. What a worker's tasks have waited for that are not metered is not known.
    fn outside(&self, caller: Option<&Worker>) -> Path {
        if caller.is_some_and(|worker| !worker.is_guest()) {
            self.region.has_uncarried();
            return Path::default();
        }
        let here = OUTSIDE.try_with(|regions| {
            let regions = regions.borrow();
            let its = regions.iter().find(|(region, _)| self.is_region(region));
            its.map(|&(_, path)| path)
        });
        here.ok().flatten().unwrap_or_default()
    }

    /// The calling thread goes on at the end of that path.
    fn goes_on_after(&self, path: Path, caller: Option<&Worker>) {
        if caller.is_some_and(|worker| !worker.is_guest()) {
            return;
        }
        // A thread that ends goes on nowhere.
        let _ = OUTSIDE.try_with(|regions| {
            let mut regions = regions.borrow_mut();
            if let Some((_, its)) = regions.iter_mut().find(|(region, _)| self.is_region(region)) {
                *its = its.meet(path);
                return;
            }
            // Those of pools that are gone; and there cannot be another one where one lies that is still pointed to.
            regions.retain(|(region, _)| region.strong_count() > 0);
            regions.push((Arc::downgrade(&self.region), path));
        });
    }

    fn is_region(&self, region: &Weak<Region>) -> bool {
        ptr::eq(region.as_ptr(), Arc::as_ptr(&self.region))
    }

    /// A place where the paths of tasks meet for which the caller is going to wait.
    pub(super) fn rendezvous(&self, caller: Option<&Worker>) -> Box<Rendezvous> {
        Rendezvous::new(&self.region, self.outside(caller))
    }

    /// The word to send instead of that of `job`, which comes from outside: so that it runs as a strand, after what the calling thread
    /// has waited for.
    ///
    /// # Safety
    /// As for [`Worker::carried`].
    pub(super) unsafe fn carried(
        &self,
        caller: Option<&Worker>,
        job: NonNull<Job>,
    ) -> NonNull<Job> {
        // SAFETY: as the caller promises.
        if unsafe { job::role(job) } == Role::Followed {
            return job; // it was told when it was woken or spawned
        }
        let site = SENDING.try_with(Cell::take).ok().flatten();
        let path = self.outside(caller).along(self.region.burden()).at(site);
        // Nobody has pushed it, so nobody's seat will be asked for.
        // SAFETY: as the caller promises.
        unsafe { strand::carried_from(&self.region, path, job, 0) }
    }

    #[cold]
    fn path_of_what_is_sent(&self, caller: Option<&Worker>) -> (Arc<Region>, Path) {
        self.region.hands_over(0);
        (Arc::clone(&self.region), self.outside(caller).along(self.region.burden()))
    }

    /// The caller has waited for those that have arrived.
    pub(super) fn comes_after(&self, caller: Option<&Worker>, meeting: &Meeting) {
        if let Some(latest) = meeting.latest() {
            self.goes_on_after(latest, caller);
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Meter").field(&self.region).finish()
    }
}

/// Prints the global pool's report when the process ends. Without a way to learn of that, it does not; nor in a child of the process, where
/// what it would say is the parent's.
pub(super) fn report_global_at_exit() {
    static GENERATION: AtomicU32 = AtomicU32::new(0);
    extern "C" fn report() {
        // Relaxed: written before this was registered.
        if GENERATION.load(Ordering::Relaxed) == os::generation() {
            // Nothing may unwind out of here.
            let _ = unwind::halt(|| {
                Pool::global().shared_now().last_words().iter().for_each(print);
            });
        }
    }
    GENERATION.store(os::generation(), Ordering::Relaxed);
    let _ = os::at_exit(report);
}
