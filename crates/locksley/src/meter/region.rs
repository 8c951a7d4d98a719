//! A region: what is metered together.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

use super::clock::Clock;
use super::course::{KEPT, Part};
use super::open;
use super::path::{Meeting, Path};
use crate::primitive::CachePadded;

/// What it costs, in nanoseconds, if a task goes to another worker, or its result comes from there.
///
/// Cilkview takes 15 000 instructions for each such edge (He, Leiserson and Leiserson, "The Cilkview scalability analyzer", SPAA
/// 2010, section 3): some 5 µs, at three instructions a nanosecond.
pub(super) const BURDEN: i64 = 5_000;

/// A strand that has gone on for so many nanoseconds without a look at the clock looks whether it was interrupted. A turn that the kernel gives to
/// others is seldom shorter; and to look takes about a microsecond.
const LONG: i64 = 200_000;

/// What strands of a region have done so far. A strand keeps a reference to its region, and adds to it when it ends or waits.
#[derive(Debug)]
pub(crate) struct Region {
    /// No other region's in this process, but that of those inside of this one.
    number: u64,
    /// The one that this one lies in. What happens here happens there, too.
    outer: Option<Arc<Region>>,
    clock: Clock,
    /// [`BURDEN`] in ticks.
    burden: i64,
    /// [`LONG`] in ticks.
    long: i64,
    /// Where the first strand began.
    from: Path,
    /// One for each worker, and more: no two write the same one often.
    accounts: Box<[CachePadded<Account>]>,
    /// Waits, and polls of futures, whose order is not among the paths.
    uncarried: AtomicU64,
    /// Whether the system did not say how long some strand was interrupted.
    is_untold: AtomicBool,
    /// The address of the pool that the first strand ran in; 0 before.
    home: AtomicUsize,
    /// Whether any has run in another one.
    is_mixed: AtomicBool,
    /// Whether nobody will ask for its figures any more.
    has_reported: AtomicBool,
}

#[derive(Debug)]
struct Account {
    /// How far strands have come that have ended there, waited, or were asked. Each is likely to have come further than all before, so in one place for all
    /// workers they would wait for its memory with each task.
    end: Meeting,
    work: AtomicU64,
    forks: AtomicU64,
    taken: AtomicU64,
    /// Tasks that were handed over there, less those that have ended there.
    under_way: AtomicI64,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            end: Meeting::new(),
            work: AtomicU64::new(0),
            forks: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            under_way: AtomicI64::new(0),
        }
    }
}

/// What a worker has done in strands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub(super) work: i64,
    pub(super) forks: u64,
    /// How long the kernel has run others meanwhile, as far as that was found out; `None` if it could not be.
    pub(super) taken: Option<i64>,
}

/// What came out of a region, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) clock: Clock,
    pub(crate) work: i64,
    pub(crate) path: Path,
    /// Through which places it runs, as far as they are kept.
    pub(crate) course: [Part; KEPT],
    pub(crate) forks: u64,
    /// How long strands were interrupted, which is neither work nor path; `None` if that is not known.
    pub(crate) taken: Option<i64>,
    pub(crate) uncarried: u64,
    /// Tasks that have not ended.
    pub(crate) under_way: u64,
    /// Whether strands have run in more than one pool.
    pub(crate) is_mixed: bool,
}

impl Region {
    /// A region timed by `clock`, on so many workers.
    pub(crate) fn new(clock: Clock, workers: usize) -> Self {
        // Not its address, which the next one may have.
        static REGIONS: AtomicU64 = AtomicU64::new(0);
        let number = REGIONS.fetch_add(1, Ordering::Relaxed);
        Self::beginning_at(number, None, clock, Path::default(), workers)
    }

    /// A region inside of another one, which begins at the end of one of its paths: the paths of both have one beginning.
    pub(crate) fn within(outer: &Arc<Self>, from: Path, workers: usize) -> Self {
        Self::beginning_at(outer.number, Some(Arc::clone(outer)), outer.clock, from, workers)
    }

