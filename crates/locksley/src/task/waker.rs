//! Wakers: each is a reference to a task, and makes it ready.

use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::header::{self, Header};
use crate::strand::Followed;

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// A waker without a reference of its own, to be lent to the task's own run and dropped by nobody. What is cloned from it has one.
///
/// # Safety
/// The task stays alive as long as this is used.
pub(super) unsafe fn lent(task: NonNull<Header>) -> ManuallyDrop<Waker> {
    // SAFETY: the functions of `TABLE` may be called by any thread; a clone has a reference of its own.
    ManuallyDrop::new(unsafe { Waker::from_raw(raw(task)) })
}

/// For those who know from where the task goes on: it is woken, and nothing is said of the path of who wakes.
static WITHOUT_PATH: RawWakerVTable = RawWakerVTable::new(
    clone_without_path,
    wake_without_path_and_drop,
    wake_without_path,
    drop_waker,
);

/// One that wakes the same; if it is a task that is followed, without a word of the path of who wakes it, since the task learns by itself after what
/// it comes.
pub(crate) fn waker_without_path(waker: &Waker) -> Waker {
    followed_without_path(waker).unwrap_or_else(|| waker.clone())
}

/// The same; `None` if it is not the waker of a task that is followed.
pub(crate) fn followed_without_path(waker: &Waker) -> Option<Waker> {
    followed(waker)?;
    let task = task(waker.data());
    // SAFETY: alive, as the waker is one of it.
    unsafe { task.as_ref() }.state.add_reference();
    // SAFETY: as for `lent`; the reference was just added.
    Some(unsafe { Waker::from_raw(RawWaker::new(waker.data(), &WITHOUT_PATH)) })
}

/// The task that is being polled, if this is its waker and it is followed, comes in this poll after nothing but what it says by itself.
#[cold]
pub(crate) fn tells_its_paths(waker: &Waker) {
    followed(waker).into_iter().for_each(Followed::tells_by_itself);
}

/// What is known of the paths of the task whose waker this is, if it is one of a task that is followed.
fn followed(waker: &Waker) -> Option<&Followed> {
    if !ptr::eq(waker.vtable(), &TABLE) {
        return None;
    }
    // SAFETY: alive, as this is a waker of it.
    unsafe { task(waker.data()).as_ref() }.followed()
}

fn raw(task: NonNull<Header>) -> RawWaker {
    RawWaker::new(task.as_ptr().cast_const().cast(), &TABLE)
}

fn task(data: *const ()) -> NonNull<Header> {
    NonNull::new(data.cast_mut().cast()).expect("a waker points to its task")
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: whoever clones a waker has it, and it has a reference, or is lent by who has.
    unsafe { task(data).as_ref() }.state.add_reference();
    RawWaker::new(data, &TABLE)
}

unsafe fn clone_without_path(data: *const ()) -> RawWaker {
    // SAFETY: as for `clone`.
    unsafe { task(data).as_ref() }.state.add_reference();
    RawWaker::new(data, &WITHOUT_PATH)
}

unsafe fn wake_without_path(data: *const ()) {
    // SAFETY: the waker has a reference.
    unsafe { header::wake_without_path(task(data)) }
}

unsafe fn wake_without_path_and_drop(data: *const ()) {
    // SAFETY: the waker has a reference until it is dropped, below.
    unsafe { wake_without_path(data) };
    // SAFETY: the waker's reference, which goes with it.
    unsafe { drop_waker(data) };
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the waker's reference, which goes with it.
    unsafe { header::wake_and_drop(task(data)) }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker has a reference.
    unsafe { header::wake(task(data)) }
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: the waker's reference, which goes with it.
    unsafe { header::drop_reference(task(data)) }
}
