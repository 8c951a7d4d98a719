//! Metering: of what a task does, or of all that a pool does.

use std::cell::Cell;
use std::fmt;
use std::io::Write;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Pool, Shared};
use crate::job::Job;
use crate::meter::{Clock, Figures, Meeting, Path, PoolStats, Region, Report, Surroundings};
use crate::os;
use crate::strand::{self, Rendezvous};
use crate::unwind;
use crate::worker::Worker;

impl Pool {
    /// [Runs](Self::run) `task`, and reports its work, its critical path, and what the pool's workers did meanwhile.
    ///
    /// What belongs to the task are its own strands and those of all that it joins, spawns into scopes, sends to other workers, or
    /// spawns detached, as far as that has ended when the task has. The report says what is not carried along
    /// ([`Report::uncarried`]). Counters and times of workers are those of the whole pool. While a task is
    /// metered each of its forks costs some more, which is in the figures: see the README of `meter`. Who is
    /// not metered pays nothing.
    ///
    /// Inside of another metered task, the inner one's work and path are a part of the outer one's.
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
    pub fn metered<F, R>(&self, task: F) -> (R, Report)
    where
        F: FnOnce(&Worker) -> R + Send,
        R: Send,
    {
        let (shared, clock) = (self.shared(), Clock::best());
        let before = Surroundings::new(clock, shared.stats_with_waits());
        let (result, figures) = self.metered_by(clock, task);
        let wall = before.elapsed();
        let report = before.report(wall, &figures, shared.stats_with_waits(), shared.workers());
        (result, report)
    }

    /// The same with that clock.
    pub(crate) fn metered_by<F, R>(&self, clock: Clock, task: F) -> (R, Figures)
    where
        F: FnOnce(&Worker) -> R + Send,
        R: Send,
    {
        let (result, figures) = self.run(|worker| worker.in_region(clock, task));
        (result.unwrap_or_else(|payload| unwind::resume(payload)), figures)
    }

    /// What the pool has done so far, if it was [asked to meter](crate::PoolBuilder::metered) all that it does.
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
        self.shared_now().meter().expect("it is metered").region.figures()
    }

    /// Whether the report is to be printed when the pool ends.
    pub(super) fn prints_report(&self) -> bool {
        self.shared_now().meter().is_some_and(|meter| meter.is_printed)
    }
}

impl Shared {
    fn report(&self) -> Option<Report> {
        let meter = self.meter()?;
        let (wall, figures) = (meter.before.elapsed(), meter.region.figures());
        Some(meter.before.report(wall, &figures, self.stats_with_waits(), self.workers()))
    }

    /// Prints the report to standard error, if it is to be: when all that the pool has accepted has ended.
    pub(super) fn print_report(&self) {
        // What a child of the process has of it is the parent's to say.
        if self.is_lost() || !self.meter().is_some_and(|meter| meter.is_printed) {
            return;
        }
        if let Some(report) = self.report().filter(|report| !report.work.is_zero()) {
            // Who cannot be told need not stop.
            let _ = write!(std::io::stderr(), "{report}");
        }
    }
}

/// What a pool has that is metered as long as it lives.
pub(super) struct Meter {
    region: Arc<Region>,
    before: Surroundings,
    /// Whether the report is, when the pool ends.
    is_printed: bool,
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
    /// On a thread that is no worker: the region of the pool that it used last, and the path to where it went on after that.
    static OUTSIDE: Cell<Option<(u64, Path)>> = const { Cell::new(None) };
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
        let before = Surroundings::new(clock, PoolStats::none());
        Some(Self { region: Arc::new(Region::new(clock, seats)), before, is_printed })
    }

    /// Where the calling thread, which is no worker of a region, has come to: it goes on after what it has waited for.
    fn outside(&self) -> Path {
        let here = OUTSIDE.get().filter(|(number, _)| *number == self.region.number());
        here.map(|(_, path)| path).unwrap_or_default()
    }

    /// A place where the paths of tasks meet for which the calling thread is going to wait.
    pub(super) fn rendezvous(&self) -> Box<Rendezvous> {
        Rendezvous::new(&self.region, self.outside())
    }

    /// The word to send instead of that of `job`, which comes from outside: so that it runs as a strand, after what the calling thread
    /// has waited for.
    ///
    /// # Safety
    /// As for [`Worker::carried`].
    pub(super) unsafe fn carried(&self, job: NonNull<Job>) -> NonNull<Job> {
        let path = self.outside().along(self.region.burden());
        // Nobody has pushed it, so nobody's seat will be asked for.
        // SAFETY: as the caller promises.
        unsafe { strand::carried_from(&self.region, path, job, 0) }
    }

    /// The calling thread, which is no worker, has waited for those that have arrived.
    pub(super) fn comes_after(&self, meeting: &Meeting) {
        if let Some(latest) = meeting.latest() {
            OUTSIDE.set(Some((self.region.number(), self.outside().meet(latest))));
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
            let _ = unwind::halt(|| Pool::global().shared_now().print_report());
        }
    }
    GENERATION.store(os::generation(), Ordering::Relaxed);
    let _ = os::at_exit(report);
}
