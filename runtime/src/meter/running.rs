//! The strand that a worker runs: which region it belongs to, and how long the path is that it is on.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;
use std::{mem, ptr};

use super::clock::Clock;
use super::course::{Course, Part, Rest};
use super::path::Path;
use super::region::{Done, Region};
use super::site::Site;
use crate::os;

/// To ask takes less than such a part of what is long; and after so many times of it, it is asked again.
const PARTS: i64 = 10;

/// Of the part of a course that is not where the path ends.
pub(crate) type Version = u64;

/// How long a path is, and how much of it is at the place where it ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Length {
    pub(crate) span: i64,
    pub(crate) burdened: i64,
    pub(crate) here: i64,
}

impl Length {
    #[inline]
    pub(crate) fn of(path: &Path) -> Self {
        Self { span: path.span, burdened: path.burdened, here: path.course.here().ticks }
    }
}

/// What a worker notes of the strand that it runs. `H` is what the strand may be the second half of.
///
/// A path grows with the clock while its strand runs. So what is kept is when the path *would have begun* if nothing had ever
/// interrupted it, and nothing has to be done while it runs on.
#[derive(Debug)]
pub(crate) struct Running<H> {
    /// Null while there is none.
    region: Cell<*const Arc<Region>>,
    /// The region's, at hand.
    clock: Cell<Clock>,
    burden: Cell<i64>,
    span_began: Cell<i64>,
    burdened_began: Cell<i64>,
    /// Forks that are not in the region's account.
    forks: Cell<u64>,
    /// What was done before this is in the region's account.
    since: Cell<i64>,
    /// Null if it is none.
    half: Cell<*const H>,
    /// Whether the region counts it among the tasks that have not ended.
    is_counted: Cell<bool>,
    /// The place that it belongs to.
    site: Cell<Option<Site>>,
    /// When the path would have begun if all of it had been at that place.
    here_began: Cell<i64>,
    /// The rest of its course.
    elsewhere: Cell<Rest>,
    /// Another one each time that the rest is another one.
    version: Cell<Version>,
    last_version: Cell<Version>,
    /// When the clock was read last.
    read: Cell<i64>,
    /// Who has not read the clock for longer asks whether it had the processor.
    long: Cell<i64>,
    /// How long the thread had waited for a processor when that was asked last; `None` where the system does not tell.
    delay: Cell<Option<Duration>>,
    /// When that is to be asked again, however short all stretches are.
    due: Cell<i64>,
    /// How long strands of this worker have waited: its clock shows so much less.
    taken: Cell<i64>,
    /// What of this is not in the region's account; `None` if it could not be told.
    newly_taken: Cell<Option<i64>>,
    /// Where it is about to spawn, if that is known.
    spawning: Cell<Option<Site>>,
}

impl<H> Running<H> {
    pub(crate) fn nothing() -> Self {
        Self {
            region: Cell::new(ptr::null()),
            clock: Cell::new(Clock::Monotonic),
            burden: Cell::new(0),
            span_began: Cell::new(0),
            burdened_began: Cell::new(0),
            forks: Cell::new(0),
            since: Cell::new(0),
            half: Cell::new(ptr::null()),
            is_counted: Cell::new(false),
            site: Cell::new(None),
            here_began: Cell::new(0),
            elsewhere: Cell::new(Rest::default()),
            version: Cell::new(0),
            last_version: Cell::new(0),
            read: Cell::new(0),
            long: Cell::new(0),
            delay: Cell::new(None),
            due: Cell::new(i64::MIN),
            taken: Cell::new(0),
            newly_taken: Cell::new(Some(0)),
            spawning: Cell::new(None),
        }
    }

    /// That of the strand; null if there is none.
    #[inline]
    pub(crate) fn region(&self) -> *const Arc<Region> {
        self.region.get()
    }

    /// The second half that the strand is; null if it is none.
    pub(crate) fn half(&self) -> *const H {
        self.half.get()
    }

    /// Whether the region counts it among the tasks that have not ended.
    pub(crate) fn is_counted(&self) -> &Cell<bool> {
        &self.is_counted
    }

    /// What an edge costs in burdened paths of the strand's region.
    #[inline]
    pub(crate) fn burden(&self) -> i64 {
        self.burden.get()
    }

    /// This moment on the clock of the strand's region, which stands still while the kernel runs others in the thread's place.
    #[inline]
    pub(crate) fn now(&self) -> i64 {
        let now = self.clock.get().now() - self.taken.get();
        if now - self.read.get() > self.long.get() || now > self.due.get() {
            return self.after_long();
        }
        self.read.set(now);
        now
    }

    /// The strand went on for so long that it may have been interrupted; or it did not, and nobody has asked for a while.
    #[cold]
    fn after_long(&self) -> i64 {
        let before = self.delay.get();
        let now = self.asks();
        let stretch = now - self.read.get();
        self.read.set(now);
        // What short stretches waited for stays in them: it must not be taken from a long one that comes later.
        if stretch <= self.long.get() {
            return now;
        }
        let waited = before.zip(self.delay.get()).map(|(before, delay)| {
            let waited = self.clock.get().ticks(delay.saturating_sub(before).as_nanos() as i64);
            // Some of it may have been in short stretches, whose time is gone.
            waited.min(stretch)
        });
        self.newly_taken.set(self.newly_taken.get().zip(waited).map(|(sum, waited)| sum + waited));
        let waited = waited.unwrap_or(0);
        self.taken.set(self.taken.get() + waited);
        self.due.set(self.due.get().saturating_sub(waited));
        self.read.set(now - waited);
        now - waited
    }

