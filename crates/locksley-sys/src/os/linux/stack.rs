//! The stack of the calling thread.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

/// The addresses of the calling thread's stack. Reads a file if this is the main thread.
#[must_use]
pub fn stack() -> Option<Range<usize>> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: no memory is involved.
    let this = unsafe { libc::pthread_self() };
    // SAFETY: the call initializes the attributes if it returns 0.
    if unsafe { libc::pthread_getattr_np(this, attributes.as_mut_ptr()) } != 0 {
        return None;
    }
    let (mut end, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the attributes are initialized, and both results are valid for writes.
    let rc =
        unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut end, &raw mut size) };
    // SAFETY: initialized above, and not used afterwards.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    (rc == 0).then(|| end.addr()..end.addr() + size)
}
