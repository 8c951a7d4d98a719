//! Annotates the library's synchronization for ThreadSanitizer, if the program has it. The code of
//! the library is not instrumented, so that accesses of the program before and after a barrier
//! would seem to race.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

type Annotation = unsafe extern "C" fn(*mut ());

static ACQUIRE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
static RELEASE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Looks whether the program has the functions. Called when the library is loaded.
pub(crate) fn find() {
    for (place, name) in [(&ACQUIRE, c"__tsan_acquire"), (&RELEASE, c"__tsan_release")] {
        // SAFETY: the name ends with a zero.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        // Relaxed, as below: a function's address, whose code is there.
        place.store(found.cast(), Ordering::Relaxed);
    }
}

fn annotate<T>(by: &AtomicPtr<()>, at: &T) {
    let function = by.load(Ordering::Relaxed);
    if !function.is_null() {
        // SAFETY: the signature of `tsan_interface.h`.
        let function: Annotation = unsafe { std::mem::transmute(function) };
        // SAFETY: any address stands for a synchronization object.
        unsafe { function(ptr::from_ref(at).cast_mut().cast()) };
    }
}

/// What other threads did before they released `at` happens before what this thread does next.
#[inline]
pub(crate) fn acquire<T>(at: &T) {
    annotate(&ACQUIRE, at);
}

/// What this thread did so far happens before each later `acquire` of `at`.
#[inline]
pub(crate) fn release<T>(at: &T) {
    annotate(&RELEASE, at);
}
