//! Loops that are divided into tasks.

use std::ffi::{c_int, c_long, c_uint, c_ulong, c_void};

use super::reductions::register_in_group;
use super::tasks::{described, within_group};
use super::{read, write};
use crate::shares::{Iterations, even_share};
use crate::tasks::{Copier, Function};
use crate::team::{self, NewTask, current};

const UP: c_uint = 1 << 8;
pub(super) const GRAINSIZE: c_uint = 1 << 9;
const IF: c_uint = 1 << 10;
const NOGROUP: c_uint = 1 << 11;
const REDUCTION: c_uint = 1 << 12;
pub(super) const STRICT: c_uint = 1 << 14;

/// Divides iterations by what `grainsize` or `num_tasks` says; 0 for neither. Returns the bounds of
/// each task's iterations: the first ones may have one more than the others.
pub(super) fn divide(
    total: u64,
    stated: u64,
    flags: c_uint,
    threads: u64,
) -> impl Iterator<Item = (u64, u64)> {
    let grain = if flags & GRAINSIZE != 0 { stated } else { 0 };
    let is_strict = grain > 0 && flags & STRICT != 0;
    let tasks = match (grain, stated) {
        (0, 0) => threads,
        (0, stated) => stated,
        (grain, _) if is_strict => total.div_ceil(grain),
        (grain, _) => (total / grain).max(1),
    };
    let tasks = tasks.min(total);
    let of_grain = move |first: u64| (first, first.saturating_add(grain).min(total));
    (0..tasks).map(move |number| match is_strict {
        true => of_grain(number * grain),
        false => even_share(total, number, tasks),
    })
}

/// Creates the tasks of a loop, and waits for them unless `nogroup` says otherwise. The first two
/// words of a task's data are its first and last value.
fn run(task: NewTask<'_>, flags: c_uint, stated: u64, iterations: Iterations) {
    let member = current();
    let task = NewTask { may_be_deferred: flags & IF != 0, ..task };
    within_group(member, flags & NOGROUP == 0, || {
        if flags & REDUCTION != 0 {
            // The third word of the data is the address of the descriptor.
            register_in_group(member, read(task.data.cast::<*mut usize>().wrapping_add(2)));
        }
        let threads = u64::from(member.team().size);
        for part in divide(iterations.total(), stated, flags, threads) {
            let (first, end) = iterations.values(part);
            let adjust = |data: *mut c_void| {
                let words = data.cast::<u64>();
                write(words, first);
                write(words.wrapping_add(1), end);
            };
            team::create(member, NewTask { adjust: Some(&adjust), ..task });
        }
    });
}

export! {
    GOMP_taskloop(
        function: Function, data: *mut c_void, copier: Option<Copier>, size: c_long,
        align: c_long, flags: c_uint, stated: c_ulong, priority: c_int, start: c_long,
        end: c_long, step: c_long,
    ) -> () {
        let task = described(function, (data, copier), (size, align), (flags, priority));
        run(task, flags, stated, Iterations::signed(start, end, step));
    }

    GOMP_taskloop_ull(
        function: Function, data: *mut c_void, copier: Option<Copier>, size: c_long,
        align: c_long, flags: c_uint, stated: c_ulong, priority: c_int, start: u64, end: u64,
        step: u64,
    ) -> () {
        let task = described(function, (data, copier), (size, align), (flags, priority));
        run(task, flags, stated, Iterations::unsigned(flags & UP != 0, start, end, step));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_a_grain_or_a_number() {
        let lengths = |total, stated, flags| {
            let parts: Vec<_> = divide(total, stated, flags, 4).collect();
            assert!(parts.windows(2).all(|it| it[0].1 == it[1].0));
            assert_eq!(
                (parts.first().map(|it| it.0), parts.last().map(|it| it.1)),
                (Some(0), Some(total))
            );
            parts.iter().map(|(from, to)| to - from).collect::<Vec<_>>()
        };
        assert_eq!(lengths(10, 0, 0), [3, 3, 2, 2]);
        assert_eq!(lengths(10, 3, 0), [4, 3, 3]);
        assert_eq!(lengths(2, 3, 0), [1, 1]);
        assert_eq!(lengths(10, 4, GRAINSIZE), [5, 5]);
        assert_eq!(lengths(3, 4, GRAINSIZE), [3]);
        assert_eq!(lengths(10, 4, GRAINSIZE | STRICT), [4, 4, 2]);
        assert_eq!(divide(0, 4, GRAINSIZE, 4).count() + divide(0, 0, 0, 4).count(), 0);
    }
}
