//! Reductions that tasks take part in.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use super::Thread;
use crate::interface::diagnostics::fatal;
use crate::tasks::{Copies, Group, Variable};
use crate::team::current;

export! {
    // The compiler has begun the group of the reductions.
    __kmpc_taskred_init(_thread: Thread, count: i32, variables: *const Variable) -> *const Group {
        let member = current();
        let Some(group) = member.with_task(|it| it.group()) else { return ptr::null() };
        // SAFETY: the compiler passes so many.
        let variables = unsafe { std::slice::from_raw_parts(variables, count as usize) };
        if variables.iter().any(Variable::is_begun_by_task) {
            fatal("clang's task reductions of arrays are not supported");
        }
        // SAFETY: the compiler's variables.
        group.set_copies(unsafe { Copies::new(variables, member.team().size as usize) });
        Arc::as_ptr(&group)
    }

    // The group may be null: it is the innermost one, or one around it.
    __kmpc_task_reduction_get_th_data(
        _thread: Thread, group: *const Group, address: *mut c_void,
    ) -> *mut c_void {
        let member = current();
        let innermost = member.with_task(|it| it.group());
        // SAFETY: from `__kmpc_taskred_init`; the group ends after its tasks.
        let group = unsafe { group.as_ref() }.or(innermost.as_deref());
        let copy = group.and_then(|it| it.copy(address.addr(), member.number as usize));
        copy.unwrap_or_else(|| fatal("a task takes part in a reduction that has not begun"))
    }
}
