//! Barriers, also those of loops and sections, `critical`, `atomic` and `ordered`.

use std::ffi::c_void;

use crate::team::current;
use crate::waiting::Lock;

static CRITICAL: Lock = Lock::new();
static ATOMIC: Lock = Lock::new();

/// The lock of a named `critical`: the first half of a pointer that begins as null.
pub(super) fn named<'a>(pointer: *mut *mut c_void) -> &'a Lock {
    // SAFETY: the linker makes one such pointer for each name, and it lives as long as the program;
    // a lock is no larger, and null is a free lock.
    unsafe { &*pointer.cast::<Lock>() }
}

/// The calling member waits for all others of its team.
pub(super) fn barrier() {
    let member = current();
    member.team().wait_at_barrier(member);
}

/// The same, but the member leaves if the region is cancelled. True if it is.
pub(super) fn cancel_barrier() -> bool {
    let member = current();
    member.team().wait_unless_cancelled(member)
}

/// Waits until all iterations before the calling member's chunk have passed.
pub(super) fn wait_for_turn() {
    let position = &current().position;
    position.current().wait_for_turn(&position.cursor);
}

nullary! { ();
    GOMP_barrier GOMP_loop_end GOMP_sections_end => barrier();
    GOMP_critical_start => CRITICAL.acquire();
    GOMP_critical_end => CRITICAL.release();
    GOMP_atomic_start => ATOMIC.acquire();
    GOMP_atomic_end => ATOMIC.release();
    GOMP_ordered_start => wait_for_turn();
}

export! {
    GOMP_barrier_cancel GOMP_loop_end_cancel GOMP_sections_end_cancel() -> bool {
        cancel_barrier()
    }

    GOMP_loop_end_nowait GOMP_sections_end_nowait() -> () {}

    GOMP_critical_name_start(pointer: *mut *mut c_void) -> () {
        named(pointer).acquire();
    }

    GOMP_critical_name_end(pointer: *mut *mut c_void) -> () {
        named(pointer).release();
    }

    GOMP_ordered_end() -> () {}
}
