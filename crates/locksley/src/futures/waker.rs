//! Wakers: each is a reference to a task, and makes it ready.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::header::{self, Header};

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// A waker without a reference of its own, for the task's own run. A clone of it has one.
///
/// # Safety
/// The task stays alive as long as this is used.
pub(super) unsafe fn borrowed(task: NonNull<Header>) -> ManuallyDrop<Waker> {
    // SAFETY: any thread may call the functions of `TABLE`; a clone has a reference of its own.
    ManuallyDrop::new(unsafe { Waker::from_raw(raw(task)) })
}

fn raw(task: NonNull<Header>) -> RawWaker {
    RawWaker::new(task.as_ptr().cast_const().cast(), &TABLE)
}

fn task(data: *const ()) -> NonNull<Header> {
    NonNull::new(data.cast_mut().cast()).expect("a waker points to its task")
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: a waker has a reference, or is borrowed from a run that has one.
    unsafe { task(data).as_ref() }.state.add_reference();
    RawWaker::new(data, &TABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the waker's reference, which ends with it.
    unsafe { header::wake_and_drop(task(data)) }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker has a reference.
    unsafe { header::wake(task(data)) }
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: the waker's reference, which ends with it.
    unsafe { header::drop_reference(task(data)) }
}
