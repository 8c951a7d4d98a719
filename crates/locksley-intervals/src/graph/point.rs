//! The state of a point: how many things it waits for, and which edges come from it.

use std::ptr::{self, NonNull};

use locksley_sys::primitive::{AtomicPtr, AtomicUsize, Ordering, fence};

/// How a point has occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Well,
    /// Something that it waited for has panicked, was cancelled, or had failed itself.
    Failed,
}

/// One thing to wait for. The bit below it says whether any thing has failed.
const ONE: usize = 2;
const FAILED: usize = 1;

/// The number of things that stand for a body which has not ended: more than anything else can be.
/// When the body ends, all of them arrive but one for each child that was made on the body's own
/// thread. So making a child there announces nothing.
pub(crate) const BODY: usize = usize::MAX / 8;

// No pointers that a list could hold.
const OCCURRED: *mut Edge = ptr::without_provenance_mut(1);
const OCCURRED_FAILED: *mut Edge = ptr::without_provenance_mut(3);

/// In the word of an edge's target: the edge may yet be withdrawn.
const TENTATIVE: usize = 2;

/// A point: it occurs once, when all that it waits for has arrived.
#[derive(Debug)]
pub(crate) struct PointState {
    /// [`ONE`] for each thing that has not arrived, and [`FAILED`].
    waits: AtomicUsize,
    /// The newest edge from here; once the point has occurred, how.
    successors: AtomicPtr<Edge>,
}

/// An edge from one point to another. It lies with its target, in the list of its source.
#[derive(Debug)]
pub(crate) struct Edge {
    next: AtomicPtr<Edge>,
    /// A word that stands for the target. Null if the edge was withdrawn, or was tentative when its
    /// source occurred.
    target: AtomicPtr<()>,
}

impl PointState {
    pub(crate) fn new(waits: usize) -> Self {
        Self { waits: AtomicUsize::new(waits * ONE), successors: AtomicPtr::new(ptr::null_mut()) }
    }

    /// One that has occurred.
    pub(crate) fn occurred() -> Self {
        Self { waits: AtomicUsize::new(0), successors: AtomicPtr::new(OCCURRED) }
    }

