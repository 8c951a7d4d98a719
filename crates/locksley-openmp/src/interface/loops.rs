//! Loops whose iterations the threads of a team share.

use std::ffi::{c_long, c_void};

use super::reductions::{Extras, NO_EXTRAS, begin_share};
use super::write;
use crate::icv::{Kind, MONOTONIC};
use crate::shares::{Cursor, Iterations, Plan, Share};
use crate::team::{Member, current};

/// A schedule as the compiler states it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stated {
    Given(Kind, IsMonotonic, u64),
    /// What `run-sched-var` says.
    Runtime(IsMonotonic),
}

/// Whether each thread gets its iterations in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IsMonotonic {
    Yes,
    No,
    /// As `run-sched-var` says.
    Maybe,
}

use IsMonotonic::{Maybe, No, Yes};

impl Stated {
    /// The schedule that the functions of OpenMP 5 get as a number: 0 stands for `runtime`.
    pub(super) fn from_number(number: c_long, chunk: u64) -> Self {
        let number = number as u32;
        let is_monotonic = if number & MONOTONIC != 0 { Yes } else { Maybe };
        match Kind::from_number(number) {
            Some(kind) => Self::Given(kind, is_monotonic, chunk),
            None => Self::Runtime(is_monotonic),
        }
    }

    /// A loop with this schedule, as the calling member's task understands it.
    pub(super) fn plan(self, member: &Member, iterations: Iterations) -> Plan {
        match self {
            Self::Given(kind, is_monotonic, chunk) => {
                Plan { iterations, kind, chunk, is_monotonic: is_monotonic == Yes }
            }
            Self::Runtime(is_monotonic) => {
                let schedule = member.with_task(|it| it.icvs()).schedule;
                let is_monotonic =
                    is_monotonic == Yes || is_monotonic == Maybe && schedule.is_monotonic;
                Plan { iterations, kind: schedule.kind, chunk: schedule.chunk, is_monotonic }
            }
        }
    }
}

/// A chunk size in iterations, as the compiler states it.
pub(super) fn chunk(stated: c_long) -> u64 {
    stated.max(0).cast_unsigned()
}

/// Where the first and the last value of a chunk go. They are `long` or `unsigned long long`.
pub(super) type Values = (*mut u64, *mut u64);

/// [`Share::next`] or [`Share::next_ordered`].
type Next = fn(&Share, u32, &Cursor) -> Option<(u64, u64)>;

/// Begins a loop that may have reductions by tasks and shared memory. It takes the first chunk by
/// `next`, unless the compiler divides the iterations itself.
fn start(
    stated: Stated,
    iterations: Iterations,
    values: Values,
    extras: Extras,
    next: Next,
) -> bool {
    let member = current();
    begin_share(member, Some(stated.plan(member, iterations)), None, extras);
    values.0.is_null() || take(member, values, next)
}

/// Takes the calling member's next chunk by `next`. False if there is none.
pub(super) fn take(member: &Member, (from, to): Values, next: Next) -> bool {
    let position = &member.position;
    let chunk = next(position.current(), member.number, &position.cursor);
    let Some((first, end)) = chunk else { return false };
    write(from, first);
    write(to, end);
    true
}

// `(size)` stands for the argument that says how large chunks are.
macro_rules! starts {
    ($($name:ident $unsigned:ident ($($size:ident)?) $stated:expr;)*) => { export! {$(
        $name(
            start: c_long, end: c_long, step: c_long, $($size: c_long,)? from: *mut u64,
            to: *mut u64,
        ) -> bool {
            $(let $size = chunk($size);)?
            let iterations = Iterations::signed(start, end, step);
            self::start($stated, iterations, (from, to), NO_EXTRAS, Share::next)
        }
        $unsigned(
            is_up: bool, start: u64, end: u64, step: u64, $($size: u64,)? from: *mut u64,
            to: *mut u64,
        ) -> bool {
            let iterations = Iterations::unsigned(is_up, start, end, step);
            self::start($stated, iterations, (from, to), NO_EXTRAS, Share::next)
        }
    )*} };
}

