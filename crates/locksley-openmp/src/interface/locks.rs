//! `omp_lock_t` and `omp_nest_lock_t`, which lie in the program's memory.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::{read, write};
use crate::team::current;
use crate::waiting::Lock;

/// A lock that its owner, a task, may acquire again.
#[derive(Debug)]
struct NestLock {
    lock: Lock,
    /// How often the owner has acquired it. Only the owner uses it.
    depth: AtomicU32,
    /// The task that holds it. A thread finds its own task here only if it has stored it.
    owner: AtomicPtr<c_void>,
}

// What `omp.h` provides.
const _: () = assert!(size_of::<Lock>() == 4);

impl NestLock {
    fn new() -> Self {
        let owner = AtomicPtr::new(ptr::null_mut());
        Self { lock: Lock::new(), depth: AtomicU32::new(0), owner }
    }

    // All accesses to the owner and the depth are relaxed: `lock` orders those of different owners.

    fn acquire(&self, try_only: bool) -> u32 {
        let own = this_task();
        if self.owner.load(Ordering::Relaxed) != own {
            if !try_only {
                self.lock.acquire();
            } else if !self.lock.try_acquire() {
                return 0;
            }
            self.owner.store(own, Ordering::Relaxed);
        }
        self.depth.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn release(&self) {
        if self.depth.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.owner.store(ptr::null_mut(), Ordering::Relaxed);
            self.lock.release();
        }
    }
}

fn this_task() -> *mut c_void {
    Arc::as_ptr(&current().task()).cast_mut().cast()
}

fn lock<'a>(place: *mut c_void) -> &'a Lock {
    // SAFETY: the program's initialized lock, which is as large and aligned.
    unsafe { &*place.cast::<Lock>() }
}

/// The program's variable has the address of a nested lock: in Fortran, and in clang's `omp.h`, it
/// has room for no more.
fn nest_lock<'a>(place: *mut *mut NestLock) -> &'a NestLock {
    // SAFETY: the address is from `omp_init_nest_lock`, and the lock is freed by
    // `omp_destroy_nest_lock`, after its last use.
    unsafe { &*read(place) }
}

export! {
    omp_init_lock omp_init_lock_with_hint
    omp_init_lock_ omp_init_lock_with_hint_(place: *mut c_void) -> () {
        write(place.cast(), Lock::new());
    }

    omp_destroy_lock omp_destroy_lock_() -> () {}

    omp_set_lock omp_set_lock_(place: *mut c_void) -> () {
        lock(place).acquire();
    }

    omp_unset_lock omp_unset_lock_(place: *mut c_void) -> () {
        lock(place).release();
    }

    omp_test_lock omp_test_lock_(place: *mut c_void) -> c_int {
        c_int::from(lock(place).try_acquire())
    }

    omp_init_nest_lock omp_init_nest_lock_with_hint
    omp_init_nest_lock_ omp_init_nest_lock_with_hint_(place: *mut *mut NestLock) -> () {
        write(place, Box::into_raw(Box::new(NestLock::new())));
    }

    omp_destroy_nest_lock omp_destroy_nest_lock_(place: *mut *mut NestLock) -> () {
        // SAFETY: the program's variable for a nested lock.
        let lock = unsafe { place.replace(ptr::null_mut()) };
        if !lock.is_null() {
            // SAFETY: from `omp_init_nest_lock`, and no longer used.
            drop(unsafe { Box::from_raw(lock) });
        }
    }

    omp_set_nest_lock omp_set_nest_lock_(place: *mut *mut NestLock) -> () {
        nest_lock(place).acquire(false);
    }

    omp_unset_nest_lock omp_unset_nest_lock_(place: *mut *mut NestLock) -> () {
        nest_lock(place).release();
    }

    omp_test_nest_lock omp_test_nest_lock_(place: *mut *mut NestLock) -> c_int {
        nest_lock(place).acquire(true).cast_signed()
    }
}
