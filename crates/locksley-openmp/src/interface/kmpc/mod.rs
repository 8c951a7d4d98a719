//! The functions that clang calls (`kmp.h` of LLVM's library), for what its programs use most.
//!
//! Each gets the place in the source and a thread's number, which are not needed here. What is
//! missing ends the program with a line that names it: beside LLVM's own library, which such a
//! program is linked with, it would otherwise run on two libraries.

mod doacross;
mod loops;
mod parallel;
mod reductions;
mod tasks;
mod threadprivate;

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{Ordering, fence};

use super::allocators;
use super::cancellation::cancel;
use super::diagnostics;
use super::sections::hand_to_all;
use super::synchronization::{barrier, cancel_barrier, named, wait_for_turn};
use super::teams::limit_threads;
use crate::allocator::Trait;
use crate::messages::fatal;
use crate::team::current;

/// The place in the source.
type Place = *const c_void;
/// The number of a thread.
type Thread = i32;

/// The severity of an `error` directive that ends the program.
const FATAL: i32 = 2;

/// What `cancel` cancels, as libgomp numbers it.
fn cancelled(kind: i32) -> c_int {
    if kind < 3 { kind } else { 1 << (kind - 1) }
}

nullary! { ();
    __kmpc_flush => fence(Ordering::SeqCst);
    __kmpc_barrier => barrier();
    __kmpc_ordered => wait_for_turn();
}

nullary! { i32;
    __kmpc_cancel_barrier => i32::from(cancel_barrier());
    __kmpc_master => i32::from(current().number == 0);
}

export! {
    __kmpc_begin __kmpc_end __kmpc_end_master __kmpc_end_masked __kmpc_end_single
    __kmpc_end_ordered __kmpc_scope __kmpc_end_scope __kmpc_end_sections() -> () {}

    __kmpc_alloc(_thread: Thread, size: usize, handle: usize) -> *mut c_void {
        allocators::allocate(handle, size, 1, false)
    }

    __kmpc_aligned_alloc(
        _thread: Thread, align: usize, size: usize, handle: usize,
    ) -> *mut c_void {
        allocators::allocate(handle, size, align, false)
    }

    __kmpc_free(_thread: Thread, memory: *mut c_void) -> () {
        allocators::free(memory);
    }

    __kmpc_init_allocator(
        _thread: Thread, space: usize, count: i32, traits: *const Trait,
    ) -> usize {
        allocators::init(space, i64::from(count), traits)
    }

    __kmpc_destroy_allocator(_thread: Thread, handle: usize) -> () {
        allocators::destroy(handle);
    }

    __kmpc_error(_place: Place, severity: i32, text: *const c_char) -> () {
        diagnostics::report(severity == FATAL, text, usize::MAX);
    }

    // In the task of a target region.
    __kmpc_set_thread_limit(_place: Place, _thread: Thread, limit: i32) -> () {
        limit_threads(current(), limit.cast_unsigned());
    }

    __kmpc_global_thread_num() -> Thread {
        current().number.cast_signed()
    }

    __kmpc_cancel(_place: Place, _thread: Thread, kind: i32) -> i32 {
        i32::from(cancel(cancelled(kind), true))
    }

    __kmpc_cancellationpoint(_place: Place, _thread: Thread, kind: i32) -> i32 {
        i32::from(cancel(cancelled(kind), false))
    }

    __kmpc_critical __kmpc_critical_with_hint(
        _place: Place, _thread: Thread, name: *mut *mut c_void,
    ) -> () {
        named(name).acquire();
    }

    __kmpc_end_critical __kmpc_end_reduce_nowait(
        _place: Place, _thread: Thread, name: *mut *mut c_void,
    ) -> () {
        named(name).release();
    }

    __kmpc_masked(_place: Place, _thread: Thread, filter: i32) -> i32 {
        i32::from(current().number.cast_signed() == filter)
    }

    __kmpc_single() -> i32 {
        let member = current();
        i32::from(member.team().take_single(member))
    }

    __kmpc_copyprivate(
        _place: Place, _thread: Thread, _size: usize, data: *mut c_void,
        copy: unsafe extern "C" fn(*mut c_void, *mut c_void), has_data: i32,
    ) -> () {
        let member = current();
        let published = hand_to_all(member, (has_data != 0).then_some(data));
        if has_data == 0 {
            // SAFETY: the compiler's function, which copies from the other thread's data.
            unsafe { copy(data, published) };
        }
        barrier();
    }

    // Each thread adds its part to the result while it holds the lock.
    __kmpc_reduce __kmpc_reduce_nowait(
        _place: Place, _thread: Thread, _count: i32, _size: usize, _data: *mut c_void,
        _combine: *const c_void, name: *mut *mut c_void,
    ) -> i32 {
        named(name).acquire();
        1
    }

    __kmpc_end_reduce(_place: Place, _thread: Thread, name: *mut *mut c_void) -> () {
        named(name).release();
        barrier();
    }
}

macro_rules! missing {
    ($($name:ident)*) => { export! {$(
        $name() -> () {
            fatal(concat!(stringify!($name), " is not supported"));
        }
    )*} };
}

missing! {
    __kmpc_dist_dispatch_init_4 __kmpc_dist_dispatch_init_4u
    __kmpc_dist_dispatch_init_8 __kmpc_dist_dispatch_init_8u
    __kmpc_task_reduction_init __kmpc_task_reduction_modifier_init __tgt_target_kernel
}
