//! Target regions: there are no accelerators, so the host executes them.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use super::{depend, read};
use crate::environment::settings;
use crate::messages::fatal;
use crate::tasks::Function;
use crate::team::{self, NewTask, current};

/// The kind of a mapped variable that the region gets a copy of.
const FIRSTPRIVATE: u16 = 12;

const NOWAIT: c_uint = 1;

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

/// A region, with copies of what the compiler passes: a task may execute it later.
#[derive(Default)]
struct Target {
    /// `None` for a construct that only maps data.
    function: Option<Function>,
    addresses: Vec<*mut c_void>,
    /// Variables of kind `firstprivate`, to which addresses refer.
    _copies: Vec<Box<[u128]>>,
    thread_limit: u32,
}

impl Target {
    /// # Safety
    /// The lists are the compiler's, with `count` elements, and the function is for them.
    unsafe fn new(
        function: Function,
        count: usize,
        addresses: *const *mut c_void,
        sizes: *const usize,
        kinds: *const u16,
        thread_limit: u32,
    ) -> Self {
        let mut copies = Vec::new();
        let address = |at: usize| {
            let variable = read(addresses.wrapping_add(at));
            let kind = read(kinds.wrapping_add(at));
            // An argument of Fortran's may be absent.
            if kind & 0xFF != FIRSTPRIVATE || variable.is_null() {
                return variable;
            }
            let (size, align) = (read(sizes.wrapping_add(at)), 1_usize << (kind >> 8).min(20));
            let mut copy = vec![0_u128; (size + align).div_ceil(16)].into_boxed_slice();
            let start = copy.as_mut_ptr().cast::<u8>();
            let start = start.wrapping_add(start.align_offset(align));
            // SAFETY: the variable has that size, and the copy has room for it.
            unsafe { ptr::copy_nonoverlapping(variable.cast(), start, size) };
            copies.push(copy);
            start.cast()
        };
        let addresses = (0..count).map(address).collect();
        Self { function: Some(function), addresses, _copies: copies, thread_limit }
    }

    fn run(mut self) {
        if let Some(function) = self.function {
            run(function, self.addresses.as_mut_ptr(), self.thread_limit);
        }
    }

    /// Executes the region when what it depends on has ended. With `NOWAIT` the program goes on.
    fn run_after(self, flags: c_uint, list: *mut *mut c_void) {
        if flags & NOWAIT == 0 {
            // SAFETY: the compiler's list.
            unsafe { depend::wait(current(), list) };
            return self.run();
        }
        // SAFETY: the compiler's list.
        let accesses = unsafe { depend::accesses(list) };
        let mut region = Box::into_raw(Box::new(self));
        let task = NewTask::with_pointer(execute, discard, &mut region);
        team::create(current(), NewTask { accesses: &accesses, ..task });
    }
}

/// The region of a task, whose data are its address.
fn region_at(data: *mut c_void) -> Box<Target> {
    // SAFETY: `run_after` has made it, and a task is executed or discarded once.
    unsafe { Box::from_raw(read(data.cast())) }
}

unsafe extern "C" fn execute(data: *mut c_void) {
    region_at(data).run();
}

unsafe extern "C" fn discard(data: *mut c_void) {
    drop(region_at(data));
}

/// The `thread_limit` among a region's arguments, or 0. The compiler's list ends with null; without
/// arguments, it is null itself.
fn thread_limit(list: *const *mut c_void) -> u32 {
    let mut at = list;
    let mut limit = 0;
    let word = |at: *const *mut c_void| read(at) as usize;
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

export! {
    GOMP_target(
        device: c_int, function: Function, _unused: *const c_void, _count: usize,
        addresses: *mut *mut c_void,
    ) -> () {
        check(device);
        run(function, addresses, 0);
    }

    GOMP_target_ext(
        device: c_int, function: Function, count: usize, addresses: *mut *mut c_void,
        sizes: *mut usize, kinds: *mut u16, flags: c_uint, depend: *mut *mut c_void,
        arguments: *mut *mut c_void,
    ) -> () {
        check(device);
        let limit = thread_limit(arguments);
        // SAFETY: the compiler's lists.
        let region = unsafe { Target::new(function, count, addresses, sizes, kinds, limit) };
        region.run_after(flags, depend);
    }

    GOMP_target_data GOMP_target_data_ext GOMP_target_update(device: c_int) -> () {
        check(device);
    }

    GOMP_target_update_ext GOMP_target_enter_exit_data(
        device: c_int, _count: usize, _addresses: *mut *mut c_void, _sizes: *mut usize,
        _kinds: *mut u16, flags: c_uint, depend: *mut *mut c_void,
    ) -> () {
        check(device);
        Target::default().run_after(flags, depend);
    }

    GOMP_target_end_data GOMP_offload_register GOMP_offload_unregister GOMP_offload_register_ver
    GOMP_offload_unregister_ver() -> () {}
}
