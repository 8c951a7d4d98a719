//! Barriers, `critical`, `atomic` and `ordered`.

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

export! {
    GOMP_barrier() -> () {
        let member = current();
        member.team().wait_at_barrier(member);
    }

    GOMP_barrier_cancel() -> bool {
        let member = current();
        member.team().wait_unless_cancelled(member)
    }

    GOMP_critical_start() -> () {
        CRITICAL.acquire();
    }

    GOMP_critical_end() -> () {
        CRITICAL.release();
    }

    GOMP_critical_name_start(pointer: *mut *mut c_void) -> () {
        named(pointer).acquire();
    }

    GOMP_critical_name_end(pointer: *mut *mut c_void) -> () {
        named(pointer).release();
    }

    GOMP_atomic_start() -> () {
        ATOMIC.acquire();
    }

    GOMP_atomic_end() -> () {
        ATOMIC.release();
    }

    GOMP_ordered_start() -> () {
        let member = current();
        let position = &member.position;
        position.current().wait_for_turn(&position.cursor);
    }

    GOMP_ordered_end() -> () {}
}
