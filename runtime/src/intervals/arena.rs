//! Where a root's intervals lie. Their memory is taken piece by piece, and given back at once: none of them goes before its root.

use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use crate::primitive::{AtomicPtr, AtomicUsize, Ordering, UnsafeCell};
use crate::worker::Worker;

/// What memory is counted in: pieces are aligned to it.
#[repr(align(16))]
struct Unit {
    _bytes: [u8; UNIT],
}

const UNIT: usize = 16;

/// Units of a lane's first block: some intervals. Each next one has twice as many, up to the most: blocks of more than a hundred
/// thousand bytes some allocators ask the system for, each time.
const FEWEST: usize = if cfg!(loom) { 2 } else { 64 };
const MOST: usize = if cfg!(loom) { 2 } else { 2048 };

/// Workers use different lanes as far as there are any. That is for speed alone: each lane may be anybody's.
pub(super) const LANES: usize = 8;

/// One of the lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane(usize);

impl Lane {
    /// That of the calling thread.
    #[inline]
    pub(super) fn here() -> Self {
        Self(Worker::with_current(|worker| worker.map_or(0, Worker::seat_index)) % LANES)
    }

    pub(super) fn of<T>(self, all: &[T; LANES]) -> &T {
        &all[self.0]
    }
}

/// Memory, of which nothing is given back before all is.
#[derive(Debug)]
pub(super) struct Arena {
    /// The newest block of each lane.
    lanes: [AtomicPtr<Block>; LANES],
}

type Memory = NonNull<[MaybeUninit<Unit>]>;

/// Memory from the allocator, and how much of it is taken.
#[derive(Debug)]
struct Block {
    /// Written when the block is made: a cell for the model checker, which sees to it that who reads it comes after that.
    memory: UnsafeCell<Memory>,
    /// In units. It may be more than there are: then somebody has found too few.
    taken: AtomicUsize,
    older: *mut Block,
}

impl Arena {
    pub(super) fn new() -> Self {
        Self { lanes: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())) }
    }

    /// Room for a value, which is nobody else's as long as the arena lives.
    #[inline]
    pub(super) fn room<T>(&self, lane: Lane) -> NonNull<T> {
        let layout = Layout::new::<T>();
        // Where units are not aligned enough, there is room for the next place that is.
        let missing = layout.align().saturating_sub(UNIT);
        let piece = self.take(lane, (layout.size() + missing).div_ceil(UNIT));
        let aligned = piece.addr().get().next_multiple_of(layout.align());
        let aligned = piece.as_ptr().with_addr(aligned);
        NonNull::new(aligned).expect("it is not below the piece").cast()
    }

    #[inline]
    fn take(&self, lane: Lane, units: usize) -> NonNull<Unit> {
        let newest = lane.of(&self.lanes);
        // Acquire pairs with the release below: the block is seen whole.
        let mut block = newest.load(Ordering::Acquire);
        loop {
            // SAFETY: null, or made below; freed with the arena.
            let known = unsafe { block.as_ref() };
            if let Some(piece) = known.and_then(|known| known.take(units)) {
                return piece;
            }
            let (own, piece) = Block::with_taken(units, known, block);
            let own = Box::into_raw(Box::new(own));
            // Release pairs with the acquire above, and in `drop`.
            match newest.compare_exchange(block, own, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return piece,
                Err(newer) => {
                    // SAFETY: made above, and not shown to anybody.
                    drop(unsafe { Box::from_raw(own) });
                    block = newer;
                }
            }
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for lane in &self.lanes {
            let mut next = lane.load(Ordering::Acquire);
            while !next.is_null() {
                // SAFETY: made by `take`, and freed here only.
                let block = unsafe { Box::from_raw(next) };
                next = block.older;
            }
        }
    }
}

