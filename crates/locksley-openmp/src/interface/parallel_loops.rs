//! Parallel regions that consist of a loop.

use std::ffi::{c_long, c_uint, c_void};

use super::loops::{IsMonotonic, Stated, chunk};
use super::parallel;
use crate::icv::Kind;
use crate::shares::{Iterations, Preparation};
use crate::tasks::Function;
use crate::team::{self, Region, current};

use IsMonotonic::{Maybe, No, Yes};

fn prepare(stated: Stated, (start, end, step): (c_long, c_long, c_long)) -> Option<Preparation> {
    let plan = stated.plan(current(), Iterations::signed(start, end, step));
    Some(Preparation { plan: Some(plan), ..Preparation::default() })
}

macro_rules! parallel_loops {
    ($($name:ident $kind:ident $is_monotonic:ident;)*) => { export! {$(
        $name(
            function: Function, data: *mut c_void, threads: c_uint, start: c_long, end: c_long,
            step: c_long, size: c_long, flags: c_uint,
        ) -> () {
            let stated = Stated::Given(Kind::$kind, $is_monotonic, chunk(size));
            let share = prepare(stated, (start, end, step));
            // SAFETY: the compiler's function and its data.
            unsafe { parallel::run(function, data, (threads, flags), share, |_| None) };
        }
    )*} };
}

parallel_loops! {
    GOMP_parallel_loop_static Static Yes;
    GOMP_parallel_loop_dynamic Dynamic Yes;
    GOMP_parallel_loop_guided Guided Yes;
    GOMP_parallel_loop_nonmonotonic_dynamic Dynamic No;
    GOMP_parallel_loop_nonmonotonic_guided Guided No;
}

macro_rules! parallel_runtime_loops {
    ($($name:ident $is_monotonic:ident;)*) => { export! {$(
        $name(
            function: Function, data: *mut c_void, threads: c_uint, start: c_long, end: c_long,
            step: c_long, flags: c_uint,
        ) -> () {
            let share = prepare(Stated::Runtime($is_monotonic), (start, end, step));
            // SAFETY: the compiler's function and its data.
            unsafe { parallel::run(function, data, (threads, flags), share, |_| None) };
        }
    )*} };
}

parallel_runtime_loops! {
    GOMP_parallel_loop_runtime Yes;
    GOMP_parallel_loop_nonmonotonic_runtime No;
    GOMP_parallel_loop_maybe_nonmonotonic_runtime Maybe;
}

macro_rules! parallel_loop_starts {
    ($($name:ident $kind:ident;)*) => { export! {$(
        $name(
            function: Function, data: *mut c_void, threads: c_uint, start: c_long, end: c_long,
            step: c_long, size: c_long,
        ) -> () {
            let stated = Stated::Given(Kind::$kind, Yes, chunk(size));
            let share = prepare(stated, (start, end, step));
            team::start(Region { function, data, threads, bind: 0, share }, |_| None);
        }
    )*} };
}

// The functions of GOMP_1.0: the program itself calls the body, and then `GOMP_parallel_end`.
parallel_loop_starts! {
    GOMP_parallel_loop_static_start Static;
    GOMP_parallel_loop_dynamic_start Dynamic;
    GOMP_parallel_loop_guided_start Guided;
}

export! {
    GOMP_parallel_loop_runtime_start(
        function: Function, data: *mut c_void, threads: c_uint, start: c_long, end: c_long,
        step: c_long,
    ) -> () {
        let share = prepare(Stated::Runtime(Yes), (start, end, step));
        team::start(Region { function, data, threads, bind: 0, share }, |_| None);
    }
}
