//! Memory of the programs that run on the machine: heaps of virtual threads, and their stacks.
//!
//! What shares a cache line follows from addresses. The allocator of the host serves all virtual
//! threads from one thread's cache, so that blocks of different virtual threads would share lines.
//! Here each virtual thread allocates from chunks of its own, as in allocators with caches for
//! threads. The region starts at one address in each process, where it is free.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::ptr;
use std::sync::OnceLock;

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};

/// Wanted as the first address of the region.
const PREFERRED: usize = 0x2000_0000_0000;
/// Address space of heaps, and of stacks.
const HEAP: usize = 1 << 34;
const STACKS: usize = 1 << 34;
/// The size of a heap's chunk: heaps of two threads share no page.
const CHUNK: usize = 64 << 10;
/// Blocks up to this size have classes of 16 bytes each; larger ones, powers of two.
const SMALL: usize = 1 << 10;
const SMALL_CLASSES: usize = SMALL / 16 + 1;
const CLASSES: usize = SMALL_CLASSES + 48;
const PAGE: usize = 4096;
/// The bases of stacks differ by up to this, so that stacks do not compete for the same few sets
/// of the host's caches.
const COLOURS: usize = 16 << 10;
/// The least stack, and the stack of a thread that does not ask for another size.
const STACK: usize = 256 << 10;

