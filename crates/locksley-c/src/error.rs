//! Errors as codes.

use std::ffi::{CStr, c_char, c_int};

use locksley::{BuildError, Cancelled};
use locksley_sys::unwind;

/// What a function of this library returns.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum locksley_error {
    /// The function has done what it says.
    LOCKSLEY_OK = 0,
    /// A pointer is NULL that must not be, or a number is out of range.
    LOCKSLEY_ERROR_ARGUMENT = 1,
    /// The environment variable `LOCKSLEY_WORKERS` is not a number from 1 to 65,534, or
    /// `LOCKSLEY_ASSISTS` names an unknown feature.
    LOCKSLEY_ERROR_ENVIRONMENT = 2,
    /// The system has refused to start a thread.
    LOCKSLEY_ERROR_THREAD = 3,
    /// Some of the work did not begin, because it was cancelled.
    LOCKSLEY_ERROR_CANCELLED = 4,
    /// The library has panicked, and has printed the reason on standard error: an error in the
    /// library, or a use that it does not support, such as waiting in a forked child for a task of
    /// the parent.
    LOCKSLEY_ERROR_PANIC = 5,
}

impl From<BuildError> for locksley_error {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::NoWorkers
            | BuildError::TooManyWorkers { .. }
            | BuildError::ThreadName { .. } => Self::LOCKSLEY_ERROR_ARGUMENT,
            BuildError::Environment { .. } | BuildError::Assists(_) => {
                Self::LOCKSLEY_ERROR_ENVIRONMENT
            }
            BuildError::Thread { .. } => Self::LOCKSLEY_ERROR_THREAD,
            _ => Self::LOCKSLEY_ERROR_PANIC,
        }
    }
}

impl From<Cancelled> for locksley_error {
    fn from(_: Cancelled) -> Self {
        Self::LOCKSLEY_ERROR_CANCELLED
    }
}

/// Runs a function of the interface. A panic becomes a code.
pub(crate) fn code_of(function: impl FnOnce() -> Result<(), locksley_error>) -> locksley_error {
    value_of(function).err().unwrap_or(locksley_error::LOCKSLEY_OK)
}

/// The same for a function that returns a value.
pub(crate) fn value_of<R>(
    function: impl FnOnce() -> Result<R, locksley_error>,
) -> Result<R, locksley_error> {
    unwind::catch(function).unwrap_or_else(|payload| {
        unwind::discard(payload);
        Err(locksley_error::LOCKSLEY_ERROR_PANIC)
    })
}

/// The reference, unless the pointer is null.
///
/// # Safety
/// The pointer is null, or what it points to is alive and not changed for the lifetime that the
/// caller chooses.
pub(crate) unsafe fn reference<'a, T>(pointer: *const T) -> Result<&'a T, locksley_error> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }.ok_or(locksley_error::LOCKSLEY_ERROR_ARGUMENT)
}

/// Returns a text that describes an error. The text is constant. For other numbers it is "unknown
/// error".
#[unsafe(no_mangle)]
pub extern "C" fn locksley_strerror(error: c_int) -> *const c_char {
    const OK: c_int = locksley_error::LOCKSLEY_OK as c_int;
    const ARGUMENT: c_int = locksley_error::LOCKSLEY_ERROR_ARGUMENT as c_int;
    const ENVIRONMENT: c_int = locksley_error::LOCKSLEY_ERROR_ENVIRONMENT as c_int;
    const THREAD: c_int = locksley_error::LOCKSLEY_ERROR_THREAD as c_int;
    const CANCELLED: c_int = locksley_error::LOCKSLEY_ERROR_CANCELLED as c_int;
    const PANIC: c_int = locksley_error::LOCKSLEY_ERROR_PANIC as c_int;
    let text: &CStr = match error {
        OK => c"success",
        ARGUMENT => c"an argument is NULL or out of range",
        ENVIRONMENT => c"LOCKSLEY_WORKERS or LOCKSLEY_ASSISTS has a wrong value",
        THREAD => c"the system has refused to start a thread",
        CANCELLED => c"the work was cancelled",
        PANIC => c"the library has panicked: see standard error",
        _ => c"unknown error",
    };
    text.as_ptr()
}
