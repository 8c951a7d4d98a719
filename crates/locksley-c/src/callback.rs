//! Functions of the program, and their data.

use std::ffi::c_void;

use locksley_sys::unwind::AbortOnUnwind;

use crate::error::locksley_error;

/// A task: a function that gets the pointer that was given with it.
pub type locksley_fn = Option<unsafe extern "C-unwind" fn(data: *mut c_void)>;

/// The body of a loop: it runs the iterations from `begin` up to `end`, without `end`.
pub type locksley_range_fn =
    Option<unsafe extern "C-unwind" fn(begin: usize, end: usize, data: *mut c_void)>;

/// A function of the program, and its argument.
#[derive(Clone, Copy)]
pub(crate) struct Callback<F> {
    function: F,
    data: *mut c_void,
}

// SAFETY: `F` is a function pointer. The maker of a callback promises that any thread may call it,
// also several at a time.
unsafe impl<F> Send for Callback<F> {}
// SAFETY: as above.
unsafe impl<F> Sync for Callback<F> {}

impl<F: Copy> Callback<F> {
    /// # Safety
    /// Any thread may call the function with `data`, as long as the callback is used. If that can
    /// happen several times at once, the function allows it.
    pub(crate) unsafe fn new(
        function: Option<F>,
        data: *mut c_void,
    ) -> Result<Self, locksley_error> {
        let function = function.ok_or(locksley_error::LOCKSLEY_ERROR_ARGUMENT)?;
        Ok(Self { function, data })
    }

    /// Has `call` call the function.
    ///
    /// The library's frames below could not go on after an exception of another language: catching
    /// it would end the process, too, but without saying why.
    pub(crate) fn call(self, call: impl FnOnce(F, *mut c_void)) {
        let abort =
            AbortOnUnwind("a callback was left by an exception, or by the end of its thread");
        call(self.function, self.data);
        abort.disarm();
    }
}