/// The address of the reserved region, or an error of the host. Pages come when touched.
fn region() -> Result<usize, rustix::io::Errno> {
    static REGION: OnceLock<Result<usize, rustix::io::Errno>> = OnceLock::new();
    *REGION.get_or_init(|| {
        let map = |at: usize, flags| {
            // SAFETY: a new mapping, which replaces no other one.
            unsafe {
                rustix::mm::mmap_anonymous(
                    ptr::without_provenance_mut(at),
                    HEAP + STACKS,
                    ProtFlags::READ | ProtFlags::WRITE,
                    flags | MapFlags::PRIVATE | MapFlags::NORESERVE,
                )
            }
        };
        let fixed = map(PREFERRED, FIXED);
        Ok(fixed.or_else(|_| map(0, MapFlags::empty()))?.expose_provenance())
    })
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const FIXED: MapFlags = MapFlags::FIXED_NOREPLACE;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const FIXED: MapFlags = MapFlags::empty();

/// What a virtual thread allocates from: its chunk, and blocks that it has freed.
pub(crate) struct Heap {
    next: usize,
    end: usize,
    free: [*mut u8; CLASSES],
}

impl Default for Heap {
    fn default() -> Self {
        Self { next: 0, end: 0, free: [ptr::null_mut(); CLASSES] }
    }
}

thread_local! {
    /// The heap of the virtual thread whose code runs, or null: then memory is the host's.
    static ACTIVE: Cell<*mut Heap> = const { Cell::new(ptr::null_mut()) };
}

/// Where the next chunk begins, in the region. Addresses are used once: statics and results of a
/// run may refer to its memory for as long as the process lives.
static NEXT_CHUNK: std::sync::Mutex<usize> = std::sync::Mutex::new(0);

/// Makes a heap the one that the code of this host thread allocates from. Null is the host's.
pub(crate) fn activate(heap: *mut Heap) {
    ACTIVE.set(heap);
}

/// Runs `code` of the machine itself, whose memory is the host's.
#[inline]
pub(crate) fn outside<T>(code: impl FnOnce() -> T) -> T {
    struct Restore(*mut Heap);
    impl Drop for Restore {
        fn drop(&mut self) {
            ACTIVE.set(self.0);
        }
    }
    let _restore = Restore(ACTIVE.replace(ptr::null_mut()));
    code()
}

/// The class of a block, and the size that blocks of this class have.
fn class(layout: Layout) -> (usize, usize) {
    if layout.size() <= SMALL && layout.align() <= 16 {
        let class = layout.size().div_ceil(16).max(1);
        (class, class * 16)
    } else {
        let size = layout.size().max(layout.align()).next_power_of_two();
        (SMALL_CLASSES + size.trailing_zeros() as usize, size)
    }
}

/// Address space for a chunk of at least `size` bytes, or `None` if there is no more.
fn new_chunk(size: usize) -> Option<(usize, usize)> {
    let base = region().ok()?;
    let mut next = NEXT_CHUNK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let size = CHUNK.max(size.checked_next_multiple_of(PAGE)?);
    let end = next.checked_add(size).filter(|&end| end <= HEAP)?;
    let start = std::mem::replace(&mut *next, end);
    Some((base + start, base + end))
}

impl Heap {
    fn alloc(&mut self, layout: Layout) -> *mut u8 {
        if layout.size() > HEAP || layout.align() > HEAP {
            return ptr::null_mut();
        }
        if layout.align() > PAGE {
            // Other blocks of its class are not aligned so. Its chunk is not used again.
            let Some((start, _)) = new_chunk(layout.size() + layout.align()) else {
                return ptr::null_mut();
            };
            let start = start.next_multiple_of(layout.align());
            return ptr::with_exposed_provenance_mut(start);
        }
        let (class, size) = class(layout);
        let block = self.free[class];
        if !block.is_null() {
            // SAFETY: a free block begins with the address of the next one.
            self.free[class] = unsafe { block.cast::<*mut u8>().read() };
            return block;
        }
        let align = if class >= SMALL_CLASSES { size.min(PAGE) } else { 16 };
        let mut at = self.next.next_multiple_of(align);
        if at + size > self.end {
            let Some((start, end)) = new_chunk(size) else { return ptr::null_mut() };
            if size > CHUNK / 2 {
                // A chunk of its own: what is left of the present one stays in use.
                return ptr::with_exposed_provenance_mut(start);
            }
            (at, self.end) = (start, end);
        }
        self.next = at + size;
        ptr::with_exposed_provenance_mut(at)
    }
}

/// Gives each virtual thread a heap of its own.
///
/// Use it as the global allocator of programs that run on the machine. Without it, blocks that
/// different virtual threads allocate share cache lines more often than in a real program.
///
/// Memory that is freed after the run has ended is not used again, nor are stacks of threads that
/// had not ended. Each thread takes 64 KiB of address space, of 16 GiB: a process can run some
/// hundred thousand threads.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: manycore::Allocator = manycore::Allocator;
/// # fn main() {}
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

// SAFETY: blocks of the region belong to one owner at a time, and all others are the system's.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let heap = ACTIVE.get();
        if heap.is_null() {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        }
        // SAFETY: an active heap is that of the thread whose code runs, here.
        let heap = unsafe { &mut *heap };
        heap.alloc(layout)
    }

    // The table of lines is large and mostly untouched: the host's kernel provides its zeros.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if ACTIVE.get().is_null() {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: the caller's promise.
        let block = unsafe { self.alloc(layout) };
        if !block.is_null() {
            // SAFETY: the block is as large as the layout.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !is_inside(block.addr()) {
            // SAFETY: the block came from the system.
            return unsafe { System.dealloc(block, layout) };
        }
        let heap = ACTIVE.get();
        if heap.is_null() || layout.align() > PAGE {
            return; // not used again
        }
        // SAFETY: as above.
        let heap = unsafe { &mut *heap };
        let class = class(layout).0;
        // SAFETY: a block has at least 16 bytes, and no owner any more.
        unsafe { block.cast::<*mut u8>().write(heap.free[class]) };
        heap.free[class] = block;
    }
}

fn is_inside(address: usize) -> bool {
    matches!(region(), Ok(base) if (base..base + HEAP).contains(&address))
}

/// The stack of a virtual thread, with a guard page at its end. It is used again when dropped.
pub(crate) struct Stack {
    low: usize,
    size: usize,
    base: usize,
}

thread_local! {
    /// The low addresses and sizes of stacks that can be used again.
    static FREE_STACKS: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
}

static NEXT_STACK: std::sync::Mutex<usize> = std::sync::Mutex::new(0);

