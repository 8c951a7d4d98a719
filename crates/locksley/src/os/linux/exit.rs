//! The end of the process (`man 3 atexit`).

/// Has `call` called when the process ends in an orderly way. Says whether it will be.
pub(crate) fn at_exit(call: extern "C" fn()) -> bool {
    // SAFETY: a function is there for ever, if nobody unloads the library that it is in.
    unsafe { libc::atexit(call) == 0 }
}