impl Block {
    /// One that comes after another, and of which so many units are taken.
    fn with_taken(units: usize, known: Option<&Block>, older: *mut Block) -> (Self, NonNull<Unit>) {
        let usual = known.map_or(FEWEST, |known| (2 * known.memory().len()).clamp(FEWEST, MOST));
        let length = usual.max(units);
        let memory: Memory = NonNull::from(Box::leak(Box::new_uninit_slice(length)));
        let taken = AtomicUsize::new(units);
        (Self { memory: UnsafeCell::new(memory), taken, older }, memory.cast())
    }

    #[inline]
    fn memory(&self) -> Memory {
        // SAFETY: nobody changes it.
        self.memory.with(|memory| unsafe { *memory })
    }

    /// So many units in a row, if there are as many.
    #[inline]
    fn take(&self, units: usize) -> Option<NonNull<Unit>> {
        let memory = self.memory();
        let length = memory.len();
        // Asked first, so that the number does not grow with each attempt.
        let is_room = |taken: usize| length.checked_sub(taken).is_some_and(|left| units <= left);
        // Relaxed: whose a piece is follows from the number alone, and nothing is handed over with it.
        if !is_room(self.taken.load(Ordering::Relaxed)) {
            return None;
        }
        let taken = self.taken.fetch_add(units, Ordering::Relaxed);
        // SAFETY: inside of the block, as was just asked.
        is_room(taken).then(|| unsafe { memory.cast::<Unit>().add(taken) })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: made of a box by `with_taken`.
        drop(unsafe { Box::from_raw(self.memory().as_ptr()) });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Where a value was put, from where to where.
    fn placed<T>(arena: &Arena) -> (usize, usize) {
        let room = arena.room::<T>(Lane::here());
        // SAFETY: it is room for a `T`.
        unsafe { room.cast::<u8>().write_bytes(0xA5, size_of::<T>()) };
        let from = room.addr().get();
        assert!(from.is_multiple_of(align_of::<T>()));
        (from, from + size_of::<T>())
    }

    #[repr(align(128))]
    struct Aligned([u8; 200]);

    #[test]
    fn pieces_are_aligned_and_apart_whatever_their_size() {
        let arena = Arena::new();
        let mut all = Vec::new();
        for _ in 0..300 {
            all.push(placed::<[u64; 24]>(&arena));
            all.push(placed::<Aligned>(&arena));
            all.push(placed::<u8>(&arena));
        }
        // More than any block has, and then blocks are of the usual size again.
        all.push(placed::<[u8; 100_000]>(&arena));
        all.push(placed::<[u64; 24]>(&arena));
        all.sort_unstable();
        for pair in all.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "{pair:?}");
        }
        assert_eq!(size_of::<Aligned>(), 256);
        let _ = Aligned([0; 200]).0;
    }

    #[test]
    fn blocks_grow_so_that_few_are_asked_for() {
        let arena = Arena::new();
        (0..10_000).for_each(|_| _ = placed::<[u64; 24]>(&arena));
        let (mut blocks, mut next) = (0, arena.lanes[0].load(Ordering::Acquire));
        // SAFETY: the blocks of the arena, which is alive.
        while let Some(block) = unsafe { next.as_ref() } {
            assert!(block.memory().len() <= MOST);
            (blocks, next) = (blocks + 1, block.older);
        }
        // 12 units each.
        assert!(blocks < 10_000 * 12 / MOST + 10, "{blocks}");
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    #[test]
    fn loom_arena_pieces_are_taken_once_and_blocks_are_seen_whole() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(4);
        model.check(|| {
            let arena = Arc::new(Arena::new());
            let take = |arena: &Arena| arena.take(Lane::here(), 1).addr().get();
            let first = take(&arena);
            let others: Vec<_> = (0..2)
                .map(|_| {
                    let arena = Arc::clone(&arena);
                    thread::spawn(move || [take(&arena), take(&arena)])
                })
                .collect();
            let mut all = vec![first];
            all.extend(others.into_iter().flat_map(|other| other.join().unwrap()));
            all.sort_unstable();
            assert!(all.windows(2).all(|pair| pair[0] + UNIT <= pair[1]), "{all:?}");
        });
    }
}
