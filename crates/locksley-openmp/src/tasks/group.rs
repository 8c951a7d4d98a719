//! A `taskgroup`: its tasks and their descendants end before it does.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::{Copies, Reductions, Variable};
use crate::race_detector;

/// A group of tasks.
#[derive(Debug)]
pub(crate) struct Group {
    outer: Option<Arc<Group>>,
    /// Tasks that have not ended.
    pending: AtomicUsize,
    is_cancelled: AtomicBool,
    /// It stands for a construct that shares work and reduces, and cannot itself be cancelled.
    is_of_share: AtomicBool,
    /// The latest descriptor of its reductions, or of an outer group's.
    reductions: AtomicPtr<usize>,
    copies: OnceLock<Copies>,
}

impl Group {
    pub(crate) fn new(outer: Option<Arc<Self>>) -> Self {
        // Acquire: pairs with the release in `register`.
        let of_outer = outer.as_ref().map(|it| it.reductions.load(Ordering::Acquire));
        Self {
            outer,
            pending: AtomicUsize::new(0),
            is_cancelled: AtomicBool::new(false),
            is_of_share: AtomicBool::new(false),
            reductions: AtomicPtr::new(of_outer.unwrap_or_default()),
            copies: OnceLock::new(),
        }
    }

    pub(crate) fn outer(&self) -> Option<Arc<Self>> {
        self.outer.clone()
    }

    pub(crate) fn reductions(&self) -> Reductions {
        // Acquire: pairs with the release in `register`.
        Reductions::new(self.reductions.load(Ordering::Acquire))
    }

    /// Registers reductions by their descriptor, as [`Reductions::register`] does.
    pub(crate) fn register(&self, descriptor: *mut usize, threads: u32, first: Option<Reductions>) {
        let outer = self.reductions();
        Reductions::new(descriptor).register(outer, threads as usize, first);
        // Release: pairs with the acquire in `reductions`.
        self.reductions.store(descriptor, Ordering::Release);
    }

    /// The group begins with reductions of clang's.
    pub(crate) fn set_copies(&self, copies: Copies) {
        let _ = self.copies.set(copies);
    }

    /// A variable and the copy that `thread` has of it, in this group or in one around it.
    pub(crate) fn copy(&self, address: usize, thread: usize) -> Option<(Variable, *mut c_void)> {
        let own = self.copies.get().and_then(|it| it.find(address, thread));
        own.or_else(|| self.outer.as_ref()?.copy(address, thread))
    }

    /// All tasks of the group have ended: finishes its reductions.
    pub(crate) fn reduce(&self) {
        self.copies.get().into_iter().for_each(Copies::combine);
    }

    pub(crate) fn mark_as_of_share(&self) {
        // Relaxed: before the group has tasks.
        self.is_of_share.store(true, Ordering::Relaxed);
    }

    /// A task of the group has been created.
    pub(crate) fn add(&self) {
        // Relaxed: the creator, or an ancestor, waits for the group later.
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// A task of the group has ended. True if it was the last.
    pub(crate) fn remove(&self) -> bool {
        // Release: pairs with the acquire in `is_empty`. Acquire: so do those of earlier tasks.
        race_detector::release(self);
        self.pending.fetch_sub(1, Ordering::AcqRel) == 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        // Acquire: pairs with the release in `remove`. What the tasks wrote is seen.
        let is_empty = self.pending.load(Ordering::Acquire) == 0;
        race_detector::acquire(self);
        is_empty
    }

    /// Cancels the group, or the one around it if this one stands for a shared construct.
    pub(crate) fn cancel(&self) {
        if let Some(group) = self.cancellable() {
            // Relaxed: a hint, as cancellation is.
            group.is_cancelled.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancellable().is_some_and(|it| it.is_cancelled.load(Ordering::Relaxed))
    }

    fn cancellable(&self) -> Option<&Self> {
        let mut group = self;
        while group.is_of_share.load(Ordering::Relaxed) {
            group = group.outer.as_deref()?;
        }
        Some(group)
    }
}
