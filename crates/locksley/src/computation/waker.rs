//! Wakers of members: such as anybody may have, which are counted, and such as lie in what belongs to the computation.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::member::Record;

/// Of wakers that are lent to a member's code, which gives copies to whom it will.
static OUTSIDE: RawWakerVTable =
    RawWakerVTable::new(clone_outside, wake_outside, wake_by_ref, drop_outside);

/// Of wakers that are lent to waits for what belongs to the computation, and to nobody else: copies lie there, and get nowhere
/// else. The same without counting.
static INSIDE: RawWakerVTable =
    RawWakerVTable::new(clone_inside, wake_inside, wake_by_ref, drop_inside);

/// A waker to be lent to a poll. It is not counted; what is cloned from it is.
pub(super) fn lent(record: &Arc<Record>) -> ManuallyDrop<Waker> {
    of(record, &OUTSIDE)
}

/// A waker to be lent to a wait for what belongs to the computation.
pub(super) fn lent_inside(record: &Arc<Record>) -> ManuallyDrop<Waker> {
    of(record, &INSIDE)
}

fn of(record: &Arc<Record>, table: &'static RawWakerVTable) -> ManuallyDrop<Waker> {
    let raw = RawWaker::new(Arc::as_ptr(record).cast(), table);
    // SAFETY: the functions of both tables may be called by any thread; each clone has a reference of its own; this one is
    // dropped by nobody, and the record is there as long as the poll.
    ManuallyDrop::new(unsafe { Waker::from_raw(raw) })
}

/// Whose waker that is, if it is one that a member's code was lent, or a copy of it.
pub(super) fn member_of(waker: &Waker) -> Option<Arc<Record>> {
    if !ptr::eq(waker.vtable(), &OUTSIDE) {
        return None;
    }
    let record: *const Record = waker.data().cast();
    // SAFETY: such a waker has a reference, or is lent one; and it is borrowed here.
    unsafe { Arc::increment_strong_count(record) };
    // SAFETY: the reference just made.
    Some(unsafe { Arc::from_raw(record) })
}

unsafe fn clone_outside(data: *const ()) -> RawWaker {
    let record: *const Record = data.cast();
    // SAFETY: from an `Arc`, of which whoever has the waker has a reference, or is lent one.
    unsafe { Arc::increment_strong_count(record) };
    // SAFETY: alive, as above.
    unsafe { &*record }.doing().waker_is_made();
    RawWaker::new(data, &OUTSIDE)
}

unsafe fn wake_outside(data: *const ()) {
    // SAFETY: the waker's reference, which goes with it.
    let record = unsafe { Arc::from_raw(data.cast::<Record>()) };
    // In this order: as long as it is counted, whom it is about to wake does not rest.
    record.wake();
    record.waker_is_gone();
}

unsafe fn drop_outside(data: *const ()) {
    // SAFETY: the waker's reference, which goes with it.
    unsafe { Arc::from_raw(data.cast::<Record>()) }.waker_is_gone();
}

unsafe fn clone_inside(data: *const ()) -> RawWaker {
    // SAFETY: from an `Arc`, of which whoever has the waker has a reference, or is lent one.
    unsafe { Arc::increment_strong_count(data.cast::<Record>()) };
    RawWaker::new(data, &INSIDE)
}

unsafe fn wake_inside(data: *const ()) {
    // SAFETY: the waker's reference, which goes with it.
    unsafe { Arc::from_raw(data.cast::<Record>()) }.wake();
}

unsafe fn drop_inside(data: *const ()) {
    // SAFETY: the waker's reference, which goes with it.
    drop(unsafe { Arc::from_raw(data.cast::<Record>()) });
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker has a reference, or is lent one.
    unsafe { &*data.cast::<Record>() }.wake();
}