    fn beginning_at(
        number: u64,
        outer: Option<Arc<Self>>,
        clock: Clock,
        from: Path,
        workers: usize,
    ) -> Self {
        open::opens();
        Self {
            number,
            outer,
            clock,
            burden: clock.ticks(BURDEN),
            long: clock.long(LONG),
            from,
            accounts: (0..workers.max(1)).map(|_| CachePadded::default()).collect(),
            uncarried: AtomicU64::new(0),
            is_untold: AtomicBool::new(false),
            home: AtomicUsize::new(0),
            is_mixed: AtomicBool::new(false),
            has_reported: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(super) fn long(&self) -> i64 {
        self.long
    }

    pub(crate) fn burden(&self) -> i64 {
        self.burden
    }

    /// Where it began.
    pub(crate) fn from(&self) -> Path {
        self.from
    }

    /// By this they are known ([`is_one_with`](Self::is_one_with)) where a reference would keep them.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The one that lies in no other one, of those that this one is in.
    pub(crate) fn outermost(this: &Arc<Self>) -> &Arc<Self> {
        this.outer.as_ref().map_or(this, Self::outermost)
    }

    /// Whether paths of both have one beginning, and may meet.
    pub(crate) fn is_one_with(&self, other: &Self) -> bool {
        self.number == other.number
    }

    /// This one, and those that it lies in.
    fn all(&self) -> impl Iterator<Item = &Self> {
        iter::successors(Some(self), |region| region.outer.as_deref())
    }

    /// A worker adds what it has done.
    pub(super) fn add(&self, worker: usize, Done { work, forks, taken }: Done) {
        // Negative only where two processors' counters do not quite agree.
        let work = work.max(0) as u64;
        self.all().for_each(|region| {
            let account = region.account_of(worker);
            // Relaxed, both: who sums them up has waited for the strands that matter.
            account.work.fetch_add(work, Ordering::Relaxed);
            account.forks.fetch_add(forks, Ordering::Relaxed);
            match taken {
                Some(0) => {}
                Some(taken) => drop(account.taken.fetch_add(taken as u64, Ordering::Relaxed)),
                None => region.is_untold.store(true, Ordering::Relaxed),
            }
        });
    }

    fn account_of(&self, worker: usize) -> &Account {
        // A stand-in, or another pool's worker, may have a number beyond.
        &self.accounts[worker % self.accounts.len()]
    }

    /// A strand of that worker has come to that path: the longest is no shorter.
    pub(crate) fn ends(&self, worker: usize, path: &Path) {
        self.all().for_each(|region| region.account_of(worker).end.arrive(path));
    }

    /// A task is handed over by a worker, and carries a path of this region.
    pub(crate) fn hands_over(&self, worker: usize) {
        self.is_under_way(worker, 1);
    }

    /// It has ended.
    pub(crate) fn has_ended(&self, worker: usize) {
        self.is_under_way(worker, -1);
    }

    fn is_under_way(&self, worker: usize, change: i64) {
        self.all().for_each(|region| {
            // Relaxed, as the work.
            region.account_of(worker).under_way.fetch_add(change, Ordering::Relaxed);
        });
    }

    /// A strand begins in the pool with that address. The first does so in the pool that the region is of, which outlives it.
    pub(crate) fn runs_in(&self, pool: usize) {
        self.all().for_each(|region| match region.home.load(Ordering::Relaxed) {
            0 => region.home.store(pool, Ordering::Relaxed),
            home if home == pool => {}
            _ => region.is_mixed.store(true, Ordering::Relaxed),
        });
    }

    /// A strand waits for something, or is polled, and what came before that is not known.
    pub(crate) fn has_uncarried(&self) {
        self.all().for_each(|region| {
            region.uncarried.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// Whether nobody will ask what it, or one that it lies in, has come to.
    pub(crate) fn is_over(&self) -> bool {
        // Relaxed: who meters on for a while does no harm.
        self.all().all(|region| region.has_reported.load(Ordering::Relaxed))
    }

    /// What it has come to in the end, when its first strand has come to that path.
    pub(crate) fn last_figures(&self, path: &Path) -> Figures {
        let mut figures = self.figures();
        // Somebody whom nobody has waited for had the longest one's in hand.
        if figures.course.iter().all(|part| part.site.is_none()) {
            figures.course = path.course.since(&self.from.course);
        }
        if !self.has_reported.swap(true, Ordering::Relaxed) {
            open::closes();
        }
        figures
    }

    /// What it has come to.
    pub(crate) fn figures(&self) -> Figures {
        let sum = |part: fn(&Account) -> &AtomicU64| -> u64 {
            self.accounts.iter().map(|account| part(account).load(Ordering::Relaxed)).sum()
        };
        let under_way = self.accounts.iter().map(|a| a.under_way.load(Ordering::Relaxed));
        let ends = self.accounts.iter().filter_map(|account| account.end.latest());
        let end = ends.reduce(Path::meet).unwrap_or(self.from);
        Figures {
            clock: self.clock,
            work: sum(|account| &account.work) as i64,
            path: Path {
                span: end.span - self.from.span,
                burdened: end.burdened - self.from.burdened,
                ..Path::default()
            },
            course: end.course.since(&self.from.course),
            forks: sum(|account| &account.forks),
            taken: (!self.is_untold.load(Ordering::Relaxed))
                .then(|| sum(|account| &account.taken) as i64),
            uncarried: self.uncarried.load(Ordering::Relaxed),
            // Less than none where one was seen to end that was not seen to begin.
            under_way: under_way.sum::<i64>().max(0) as u64,
            is_mixed: self.is_mixed.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if !*self.has_reported.get_mut() {
            open::closes();
        }
    }
}
