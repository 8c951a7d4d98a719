//! Calls of the C library at which a thread may be cancelled (`man 7 pthreads`).

use std::ffi::c_int;

/// Runs `body`, in which the calling thread is not cancelled. The C library would unwind its stack,
/// which ends the program in a function of Rust's.
pub(crate) fn uncancelled<T>(body: impl FnOnce() -> T) -> T {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }
    const DISABLE: c_int = 1;
    let mut before = 0;
    // SAFETY: the variable lives during the call.
    unsafe { pthread_setcancelstate(DISABLE, &raw mut before) };
    let result = body();
    // SAFETY: as above. Without effect if the first call failed, which it cannot.
    unsafe { pthread_setcancelstate(before, &raw mut before) };
    result
}
