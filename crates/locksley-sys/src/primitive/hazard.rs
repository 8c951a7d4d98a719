//! Hazard pointers (Michael, "Hazard pointers: safe memory reclamation for lock-free objects", IEEE
//! TPDS 2004).
//!
//! A thread that is about to follow a pointer which others may unlink first says so in a *record*;
//! an unlinked node is freed once no record names it. A thread that the kernel suspends in the
//! middle keeps two nodes from being freed, and those that wait in its record's list, which is
//! short. (Under epochs it would keep all that is unlinked meanwhile: on a shared machine, that is
//! no bound.)

use std::cell::UnsafeCell;
use std::marker::PhantomData;

use crate::primitive::{AtomicBool, AtomicPtr, CachePadded, Ordering, fence};

/// How many pointers one thread may hold at a time: a queue's first node and the one after.
const SLOTS: usize = 2;

/// Unlinked nodes that a record collects before it looks which of them can be freed: above `SLOTS`
/// times the usual number of records, so that most of them can.
const SCAN_AT: usize =
    if cfg!(any(loom, shuttle, all(feature = "stepped", debug_assertions))) { 1 } else { 64 };

/// A node that can be unlinked while others read it.
pub trait Node {
    /// Does away with an unlinked node that no record names any more.
    ///
    /// # Safety
    /// The caller hands over the structure's own right to the node.
    unsafe fn free(this: *mut Self);
}

/// All hazard pointers to nodes of one structure, or of several.
#[derive(Debug)]
pub struct Domain<N: Node> {
    /// A list that only grows, at its head; records are used again, and freed with the domain.
    records: AtomicPtr<CachePadded<Record<N>>>,
    nodes: PhantomData<Box<N>>,
}

#[derive(Debug)]
struct Record<N> {
    slots: [AtomicPtr<N>; SLOTS],
    in_use: AtomicBool,
    /// Nodes that were unlinked under this record. Touched by the holder of `in_use` alone.
    unlinked: UnsafeCell<Vec<*mut N>>,
    next: *mut CachePadded<Record<N>>,
}

// SAFETY: nodes are freed on any thread, so `N: Send`; `unlinked` belongs to the holder of
// `in_use`, `next` is constant.
unsafe impl<N: Node + Send> Send for Domain<N> {}
// SAFETY: as above.
unsafe impl<N: Node + Send> Sync for Domain<N> {}

/// The right to use one record.
#[derive(Debug)]
pub struct Holder<'d, N: Node> {
    record: &'d CachePadded<Record<N>>,
    domain: &'d Domain<N>,
}

impl<N: Node> Domain<N> {
    const_unless_loom! {
        /// A domain without records.
        pub fn new() -> Self {
            Self { records: AtomicPtr::new(std::ptr::null_mut()), nodes: PhantomData }
        }
    }

    /// A record for this thread to use: a free one, or a new one.
    pub fn hold(&self) -> Holder<'_, N> {
        let record = self.records().find(|r| r.try_hold()).unwrap_or_else(|| self.add_record());
        Holder { record, domain: self }
    }

    fn records(&self) -> impl Iterator<Item = &CachePadded<Record<N>>> {
        // Acquire pairs with the release in `add_record`.
        let mut next = self.records.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: null, or a record, which lives as long as the domain.
            let record = unsafe { next.as_ref() }?;
            next = record.next;
            Some(record)
        })
    }

    #[cold]
    fn add_record(&self) -> &CachePadded<Record<N>> {
        let mut head = self.records.load(Ordering::Acquire);
        loop {
            let record = Box::into_raw(Box::new(CachePadded::new(Record {
                slots: std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut())),
                in_use: AtomicBool::new(true),
                unlinked: UnsafeCell::new(Vec::new()),
                next: head,
            })));
            // Release pairs with the acquire in `records`.
            match self.records.compare_exchange(head, record, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: just made; freed with the domain only.
                Ok(_) => return unsafe { &*record },
                Err(newer) => {
                    // SAFETY: made above by `Box::into_raw`, and never shown to another thread.
                    drop(unsafe { Box::from_raw(record) });
                    head = newer;
                }
            }
        }
    }
}

impl<N> Record<N> {
    fn try_hold(&self) -> bool {
        !self.in_use.load(Ordering::Relaxed)
            // Acquire pairs with the release in `Holder::drop`: `unlinked` is as the holder before
            // left it.
            && self
                .in_use
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }
}