impl Stack {
    /// A stack of at least `bytes`. The base depends on `number`, which says nothing else. `None`
    /// if there is no address space left, or the host refuses it.
    pub(crate) fn new(bytes: usize, number: usize) -> Option<Self> {
        let bytes = bytes.max(STACK).checked_next_multiple_of(STACK)?;
        let size = bytes.checked_add(COLOURS + PAGE)?;
        let region = region().ok()?;
        let low = FREE_STACKS.with_borrow_mut(|stacks| {
            if let Some(at) = stacks.iter().rposition(|&(_, free)| free == size) {
                return Some(stacks.swap_remove(at).0);
            }
            let mut next = NEXT_STACK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let end = next.checked_add(size).filter(|&end| end <= STACKS)?;
            let low = region + HEAP + std::mem::replace(&mut *next, end);
            let guard = ptr::with_exposed_provenance_mut(low);
            // SAFETY: the page is of this stack alone, and was never used.
            unsafe { rustix::mm::mprotect(guard, PAGE, MprotectFlags::empty()) }.ok()?;
            Some(low)
        })?;
        Some(Self { low, size, base: low + size - number.wrapping_mul(320) % COLOURS })
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let start = ptr::with_exposed_provenance_mut(self.low + PAGE);
        // SAFETY: no code runs on the stack any more, and the range is its own.
        let _ = unsafe { rustix::mm::madvise(start, self.size - PAGE, Advice::LinuxDontNeed) };
        let _ = FREE_STACKS.try_with(|stacks| stacks.borrow_mut().push((self.low, self.size)));
    }
}

// SAFETY: the range is the stack's own, aligned, and ends with a guard page.
unsafe impl corosensei::stack::Stack for Stack {
    fn base(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.base).expect("the region is not at address 0")
    }

    fn limit(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.low).expect("the region is not at address 0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_disjoint_and_used_again() {
        let mut heap = Heap::default();
        let mut blocks = Vec::new();
        for size in [1, 16, 17, 100, 1024, 1025, 5000, 40_000, 200_000] {
            for align in [1, 8, 16, 64, 4096] {
                let layout = Layout::from_size_align(size, align).unwrap();
                let block = heap.alloc(layout).addr();
                assert_eq!(block % align, 0, "{layout:?}");
                blocks.push((block, block + size));
            }
        }
        blocks.sort_unstable();
        assert!(blocks.windows(2).all(|two| two[0].1 <= two[1].0));
        assert!(blocks.iter().all(|block| is_inside(block.0)));
        for align in [8192, 1 << 15] {
            let large = heap.alloc(Layout::from_size_align(8, align).unwrap()).addr();
            assert!(large > 0 && large.is_multiple_of(align));
        }
        assert!(heap.alloc(Layout::from_size_align(1 << 48, 8).unwrap()).is_null());

        let layout = Layout::new::<[u64; 4]>();
        let mut other = Heap::default();
        let first = other.alloc(layout);
        activate(&raw mut other);
        // SAFETY: it has this layout, and is not used below.
        unsafe { Allocator.dealloc(first, layout) };
        activate(ptr::null_mut());
        assert_eq!(other.alloc(layout), first);
    }

    #[test]
    fn heaps_share_no_page() {
        let (mut a, mut b) = (Heap::default(), Heap::default());
        let page = |heap: &mut Heap| heap.alloc(Layout::new::<u64>()).addr() / PAGE;
        assert_ne!(page(&mut a), page(&mut b));
    }

    #[test]
    fn stacks_have_the_size_that_was_asked_for_and_are_used_again() {
        use corosensei::stack::Stack as _;
        let stack = Stack::new(1 << 20, 3).unwrap();
        assert!(stack.base().get() - stack.limit().get() >= (1 << 20) + PAGE);
        let low = stack.low;
        drop(stack);
        assert_eq!(Stack::new(1 << 20, 3).unwrap().low, low);
        assert!(Stack::new(usize::MAX, 0).is_none());
    }
}
