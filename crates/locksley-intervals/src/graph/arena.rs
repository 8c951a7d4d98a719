//! The memory of the intervals of a root: allocated piece by piece, freed all at once.

use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use locksley::Worker;
use locksley_sys::primitive::{AtomicPtr, AtomicUsize, Ordering, UnsafeCell};

/// The unit of allocation. All pieces are aligned to it.
#[repr(align(16))]
struct Unit(#[expect(dead_code, reason = "only its size matters")] [u8; UNIT]);

const UNIT: usize = 16;

/// Units in the first block of a shard. Each next block has twice as many, up to
/// [`LARGEST_BLOCK`]: some allocators request each block above 100,000 bytes from the system.
const FIRST_BLOCK: usize = if cfg!(loom) { 2 } else { 64 };
const LARGEST_BLOCK: usize = if cfg!(loom) { 2 } else { 2048 };

/// The number of shards. Few threads share one.
const SHARDS: usize = 16;

/// Memory that is freed all at once.
#[derive(Debug)]
pub(crate) struct Arena {
    /// The newest block of each shard.
    shards: [AtomicPtr<Block>; SHARDS],
}

type Memory = NonNull<[MaybeUninit<Unit>]>;

/// A block from the allocator, and the number of units taken from it.
#[derive(Debug)]
struct Block {
    /// A cell, so that loom checks that a read comes after the write.
    memory: UnsafeCell<Memory>,
    /// Larger than the block if a thread has found too few units.
    taken: AtomicUsize,
    older: *mut Block,
}

impl Arena {
    pub(crate) fn new() -> Self {
        Self { shards: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())) }
    }

    /// Allocates memory for a value. It belongs to the caller as long as the arena lives.
    #[inline]
    pub(crate) fn alloc<T>(&self) -> NonNull<T> {
        let shard = Worker::with_current(|worker| worker.map_or(0, Worker::index));
        let layout = Layout::new::<T>();
        // A larger alignment than that of a unit needs space before the value.
        let padding = layout.align().saturating_sub(UNIT);
        let piece = self.take(shard % SHARDS, (layout.size() + padding).div_ceil(UNIT));
        let aligned = piece.addr().get().next_multiple_of(layout.align());
        let aligned = piece.as_ptr().with_addr(aligned);
        NonNull::new(aligned).expect("not below the piece").cast()
    }

    #[inline]
    fn take(&self, shard: usize, units: usize) -> NonNull<Unit> {
        let newest = &self.shards[shard];
        // Acquire pairs with the release below: the block is visible as a whole.
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
                    // SAFETY: made above, and no other thread has seen it.
                    drop(unsafe { Box::from_raw(own) });
                    block = newer;
                }
            }
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for shard in &self.shards {
            let mut next = shard.load(Ordering::Acquire);
            while !next.is_null() {
                // SAFETY: made by `take`, and freed only here.
                let block = unsafe { Box::from_raw(next) };
                next = block.older;
            }
        }
    }
}

impl Block {
    /// Makes a block after `known`, from which `units` are taken.
    fn with_taken(units: usize, known: Option<&Block>, older: *mut Block) -> (Self, NonNull<Unit>) {
        let doubled = known.map_or(0, |known| 2 * known.memory().len());
        let size = doubled.clamp(FIRST_BLOCK, LARGEST_BLOCK).max(units);
        let memory: Memory = NonNull::from(Box::leak(Box::new_uninit_slice(size)));
        let taken = AtomicUsize::new(units);
        (Self { memory: UnsafeCell::new(memory), taken, older }, memory.cast())
    }

    #[inline]
    fn memory(&self) -> Memory {
        // SAFETY: never changed.
        self.memory.with(|memory| unsafe { *memory })
    }

    /// Takes adjacent units, if enough are left.
    #[inline]
    fn take(&self, units: usize) -> Option<NonNull<Unit>> {
        let memory = self.memory();
        let fits = |taken: usize| memory.len().checked_sub(taken).is_some_and(|left| units <= left);
        // The test before the addition bounds `taken`.
        // Relaxed: the piece follows from the number alone, and the addition publishes nothing.
        if !fits(self.taken.load(Ordering::Relaxed)) {
            return None;
        }
        let taken = self.taken.fetch_add(units, Ordering::Relaxed);
        // SAFETY: inside of the block.
        fits(taken).then(|| unsafe { memory.cast::<Unit>().add(taken) })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: leaked from a box by `with_taken`.
        drop(unsafe { Box::from_raw(self.memory().as_ptr()) });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Allocates and fills memory for a value; returns its begin and end.
    fn placed<T>(arena: &Arena) -> (usize, usize) {
        let memory = arena.alloc::<T>();
        // SAFETY: it has the size of a `T`.
        unsafe { memory.cast::<u8>().write_bytes(0xA5, size_of::<T>()) };
        let from = memory.addr().get();
        assert!(from % align_of::<T>() == 0);
        (from, from + size_of::<T>())
    }

    #[repr(align(128))]
    struct Aligned {
        _bytes: [u8; 200],
    }

    #[test]
    fn pieces_are_aligned_and_disjoint_and_blocks_grow() {
        let arena = Arena::new();
        let mut all = Vec::new();
        for round in 1..=2 {
            for _ in 0..10_000 {
                all.push(placed::<[u64; 24]>(&arena));
                all.push(placed::<Aligned>(&arena));
                all.push(placed::<u8>(&arena));
            }
            // Larger than any block. The next block has the usual size again.
            all.push(placed::<[u8; 100_000]>(&arena));
            all.push(placed::<[u64; 24]>(&arena));
            let (mut blocks, mut next) = (0, arena.shards[0].load(Ordering::Acquire));
            // SAFETY: the blocks of the arena, which is alive.
            while let Some(block) = unsafe { next.as_ref() } {
                (blocks, next) = (blocks + 1, block.older);
            }
            // At most 12 + 23 + 1 units each time.
            assert!(blocks < round * (10_000 * 36 / (LARGEST_BLOCK - 36) + 10), "{blocks}");
        }
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Two threads share a shard. Another thread uses its own, which the first one uses later.
    #[test]
    fn loom_arena_pieces_are_disjoint_and_blocks_are_seen_whole() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(4);
        model.check(|| {
            let arena = Arc::new(Arena::new());
            let take = |arena: &Arena, shard| arena.take(shard, 1).addr().get();
            let thread = |shard, times| {
                let arena = Arc::clone(&arena);
                thread::spawn(move || (0..times).map(|_| take(&arena, shard)).collect::<Vec<_>>())
            };
            let shared = thread(1, 2);
            let mut all = thread(0, 3).join().unwrap();
            all.extend([take(&arena, 0), take(&arena, 1), take(&arena, 1)]);
            all.extend(shared.join().unwrap());
            all.sort_unstable();
            assert!(all.windows(2).all(|pair| pair[0] + UNIT <= pair[1]), "{all:?}");
        });
    }
}
