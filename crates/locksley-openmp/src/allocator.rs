//! Allocators with traits: alignment, the size of a pool, and what happens when it is exhausted.
//!
//! All memory spaces are the system's memory. A header lies before each block.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `omp_default_mem_alloc`.
pub(crate) const DEFAULT: usize = 1;
/// The last of the predefined allocators, LLVM's own ones included.
const LAST_PREDEFINED: usize = 102;

/// True for a memory space of libgomp's, or LLVM's.
fn is_space(handle: usize) -> bool {
    matches!(handle, 0..=4 | 99..=102)
}

/// True if the handle is that of an allocator which the program has made.
pub(crate) fn is_custom(handle: usize) -> bool {
    handle > LAST_PREDEFINED
}

/// `omp_alloctrait_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Trait {
    key: u32,
    value: usize,
}

/// An allocator that the program has made. Its address is the handle.
#[derive(Debug)]
pub(crate) struct Allocator {
    align: usize,
    pool_size: usize,
    used: AtomicUsize,
    fallback: usize,
    fallback_allocator: usize,
}

// Keys and values of `omp.h`.
const SYNC_HINT: u32 = 1;
const ALIGNMENT: u32 = 2;
const ACCESS: u32 = 3;
const POOL_SIZE: u32 = 4;
const FALLBACK: u32 = 5;
const FALLBACK_DATA: u32 = 6;
const PINNED: u32 = 7;
const PARTITION: u32 = 8;
const IS_DEFAULT: usize = usize::MAX;
const DEFAULT_FALLBACK: usize = 11;
const NULL_FALLBACK: usize = 12;
const ABORT_FALLBACK: usize = 13;
const ALLOCATOR_FALLBACK: usize = 14;

impl Allocator {
    /// `None` if a trait makes no sense or cannot be had.
    pub(crate) fn new(space: usize, traits: &[Trait]) -> Option<Self> {
        let mut new = Self {
            align: 1,
            pool_size: usize::MAX,
            used: AtomicUsize::new(0),
            fallback: DEFAULT_FALLBACK,
            fallback_allocator: 0,
        };
        if !is_space(space) {
            return None;
        }
        for &Trait { key, value } in traits {
            match (key, value) {
                (ALIGNMENT, IS_DEFAULT) => new.align = 1,
                (ALIGNMENT, _) if value.is_power_of_two() => new.align = value,
                (POOL_SIZE, _) => new.pool_size = value,
                (FALLBACK, IS_DEFAULT) => new.fallback = DEFAULT_FALLBACK,
                (FALLBACK, DEFAULT_FALLBACK..=ALLOCATOR_FALLBACK) => new.fallback = value,
                (FALLBACK_DATA, _) => new.fallback_allocator = value,
                // Memory is not pinned.
                (PINNED, IS_DEFAULT | 0) => (),
                (SYNC_HINT, IS_DEFAULT | 3..=6) => (),
                (ACCESS, IS_DEFAULT | 7..=10) => (),
                (PARTITION, IS_DEFAULT | 15..=18) => (),
                _ => return None,
            }
        }
        Some(new)
    }

