//! Devices: there is none but the host.

use std::ffi::{c_int, c_void};
use std::{ptr, slice};

use rustix::io::Errno;

const HOST: c_int = 0;

fn is_host(device: c_int) -> bool {
    device == HOST || device == -1
}

fn error(errno: Errno) -> c_int {
    errno.raw_os_error()
}

/// Copies a box of elements between two arrays with any number of dimensions.
///
/// # Safety
/// The arrays have these dimensions, and the box lies within both.
unsafe fn copy_box(
    (to, from): (*mut u8, *const u8),
    element: usize,
    volume: &[usize],
    (to_offsets, from_offsets): (&[usize], &[usize]),
    (to_sizes, from_sizes): (&[usize], &[usize]),
) {
    let Some((&count, inner_volume)) = volume.split_first() else { return };
    let stride = |sizes: &[usize]| sizes[1..].iter().product::<usize>() * element;
    let (to_stride, from_stride) = (stride(to_sizes), stride(from_sizes));
    for row in 0..count {
        let to = to.wrapping_add((to_offsets[0] + row) * to_stride);
        let from = from.wrapping_add((from_offsets[0] + row) * from_stride);
        if inner_volume.is_empty() {
            // SAFETY: as the caller promises.
            unsafe { ptr::copy(from, to, element) };
        } else {
            let offsets = (&to_offsets[1..], &from_offsets[1..]);
            let sizes = (&to_sizes[1..], &from_sizes[1..]);
            // SAFETY: as the caller promises, for each row of the outermost dimension.
            unsafe { copy_box((to, from), element, inner_volume, offsets, sizes) };
        }
    }
}

export! {
    omp_get_num_devices omp_get_num_devices_
    omp_get_initial_device omp_get_initial_device_
    omp_get_device_num omp_get_device_num_() -> c_int {
        HOST
    }

    omp_is_initial_device omp_is_initial_device_() -> c_int {
        1
    }

    omp_target_alloc(size: usize, device: c_int) -> *mut c_void {
        if !is_host(device) {
            return ptr::null_mut();
        }
        super::allocators::allocate_plain(size)
    }

    omp_target_free(memory: *mut c_void, device: c_int) -> () {
        if is_host(device) {
            super::allocators::free(memory);
        }
    }

    omp_target_is_present(memory: *const c_void, device: c_int) -> c_int {
        c_int::from(is_host(device) || memory.is_null())
    }

    omp_target_memcpy(
        to: *mut u8, from: *const u8, length: usize, to_offset: usize, from_offset: usize,
        to_device: c_int, from_device: c_int,
    ) -> c_int {
        if !is_host(to_device) || !is_host(from_device) {
            return error(Errno::INVAL);
        }
        let (to, from) = (to.wrapping_add(to_offset), from.wrapping_add(from_offset));
        // SAFETY: the program's memory; it may overlap.
        unsafe { ptr::copy(from, to, length) };
        0
    }

    omp_target_memcpy_rect(
        to: *mut u8, from: *const u8, element: usize, dimensions: c_int, volume: *const usize,
        to_offsets: *const usize, from_offsets: *const usize, to_sizes: *const usize,
        from_sizes: *const usize, to_device: c_int, from_device: c_int,
    ) -> c_int {
        if to.is_null() && from.is_null() {
            return c_int::MAX;
        }
        let count = usize::try_from(dimensions).unwrap_or(0);
        if count == 0 || !is_host(to_device) || !is_host(from_device) {
            return error(Errno::INVAL);
        }
        // SAFETY: the program's lists have a number for each dimension.
        let list = |list| unsafe { slice::from_raw_parts(list, count) };
        let offsets = (list(to_offsets), list(from_offsets));
        let sizes = (list(to_sizes), list(from_sizes));
        // SAFETY: the program's arrays have these dimensions.
        unsafe { copy_box((to, from), element, list(volume), offsets, sizes) };
        0
    }

    omp_target_associate_ptr(
        _host: *const c_void, _other: *const c_void, _size: usize, _offset: usize, _device: c_int,
    ) -> c_int {
        error(Errno::INVAL)
    }

    omp_target_disassociate_ptr(_memory: *const c_void, _device: c_int) -> c_int {
        error(Errno::INVAL)
    }
}
