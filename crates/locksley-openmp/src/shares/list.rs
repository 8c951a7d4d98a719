//! The shares of a team in the order of the constructs.
//!
//! *States of a share*: free; spare (one thread has it); appended; left by all. *Invariant*: a
//! share that is not left by all is not reused, so every thread's position stays valid. *Argument*:
//! a thread leaves a share when it moves on to the next one, and does not touch it afterwards; the
//! last one to leave it owns it.

use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};

use locksley_sys::primitive::Ordering;

use super::{Cursor, Preparation, Share};
use crate::mutex::lock;

/// All shares of a team, and the ones that are free.
#[derive(Debug)]
pub(crate) struct List {
    threads: u32,
    first: NonNull<Share>,
    store: Mutex<Store>,
}

// SAFETY: shares are `Sync`. One that is free or spare has one owner.
unsafe impl Send for List {}
// SAFETY: as above.
unsafe impl Sync for List {}

#[derive(Debug, Default)]
struct Store {
    all: Vec<NonNull<Share>>,
    free: Vec<NonNull<Share>>,
}

/// So many shares are kept for the next region: a region may have had as many as it has loops
/// between which its threads do not wait.
const KEPT: usize = 64;

/// Where a thread is in its team's list.
#[derive(Debug)]
pub(crate) struct Position {
    current: Cell<*const Share>,
    /// A share that this thread alone has.
    spare: Cell<Option<NonNull<Share>>>,
    pub(crate) cursor: Cursor,
}

impl Position {
    pub(crate) fn new() -> Self {
        Self { current: Cell::new(ptr::null()), spare: Cell::new(None), cursor: Cursor::default() }
    }

    /// The share of the construct that the thread is in, or was in last.
    pub(crate) fn current(&self) -> &Share {
        // SAFETY: `List::enter` has set it before any construct; it is valid while this thread has
        // not left it, and the borrow ends before that.
        unsafe { &*self.current.get() }
    }
}

impl List {
    pub(crate) fn new(threads: u32) -> Self {
        let mut store = Store::default();
        let first = store.allocate(threads);
        Self { threads, first, store: Mutex::new(store) }
    }

    /// Starts over for a new region: all shares are free but the first, which stands before the
    /// first construct. No thread uses the list.
    pub(crate) fn reset(&mut self) {
        let store = self.store.get_mut().unwrap_or_else(PoisonError::into_inner);
        for share in store.all.drain(KEPT.min(store.all.len())..) {
            // SAFETY: made by `Box::leak`, and no thread uses the list.
            drop(unsafe { Box::from_raw(share.as_ptr()) });
        }
        store.free.clear();
        // The first one is `first`.
        store.free.extend(&store.all[1..]);
        // SAFETY: no other thread uses the list, so this one owns all shares.
        unsafe { &mut *self.first.as_ptr() }.prepare(Preparation::default());
    }

    /// Appends a share before any thread has entered, and has all threads begin in it.
    pub(crate) fn append_first(&mut self, preparation: Preparation) {
        // SAFETY: no other thread uses the list, so this one owns all shares.
        unsafe { &mut *self.first.as_ptr() }.prepare(preparation);
    }

    /// A thread enters the team.
    pub(crate) fn enter(&self, position: &Position) {
        position.current.set(self.first.as_ptr());
        position.spare.set(None);
        position.cursor.reset();
    }

    /// Moves a thread on to its next share. If that is not there yet, the thread appends one as
    /// `prepare` says. Returns true if it did.
    pub(crate) fn advance(
        &self,
        position: &Position,
        prepare: impl FnOnce() -> Preparation,
    ) -> bool {
        let current = position.current();
        // Acquire: pairs with the release by which the share was appended.
        let mut next = current.next.load(Ordering::Acquire);
        let mut is_first = false;
        if next.is_null() {
            let spare =
                position.spare.take().unwrap_or_else(|| lock(&self.store).take(self.threads));
            // SAFETY: this thread alone has the share.
            unsafe { &mut *spare.as_ptr() }.prepare(prepare());
            // Release: pairs with the acquire of the other threads.
            match current.next.compare_exchange(
                ptr::null_mut(),
                spare.as_ptr(),
                Ordering::Release,
                Ordering::Acquire,
            ) {
                Ok(_) => (next, is_first) = (spare.as_ptr(), true),
                Err(appended) => {
                    next = appended;
                    // SAFETY: as above.
                    unsafe { &mut *spare.as_ptr() }.free_memory();
                    position.spare.set(Some(spare));
                }
            }
        }
        self.leave(NonNull::from(current), position);
        position.current.set(next);
        position.cursor.reset();
        is_first
    }

    /// The calling thread's last access to `share`. The last thread of all to leave owns it then.
    fn leave(&self, share: NonNull<Share>, position: &Position) {
        // SAFETY: valid until this thread has counted itself.
        let left = unsafe { &(*share.as_ptr()).left };
        // Release and acquire: the last thread to leave has seen all accesses of the others.
        let before = left.fetch_add(1, Ordering::AcqRel);
        if before + 1 == self.threads && share != self.first {
            match position.spare.get() {
                None => position.spare.set(Some(share)),
                Some(_) => lock(&self.store).free.push(share),
            }
        }
    }
}

impl Store {
    fn allocate(&mut self, threads: u32) -> NonNull<Share> {
        let share = Box::new(Share::new(threads as usize));
        let share = NonNull::from(Box::leak(share));
        self.all.push(share);
        share
    }

    fn take(&mut self, threads: u32) -> NonNull<Share> {
        self.free.pop().unwrap_or_else(|| self.allocate(threads))
    }
}

impl Drop for List {
    fn drop(&mut self) {
        let store = self.store.get_mut().unwrap_or_else(PoisonError::into_inner);
        for share in store.all.drain(..) {
            // SAFETY: made by `Box::leak`, and no thread of the team uses it any more.
            drop(unsafe { Box::from_raw(share.as_ptr()) });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn one_thread_appends_each_share_and_few_shares_are_enough() {
        const THREADS: u32 = 4;
        let (list, appended) = (List::new(THREADS), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let position = Position::new();
                    list.enter(&position);
                    for number in 1..=1000_usize {
                        let prepare = || {
                            let reductions = Some(ptr::without_provenance_mut(number));
                            Preparation { reductions, ..Preparation::default() }
                        };
                        if list.advance(&position, prepare) {
                            appended.fetch_add(1, Ordering::Relaxed);
                        }
                        assert_eq!(position.current().reductions().addr(), number);
                    }
                });
            }
        });
        assert_eq!(appended.into_inner(), 1000);
    }
}