    /// How it has occurred, if it has. Then what was done before is visible.
    #[inline]
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        // Acquire pairs with the release in `occur`.
        outcome_of(self.successors.load(Ordering::Acquire))
    }

    /// Announces one more thing. The caller keeps the point from occurring meanwhile.
    pub(crate) fn expect_one(&self) {
        // Relaxed: the thing arrives after it was announced to the thread that brings it.
        let before = self.waits.fetch_add(ONE, Ordering::Relaxed);
        debug_assert!(before >= ONE, "it waits for nothing any more");
    }

    /// Makes the point fail when it occurs. The caller keeps it from occurring meanwhile.
    pub(crate) fn fail(&self) {
        // Relaxed: the caller's own arrival comes after this, and changes the same word or is the
        // last. The last arrival has seen all others.
        self.waits.fetch_or(FAILED, Ordering::Relaxed);
    }

    /// Brings some of the things that the point waits for. If they were the last, returns how it is
    /// to occur: then the caller calls [`occur`](Self::occur). If not, the point may be gone when
    /// this returns.
    #[must_use = "the last arrival makes the point occur"]
    pub(crate) fn arrive(&self, things: usize, outcome: Outcome) -> Option<Outcome> {
        if outcome == Outcome::Failed {
            self.fail();
        }
        // If these are all that is missing, no other thread changes the number any more, and a look
        // is enough: it costs less than a subtraction.
        // Acquire pairs with the release below, of earlier arrivals.
        let mut before = self.waits.load(Ordering::Acquire);
        if before / ONE != things {
            // AcqRel: the last arrival has seen what all others did, and hands it on.
            before = self.waits.fetch_sub(things * ONE, Ordering::AcqRel);
        }
        debug_assert!(before / ONE >= things, "more arrives than it waits for");
        let was_last = before / ONE == things;
        #[cfg(debug_assertions)]
        if was_last {
            // So that `expect_one` finds it; no other thread looks any more.
            self.waits.store(before % ONE, Ordering::Relaxed);
        }
        let outcome = if before & FAILED == 0 { Outcome::Well } else { Outcome::Failed };
        was_last.then_some(outcome)
    }

    /// Makes the point occur, and returns the targets of the edges from here.
    ///
    /// # Safety
    /// All that it waits for has arrived, and this is called once. Edges that were linked here are
    /// alive until all whose targets are returned have arrived, and as long as the caller keeps the
    /// rest from ending.
    pub(crate) unsafe fn occur(
        &self,
        outcome: Outcome,
    ) -> impl Iterator<Item = NonNull<()>> + use<> {
        let closed = match outcome {
            Outcome::Well => OCCURRED,
            Outcome::Failed => OCCURRED_FAILED,
        };
        // Acquire pairs with the release in `link`: the edges are visible. Release pairs with the
        // acquire there and in `outcome`: a thread that finds the point closed sees what came
        // before.
        let newest = self.successors.swap(closed, Ordering::AcqRel);
        debug_assert!(outcome_of(newest).is_none(), "it occurs once");
        // SAFETY: as the caller promises.
        unsafe { targets(newest, Edge::take) }
    }

    /// Adds an edge from here, which stands for one thing that `target` waits for already. If this
    /// point has occurred, nothing is added, and that thing has come: returns the outcome.
    ///
    /// A tentative edge may yet be withdrawn. After adding such edges, a thread looks at what comes
    /// after their targets ([`peek`](Self::peek)). Of several threads that do so at the same time,
    /// the last one sees the edges of all.
    ///
    /// `target` has its second bit clear.
    ///
    /// # Safety
    /// The edge is in no list, and is alive as [`occur`](Self::occur) and [`peek`](Self::peek)
    /// need.
    #[inline]
    pub(crate) unsafe fn link(
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
            // Pairs with itself, in another thread: either that thread sees this edge, or this one
            // sees the edges that the other has added.
            fence(Ordering::SeqCst);
        }
        Ok(())
    }

    /// The targets of the edges from here, at this moment; none, if the point has occurred.
    ///
    /// # Safety
    /// The edges are alive while the result is used.
    pub(crate) unsafe fn peek(
        &self,
        with_tentative: bool,
    ) -> impl Iterator<Item = NonNull<()>> + use<> {
        // Acquire pairs with the release in `link`.
        let newest = self.successors.load(Ordering::Acquire);
        let first = if outcome_of(newest).is_some() { ptr::null_mut() } else { newest };
        let look = move |edge: &Edge| {
            let target = edge.target.load(Ordering::Relaxed);
            let is_meant = with_tentative || target.addr() & TENTATIVE == 0;
            untagged(target).filter(|_| is_meant)
        };
        // SAFETY: as the caller promises.
        unsafe { targets(first, look) }
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

fn untagged(target: *mut ()) -> Option<NonNull<()>> {
    NonNull::new(target.map_addr(|address| address & !TENTATIVE))
}

/// What `target` returns for the edges of a list.
///
/// # Safety
/// Each edge is alive until the target of the one after it is returned.
unsafe fn targets(
    first: *mut Edge,
    target: impl Fn(&Edge) -> Option<NonNull<()>>,
) -> impl Iterator<Item = NonNull<()>> {
    let mut next = first;
    std::iter::from_fn(move || {
        loop {
            // SAFETY: null, or alive as the caller promises.
            let edge = unsafe { next.as_ref() }?;
            // Before the target arrives: the edge lies with it.
            next = edge.next.load(Ordering::Relaxed);
            if let Some(target) = target(edge) {
                return Some(target);
            }
        }
    })
}

impl Edge {
    pub(crate) fn new() -> Self {
        Self { next: AtomicPtr::new(ptr::null_mut()), target: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Makes a tentative edge stay.
    pub(crate) fn confirm(&self) {
        let target = self.target.load(Ordering::Relaxed);
        let certain = target.map_addr(|address| address & !TENTATIVE);
        // Relaxed: the target was published when the edge was linked. If this fails, the source has
        // occurred, and has taken the target.
        let _ = self.target.compare_exchange(target, certain, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Takes a tentative edge back: `true` if the thing that it stood for will not come otherwise.
    #[must_use = "what will not come is not to be waited for"]
    pub(crate) fn withdraw(&self) -> bool {
        // Relaxed: only one of two threads gets the target, and nothing is handed over.
        !self.target.swap(ptr::null_mut(), Ordering::Relaxed).is_null()
    }

    /// The target, for the thread that makes the source occur.
    fn take(&self) -> Option<NonNull<()>> {
        let mut target = self.target.load(Ordering::Relaxed);
        if target.addr() & TENTATIVE != 0 {
            // The thread that added it may be about to withdraw it.
            target = self.target.swap(ptr::null_mut(), Ordering::Relaxed);
        }
        untagged(target)
    }
}
