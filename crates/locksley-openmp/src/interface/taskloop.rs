//! Loops that are divided into tasks.

use std::ffi::{c_int, c_long, c_uint, c_ulong, c_void};

use super::reductions::register_in_group;
use super::tasks::{PRIORITY, begin_group, end_group};
use crate::shares::Iterations;
use crate::tasks::{Copier, Function};
use crate::team::{self, Member, NewTask, current};

const FINAL: c_uint = 1 << 1;
const UP: c_uint = 1 << 8;
pub(super) const GRAINSIZE: c_uint = 1 << 9;
const IF: c_uint = 1 << 10;
const NOGROUP: c_uint = 1 << 11;
const REDUCTION: c_uint = 1 << 12;
const STRICT: c_uint = 1 << 14;

/// How many tasks, how many iterations each has, and how many of the first have one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Division {
    pub(super) tasks: u64,
    pub(super) each: u64,
    pub(super) longer: u64,
}

/// Divides iterations by what `grainsize` or `num_tasks` says; 0 for neither.
pub(super) fn divide(total: u64, stated: u64, flags: c_uint, threads: u64) -> Division {
    if flags & GRAINSIZE != 0 && stated > 0 {
        if flags & STRICT != 0 {
            return Division { tasks: total.div_ceil(stated), each: stated, longer: 0 };
        }
        let tasks = (total / stated).max(1);
        return Division { tasks, each: total / tasks, longer: total % tasks };
    }
    let wanted = if stated == 0 { threads } else { stated };
    let tasks = wanted.min(total);
    Division { tasks, each: total / tasks, longer: total % tasks }
}

struct Loop {
    function: Function,
    data: *mut c_void,
    copier: Option<Copier>,
    size: usize,
    align: usize,
    flags: c_uint,
    stated: u64,
    priority: c_int,
    iterations: Iterations,
}

/// Creates the tasks of a loop, and waits for them unless `nogroup` says otherwise.
fn run(member: &Member, it: &Loop) {
    let has_group = it.flags & NOGROUP == 0;
    if has_group {
        begin_group(member);
    }
    if it.flags & REDUCTION != 0 {
        // SAFETY: the third word of the data is the address of the descriptor.
        let descriptor = unsafe { *it.data.cast::<*mut usize>().wrapping_add(2) };
        register_in_group(member, descriptor);
    }
    let total = it.iterations.total();
    if total > 0 {
        create(member, it, total);
    }
    if has_group {
        end_group(member);
    }
}

fn create(member: &Member, it: &Loop, total: u64) {
    let division = divide(total, it.stated, it.flags, u64::from(member.team().size));
    let mut from = 0;
    for number in 0..division.tasks {
        let to = (from + division.each + u64::from(number < division.longer)).min(total);
        let values = it.iterations.values((from, to));
        let adjust = |data: *mut c_void| {
            let words = data.cast::<u64>();
            // SAFETY: the first two words of the data are the task's first and last value.
            unsafe { *words = values.0 };
            // SAFETY: as above.
            unsafe { *words.wrapping_add(1) = values.1 };
        };
        team::create(
            member,
            NewTask {
                function: it.function,
                discard: None,
                data: it.data,
                copier: it.copier,
                size: it.size,
                align: it.align,
                may_be_deferred: it.flags & IF != 0,
                is_final: it.flags & FINAL != 0,
                priority: it.priority,
                accesses: &[],
                event: None,
                adjust: Some(&adjust),
            },
        );
        from = to;
    }
}

export! {
    GOMP_taskloop(
        function: Function, data: *mut c_void, copier: Option<Copier>, size: c_long,
        align: c_long, flags: c_uint, stated: c_ulong, priority: c_int, start: c_long,
        end: c_long, step: c_long,
    ) -> () {
        let (size, align) = (size.max(0) as usize, align.max(1) as usize);
        let iterations = Iterations::signed(start, end, step);
        let priority = if flags & PRIORITY == 0 { 0 } else { priority };
        let it = Loop { function, data, copier, size, align, flags, stated, priority, iterations };
        run(current(), &it);
    }

    GOMP_taskloop_ull(
        function: Function, data: *mut c_void, copier: Option<Copier>, size: c_long,
        align: c_long, flags: c_uint, stated: c_ulong, priority: c_int, start: u64, end: u64,
        step: u64,
    ) -> () {
        let (size, align) = (size.max(0) as usize, align.max(1) as usize);
        let iterations = Iterations::unsigned(flags & UP != 0, start, end, step);
        let priority = if flags & PRIORITY == 0 { 0 } else { priority };
        let it = Loop { function, data, copier, size, align, flags, stated, priority, iterations };
        run(current(), &it);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_a_grain_or_a_number() {
        let tasks = |total, stated, flags| divide(total, stated, flags, 4);
        assert_eq!(tasks(10, 0, 0), Division { tasks: 4, each: 2, longer: 2 });
        assert_eq!(tasks(10, 3, 0), Division { tasks: 3, each: 3, longer: 1 });
        assert_eq!(tasks(2, 3, 0), Division { tasks: 2, each: 1, longer: 0 });
        assert_eq!(tasks(10, 4, GRAINSIZE), Division { tasks: 2, each: 5, longer: 0 });
        assert_eq!(tasks(3, 4, GRAINSIZE), Division { tasks: 1, each: 3, longer: 0 });
        assert_eq!(tasks(10, 4, GRAINSIZE | STRICT), Division { tasks: 3, each: 4, longer: 0 });
    }
}
