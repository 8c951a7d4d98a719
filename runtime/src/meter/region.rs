//! A region: what is metered together.

use std::sync::atomic::{AtomicU64, Ordering};

use super::clock::Clock;
use super::path::{Meeting, Path};
use crate::primitive::CachePadded;

/// What it costs, in nanoseconds, if a task goes to another worker, or its result comes from there.
///
/// Cilkview takes 15 000 instructions for each such edge (He, Leiserson and Leiserson, "The Cilkview scalability analyzer", SPAA
/// 2010, section 3): some 5 µs, at three instructions a nanosecond.
pub(super) const BURDEN: i64 = 5_000;

/// What strands of a region have done so far. A strand keeps a reference to its region, and adds to it when it ends or waits.
#[derive(Debug)]
pub(crate) struct Region {
    clock: Clock,
    /// [`BURDEN`] in ticks.
    burden: i64,
    /// Where the first strand began.
    from: Path,
    /// One for each worker, and more: no two write the same one often.
    accounts: Box<[CachePadded<Account>]>,
    /// Where strands ended that nobody waited for, and the first one.
    end: Meeting,
    /// Waits, and polls of futures, whose order is not among the paths.
    uncarried: AtomicU64,
}

#[derive(Debug, Default)]
struct Account {
    work: AtomicU64,
    forks: AtomicU64,
}

/// What came out of a region, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) clock: Clock,
    pub(crate) work: i64,
    pub(crate) path: Path,
    pub(crate) forks: u64,
    pub(crate) uncarried: u64,
}

impl Region {
    /// A region that begins at the end of a path, timed by `clock`, on so many workers.
    pub(crate) fn new(clock: Clock, from: Path, workers: usize) -> Self {
        Self {
            clock,
            burden: clock.ticks(BURDEN),
            from,
            accounts: (0..workers.max(1)).map(|_| CachePadded::default()).collect(),
            end: Meeting::new(),
            uncarried: AtomicU64::new(0),
        }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    #[inline]
    pub(crate) fn now(&self) -> i64 {
        self.clock.now()
    }

    pub(crate) fn burden(&self) -> i64 {
        self.burden
    }

    /// Where it began.
    pub(crate) fn from(&self) -> Path {
        self.from
    }

    /// A worker adds what it has done.
    pub(super) fn add(&self, worker: usize, work: i64, forks: u64) {
        let account = &self.accounts[worker % self.accounts.len()];
        // Relaxed, both: who sums them up has waited for the strands that matter. Negative only where two processors' counters do not
        // quite agree.
        account.work.fetch_add(work.max(0) as u64, Ordering::Relaxed);
        account.forks.fetch_add(forks, Ordering::Relaxed);
    }

    /// A region that lay inside of this one, and is over, adds what it has done.
    pub(crate) fn add_inner(&self, worker: usize, inner: &Figures) {
        self.add(worker, inner.work, inner.forks);
        self.uncarried.fetch_add(inner.uncarried, Ordering::Relaxed);
    }

    /// A strand ends that nobody may wait for.
    pub(crate) fn ends(&self, path: Path) {
        self.end.arrive(path);
    }

    /// A strand waits for something, or is polled, and what came before that is not known.
    pub(crate) fn has_uncarried(&self) {
        self.uncarried.fetch_add(1, Ordering::Relaxed);
    }

    /// What it has come to.
    pub(crate) fn figures(&self) -> Figures {
        let sum = |part: fn(&Account) -> &AtomicU64| -> u64 {
            self.accounts.iter().map(|account| part(account).load(Ordering::Relaxed)).sum()
        };
        let end = self.end.latest().unwrap_or(self.from);
        Figures {
            clock: self.clock,
            work: sum(|account| &account.work) as i64,
            path: Path {
                span: end.span - self.from.span,
                burdened: end.burdened - self.from.burdened,
            },
            forks: sum(|account| &account.forks),
            uncarried: self.uncarried.load(Ordering::Relaxed),
        }
    }
}