impl<N: Node> Holder<'_, N> {
    /// Reads `source` and keeps the node it points to from being freed, until the slot is used
    /// again or the holder is dropped.
    pub fn protect(&self, slot: usize, source: &AtomicPtr<N>) -> *mut N {
        let mut node = source.load(Ordering::Acquire);
        loop {
            self.protect_raw(slot, node);
            // Acquire pairs with the release that linked the node: its contents are seen.
            let now = source.load(Ordering::Acquire);
            if now == node {
                return node;
            }
            node = now;
        }
    }

    /// Announces that the caller is about to read `node`. If the caller then sees that the node is
    /// still linked, it may read it until the slot is used again or the holder is dropped.
    pub fn protect_raw(&self, slot: usize, node: *mut N) {
        // Release: our reads of what the slot named before are over.
        self.record.slots[slot].store(node, Ordering::Release);
        // Pairs with the fence in `free_what_no_record_names`: either that sees our slot, or we see
        // that the node was unlinked before.
        fence(Ordering::SeqCst);
    }

    /// Lets go of what it holds.
    pub fn clear(&self) {
        for slot in &self.record.slots {
            // Release: our reads of the node are over before another may free it.
            slot.store(std::ptr::null_mut(), Ordering::Release);
        }
    }

    /// Frees `node` when no thread holds it any more.
    ///
    /// # Safety
    /// The caller hands over the structure's right to the node, has unlinked it, and no thread
    /// that comes now can reach it.
    pub unsafe fn retire(&self, node: *mut N) {
        // SAFETY: this record is in use by us alone.
        let unlinked = unsafe { &mut *self.record.unlinked.get() };
        unlinked.push(node);
        if unlinked.len() >= SCAN_AT {
            self.free_what_no_record_names(unlinked);
        }
    }

    fn free_what_no_record_names(&self, unlinked: &mut Vec<*mut N>) {
        // Pairs with the fence in `protect`.
        fence(Ordering::SeqCst);
        let held: Vec<*mut N> = self
            .domain
            .records()
            .flat_map(|r| r.slots.iter().map(|s| s.load(Ordering::Acquire)))
            .collect();
        unlinked.retain(|&node| {
            let free = !held.contains(&node);
            if free {
                // SAFETY: unlinked (so no new thread finds it) and in no slot (so no thread is
                // reading it). The acquire of the slots pairs with the release with which a reader
                // moved on: its reads are over.
                unsafe { N::free(node) };
            }
            !free
        });
    }
}

impl<N: Node> Drop for Holder<'_, N> {
    fn drop(&mut self) {
        self.clear();
        // Release pairs with the acquire in `try_hold`.
        self.record.in_use.store(false, Ordering::Release);
    }
}

impl<N: Node> Drop for Domain<N> {
    fn drop(&mut self) {
        let mut next = self.records.load(Ordering::Acquire);
        while !next.is_null() {
            // SAFETY: made by `Box::into_raw`; `&mut self`: no thread holds it.
            let record = unsafe { Box::from_raw(next) };
            next = record.next;
            // SAFETY: as above; no holder is left.
            for &node in unsafe { &*record.unlinked.get() } {
                // SAFETY: unlinked, and no reader is left.
                unsafe { N::free(node) };
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A node that shows that it has been freed.
    struct Counted(#[expect(dead_code, reason = "dropped with the node")] Arc<()>);

    impl Node for Counted {
        unsafe fn free(this: *mut Self) {
            // SAFETY: made by `Box::into_raw` below, and handed over.
            drop(unsafe { Box::from_raw(this) });
        }
    }

    #[test]
    fn a_node_is_kept_while_a_record_names_it_and_no_longer() {
        let nodes = Arc::new(());
        let count = || Arc::strong_count(&nodes) - 1;
        let node = || Box::into_raw(Box::new(Counted(Arc::clone(&nodes))));
        let domain = Domain::new();
        let (reader, writer) = (domain.hold(), domain.hold());
        // SAFETY: the callers hand over a node that was made here, and to which nothing leads.
        let retire = |node| unsafe { writer.retire(node) };
        let source = AtomicPtr::new(node());
        reader.protect(0, &source);
        retire(source.swap(std::ptr::null_mut(), Ordering::AcqRel));
        (1..SCAN_AT).for_each(|_| retire(node()));
        assert_eq!(count(), 1, "a scan keeps the node that the reader names");
        drop(reader);
        (0..SCAN_AT).for_each(|_| retire(node()));
        assert!(count() < SCAN_AT.min(2), "a scan frees it when the reader has gone");
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// A node that is marked instead of freed.
    struct Marked(UnsafeCell<bool>);

    // SAFETY: loom checks each access.
    unsafe impl Send for Marked {}

    impl Node for Marked {
        unsafe fn free(this: *mut Self) {
            // SAFETY: no node is freed.
            let mark = unsafe { &(*this).0 };
            // SAFETY: loom checks that the reads of other threads are over.
            mark.with_mut(|is_freed| unsafe { *is_freed = true });
        }
    }

    fn node() -> *mut Marked {
        Box::into_raw(Box::new(Marked(UnsafeCell::new(false))))
    }

    /// One thread replaces a node, and frees it. The other one reads what is there, twice.
    #[test]
    fn loom_hazard_a_node_is_freed_after_the_last_read() {
        loom::model(|| {
            let shared = Arc::new((Domain::new(), AtomicPtr::new(node())));
            // A thread that adds a record would acquire more than it needs.
            drop([shared.0.hold(), shared.0.hold()]);
            let (reader, new) = (shared.clone(), node());
            let reader = thread::spawn(move || {
                let hazards = reader.0.hold();
                for _ in 0..2 {
                    // SAFETY: no node is freed.
                    let mark = unsafe { &(*hazards.protect(0, &reader.1)).0 };
                    // SAFETY: loom checks that no other thread writes it.
                    mark.with(|is_freed| assert!(!unsafe { *is_freed }, "read after free"));
                }
            });
            let hazards = shared.0.hold();
            let old = shared.1.swap(new, Ordering::AcqRel);
            // SAFETY: unlinked just now, by this thread.
            unsafe { hazards.retire(old) };
            drop(hazards);
            reader.join().unwrap();
        });
    }
}
