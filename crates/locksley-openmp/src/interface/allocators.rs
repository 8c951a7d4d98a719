//! Allocators (OpenMP 5.0, section 3.7).

use std::ffi::{c_int, c_void};
use std::ptr;

use super::read;
use crate::allocator::{self, Allocator, Failure, Trait};
use crate::messages::fatal;
use crate::team::with_task;

/// The allocator that a handle stands for. 0 stands for the calling task's default.
fn resolve(handle: usize) -> usize {
    if handle == 0 { with_task(|it| it.icvs()).allocator } else { handle }
}

pub(super) fn allocate(handle: usize, size: usize, align: usize, is_zeroed: bool) -> *mut c_void {
    match allocator::allocate(resolve(handle), size, align, is_zeroed) {
        Ok(memory) => memory.cast(),
        Err(Failure::Null) => ptr::null_mut(),
        Err(Failure::Abort) => fatal(&format!("Out of memory allocating {size} bytes")),
    }
}

/// Allocates memory with the default allocator.
pub(super) fn allocate_plain(size: usize) -> *mut c_void {
    allocate(allocator::DEFAULT, size, 1, false)
}

/// Frees memory of any allocator.
pub(super) fn free(memory: *mut c_void) {
    // SAFETY: the program got it from a function here, and frees it once.
    unsafe { allocator::free(memory.cast()) };
}

fn calloc(handle: usize, align: usize, count: usize, size: usize) -> *mut c_void {
    count.checked_mul(size).map_or(ptr::null_mut(), |all| allocate(handle, all, align, true))
}

fn realloc(memory: *mut c_void, size: usize, handle: usize, old_handle: usize) -> *mut c_void {
    if memory.is_null() {
        return allocate(handle, size, 1, false);
    }
    if size == 0 {
        free(memory);
        return ptr::null_mut();
    }
    // SAFETY: the program got it from a function here.
    let (old_size, old_allocator) = unsafe { allocator::size_and_allocator(memory.cast()) };
    let handle = match (handle, old_handle) {
        (0, 0) => old_allocator,
        (0, old) => old,
        (handle, _) => handle,
    };
    // SAFETY: as above.
    unsafe { allocator::set_pooled(memory.cast(), false) };
    let new = allocate(handle, size, 1, false);
    if new.is_null() {
        // SAFETY: as above.
        unsafe { allocator::set_pooled(memory.cast(), true) };
    } else {
        // SAFETY: both have that many bytes, and the new ones are not the old ones.
        unsafe { ptr::copy_nonoverlapping(memory.cast::<u8>(), new.cast(), size.min(old_size)) };
        free(memory);
    }
    new
}

pub(super) fn init(space: usize, count: i64, traits: *const Trait) -> usize {
    let count = usize::try_from(count).unwrap_or(0);
    let traits = if count == 0 {
        &[]
    } else {
        // SAFETY: the program's list of that length.
        unsafe { std::slice::from_raw_parts(traits, count) }
    };
    Allocator::new(space, traits).map_or(0, |it| Box::into_raw(Box::new(it)) as usize)
}

pub(super) fn destroy(handle: usize) {
    if allocator::is_custom(handle) {
        // SAFETY: from `init`, and the program no longer uses it.
        drop(unsafe { Box::from_raw(handle as *mut Allocator) });
    }
}

fn set_default(handle: usize) {
    let handle = if handle == 0 { allocator::DEFAULT } else { handle };
    with_task(|it| it.change_icvs(|it| it.allocator = handle));
}

export! {
    omp_alloc(size: usize, handle: usize) -> *mut c_void {
        allocate(handle, size, 1, false)
    }

    omp_aligned_alloc(align: usize, size: usize, handle: usize) -> *mut c_void {
        allocate(handle, size, align, false)
    }

    omp_calloc(count: usize, size: usize, handle: usize) -> *mut c_void {
        calloc(handle, 1, count, size)
    }

    omp_aligned_calloc(align: usize, count: usize, size: usize, handle: usize) -> *mut c_void {
        calloc(handle, align, count, size)
    }

    omp_realloc(
        memory: *mut c_void, size: usize, handle: usize, old_handle: usize,
    ) -> *mut c_void {
        realloc(memory, size, handle, old_handle)
    }

    omp_free GOMP_free(memory: *mut c_void) -> () {
        free(memory);
    }

    GOMP_alloc(align: usize, size: usize, handle: usize) -> *mut c_void {
        let memory = allocate(handle, size, align, false);
        if memory.is_null() && size > 0 {
            fatal(&format!("Out of memory allocating {size} bytes"));
        }
        memory
    }

    omp_init_allocator(space: usize, count: c_int, traits: *const Trait) -> usize {
        init(space, i64::from(count), traits)
    }

    omp_init_allocator_(space: *const usize, count: *const i32, traits: *const Trait) -> usize {
        init(read(space), i64::from(read(count)), traits)
    }

    omp_init_allocator_8_(space: *const usize, count: *const i64, traits: *const Trait) -> usize {
        init(read(space), read(count), traits)
    }

    omp_destroy_allocator(handle: usize) -> () {
        destroy(handle);
    }

    omp_destroy_allocator_(handle: *const usize) -> () {
        destroy(read(handle));
    }

    omp_set_default_allocator(handle: usize) -> () {
        set_default(handle);
    }

    omp_set_default_allocator_(handle: *const usize) -> () {
        set_default(read(handle));
    }

    omp_get_default_allocator omp_get_default_allocator_() -> usize {
        with_task(|it| it.icvs()).allocator
    }
}
