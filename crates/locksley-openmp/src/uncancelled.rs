//! Calls of the C library at which a thread may be cancelled (`man 7 pthreads`).

use std::ffi::c_int;

/// Runs `body`, in which the calling thread is not cancelled: cancellation unwinds the stack, and a
/// frame of Rust's ends the program then.
pub(crate) fn uncancelled<T>(body: impl FnOnce() -> T) -> T {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }
    const DISABLE: c_int = 1;
    let mut before = 0;
    // SAFETY: the variable lives during the call.
    unsafe { pthread_setcancelstate(DISABLE, &raw mut before) };
    let result = body();
    // SAFETY: as above.
    unsafe { pthread_setcancelstate(before, &raw mut before) };
    result
}
