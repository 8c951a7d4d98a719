//! Loops. Their bounds are included, where those of libgomp's functions are excluded.

use super::doacross::take_counts;
use super::{Place, Thread};
use crate::icv::Kind;
use crate::interface::loops::{IsMonotonic, Stated};
use crate::interface::reductions::{NO_EXTRAS, begin_share};
use crate::interface::{read, write};
use crate::shares::{Iterations, Share, even_share};
use crate::team::{Member, current};

const STATIC_CHUNKED: i32 = 33;
/// Of the teams of a league.
const DISTRIBUTE_CHUNKED: i32 = 91;
const DISTRIBUTE: i32 = 92;
const MONOTONIC: i32 = 1 << 29;
const NONMONOTONIC: i32 = 1 << 30;
/// By how much the numbers of the schedules of ordered loops are larger.
const ORDERED: i32 = 32;

/// What a thread has of a loop with a static schedule, in iterations.
#[derive(Debug)]
struct Own {
    first: u64,
    last: u64,
    /// The distance to the thread's next chunk.
    stride: u64,
    has_last: bool,
}

fn divide(total: u64, chunk: Option<u64>, thread: u64, threads: u64) -> Own {
    if let Some(chunk) = chunk {
        let chunk = chunk.min(total);
        let chunks = total.div_ceil(chunk);
        if thread >= chunks {
            return Own { first: total, last: total - 1, stride: total, has_last: false };
        }
        let first = chunk * thread;
        // Neither may overflow the loop's type, which may hold little more than `total`.
        let last = (first + (chunk - 1)).min(total - 1);
        let stride = if chunks <= threads { total - first } else { chunk * threads };
        return Own { first, last, stride, has_last: (chunks - 1) % threads == thread };
    }
    let (first, end) = even_share(total, thread, threads);
    let has_last = first < end && end == total;
    Own { first, last: end.wrapping_sub(1), stride: total, has_last }
}

/// What the calling thread, or its team in the league, has of a loop with a static schedule.
fn own(schedule: i32, total: u64, chunk: i64) -> Own {
    let member = current();
    if let Some(counts) = take_counts() {
        begin_share(member, None, Some((total, &counts)), NO_EXTRAS);
    }
    let team = member.team();
    let kind = schedule & !(MONOTONIC | NONMONOTONIC);
    let (count, number) = match kind {
        DISTRIBUTE | DISTRIBUTE_CHUNKED => team.league.get(),
        _ => (team.size, member.number),
    };
    let is_chunked = matches!(kind, STATIC_CHUNKED | DISTRIBUTE_CHUNKED);
    divide(total, is_chunked.then(|| chunk.max(1) as u64), number.into(), count.into())
}

/// What the calling thread has of a loop that is divided among the teams of a league, and then
/// among the threads of each; and the end of what its team has.
fn own_in_team(schedule: i32, total: u64, chunk: i64) -> (Own, u64) {
    let (count, number) = current().team().league.get();
    let (start, end) = even_share(total, number.into(), count.into());
    let mut own = Own { first: 0, last: u64::MAX, stride: 1, has_last: false };
    if start < end {
        own = self::own(schedule, end - start, chunk);
    }
    own.has_last &= end == total;
    (own.first, own.last) = (own.first + start, own.last.wrapping_add(start));
    (own, end)
}

/// The schedule of a loop that the library divides, and whether it is ordered.
fn schedule(number: i32, chunk: u64) -> (Stated, bool) {
    let is_ordered = number & !(MONOTONIC | NONMONOTONIC) >= 64;
    let kind = number & !(MONOTONIC | NONMONOTONIC);
    let is_monotonic = match number {
        number if number & MONOTONIC != 0 || is_ordered => IsMonotonic::Yes,
        number if number & NONMONOTONIC != 0 => IsMonotonic::No,
        _ => IsMonotonic::Maybe,
    };
    let stated = match if is_ordered { kind - ORDERED } else { kind } {
        STATIC_CHUNKED => Stated::Given(Kind::Static, is_monotonic, chunk),
        35 => Stated::Given(Kind::Dynamic, is_monotonic, chunk),
        // The latter ones have the modifier `simd`.
        36 | 46 => Stated::Given(Kind::Guided, is_monotonic, chunk),
        37 | 47 => Stated::Runtime(is_monotonic),
        _ => Stated::Given(Kind::Static, is_monotonic, 0),
    };
    (stated, is_ordered)
}

/// Begins a loop that the library divides.
fn begin(number: i32, chunk: u64, iterations: Iterations) {
    let (member, counts) = (current(), take_counts());
    let (stated, is_ordered) = schedule(number, chunk);
    let mut plan = stated.plan(member, iterations);
    plan.is_monotonic |= counts.is_some();
    let doacross = counts.as_deref().map(|it| (iterations.total(), it));
    begin_share(member, Some(plan), doacross, NO_EXTRAS);
    member.position.cursor.set_ordered(is_ordered);
}

/// The next iterations of the calling member: the first and the last value, and whether the loop's
/// last one is among them. Values of shorter types are cut off.
fn next(member: &Member) -> Option<(u64, u64, bool)> {
    let position = &member.position;
    let (share, cursor) = (position.current(), &position.cursor);
    let next = if cursor.is_ordered() { Share::next_ordered } else { Share::next };
    let (first, end) = next(share, member.number, cursor)?;
    let iterations = share.iterations();
    let has_last = cursor.current().1 == iterations.total();
    Some((first, end.wrapping_sub(iterations.step()), has_last))
}

