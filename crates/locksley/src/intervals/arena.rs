//! Where a root's intervals lie. Their memory is taken piece by piece, and given back at once: none of them goes before its root.

use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::pool::Shared;
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

/// Lanes that belong to one worker each, as far as they suffice; and lanes for all others, of which each may be anybody's.
pub(super) const LANES: usize = 8;

/// One of the lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    /// Below [`LANES`] for both kinds.
    number: usize,
    is_own: bool,
}

impl Lane {
    /// That of the calling thread, in a root of that pool. Nobody else has the lane of a seat: one worker sits there at a time, and the next one
    /// comes after it, as its deque needs it, too.
    #[inline]
    pub(super) fn here(home: &Arc<Shared>) -> Self {
        Worker::with_current(|worker| match worker {
            None => Self { number: 0, is_own: false },
            Some(worker) if worker.belongs_to(home) => Self::of_worker(worker),
            Some(worker) => Self { is_own: false, ..Self::of_worker(worker) },
        })
    }

    /// That of a worker of the root's pool, which is the calling thread.
    #[inline]
    pub(super) fn of_worker(worker: &Worker) -> Self {
        let seat = worker.seat_index();
        Self { number: seat % LANES, is_own: seat < LANES }
    }

    pub(super) fn of<T>(self, all: &[T; LANES]) -> &T {
        &all[self.number]
    }
}

/// Memory, of which nothing is given back before all is.
#[derive(Debug)]
pub(super) struct Arena {
    /// The newest block of each worker's lane.
    own: [AtomicPtr<Block>; LANES],
    /// The newest block of each lane that may be anybody's.
    common: [AtomicPtr<Block>; LANES],
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
        let [own, common] =
            [(); 2].map(|()| std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())));
        Self { own, common }
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
        let newest = lane.of(if lane.is_own { &self.own } else { &self.common });
        // Acquire pairs with the release below: the block is seen whole.
        let mut block = newest.load(Ordering::Acquire);
        loop {
            // SAFETY: null, or made below; freed with the arena.
            let known = unsafe { block.as_ref() };
            if let Some(piece) = known.and_then(|known| known.take(units, lane.is_own)) {
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
        for lane in self.own.iter().chain(&self.common) {
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
    fn take(&self, units: usize, is_own: bool) -> Option<NonNull<Unit>> {
        let memory = self.memory();
        let length = memory.len();
        // Asked first, so that the number does not grow with each attempt.
        let is_room = |taken: usize| length.checked_sub(taken).is_some_and(|left| units <= left);
        // Relaxed: whose a piece is follows from the number alone, and nothing is handed over with it.
        let mut taken = self.taken.load(Ordering::Relaxed);
        if !is_room(taken) {
            return None;
        }
        if is_own {
            // Nobody else takes any: no addition. Who sat there before has taken what it did before this.
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

    const COMMON: Lane = Lane { number: 0, is_own: false };
    const OWN: Lane = Lane { number: 0, is_own: true };

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
    struct Aligned([u8; 200]);

    #[test]
    fn pieces_are_aligned_and_apart_whatever_their_size() {
        let arena = Arena::new();
        let mut all = Vec::new();
        for n in 0..600 {
            let lane = [COMMON, OWN][n % 2];
            all.push(placed::<[u64; 24]>(&arena, lane));
            all.push(placed::<Aligned>(&arena, lane));
            all.push(placed::<u8>(&arena, lane));
        }
        for lane in [COMMON, OWN] {
            // More than any block has, and then blocks are of the usual size again.
            all.push(placed::<[u8; 100_000]>(&arena, lane));
            all.push(placed::<[u64; 24]>(&arena, lane));
        }
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
        for (lane, lanes) in [(COMMON, &arena.common), (OWN, &arena.own)] {
            (0..10_000).for_each(|_| _ = placed::<[u64; 24]>(&arena, lane));
            let (mut blocks, mut next) = (0, lanes[0].load(Ordering::Acquire));
            // SAFETY: the blocks of the arena, which is alive.
            while let Some(block) = unsafe { next.as_ref() } {
                assert!(block.memory().len() <= MOST);
                (blocks, next) = (blocks + 1, block.older);
            }
            // 12 units each.
            assert!(blocks < 10_000 * 12 / MOST + 10, "{blocks}");
        }
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
            let common = Lane { number: 0, is_own: false };
            let take = move |arena: &Arena| arena.take(common, 1).addr().get();
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

    /// A worker's lane goes on to the next one that sits there; others cut from theirs meanwhile.
    #[test]
    fn loom_arena_a_lane_is_handed_on() {
        loom::model(|| {
            let arena = Arc::new(Arena::new());
            let take =
                |arena: &Arena, is_own| arena.take(Lane { number: 0, is_own }, 1).addr().get();
            let thread = |is_own, times| {
                let arena = Arc::clone(&arena);
                thread::spawn(move || (0..times).map(|_| take(&arena, is_own)).collect::<Vec<_>>())
            };
            let common = thread(false, 2);
            let mut all = thread(true, 3).join().unwrap();
            all.extend([take(&arena, true), take(&arena, false)]);
            all.extend(common.join().unwrap());
            all.sort_unstable();
            assert!(all.windows(2).all(|pair| pair[0] + UNIT <= pair[1]), "{all:?}");
        });
    }
}
