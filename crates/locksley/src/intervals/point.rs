//! The state of a point: how many it waits for, and who waits for it.

use std::ptr::{self, NonNull};

use crate::primitive::{AtomicPtr, AtomicUsize, Ordering, fence};

/// How a point has occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Well,
    /// Something that it waited for has panicked or was cancelled, or had failed itself.
    Failed,
}

/// One thing to wait for. The unit below it says whether any has failed.
const ONE: usize = 2;
const FAILED: usize = 1;

/// So many things stand for a body that has not ended: more than anything else can be. When it ends, all of them come but one for each child
/// that was made on its own thread; so who makes a child there has nothing to announce.
pub(super) const BODY: usize = usize::MAX / 8;

// No pointers that a list could hold.
const OCCURRED: *mut Edge = ptr::without_provenance_mut(1);
const OCCURRED_FAILED: *mut Edge = ptr::without_provenance_mut(3);

/// In the word of an edge's target: it may yet be withdrawn.
const TENTATIVE: usize = 2;

/// A point: it occurs once, when all that it waits for has come.
#[derive(Debug)]
pub(super) struct PointState {
    /// [`ONE`] for each thing that has not come, and [`FAILED`].
    waits: AtomicUsize,
    /// The newest edge from here; once it has occurred, how.
    successors: AtomicPtr<Edge>,
}

/// An edge from one point to another. It lies with its target, and stands in the list of its source.
#[derive(Debug)]
pub(super) struct Edge {
    next: AtomicPtr<Edge>,
    /// A word that stands for the target; null if the edge was withdrawn, or was tentative when its source occurred.
    target: AtomicPtr<()>,
}

impl PointState {
    pub(super) fn new(waits: usize) -> Self {
        Self { waits: AtomicUsize::new(waits * ONE), successors: AtomicPtr::new(ptr::null_mut()) }
    }

    /// One that has occurred.
    pub(super) fn occurred() -> Self {
        Self { waits: AtomicUsize::new(0), successors: AtomicPtr::new(OCCURRED) }
    }

    /// How it has occurred, if it has. Then what was done before is seen.
    #[inline]
    pub(super) fn outcome(&self) -> Option<Outcome> {
        // Acquire pairs with the release in `occur`.
        outcome_of(self.successors.load(Ordering::Acquire))
    }

    /// So many things are to come in all. Nobody else has ever known of it.
    pub(super) fn expect_unknown(&self, things: usize) {
        // Relaxed: whoever brings one learns of it by an edge, which is published after this.
        self.waits.store(things * ONE, Ordering::Relaxed);
    }

    /// One thing more is to come. The caller knows that the point cannot occur meanwhile.
    pub(super) fn expect_one(&self) {
        // Relaxed: it comes after it was announced to whoever brings it, which comes after this.
        let before = self.waits.fetch_add(ONE, Ordering::Relaxed);
        debug_assert!(before >= ONE, "it waits for nothing any more");
    }

    /// It will fail. The caller knows that it cannot occur meanwhile.
    pub(super) fn fail(&self) {
        // Relaxed: whoever fails it holds something back that arrives after this, by a change of the same word, or by a look if that is
        // the last; and the last one to arrive has seen all that arrived before.
        self.waits.fetch_or(FAILED, Ordering::Relaxed);
    }

    /// So many of the things have come that it waits for. If they were the last, how it is to occur: the caller has it do
    /// so. If not, the point may be gone when this returns.
    #[must_use = "the last has the point occur"]
    pub(super) fn arrive(&self, things: usize, outcome: Outcome) -> Option<Outcome> {
        if outcome == Outcome::Failed {
            self.fail();
        }
        // If these are all that is missing, nobody else changes the number any more: it needs no count of its own, which costs more than a look.
        // Acquire pairs with the release below, of those who came before.
        let mut before = self.waits.load(Ordering::Acquire);
        if before / ONE != things {
            // AcqRel: the last one has seen what all others did, and hands it on.
            before = self.waits.fetch_sub(things * ONE, Ordering::AcqRel);
        }
        debug_assert!(before / ONE >= things, "more has come than it waits for");
        let was_last = before / ONE == things;
        #[cfg(debug_assertions)]
        if was_last {
            // So that `expect_one` finds it; nobody else looks any more.
            self.waits.store(before % ONE, Ordering::Relaxed);
        }
        let outcome = if before & FAILED == 0 { Outcome::Well } else { Outcome::Failed };
        was_last.then_some(outcome)
    }

    /// It occurs, once, and gives back who waited for it.
    ///
    /// # Safety
    /// All that it waits for has come. Edges that were linked here are alive until all whose targets are returned have
    /// arrived, and as long as the caller keeps the rest from ending.
    pub(super) unsafe fn occur(&self, outcome: Outcome) -> Successors {
        // Acquire pairs with the release in `link`: the edges are seen. Release pairs with the acquire there and in
        // `outcome`: who adds nothing because it has occurred sees what came before.
        let newest = self.successors.swap(closed(outcome), Ordering::AcqRel);
        debug_assert!(outcome_of(newest).is_none(), "it occurs once");
        Successors(newest)
    }

    /// It occurs, and nobody else has ever known of it.
    pub(super) fn occur_unknown(&self, outcome: Outcome) {
        // Relaxed: who comes to know of it does so by something that orders: its job is pushed, or its handle handed on, after this.
        self.successors.store(closed(outcome), Ordering::Relaxed);
    }

