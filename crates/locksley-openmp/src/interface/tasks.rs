//! Tasks, and waits for them.

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::sync::Arc;

use super::depend;
use crate::tasks::{Copier, Event, Function, Group};
use crate::team::{self, Member, NewTask, current, wait_until};

const FINAL: c_uint = 1 << 1;
const DEPEND: c_uint = 1 << 3;
pub(super) const PRIORITY: c_uint = 1 << 4;
const DETACH: c_uint = 1 << 13;

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
    member.with_task(|it| it.set_group(group.outer()));
}

export! {
    GOMP_task(
        function: Function, data: *mut c_void, copier: Option<Copier>, size: c_long,
        align: c_long, may_be_deferred: bool, flags: c_uint, list: *mut *mut c_void,
        priority: c_int, detach: *mut usize,
    ) -> () {
        let accesses = if flags & DEPEND == 0 {
            Vec::new()
        } else {
            // SAFETY: with the flag, the list is the compiler's.
            unsafe { depend::accesses(list) }
        };
        let event = (flags & DETACH != 0).then(|| {
            let event = Arc::<Event>::default();
            let handle = event.handle();
            // SAFETY: the compiler's variable for the handle.
            unsafe { *detach = handle };
            if !data.is_null() {
                // SAFETY: the first word of the data is the task's own variable for the handle.
                unsafe { *data.cast::<usize>() = handle };
            }
            event
        });
        team::create(current(), NewTask {
            function,
            discard: None,
            data,
            copier,
            size: size.max(0) as usize,
            align: align.max(1) as usize,
            may_be_deferred,
            is_final: flags & FINAL != 0,
            priority: if flags & PRIORITY == 0 { 0 } else { priority },
            accesses: &accesses,
            event,
            adjust: None,
        });
    }

    GOMP_taskwait() -> () {
        let member = current();
        let task = member.task();
        wait_until(member, || task.has_no_children());
    }

    GOMP_taskwait_depend(list: *mut *mut c_void) -> () {
        // SAFETY: the compiler's list.
        unsafe { depend::wait(current(), list) };
    }

    GOMP_taskyield() -> () {
        team::yield_to_descendant(current());
    }

    GOMP_taskgroup_start() -> () {
        begin_group(current());
    }

    GOMP_taskgroup_end() -> () {
        end_group(current());
    }

    omp_fulfill_event omp_fulfill_event_(event: usize) -> () {
        // SAFETY: OpenMP allows it once for each event.
        unsafe { Event::fulfill(event) };
    }

    omp_in_final omp_in_final_() -> c_int {
        c_int::from(team::with_task(|it| it.options().is_final))
    }
}
