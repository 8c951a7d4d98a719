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
    Some(stated.plan(current(), Iterations::signed(start, end, step)).into())
}

// `(size)` stands for the argument that says how large chunks are.
macro_rules! parallel_loops {
    ($($name:ident ($($size:ident)?) $stated:expr;)*) => { export! {$(
        $name(
            function: Function, data: *mut c_void, threads: c_uint, start: c_long, end: c_long,
            step: c_long, $($size: c_long,)? flags: c_uint,
        ) -> () {
            let share = prepare($stated, (start, end, step));
            // SAFETY: the compiler's function and its data.
            unsafe { parallel::run(function, data, (threads, flags), share, |_| None) };
        }
    )*} };
}

parallel_loops! {
    GOMP_parallel_loop_static (size) Stated::Given(Kind::Static, Yes, chunk(size));
    GOMP_parallel_loop_dynamic (size) Stated::Given(Kind::Dynamic, Yes, chunk(size));
    GOMP_parallel_loop_guided (size) Stated::Given(Kind::Guided, Yes, chunk(size));
    GOMP_parallel_loop_runtime () Stated::Runtime(Yes);
    GOMP_parallel_loop_nonmonotonic_dynamic (size) Stated::Given(Kind::Dynamic, No, chunk(size));
    GOMP_parallel_loop_nonmonotonic_guided (size) Stated::Given(Kind::Guided, No, chunk(size));
    GOMP_parallel_loop_nonmonotonic_runtime () Stated::Runtime(No);
    GOMP_parallel_loop_maybe_nonmonotonic_runtime () Stated::Runtime(Maybe);
}

macro_rules! parallel_loop_starts {
    ($($name:ident ($($size:ident)?) $stated:expr;)*) => { export! {$(
        $name(
            function: Function, data: *mut c_void, threads: c_uint, start: c_long, end: c_long,
            step: c_long, $($size: c_long,)?
        ) -> () {
            let share = prepare($stated, (start, end, step));
            team::start(Region { function, data, threads, bind: 0, share }, |_| None);
        }
    )*} };
}

// The functions of GOMP_1.0: the program itself calls the body, and then `GOMP_parallel_end`.
parallel_loop_starts! {
    GOMP_parallel_loop_static_start (size) Stated::Given(Kind::Static, Yes, chunk(size));
    GOMP_parallel_loop_dynamic_start (size) Stated::Given(Kind::Dynamic, Yes, chunk(size));
    GOMP_parallel_loop_guided_start (size) Stated::Given(Kind::Guided, Yes, chunk(size));
    GOMP_parallel_loop_runtime_start () Stated::Runtime(Yes);
}
