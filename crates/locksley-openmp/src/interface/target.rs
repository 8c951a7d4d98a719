//! Target regions: there are no accelerators, so the host executes them.

use std::ffi::{c_int, c_uint, c_void};
use std::{ptr, slice};

use super::depend;
use super::diagnostics::fatal;
use crate::environment::settings;
use crate::tasks::Function;
use crate::team::{self, current};

/// The kind of a mapped variable that the region gets a copy of.
const FIRSTPRIVATE: u16 = 12;

const THREAD_LIMIT: usize = 2 << 8;
const ID: usize = 0xFF << 8;
const DEVICE: usize = 0x7F;
const SEPARATE_VALUE: usize = 1 << 7;

/// A region for a device that does not exist ends the program if OMP_TARGET_OFFLOAD is MANDATORY.
/// The host is device 0, -1 stands for the default, and -2 for the host by an `if` clause.
fn check(device: c_int) {
    let device = if device == -1 { team::with_task(|it| it.icvs()).device } else { device };
    if settings().is_offload_mandatory() && device > 0 {
        fatal("OMP_TARGET_OFFLOAD is set to MANDATORY, but device not found");
    }
}

/// Executes a region on an initial thread, as the host's device.
fn run(function: Function, addresses: *mut *mut c_void, thread_limit: u32) {
    team::isolated(thread_limit, || {
        // SAFETY: the compiler's function, and what it maps.
        unsafe { function(addresses.cast()) };
    });
}

/// Copies the variables of kind `firstprivate`, and has their addresses refer to the copies.
///
/// # Safety
/// The lists are the compiler's, with `count` elements.
unsafe fn copy_private(
    count: usize,
    addresses: *mut *mut c_void,
    sizes: *const usize,
    kinds: *const u16,
) -> Vec<Box<[u128]>> {
    if count == 0 {
        return Vec::new();
    }
    // SAFETY: as the caller promises.
    let sizes = unsafe { slice::from_raw_parts(sizes, count) };
    // SAFETY: as the caller promises.
    let kinds = unsafe { slice::from_raw_parts(kinds, count) };
    let mut copies = Vec::new();
    for (at, (&size, &kind)) in sizes.iter().zip(kinds).enumerate() {
        if kind & 0xFF != FIRSTPRIVATE {
            continue;
        }
        let align = 1_usize << (kind >> 8).min(20);
        let mut copy = vec![0_u128; (size + align).div_ceil(16)].into_boxed_slice();
        let start = copy.as_mut_ptr().cast::<u8>();
        let start = start.wrapping_add(start.align_offset(align));
        // SAFETY: the list has that many elements.
        let address = unsafe { addresses.add(at) };
        // SAFETY: as above.
        let from = unsafe { *address }.cast::<u8>();
        if from.is_null() {
            // An argument of Fortran's that is absent.
            continue;
        }
        // SAFETY: the variable has that size, and the copy has room for it.
        unsafe { ptr::copy_nonoverlapping(from, start, size) };
        // SAFETY: as above.
        unsafe { *address = start.cast() };
        copies.push(copy);
    }
    copies
}

/// The `thread_limit` among a region's arguments, or 0.
///
/// # Safety
/// The list is the compiler's, which ends with null, or null.
unsafe fn thread_limit(list: *const *mut c_void) -> u32 {
    let mut at = list;
    let mut limit = 0;
    // SAFETY: as the caller promises.
    let word = |at: *const *mut c_void| unsafe { *at } as usize;
    while !at.is_null() && word(at) != 0 {
        let argument = word(at);
        at = at.wrapping_add(1);
        let value = if argument & SEPARATE_VALUE != 0 {
            at = at.wrapping_add(1);
            word(at.wrapping_sub(1))
        } else {
            (argument.cast_signed() >> 16).cast_unsigned()
        };
        if argument & DEVICE == 0 && argument & ID == THREAD_LIMIT {
            limit = u32::try_from(value).unwrap_or(u32::MAX);
        }
    }
    limit
}

/// Waits for what a construct depends on.
fn wait_for(list: *mut *mut c_void) {
    if !list.is_null() {
        // SAFETY: the compiler's list.
        unsafe { depend::wait(current(), list) };
    }
}

export! {
    GOMP_target(
        device: c_int, function: Function, _unused: *const c_void, _count: usize,
        addresses: *mut *mut c_void, _sizes: *mut usize, _kinds: *mut u8,
    ) -> () {
        check(device);
        run(function, addresses, 0);
    }

    GOMP_target_ext(
        device: c_int, function: Function, count: usize, addresses: *mut *mut c_void,
        sizes: *mut usize, kinds: *mut u16, _flags: c_uint, depend: *mut *mut c_void,
        arguments: *mut *mut c_void,
    ) -> () {
        check(device);
        wait_for(depend);
        // SAFETY: the compiler's lists.
        let copies = unsafe { copy_private(count, addresses, sizes, kinds) };
        // SAFETY: the compiler's list.
        let limit = unsafe { thread_limit(arguments) };
        run(function, addresses, limit);
        drop(copies);
    }

    GOMP_target_data(
        device: c_int, _unused: *const c_void, _count: usize, _addresses: *mut *mut c_void,
        _sizes: *mut usize, _kinds: *mut u8,
    ) -> () {
        check(device);
    }

    GOMP_target_data_ext(
        device: c_int, _count: usize, _addresses: *mut *mut c_void, _sizes: *mut usize,
        _kinds: *mut u16,
    ) -> () {
        check(device);
    }

    GOMP_target_end_data() -> () {}

    GOMP_target_update(
        device: c_int, _unused: *const c_void, _count: usize, _addresses: *mut *mut c_void,
        _sizes: *mut usize, _kinds: *mut u8,
    ) -> () {
        check(device);
    }

    GOMP_target_update_ext(
        device: c_int, _count: usize, _addresses: *mut *mut c_void, _sizes: *mut usize,
        _kinds: *mut u16, _flags: c_uint, depend: *mut *mut c_void,
    ) -> () {
        check(device);
        wait_for(depend);
    }

    GOMP_target_enter_exit_data(
        device: c_int, _count: usize, _addresses: *mut *mut c_void, _sizes: *mut usize,
        _kinds: *mut u16, _flags: c_uint, depend: *mut *mut c_void,
    ) -> () {
        check(device);
        wait_for(depend);
    }

    GOMP_offload_register GOMP_offload_unregister(
        _table: *const c_void, _kind: c_int, _data: *const c_void,
    ) -> () {}

    GOMP_offload_register_ver GOMP_offload_unregister_ver(
        _version: c_uint, _table: *const c_void, _kind: c_int, _data: *const c_void,
    ) -> () {}
}
