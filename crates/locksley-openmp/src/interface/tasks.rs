//! Tasks, and waits for them.

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::ptr;
use std::sync::Arc;

use super::{depend, write};
use crate::tasks::{Copier, Event, Function, Group};
use crate::team::{self, Member, NewTask, current, wait_until};

const FINAL: c_uint = 1 << 1;
const DEPEND: c_uint = 1 << 3;
const PRIORITY: c_uint = 1 << 4;
const DETACH: c_uint = 1 << 13;

/// A task as gcc describes it.
pub(super) fn described<'a>(
    function: Function,
    (data, copier): (*mut c_void, Option<Copier>),
    (size, align): (c_long, c_long),
    (flags, priority): (c_uint, c_int),
) -> NewTask<'a> {
    NewTask {
        copier,
        is_final: flags & FINAL != 0,
        priority: if flags & PRIORITY == 0 { 0 } else { priority },
        ..NewTask::new(function, data, size.max(0) as usize, align.max(1) as usize)
    }
}

/// Begins a group of the calling member's task.
pub(super) fn begin_group(member: &Member) -> Arc<Group> {
    member.with_task(|task| {
        let group = Arc::new(Group::new(task.group()));
        task.set_group(Some(Arc::clone(&group)));
        group
    })
}

/// Waits for the tasks of the innermost group, and ends it.
pub(super) fn end_group(member: &Member) {
    let Some(group) = member.with_task(|it| it.group()) else { return };
    wait_until(member, || group.is_empty());
    group.reduce();
    member.with_task(|it| it.set_group(group.outer()));
}

/// Creates tasks by `body`, and waits for them if they are to have a group.
pub(super) fn within_group(member: &Member, has_group: bool, body: impl FnOnce()) {
    if has_group {
        begin_group(member);
    }
    body();
    if has_group {
        end_group(member);
    }
}

/// Waits for the children of the calling member's task.
pub(super) fn wait() {
    let member = current();
    let task = member.task();
    wait_until(member, || task.has_no_children());
}

nullary! { c_int;
    omp_in_final omp_in_final_ => c_int::from(team::with_task(|it| it.options().is_final));
    omp_in_explicit_task omp_in_explicit_task_ =>
        c_int::from(team::with_task(|it| it.is_explicit()));
}

nullary! { ();
    GOMP_taskwait => wait();
    GOMP_taskyield => team::yield_to_descendant(current());
    GOMP_taskgroup_end => end_group(current());
}

export! {
    GOMP_task(
        function: Function, data: *mut c_void, copier: Option<Copier>, size: c_long,
        align: c_long, may_be_deferred: bool, flags: c_uint, list: *mut *mut c_void,
        priority: c_int, detach: *mut usize,
    ) -> () {
        let list = if flags & DEPEND == 0 { ptr::null_mut() } else { list };
        // SAFETY: with the flag, the list is the compiler's.
        let accesses = unsafe { depend::accesses(list) };
        let event = (flags & DETACH != 0).then(Arc::<Event>::default);
        if let Some(event) = &event {
            let handle = event.handle();
            write(detach, handle);
            // The first word of the data is the task's own variable for the handle.
            write(data.cast(), handle);
        }
        let task = described(function, (data, copier), (size, align), (flags, priority));
        team::create(current(), NewTask {
            may_be_deferred,
            accesses: &accesses,
            event: event.as_ref(),
            ..task
        });
    }

    GOMP_taskwait_depend(list: *mut *mut c_void) -> () {
        // SAFETY: the compiler's list.
        unsafe { depend::wait(current(), list) };
    }

    GOMP_taskgroup_start() -> () {
        begin_group(current());
    }

    omp_fulfill_event omp_fulfill_event_(event: usize) -> () {
        // SAFETY: OpenMP allows it once for each event.
        unsafe { Event::fulfill(event) };
    }
}