starts! {
    GOMP_loop_static_start GOMP_loop_ull_static_start (size)
        Stated::Given(Kind::Static, Yes, size);
    GOMP_loop_dynamic_start GOMP_loop_ull_dynamic_start (size)
        Stated::Given(Kind::Dynamic, Yes, size);
    GOMP_loop_guided_start GOMP_loop_ull_guided_start (size)
        Stated::Given(Kind::Guided, Yes, size);
    GOMP_loop_nonmonotonic_dynamic_start GOMP_loop_ull_nonmonotonic_dynamic_start (size)
        Stated::Given(Kind::Dynamic, No, size);
    GOMP_loop_nonmonotonic_guided_start GOMP_loop_ull_nonmonotonic_guided_start (size)
        Stated::Given(Kind::Guided, No, size);
    GOMP_loop_ordered_static_start GOMP_loop_ull_ordered_static_start (size)
        Stated::Given(Kind::Static, Yes, size);
    GOMP_loop_ordered_dynamic_start GOMP_loop_ull_ordered_dynamic_start (size)
        Stated::Given(Kind::Dynamic, Yes, size);
    GOMP_loop_ordered_guided_start GOMP_loop_ull_ordered_guided_start (size)
        Stated::Given(Kind::Guided, Yes, size);
    GOMP_loop_runtime_start GOMP_loop_ull_runtime_start () Stated::Runtime(Yes);
    GOMP_loop_nonmonotonic_runtime_start GOMP_loop_ull_nonmonotonic_runtime_start ()
        Stated::Runtime(No);
    GOMP_loop_maybe_nonmonotonic_runtime_start GOMP_loop_ull_maybe_nonmonotonic_runtime_start ()
        Stated::Runtime(Maybe);
    GOMP_loop_ordered_runtime_start GOMP_loop_ull_ordered_runtime_start () Stated::Runtime(Yes);
}

// For any schedule. `$flags` are added to its number.
macro_rules! general_starts {
    ($($name:ident $unsigned:ident $flags:expr, $next:ident;)*) => { export! {$(
        $name(
            start: c_long, end: c_long, step: c_long, schedule: c_long, size: c_long,
            from: *mut u64, to: *mut u64, reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            let stated = Stated::from_number(schedule | c_long::from($flags), chunk(size));
            let iterations = Iterations::signed(start, end, step);
            self::start(stated, iterations, (from, to), (reductions, memory), Share::$next)
        }
        $unsigned(
            is_up: bool, start: u64, end: u64, step: u64, schedule: c_long, size: u64,
            from: *mut u64, to: *mut u64, reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            let stated = Stated::from_number(schedule | c_long::from($flags), size);
            let iterations = Iterations::unsigned(is_up, start, end, step);
            self::start(stated, iterations, (from, to), (reductions, memory), Share::$next)
        }
    )*} };
}

general_starts! {
    GOMP_loop_start GOMP_loop_ull_start 0, next;
    GOMP_loop_ordered_start GOMP_loop_ull_ordered_start MONOTONIC, next_ordered;
}

export! {
    GOMP_loop_static_next GOMP_loop_ull_static_next
    GOMP_loop_dynamic_next GOMP_loop_ull_dynamic_next
    GOMP_loop_guided_next GOMP_loop_ull_guided_next
    GOMP_loop_runtime_next GOMP_loop_ull_runtime_next
    GOMP_loop_nonmonotonic_dynamic_next GOMP_loop_ull_nonmonotonic_dynamic_next
    GOMP_loop_nonmonotonic_guided_next GOMP_loop_ull_nonmonotonic_guided_next
    GOMP_loop_nonmonotonic_runtime_next GOMP_loop_ull_nonmonotonic_runtime_next
    GOMP_loop_maybe_nonmonotonic_runtime_next GOMP_loop_ull_maybe_nonmonotonic_runtime_next
    (from: *mut u64, to: *mut u64) -> bool {
        take(current(), (from, to), Share::next)
    }

    GOMP_loop_ordered_static_next GOMP_loop_ull_ordered_static_next
    GOMP_loop_ordered_dynamic_next GOMP_loop_ull_ordered_dynamic_next
    GOMP_loop_ordered_guided_next GOMP_loop_ull_ordered_guided_next
    GOMP_loop_ordered_runtime_next GOMP_loop_ull_ordered_runtime_next
    (from: *mut u64, to: *mut u64) -> bool {
        take(current(), (from, to), Share::next_ordered)
    }
}