    /// Takes bytes from the pool, if it has so many.
    fn take(&self, size: usize) -> bool {
        // Relaxed: it orders nothing.
        let take = |used: usize| used.checked_add(size).filter(|&it| it <= self.pool_size);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

/// Why there is no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Null,
    /// The allocator's trait says that the program is to end.
    Abort,
}

/// What lies before a block.
#[derive(Clone, Copy, Debug)]
struct Header {
    start: *mut u8,
    layout: Layout,
    size: usize,
    handle: usize,
    is_pooled: bool,
}

fn custom<'a>(handle: usize) -> Option<&'a Allocator> {
    // SAFETY: the program's handle, from `Allocator::new`.
    is_custom(handle).then(|| unsafe { &*(handle as *const Allocator) })
}

/// Allocates memory. A size of 0 gives null.
pub(crate) fn allocate(
    handle: usize,
    size: usize,
    align: usize,
    is_zeroed: bool,
) -> Result<*mut u8, Failure> {
    if size == 0 {
        return Err(Failure::Null);
    }
    let Some(allocator) = custom(handle) else {
        return block(handle, size, align, is_zeroed).ok_or(Failure::Null);
    };
    if let Some(memory) = block(handle, size, align.max(allocator.align), is_zeroed) {
        return Ok(memory);
    }
    match allocator.fallback {
        NULL_FALLBACK => Err(Failure::Null),
        ABORT_FALLBACK => Err(Failure::Abort),
        ALLOCATOR_FALLBACK => allocate(allocator.fallback_allocator, size, align, is_zeroed),
        _ => block(DEFAULT, size, align, is_zeroed).ok_or(Failure::Null),
    }
}

fn block(handle: usize, size: usize, align: usize, is_zeroed: bool) -> Option<*mut u8> {
    let align = align.max(align_of::<Header>()).max(16);
    let offset = size_of::<Header>().next_multiple_of(align);
    let layout = Layout::from_size_align(size.checked_add(offset)?, align).ok()?;
    // The pool counts what the program could use, and what alignment costs.
    let allocator = custom(handle);
    if allocator.is_some_and(|it| !it.take(layout.size())) {
        return None;
    }
    let allocate = if is_zeroed { alloc_zeroed } else { alloc };
    // SAFETY: the size is not 0.
    let start = unsafe { allocate(layout) };
    if start.is_null() {
        if let Some(allocator) = allocator {
            allocator.used.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        return None;
    }
    // SAFETY: the block has `offset` bytes before the program's.
    let memory = unsafe { start.add(offset) };
    // SAFETY: the header fits before the program's bytes, and is aligned as they are.
    unsafe { header_of(memory).write(Header { start, layout, size, handle, is_pooled: true }) };
    Some(memory)
}

fn header_of(memory: *mut u8) -> *mut Header {
    memory.wrapping_sub(size_of::<Header>()).cast()
}

/// The size of a block, and its allocator's handle.
///
/// # Safety
/// The block is from [`allocate`].
pub(crate) unsafe fn size_and_allocator(memory: *mut u8) -> (usize, usize) {
    // SAFETY: as the caller promises.
    let header = unsafe { header_of(memory).read() };
    (header.size, header.handle)
}

/// Has a block leave its pool, or enter it again, so that a larger one may take its place.
///
/// # Safety
/// The block is from [`allocate`].
pub(crate) unsafe fn set_pooled(memory: *mut u8, is_pooled: bool) {
    let place = header_of(memory);
    // SAFETY: as the caller promises.
    let header = unsafe { place.read() };
    if let Some(allocator) = custom(header.handle) {
        let size = header.layout.size();
        if is_pooled {
            allocator.used.fetch_add(size, Ordering::Relaxed);
        } else {
            allocator.used.fetch_sub(size, Ordering::Relaxed);
        }
    }
    // SAFETY: as the caller promises.
    unsafe { place.write(Header { is_pooled, ..header }) };
}

/// Frees a block. Null is none.
///
/// # Safety
/// The block is from [`allocate`], and is freed once.
pub(crate) unsafe fn free(memory: *mut u8) {
    if ptr::eq(memory, ptr::null()) {
        return;
    }
    // SAFETY: as the caller promises.
    let header = unsafe { header_of(memory).read() };
    if let Some(allocator) = custom(header.handle).filter(|_| header.is_pooled) {
        allocator.used.fetch_sub(header.layout.size(), Ordering::Relaxed);
    }
    // SAFETY: allocated with this layout.
    unsafe { dealloc(header.start, header.layout) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits(list: &[(u32, usize)]) -> Vec<Trait> {
        list.iter().map(|&(key, value)| Trait { key, value }).collect()
    }

    #[test]
    fn a_pool_is_exhausted_and_refilled() {
        let fallback = (FALLBACK, NULL_FALLBACK);
        let allocator = Allocator::new(0, &traits(&[(POOL_SIZE, 1024), fallback])).unwrap();
        let handle = ptr::from_ref(&allocator) as usize;
        let first = allocate(handle, 800, 64, true).unwrap();
        assert_eq!(first.align_offset(64), 0);
        assert_eq!(allocate(handle, 800, 1, false), Err(Failure::Null));
        // SAFETY: allocated above.
        unsafe { free(first) };
        let again = allocate(handle, 800, 1, false).unwrap();
        // SAFETY: allocated above.
        assert_eq!(unsafe { size_and_allocator(again) }, (800, handle));
        // SAFETY: allocated above.
        unsafe { free(again) };
    }

    #[test]
    fn senseless_traits_make_no_allocator() {
        for (key, value) in [(ALIGNMENT, 3), (FALLBACK, 1), (99, 0), (PINNED, 1)] {
            assert!(Allocator::new(0, &traits(&[(key, value)])).is_none(), "{key}");
        }
        assert!(Allocator::new(9, &[]).is_none());
        assert!(Allocator::new(99, &[]).is_some());
    }
}