    /// Adds an edge from here, which stands for one thing that `target` waits for already. If this point has occurred, nothing
    /// is added, and that thing has come.
    ///
    /// A tentative edge may yet be withdrawn. Whoever adds such edges looks afterwards at what comes after their targets
    /// ([`peek`](Self::peek)): of several who do so at the same time, the last one sees the edges of all.
    ///
    /// `target` has its second bit clear.
    ///
    /// # Safety
    /// The edge is in no list, and is alive as [`occur`](Self::occur) and [`peek`](Self::peek) have it.
    #[inline]
    pub(super) unsafe fn link(
        &self,
        edge: &Edge,
        target: NonNull<()>,
        is_tentative: bool,
    ) -> Result<(), Outcome> {
        let tag = if is_tentative { TENTATIVE } else { 0 };
        let target = target.as_ptr().map_addr(|address| address | tag);
        edge.target.store(target, Ordering::Relaxed);
        let this = ptr::from_ref(edge).cast_mut();
        // Acquire, as in `outcome`.
        let mut newest = self.successors.load(Ordering::Acquire);
        loop {
            if let Some(outcome) = outcome_of(newest) {
                return Err(outcome);
            }
            edge.next.store(newest, Ordering::Relaxed);
            // Release pairs with the acquire in `occur` and in `peek`.
            match self.successors.compare_exchange(
                newest,
                this,
                Ordering::Release,
                Ordering::Acquire,
            ) {
                Ok(_) => break,
                Err(newer) => newest = newer,
            }
        }
        if is_tentative {
            // Pairs with itself, in another thread: either that one sees this edge, or we see those that it has added.
            fence(Ordering::SeqCst);
        }
        Ok(())
    }

    /// Who waits for it, at this moment; nobody, if it has occurred.
    ///
    /// # Safety
    /// The edges are alive while the result is used.
    pub(super) unsafe fn peek(&self, with_tentative: bool) -> Peek {
        // Acquire pairs with the release in `link`.
        let newest = self.successors.load(Ordering::Acquire);
        let next = if outcome_of(newest).is_some() { ptr::null_mut() } else { newest };
        Peek { next, with_tentative }
    }
}

fn closed(outcome: Outcome) -> *mut Edge {
    match outcome {
        Outcome::Well => OCCURRED,
        Outcome::Failed => OCCURRED_FAILED,
    }
}

#[inline]
fn outcome_of(successors: *mut Edge) -> Option<Outcome> {
    match successors {
        OCCURRED => Some(Outcome::Well),
        OCCURRED_FAILED => Some(Outcome::Failed),
        _ => None,
    }
}

impl Edge {
    pub(super) fn new() -> Self {
        Self { next: AtomicPtr::new(ptr::null_mut()), target: AtomicPtr::new(ptr::null_mut()) }
    }

    /// A tentative edge stays.
    pub(super) fn confirm(&self) {
        let target = self.target.load(Ordering::Relaxed);
        let certain = target.map_addr(|address| address & !TENTATIVE);
        // Relaxed: the target was published when it was linked. If this fails, the source has occurred, and is done with it.
        let _ = self.target.compare_exchange(target, certain, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Takes a tentative edge back: `true` if the thing that it stood for will not come otherwise.
    #[must_use = "what will not come is not to be waited for"]
    pub(super) fn withdraw(&self) -> bool {
        // Relaxed: only one of two has the target, and nothing is handed over.
        !self.target.swap(ptr::null_mut(), Ordering::Relaxed).is_null()
    }

    /// The target, for whoever has the source occur.
    fn take(&self) -> Option<NonNull<()>> {
        let mut target = self.target.load(Ordering::Relaxed);
        if target.addr() & TENTATIVE != 0 {
            // Whoever added it may be about to withdraw it.
            target = self.target.swap(ptr::null_mut(), Ordering::Relaxed);
        }
        NonNull::new(target.map_addr(|address| address & !TENTATIVE))
    }
}

/// Those who waited for a point that has occurred.
#[derive(Debug)]
pub(super) struct Successors(*mut Edge);

impl Iterator for Successors {
    type Item = NonNull<()>;

    fn next(&mut self) -> Option<NonNull<()>> {
        loop {
            // SAFETY: null, or alive as the caller of `occur` promised.
            let edge = unsafe { self.0.as_ref() }?;
            self.0 = edge.next.load(Ordering::Relaxed);
            if let Some(target) = edge.take() {
                return Some(target);
            }
        }
    }
}

/// Those who wait for a point.
#[derive(Debug)]
pub(super) struct Peek {
    next: *mut Edge,
    with_tentative: bool,
}

impl Iterator for Peek {
    type Item = NonNull<()>;

    fn next(&mut self) -> Option<NonNull<()>> {
        loop {
            // SAFETY: null, or alive as the caller of `peek` promised.
            let edge = unsafe { self.next.as_ref() }?;
            self.next = edge.next.load(Ordering::Relaxed);
            let target = edge.target.load(Ordering::Relaxed);
            let is_meant = self.with_tentative || target.addr() & TENTATIVE == 0;
            if let Some(target) = NonNull::new(target.map_addr(|address| address & !TENTATIVE))
                && is_meant
            {
                return Some(target);
            }
        }
    }
}
