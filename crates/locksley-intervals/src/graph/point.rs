//! The state of a point: the number of its dependencies, and the edges from it.

use std::fmt;
use std::ptr::{self, NonNull};

use locksley_sys::primitive::{AtomicPtr, AtomicUsize, Ordering, fence};

/// One of the two points of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The point before the body.
    Start,
    /// The point after the body and after the ends of all children.
    End,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::End => "end",
        })
    }
}

/// How a point has occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Succeeded,
    /// A dependency has panicked, was cancelled, or had failed itself.
    Failed,
}

/// The edges that a search follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edges {
    /// Those that stay.
    Confirmed,
    /// Tentative edges too.
    All,
}

const _: () = assert!(align_of::<Edge>() >= 4, "two bits for outcomes and `IN_DRAFT`");

/// One dependency. The lowest bit says that one has failed.
const ONE: usize = 2;
const FAILED: usize = 1;

// Not addresses of edges, which are aligned to four bytes or more.
const OCCURRED: *mut Edge = ptr::without_provenance_mut(1);
const OCCURRED_FAILED: *mut Edge = ptr::without_provenance_mut(3);

/// The bit of a point in a draft, in the word of its newest edge. The outcomes are other words.
const IN_DRAFT: usize = 2;

/// The bit of a tentative edge, in the word of its target.
const TENTATIVE: usize = 2;

/// A point. It occurs once, when all of its dependencies have arrived.
#[derive(Debug)]
pub(crate) struct PointState {
    /// [`ONE`] for each dependency that has not arrived, and [`FAILED`].
    pending: AtomicUsize,
    /// The newest edge from this point, with [`IN_DRAFT`]; after the point has occurred, the
    /// outcome.
    successors: AtomicPtr<Edge>,
}

/// An edge from one point to another. It is in the list of its source, and lies with its target.
#[derive(Debug)]
pub(crate) struct Edge {
    next: AtomicPtr<Edge>,
    /// The word of the target. Null if the edge was withdrawn, or if it was tentative when its
    /// source occurred.
    target: AtomicPtr<()>,
}

impl PointState {
    /// A point with that many dependencies. Without any, it has occurred.
    pub(crate) fn new(dependencies: usize) -> Self {
        let successors = if dependencies == 0 { OCCURRED } else { ptr::null_mut() };
        let pending = AtomicUsize::new(dependencies * ONE);
        Self { pending, successors: AtomicPtr::new(successors) }
    }