    /// The same where a strand begins: what its worker has waited for before, as a hunter does that yields, is none of its own.
    fn now_it_begins(&self) -> i64 {
        let now = self.clock.get().now() - self.taken.get();
        // A thread that others have run in the place of was away for longer than a part of what is long.
        let was_away = (now - self.read.get()).saturating_mul(PARTS) > self.long.get();
        let now = if was_away || now > self.due.get() { self.asks() } else { now };
        self.read.set(now);
        now
    }

    /// Asks for how long the thread has waited. Returns a moment after that, and before it waits again: so what it has waited for lies before that
    /// moment, and all that it waits for from then on after it.
    fn asks(&self) -> i64 {
        /// One is enough but when the thread is interrupted just then.
        const TRIES: u32 = 3;
        let now = || self.clock.get().now() - self.taken.get();
        let mut last = now();
        for _ in 0..TRIES {
            self.delay.set(os::own_delay());
            let before = mem::replace(&mut last, now());
            if last - before <= self.long.get() / PARTS {
                break;
            }
        }
        self.due.set(last.saturating_add(self.long.get().saturating_mul(PARTS)));
        last
    }

    /// A strand runs from now on, at the end of that path.
    pub(crate) fn begin(&self, region: &Arc<Region>, half: *const H, path: Path) {
        debug_assert!(self.region.get().is_null(), "a worker runs one strand");
        self.region.set(region);
        self.half.set(half);
        self.is_counted.set(false);
        self.spawning.set(None);
        self.clock.set(region.clock());
        self.burden.set(region.burden());
        self.long.set(region.long());
        self.newly_taken.set(Some(0));
        let now = self.now_it_begins();
        self.since.set(now);
        self.go_on(&path, now);
    }

    /// The strand runs no more. Adds what was done to the account of that worker, and returns the path.
    pub(crate) fn end(&self, region: &Arc<Region>, worker: usize) -> Path {
        debug_assert!(ptr::eq(self.region.get(), region));
        let now = self.now();
        self.settle(region, worker, now);
        self.region.set(ptr::null());
        self.half.set(ptr::null());
        self.path(now)
    }

    /// Adds what was done to the account of that worker.
    pub(crate) fn settle(&self, region: &Region, worker: usize, now: i64) {
        let taken = self.newly_taken.replace(Some(0));
        let (work, forks) = (now - self.since.replace(now), self.forks.take());
        region.add(worker, Done { work, forks, taken });
    }

    /// The path to this moment.
    #[inline]
    pub(crate) fn path(&self, now: i64) -> Path {
        Path {
            span: now - self.span_began.get(),
            burdened: now - self.burdened_began.get(),
            course: Course::of(
                Part { site: self.site.get(), ticks: now - self.here_began.get() },
                self.elsewhere.get(),
            ),
        }
    }

    /// What runs on is on another path from now on.
    #[inline]
    pub(crate) fn go_on(&self, path: &Path, now: i64) {
        let here = path.course.here();
        self.site.set(here.site);
        self.goes_to_length(&Length::of(path), now);
        self.goes_elsewhere(path.course.before(), None);
    }

    /// How long the path to this moment is, if it is at the same place as it was.
    #[inline]
    pub(crate) fn length(&self, now: i64) -> Length {
        Length {
            span: now - self.span_began.get(),
            burdened: now - self.burdened_began.get(),
            here: now - self.here_began.get(),
        }
    }

    /// What runs on is on a path of that length, at the same place, whose course is the same elsewhere.
    #[inline]
    pub(crate) fn goes_to_length(&self, length: &Length, now: i64) {
        self.span_began.set(now - length.span);
        self.burdened_began.set(now - length.burdened);
        self.here_began.set(now - length.here);
    }

    /// The course of the path is that elsewhere, from now on. It is the one that had that version, or another one.
    #[inline]
    pub(crate) fn goes_elsewhere(&self, before: &Rest, version: Option<Version>) {
        self.elsewhere.set(*before);
        self.version.set(version.unwrap_or_else(|| {
            self.last_version.set(self.last_version.get() + 1);
            self.last_version.get()
        }));
    }

    /// The rest of its course.
    pub(crate) fn elsewhere(&self) -> Rest {
        self.elsewhere.get()
    }

    /// Two courses with the same version are the same elsewhere.
    #[inline]
    pub(crate) fn version(&self) -> Version {
        self.version.get()
    }

    /// The place that the strand belongs to.
    #[inline]
    pub(crate) fn site(&self) -> Option<Site> {
        self.site.get()
    }

    /// The strand goes on at that place. Returns where it was.
    #[inline]
    pub(crate) fn turns_to(&self, site: Option<Site>, now: i64) -> Option<Site> {
        let before = self.site.get();
        if before != site {
            self.turn(site, now);
        }
        before
    }

    #[inline(never)]
    fn turn(&self, site: Option<Site>, now: i64) {
        self.go_on(&self.path(now).at(site), now);
    }

    /// It is about to spawn there.
    pub(crate) fn spawns_at(&self, site: Site) {
        self.spawning.set(Some(site));
    }

    /// Where what is spawned now is spawned, if that has been said.
    pub(crate) fn spawned_at(&self) -> Option<Site> {
        self.spawning.take()
    }

    #[inline]
    pub(crate) fn has_forked(&self) {
        self.forks.set(self.forks.get() + 1);
    }
}
