//! A work share: one loop, `sections`, `scope` or `single copyprivate` of a team.

use std::ffi::c_void;
use std::ptr;

use locksley_sys::primitive::{AtomicPtr, AtomicU32, Ordering};

use super::ordered::Turns;
use super::schedule::Dispenser;
use super::{Cursor, Doacross, Iterations, Plan};
use crate::memory::Memory;

/// What the threads of a team share.
#[derive(Debug)]
pub(crate) struct Share {
    dispenser: Dispenser,
    turns: Turns,
    doacross: Option<Doacross>,
    /// Memory that the compiler asks for.
    memory: Option<Memory>,
    /// The descriptors of reductions by tasks, which the first thread has registered.
    reductions: *mut usize,
    published: AtomicPtr<c_void>,
    /// How many threads have left this share.
    pub(super) left: AtomicU32,
    pub(super) next: AtomicPtr<Share>,
}

// SAFETY: the pointers are the compiler's, which uses them from any thread of the team. All other
// fields are `Sync`; plain ones change only before the share is published.
unsafe impl Send for Share {}
// SAFETY: as above.
unsafe impl Sync for Share {}

/// A share that no other thread sees yet.
#[derive(Debug, Default)]
pub(crate) struct Preparation {
    pub(crate) plan: Option<Plan>,
    pub(crate) doacross: Option<Doacross>,
    /// In bytes.
    pub(crate) memory: usize,
    pub(crate) reductions: Option<*mut usize>,
}

impl From<Plan> for Preparation {
    fn from(plan: Plan) -> Self {
        Self { plan: Some(plan), ..Self::default() }
    }
}

impl Share {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            dispenser: Dispenser::new(threads),
            turns: Turns::new(),
            doacross: None,
            memory: None,
            reductions: ptr::null_mut(),
            published: AtomicPtr::new(ptr::null_mut()),
            left: AtomicU32::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Prepares the share for a construct.
    pub(super) fn prepare(&mut self, preparation: Preparation) {
        if let Some(plan) = &preparation.plan {
            self.dispenser.begin(plan);
        }
        self.turns.reset();
        self.doacross = preparation.doacross;
        self.memory = (preparation.memory != 0).then(|| Memory::new(preparation.memory));
        self.reductions = preparation.reductions.unwrap_or_default();
        // Relaxed, these and the next: the share is published by the list.
        self.published.store(ptr::null_mut(), Ordering::Relaxed);
        self.left.store(0, Ordering::Relaxed);
        self.next.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Called on a share that is not used, because another thread was first to append one.
    pub(super) fn free_memory(&mut self) {
        (self.doacross, self.memory) = (None, None);
    }

    /// The loop's values for the iterations that the thread executes next.
    pub(crate) fn next(&self, thread: u32, cursor: &Cursor) -> Option<(u64, u64)> {
        let next = self.dispenser.next(thread, cursor)?;
        Some(self.iterations().values(next))
    }

    pub(crate) fn iterations(&self) -> &Iterations {
        self.dispenser.iterations()
    }

    /// [`next`](Self::next) in an ordered loop: the thread's iterations before have passed.
    pub(crate) fn next_ordered(&self, thread: u32, cursor: &Cursor) -> Option<(u64, u64)> {
        let (from, to) = cursor.current();
        if from < to {
            self.turns.wait(from);
            self.turns.pass(to);
        }
        let next = self.next(thread, cursor);
        if next.is_none() {
            cursor.reset();
        }
        next
    }

    /// Waits until all iterations before the thread's chunk have passed.
    pub(crate) fn wait_for_turn(&self, cursor: &Cursor) {
        self.turns.wait(cursor.current().0);
    }

    pub(crate) fn doacross(&self) -> Option<&Doacross> {
        self.doacross.as_ref()
    }

    pub(crate) fn memory(&self) -> *mut c_void {
        self.memory.as_ref().map_or(ptr::null_mut(), Memory::start)
    }

    pub(crate) fn reductions(&self) -> *mut usize {
        self.reductions
    }

    /// Hands a pointer to the other threads, which read it behind a barrier.
    pub(crate) fn publish(&self, pointer: *mut c_void) {
        // Relaxed: the barrier orders it.
        self.published.store(pointer, Ordering::Relaxed);
    }

    pub(crate) fn published(&self) -> *mut c_void {
        self.published.load(Ordering::Relaxed)
    }
}