macro_rules! loops {
    ($(
        $type:ty, $signed:ty, $static:ident $in_team:ident $begin:ident $next:ident;
    )*) => { export! {$(
        $static(
            _place: Place, _thread: Thread, schedule: i32, has_last: *mut i32, first: *mut $type,
            last: *mut $type, stride: *mut $signed, step: $signed, chunk: $signed,
        ) -> () {
            let (from, to) = (read(first), read(last));
            let iterations = Iterations::included(from.into(), to.into(), step.into());
            write(has_last, 0);
            write(stride, step);
            if iterations.total() > 0 {
                let own = own(schedule, iterations.total(), chunk.into());
                write(first, iterations.value(own.first) as $type);
                write(last, iterations.value(own.last) as $type);
                write(stride, own.stride.wrapping_mul(step as u64) as $signed);
                write(has_last, i32::from(own.has_last));
            }
        }

        $in_team(
            _place: Place, _thread: Thread, schedule: i32, has_last: *mut i32, first: *mut $type,
            last: *mut $type, last_of_team: *mut $type, stride: *mut $signed, step: $signed,
            chunk: $signed,
        ) -> () {
            let (from, to) = (read(first), read(last));
            let iterations = Iterations::included(from.into(), to.into(), step.into());
            write(has_last, 0);
            write(last_of_team, to);
            if iterations.total() > 0 {
                let (own, end) = own_in_team(schedule, iterations.total(), chunk.into());
                write(first, iterations.value(own.first) as $type);
                write(last, iterations.value(own.last) as $type);
                write(last_of_team, iterations.value(end.wrapping_sub(1)) as $type);
                write(stride, own.stride.wrapping_mul(step as u64) as $signed);
                write(has_last, i32::from(own.has_last));
            }
        }

        $begin(
            _place: Place, _thread: Thread, schedule: i32, first: $type, last: $type,
            step: $signed, chunk: $signed,
        ) -> () {
            let iterations = Iterations::included(first.into(), last.into(), step.into());
            begin(schedule, chunk.max(1) as u64, iterations);
        }

        $next(
            _place: Place, _thread: Thread, has_last: *mut i32, first: *mut $type,
            last: *mut $type, stride: *mut $signed,
        ) -> i32 {
            let member = current();
            let Some(values) = self::next(member) else { return 0 };
            write(first, values.0 as $type);
            write(last, values.1 as $type);
            write(has_last, i32::from(values.2));
            write(stride, member.position.current().iterations().step() as $signed);
            1
        }
    )*} };
}

loops! {
    i32, i32, __kmpc_for_static_init_4 __kmpc_dist_for_static_init_4
        __kmpc_dispatch_init_4 __kmpc_dispatch_next_4;
    u32, i32, __kmpc_for_static_init_4u __kmpc_dist_for_static_init_4u
        __kmpc_dispatch_init_4u __kmpc_dispatch_next_4u;
    i64, i64, __kmpc_for_static_init_8 __kmpc_dist_for_static_init_8
        __kmpc_dispatch_init_8 __kmpc_dispatch_next_8;
    u64, i64, __kmpc_for_static_init_8u __kmpc_dist_for_static_init_8u
        __kmpc_dispatch_init_8u __kmpc_dispatch_next_8u;
}

export! {
    __kmpc_for_static_fini __kmpc_dispatch_deinit __kmpc_dispatch_fini_4 __kmpc_dispatch_fini_4u
    __kmpc_dispatch_fini_8 __kmpc_dispatch_fini_8u __kmpc_doacross_fini() -> () {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_iteration_has_one_thread_and_one_thread_has_the_last() {
        for (total, chunk, threads) in [
            (1, None, 3),
            (10, None, 3),
            (9, None, 3),
            (10, Some(1), 3),
            (10, Some(4), 2),
            (10, Some(4), 3),
            (10, Some(4), 8),
            (10, Some(u64::MAX), 4),
        ] {
            let mut seen = vec![0; total as usize];
            let mut last = 0;
            for thread in 0..threads {
                let own = divide(total, chunk, thread, threads);
                last += u32::from(own.has_last);
                let length = (own.last + 1).saturating_sub(own.first);
                for first in (own.first..total).step_by(own.stride as usize) {
                    (first..(first + length).min(total)).for_each(|it| seen[it as usize] += 1);
                }
            }
            assert!(seen.iter().all(|it| *it == 1) && last == 1, "{total} {chunk:?}: {seen:?}");
        }
    }

    #[test]
    fn large_chunks_stay_within_the_type() {
        let most = i32::MAX as u64;
        for total in [10, most] {
            for thread in 0..4 {
                let own = divide(total, Some(1 << 30), thread, 4);
                let chunks = if total == 10 { 1 } else { 2 };
                let (first, last) = (i32::try_from(own.first).unwrap(), own.last as i32);
                assert_eq!(first <= last, thread < chunks, "{total} {thread} {own:?}");
                assert!(thread >= chunks || own.first + own.stride == total, "{own:?}");
                assert_eq!(own.has_last, thread == chunks - 1);
            }
        }
    }
}
