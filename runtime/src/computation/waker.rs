//! Wakers of members, which are counted.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::member::Record;

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// A waker to be lent to a poll. It is not counted; what is cloned from it is.
pub(super) fn lent(record: &Arc<Record>) -> ManuallyDrop<Waker> {
    let raw = RawWaker::new(Arc::as_ptr(record).cast(), &TABLE);
    // SAFETY: the functions of `TABLE` may be called by any thread; each clone has a reference of its own; this one is dropped
    // by nobody, and there as long as the poll.
    ManuallyDrop::new(unsafe { Waker::from_raw(raw) })
}

/// Whether a waker is that record's.
pub(super) fn is_of(waker: &Waker, record: &Arc<Record>) -> bool {
    ptr::eq(waker.vtable(), &TABLE) && ptr::eq(waker.data(), Arc::as_ptr(record).cast())
}

unsafe fn clone(data: *const ()) -> RawWaker {
    let record: *const Record = data.cast();
    // SAFETY: from an `Arc`, of which whoever has the waker has a reference, or is lent one.
    unsafe { Arc::increment_strong_count(record) };
    // SAFETY: alive, as above.
    unsafe { &*record }.doing().waker_is_made();
    RawWaker::new(data, &TABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the waker's reference, which goes with it.
    let record = unsafe { Arc::from_raw(data.cast::<Record>()) };
    record.wake();
    record.waker_is_gone();
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker has a reference, or is lent one.
    unsafe { &*data.cast::<Record>() }.wake();
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: the waker's reference, which goes with it.
    unsafe { Arc::from_raw(data.cast::<Record>()) }.waker_is_gone();
}