    /// Returns how the point has occurred, if it has. What came before it is visible then.
    #[inline]
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        // Acquire pairs with the release in `occur`.
        outcome_of(self.successors.load(Ordering::Acquire))
    }

    /// Puts a new point into a draft, which alone may add edges from it.
    pub(crate) fn enter_draft(&self) {
        // Relaxed: no other thread has seen the point.
        self.successors.store(ptr::without_provenance_mut(IN_DRAFT), Ordering::Relaxed);
    }

    /// Returns true until the draft of the point has started. No later call returns true again.
    #[inline]
    pub(crate) fn is_in_draft(&self) -> bool {
        // Acquire pairs with the release in `leave_draft`: the edges of the draft were added before
        // those that the caller adds.
        has_draft_bit(self.successors.load(Ordering::Acquire))
    }

    /// Adds an edge from this point, as its draft.
    ///
    /// # Safety
    /// As for [`add_edge`](Self::add_edge). The point is in a draft, which belongs to the caller.
    pub(crate) unsafe fn add_draft_edge(&self, edge: &Edge, target: NonNull<()>) {
        edge.target.store(target.as_ptr(), Ordering::Relaxed);
        // Relaxed: only this thread changes the list of a point in its draft.
        let newest = self.successors.load(Ordering::Relaxed);
        debug_assert!(has_draft_bit(newest), "the draft has not started");
        edge.next.store(without_draft_bit(newest), Ordering::Relaxed);
        let newest = ptr::from_ref(edge).cast_mut().map_addr(|address| address | IN_DRAFT);
        // Release pairs with the acquire in `successors`.
        self.successors.store(newest, Ordering::Release);
    }

    /// Takes the point out of its draft, which belongs to the caller.
    pub(crate) fn leave_draft(&self) {
        // Relaxed: as in `add_draft_edge`.
        let newest = self.successors.load(Ordering::Relaxed);
        debug_assert!(has_draft_bit(newest), "the draft starts once");
        // Release pairs with the acquire in `is_in_draft`, and in all that reads the list.
        self.successors.store(without_draft_bit(newest), Ordering::Release);
    }

    /// Adds a dependency. The caller keeps the point from occurring meanwhile.
    pub(crate) fn add_dependency(&self) {
        // Relaxed: the dependency arrives after the thread that brings it has learned of it.
        let before = self.pending.fetch_add(ONE, Ordering::Relaxed);
        debug_assert!(before >= ONE, "all dependencies have arrived");
    }

    /// Makes the point fail when it occurs. The caller keeps it from occurring meanwhile.
    pub(crate) fn fail(&self) {
        // Relaxed: the arrival of the caller comes after this. It changes the same word, or is the
        // last. The last arrival has seen all others.
        self.pending.fetch_or(FAILED, Ordering::Relaxed);
    }

    /// Lets a dependency arrive. After the last one this returns the outcome, and the caller calls
    /// [`occur`](Self::occur). Otherwise the point may be freed when this returns.
    #[must_use = "the last arrival makes the point occur"]
    pub(crate) fn arrive(&self, outcome: Outcome) -> Option<Outcome> {
        if outcome == Outcome::Failed {
            self.fail();
        }
        // If no other dependency is missing, no other thread changes the number. Then a load is
        // enough, and costs less than a subtraction.
        // Acquire pairs with the release below, of earlier arrivals.
        let mut before = self.pending.load(Ordering::Acquire);
        if before / ONE != 1 {
            // AcqRel: the last arrival has seen what came before all others, and passes it on.
            before = self.pending.fetch_sub(ONE, Ordering::AcqRel);
        }
        debug_assert!(before >= ONE, "all dependencies have arrived");
        let is_last = before / ONE == 1;
        #[cfg(debug_assertions)]
        if is_last {
            // For the assertion of `add_dependency`; no other thread reads it any more.
            self.pending.store(before % ONE, Ordering::Relaxed);
        }
        let outcome = if before & FAILED == 0 { Outcome::Succeeded } else { Outcome::Failed };
        is_last.then_some(outcome)
    }

    /// Makes the point occur, and returns the targets of the edges from it.
    ///
    /// # Safety
    /// All dependencies have arrived, and this is called once. An edge is alive until the target of
    /// the next one is returned.
    pub(crate) unsafe fn occur(
        &self,
        outcome: Outcome,
    ) -> impl Iterator<Item = NonNull<()>> + use<> {
        let closed = match outcome {
            Outcome::Succeeded => OCCURRED,
            Outcome::Failed => OCCURRED_FAILED,
        };
        // Acquire pairs with the release in `add_edge`: the edges are visible. Release pairs with
        // the acquire there and in `outcome`: what came before is visible.
        let newest = self.successors.swap(closed, Ordering::AcqRel);
        debug_assert!(outcome_of(newest).is_none(), "it occurs once");
        debug_assert!(!has_draft_bit(newest), "its start waits for the draft");
        // SAFETY: as the caller promises.
        unsafe { targets(newest, Edge::take_target) }
    }

    /// Adds an edge from this point, which is one of the dependencies of `target`. If this point
    /// has occurred, adds nothing and returns the outcome: the dependency has arrived.
    ///
    /// A tentative edge can be withdrawn. After adding one, a thread searches what comes after its
    /// target ([`successors`](Self::successors)). Of several threads that do so at the same time,
    /// the last one sees the edges of all. `target` has the bit [`TENTATIVE`] clear. This point is
    /// not [in a draft](Self::is_in_draft).
    ///
    /// # Safety
    /// The edge is in no list, and is alive as [`occur`](Self::occur) and
    /// [`successors`](Self::successors) require.
    #[inline]
    pub(crate) unsafe fn add_edge(
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
            debug_assert!(!has_draft_bit(newest), "only its draft adds edges");
            edge.next.store(newest, Ordering::Relaxed);
            // Release pairs with the acquire in `occur` and in `successors`.
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
            // Pairs with itself in another thread. Either that thread sees this edge, or this
            // thread sees the edges that the other has added.
            fence(Ordering::SeqCst);
        }
        Ok(())
    }

    /// Returns the present targets of the edges from this point: none if it has occurred.
    ///
    /// # Safety
    /// The edges are alive while the result is used.
    pub(crate) unsafe fn successors(
        &self,
        edges: Edges,
    ) -> impl Iterator<Item = NonNull<()>> + use<> {
        // Acquire pairs with the release in `add_edge` and `add_draft_edge`.
        let newest = self.successors.load(Ordering::Acquire);
        let first = match outcome_of(newest) {
            Some(_) => ptr::null_mut(),
            None => without_draft_bit(newest),
        };
        let target = move |edge: &Edge| {
            let target = edge.target.load(Ordering::Relaxed);
            let is_followed = edges == Edges::All || target.addr() & TENTATIVE == 0;
            untagged(target).filter(|_| is_followed)
        };
        // SAFETY: as the caller promises.
        unsafe { targets(first, target) }
    }
}

