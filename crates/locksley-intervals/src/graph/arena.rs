//! Where a root's intervals lie. Their memory is taken piece by piece, and freed all at once.

use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use locksley::Worker;
use locksley::extend::{Home, WorkerExt as _};
use locksley_sys::primitive::{AtomicPtr, AtomicUsize, Ordering, UnsafeCell};

/// What memory is counted in: pieces are aligned to it.
#[repr(align(16))]
struct Unit {
    _bytes: [u8; UNIT],
}

const UNIT: usize = 16;

/// Units of a lane's first block. Each next block has twice as many, up to [`MOST`]: some
/// allocators ask the system for each block of more than a hundred thousand bytes.
const FEWEST: usize = if cfg!(loom) { 2 } else { 64 };
const MOST: usize = if cfg!(loom) { 2 } else { 2048 };

/// How many lanes there are. Each of the first [`OWN`] belongs to one worker of the root's pool;
/// the rest are shared by all other threads.
pub(crate) const LANES: usize = 2 * OWN;
const OWN: usize = 8;

/// The number of a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane(usize);

impl Lane {
    /// The calling thread's, in a root of that pool.
    #[inline]
    pub(crate) fn here(home: &Home) -> Self {
        Worker::with_current(|worker| match worker {
            None => Self(OWN),
            Some(worker) if home.is_of(worker) => Self::of_worker(worker),
            Some(worker) => Self(OWN + worker.slot() % OWN),
        })
    }

    /// The one of a worker of the root's pool, which is the calling thread. One worker at a time
    /// has a slot, and the next one comes after it.
    #[inline]
    pub(crate) fn of_worker(worker: &Worker) -> Self {
        let slot = worker.slot();
        Self(if slot < OWN { slot } else { OWN + slot % OWN })
    }

    pub(crate) fn of<T>(self, all: &[T; LANES]) -> &T {
        &all[self.0]
    }
}

/// Memory that is freed all at once.
#[derive(Debug)]
pub(crate) struct Arena {
    /// The newest block of each lane.
    lanes: [AtomicPtr<Block>; LANES],
}

type Memory = NonNull<[MaybeUninit<Unit>]>;

/// Memory from the allocator, and how much of it is taken.
#[derive(Debug)]
struct Block {
    /// A cell for the model checker, which checks that it is read after it was written.
    memory: UnsafeCell<Memory>,
    /// In units. More than there are, if a thread has found too few.
    taken: AtomicUsize,
    older: *mut Block,
}

