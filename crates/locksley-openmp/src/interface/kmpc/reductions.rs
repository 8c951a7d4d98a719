//! Reductions that tasks take part in.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Arc;
use std::{ptr, slice};

use super::{Place, Thread};
use crate::interface::tasks::begin_group;
use crate::messages::fatal;
use crate::tasks::{Copies, Group, Variable};
use crate::team::current;

thread_local! {
    /// The copies of arrays that tasks on the thread's stack have begun, the innermost task's last.
    static BEGUN: RefCell<Vec<(Variable, *mut c_void)>> = const { RefCell::new(Vec::new()) };
}

/// How many copies tasks on the thread's stack have begun.
pub(super) fn begun() -> usize {
    BEGUN.try_with(|it| it.borrow().len()).unwrap_or(0)
}

/// The innermost task ends, before which so many copies had begun.
pub(super) fn end_begun(before: usize) {
    let pop = |it: &RefCell<Vec<_>>| {
        let mut it = it.borrow_mut();
        if it.len() > before { it.pop() } else { None }
    };
    let reductions = &current().team().reductions;
    while let Some((variable, copy)) = BEGUN.try_with(pop).ok().flatten() {
        reductions.acquire();
        // SAFETY: the task has begun it, and those that the task has executed have ended.
        unsafe { variable.combine(copy) };
        reductions.release();
    }
}

export! {
    // The compiler has begun the group of the reductions.
    __kmpc_taskred_init(_thread: Thread, count: i32, variables: *const Variable) -> *const Group {
        let member = current();
        let Some(group) = member.with_task(|it| it.group()) else { return ptr::null() };
        // SAFETY: the compiler passes so many.
        let variables = unsafe { slice::from_raw_parts(variables, count as usize) };
        // SAFETY: the compiler's variables.
        group.set_copies(unsafe { Copies::new(variables, member.team().size as usize) });
        Arc::as_ptr(&group)
    }

    // Each thread of the team has a group, which reduces the thread's own variables.
    __kmpc_taskred_modifier_init(
        _place: Place, thread: Thread, _is_loop: i32, count: i32, variables: *const Variable,
    ) -> *const Group {
        // SAFETY: the compiler passes so many.
        let list = unsafe { slice::from_raw_parts(variables, count as usize) };
        if list.iter().any(Variable::is_begun_by_task) {
            // The end of a task would change a variable that another thread is using.
            fatal("clang's reduction(task, ...) of arrays of unknown length is not supported");
        }
        begin_group(current()).mark_as_of_share();
        // SAFETY: as above.
        unsafe { __kmpc_taskred_init(thread, count, variables) }
    }

    // The group may be null: it is the innermost one, or one around it.
    __kmpc_task_reduction_get_th_data(
        _thread: Thread, group: *const Group, address: *mut c_void,
    ) -> *mut c_void {
        let member = current();
        let innermost = member.with_task(|it| it.group());
        // SAFETY: from one of the functions above; the group ends after its tasks.
        let group = unsafe { group.as_ref() }.or(innermost.as_deref());
        let found = group.and_then(|it| it.copy(address.addr(), member.number as usize));
        let Some((variable, copy)) = found else {
            fatal("a task takes part in a reduction that has not begun")
        };
        let has_begun = || BEGUN.with_borrow(|it| it.iter().any(|begun| begun.1 == copy));
        if variable.is_begun_by_task() && !has_begun() {
            if BEGUN.with_borrow(|it| it.iter().any(|begun| begun.0.is_changed_by(&variable))) {
                fatal("clang's recursive task reductions of arrays are not supported");
            }
            // SAFETY: the compiler's variable.
            unsafe { variable.begin(copy) };
            BEGUN.with_borrow_mut(|it| it.push((variable, copy)));
        }
        copy
    }
}
