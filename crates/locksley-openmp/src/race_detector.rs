//! What ThreadSanitizer is told, if the program has it, of the library's synchronization. The
//! library's own code is not instrumented, so that the program's accesses on both sides of a barrier
//! would seem to race.

use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

type Annotation = unsafe extern "C" fn(*mut ());

static ACQUIRE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
static RELEASE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Looks whether the program has the functions. Called before it has threads.
pub(crate) fn find() {
    for (place, name) in [(&ACQUIRE, c"__tsan_acquire"), (&RELEASE, c"__tsan_release")] {
        // Relaxed, as below: threads that begin later see it.
        place.store(symbol(name), Ordering::Relaxed);
    }
}

fn symbol(name: &CStr) -> *mut () {
    // SAFETY: the name ends with a zero.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.cast()
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

/// The calling thread has seen what threads did before they released the same object.
#[inline]
pub(crate) fn acquire<T>(at: &T) {
    annotate(&ACQUIRE, at);
}

/// The calling thread is about to tell others that it has come here.
#[inline]
pub(crate) fn release<T>(at: &T) {
    annotate(&RELEASE, at);
}
