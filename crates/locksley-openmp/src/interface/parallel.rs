//! Parallel regions.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use super::reductions::register_for_region;
use crate::shares::Preparation;
use crate::tasks::{Function, Group};
use crate::team::{self, Region};

/// Executes a region whose member 0 the calling thread is.
///
/// # Safety
/// The function and its data belong together.
pub(super) unsafe fn run(
    function: Function,
    data: *mut c_void,
    (threads, flags): (c_uint, c_uint),
    share: Option<Preparation>,
    make_group: impl FnOnce(u32) -> Option<Arc<Group>>,
) -> u32 {
    // The lowest bits of the flags are those of `omp_proc_bind_t`.
    let bind = (flags & 7).cast_signed();
    let size = team::start(Region { function, data, threads, bind, share }, make_group);
    // SAFETY: as the caller promises.
    unsafe { function(data) };
    team::end();
    size
}

export! {
    GOMP_parallel(function: Function, data: *mut c_void, threads: c_uint, flags: c_uint) -> () {
        // SAFETY: the compiler's function and its data.
        unsafe { run(function, data, (threads, flags), None, |_| None) };
    }

    GOMP_parallel_reductions(
        function: Function, data: *mut c_void, threads: c_uint, flags: c_uint,
    ) -> c_uint {
        // SAFETY: the first word of the data is the address of the reductions' descriptor.
        let descriptor = unsafe { *data.cast::<*mut usize>() };
        let register = |size| Some(register_for_region(descriptor, size));
        // SAFETY: the compiler's function and its data.
        unsafe { run(function, data, (threads, flags), None, register) }
    }

    GOMP_parallel_start(function: Function, data: *mut c_void, threads: c_uint) -> () {
        team::start(Region { function, data, threads, bind: 0, share: None }, |_| None);
    }

    GOMP_parallel_end() -> () {
        team::end();
    }
}
