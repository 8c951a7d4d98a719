//! Devices: there is none but the host.

use std::ffi::{c_int, c_void};
use std::{ptr, slice};

use rustix::io::Errno;

const HOST: c_int = 0;

/// The host is also `omp_initial_device`, -1, and libgomp's `GOMP_DEVICE_HOST_FALLBACK`, -2.
pub(super) fn is_host(device: c_int) -> bool {
    device == HOST || device == -1 || device == -2
}

fn error(errno: Errno) -> c_int {
    errno.raw_os_error()
}

/// Where the element number `number` of a box with these numbers of elements by dimension lies in
/// an array, in elements.
fn place(number: usize, volume: &[usize], offsets: &[usize], sizes: &[usize]) -> usize {
    let (mut rest, mut place, mut stride) = (number, 0, 1);
    for (at, &count) in volume.iter().enumerate().rev() {
        place += (offsets[at] + rest % count) * stride;
        (rest, stride) = (rest / count, stride * sizes[at]);
    }
    place
}

nullary! { c_int;
    omp_get_num_devices omp_get_num_devices_
    omp_get_initial_device omp_get_initial_device_ omp_get_device_num omp_get_device_num_ =>
        HOST;
    omp_target_associate_ptr omp_target_disassociate_ptr => error(Errno::INVAL);
}

export! {
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
        let volume = list(volume);
        let (to_offsets, to_sizes) = (list(to_offsets), list(to_sizes));
        let (from_offsets, from_sizes) = (list(from_offsets), list(from_sizes));
        let row = volume[count - 1];
        for number in (0..volume.iter().product()).step_by(row.max(1)) {
            let to = to.wrapping_add(place(number, volume, to_offsets, to_sizes) * element);
            let from = from.wrapping_add(place(number, volume, from_offsets, from_sizes) * element);
            // SAFETY: the box lies within both of the program's arrays.
            unsafe { ptr::copy(from, to, row * element) };
        }
        0
    }
}