impl Arena {
    pub(crate) fn new() -> Self {
        Self { lanes: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())) }
    }

    /// Room for a value, of the caller alone as long as the arena lives.
    #[inline]
    pub(crate) fn room<T>(&self, lane: Lane) -> NonNull<T> {
        let layout = Layout::new::<T>();
        // Where units are not aligned enough, there is room up to the next place that is.
        let missing = layout.align().saturating_sub(UNIT);
        let piece = self.take(lane, (layout.size() + missing).div_ceil(UNIT));
        let aligned = piece.addr().get().next_multiple_of(layout.align());
        let aligned = piece.as_ptr().with_addr(aligned);
        NonNull::new(aligned).expect("it is not below the piece").cast()
    }

    #[inline]
    fn take(&self, lane: Lane, units: usize) -> NonNull<Unit> {
        let newest = lane.of(&self.lanes);
        // Acquire pairs with the release below: the block is visible as a whole.
        let mut block = newest.load(Ordering::Acquire);
        loop {
            // SAFETY: null, or made below; freed with the arena.
            let known = unsafe { block.as_ref() };
            if let Some(piece) = known.and_then(|known| known.take(units, lane.0 < OWN)) {
                return piece;
            }
            let (own, piece) = Block::with_taken(units, known, block);
            let own = Box::into_raw(Box::new(own));
            // Release pairs with the acquire above, and in `drop`.
            match newest.compare_exchange(block, own, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return piece,
                Err(newer) => {
                    // SAFETY: made above, and seen by no other thread.
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
        let memory: Memory = NonNull::from(Box::leak(Box::new_uninit_slice(usual.max(units))));
        let taken = AtomicUsize::new(units);
        (Self { memory: UnsafeCell::new(memory), taken, older }, memory.cast())
    }

    #[inline]
    fn memory(&self) -> Memory {
        // SAFETY: it is never changed.
        self.memory.with(|memory| unsafe { *memory })
    }

    /// So many units in a row, if there are as many. `is_own`: no other thread takes any.
    #[inline]
    fn take(&self, units: usize, is_own: bool) -> Option<NonNull<Unit>> {
        let memory = self.memory();
        let is_room =
            |taken: usize| memory.len().checked_sub(taken).is_some_and(|left| units <= left);
        // Relaxed: which piece it is follows from the number alone, and nothing is handed over.
        let mut taken = self.taken.load(Ordering::Relaxed);
        // Before the addition, so that the number does not grow with each attempt.
        if !is_room(taken) {
            return None;
        }
        if is_own {
            self.taken.store(taken + units, Ordering::Relaxed);
        } else {
            taken = self.taken.fetch_add(units, Ordering::Relaxed);
            if !is_room(taken) {
                return None;
            }
        }
        // SAFETY: inside of the block, as was just asked.
        Some(unsafe { memory.cast::<Unit>().add(taken) })
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
    fn placed<T>(arena: &Arena, lane: Lane) -> (usize, usize) {
        let room = arena.room::<T>(lane);
        // SAFETY: it is room for a `T`.
        unsafe { room.cast::<u8>().write_bytes(0xA5, size_of::<T>()) };
        let from = room.addr().get();
        assert!(from.is_multiple_of(align_of::<T>()));
        (from, from + size_of::<T>())
    }

    #[repr(align(128))]
    struct Aligned {
        _bytes: [u8; 200],
    }

    #[test]
    fn pieces_are_aligned_and_apart_and_blocks_grow() {
        let arena = Arena::new();
        let mut all = Vec::new();
        for lane in [Lane(0), Lane(OWN)] {
            for _ in 0..10_000 {
                all.push(placed::<[u64; 24]>(&arena, lane));
                all.push(placed::<Aligned>(&arena, lane));
                all.push(placed::<u8>(&arena, lane));
            }
            // More than any block has, and then blocks are of the usual size again.
            all.push(placed::<[u8; 100_000]>(&arena, lane));
            all.push(placed::<[u64; 24]>(&arena, lane));
            let (mut blocks, mut next) = (0, arena.lanes[lane.0].load(Ordering::Acquire));
            // SAFETY: the blocks of the arena, which is alive.
            while let Some(block) = unsafe { next.as_ref() } {
                (blocks, next) = (blocks + 1, block.older);
            }
            // At most 12 + 23 + 1 units each time.
            assert!(blocks < 10_000 * 36 / (MOST - 36) + 10, "{blocks}");
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

    /// Two threads share a lane. Another lane is its worker's own, and is handed on to the next
    /// one.
    #[test]
    fn loom_arena_pieces_are_apart_and_blocks_are_seen_whole() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(4);
        model.check(|| {
            let arena = Arc::new(Arena::new());
            let take = |arena: &Arena, lane| arena.take(Lane(lane), 1).addr().get();
            let thread = |lane, times| {
                let arena = Arc::clone(&arena);
                thread::spawn(move || (0..times).map(|_| take(&arena, lane)).collect::<Vec<_>>())
            };
            let shared = thread(OWN, 2);
            let mut all = thread(0, 3).join().unwrap();
            all.extend([take(&arena, 0), take(&arena, OWN), take(&arena, OWN)]);
            all.extend(shared.join().unwrap());
            all.sort_unstable();
            assert!(all.windows(2).all(|pair| pair[0] + UNIT <= pair[1]), "{all:?}");
        });
    }
}