#[inline]
fn outcome_of(successors: *mut Edge) -> Option<Outcome> {
    match successors {
        OCCURRED => Some(Outcome::Succeeded),
        OCCURRED_FAILED => Some(Outcome::Failed),
        _ => None,
    }
}

/// Returns true if the word of the newest edge is that of a point in a draft.
#[inline]
fn has_draft_bit(successors: *mut Edge) -> bool {
    outcome_of(successors).is_none() && successors.addr() & IN_DRAFT != 0
}

#[inline]
fn without_draft_bit(successors: *mut Edge) -> *mut Edge {
    successors.map_addr(|address| address & !IN_DRAFT)
}

fn untagged(target: *mut ()) -> Option<NonNull<()>> {
    NonNull::new(target.map_addr(|address| address & !TENTATIVE))
}

/// Returns what `target` returns for each edge of a list.
///
/// # Safety
/// Each edge is alive until the target of the next one is returned.
unsafe fn targets(
    first: *mut Edge,
    target: impl Fn(&Edge) -> Option<NonNull<()>>,
) -> impl Iterator<Item = NonNull<()>> {
    let mut next = first;
    std::iter::from_fn(move || {
        loop {
            // SAFETY: null, or alive as the caller promises.
            let edge = unsafe { next.as_ref() }?;
            // Read before the dependency arrives at the target, with which the edge lies.
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
        let confirmed = target.map_addr(|address| address & !TENTATIVE);
        // Relaxed: the target was published with the edge. If this fails, the source has occurred
        // and has taken the target.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let _ = self.target.compare_exchange(target, confirmed, success, failure);
    }

    /// Withdraws a tentative edge. Returns true if its dependency will not arrive otherwise.
    #[must_use = "a withdrawn edge brings no arrival"]
    pub(crate) fn withdraw(&self) -> bool {
        // Relaxed: one of two threads gets the target, and nothing else is published.
        !self.target.swap(ptr::null_mut(), Ordering::Relaxed).is_null()
    }

    /// Takes the target, for the thread that makes the source occur.
    fn take_target(&self) -> Option<NonNull<()>> {
        let mut target = self.target.load(Ordering::Relaxed);
        if target.addr() & TENTATIVE != 0 {
            // The thread that added the edge may withdraw it at the same time.
            target = self.target.swap(ptr::null_mut(), Ordering::Relaxed);
        }
        untagged(target)
    }
}
