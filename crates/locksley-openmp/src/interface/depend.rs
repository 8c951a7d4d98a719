//! Waits for dependences.

use std::ffi::c_void;

pub(super) use crate::tasks::accesses;
use crate::tasks::{Access, Options, Task};
use crate::team::{Member, wait_until};

/// Waits for the member's children that access what a list names.
///
/// # Safety
/// The list is the compiler's, or null: there is nothing to wait for.
pub(super) unsafe fn wait(member: &Member, list: *const *mut c_void) {
    if !list.is_null() {
        // SAFETY: as the caller promises.
        wait_for(member, &unsafe { accesses(list) });
    }
}

/// Waits for the member's children that access these addresses.
pub(super) fn wait_for(member: &Member, accesses: &[Access]) {
    let parent = member.task();
    // A child that is never executed: it is ready when the wait is over.
    let task = Task::child(&parent, Options::default(), None, true, None);
    if !task.link(&parent, accesses, true) {
        wait_until(member, || task.is_ready());
    }
}
