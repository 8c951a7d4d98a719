//! Loops whose iterations wait for others.

use std::ffi::{c_long, c_uint, c_void};
use std::slice;

use super::loops::{IsMonotonic, Stated, Values, chunk, take};
use super::reductions::{Extras, NO_EXTRAS, begin_share};
use super::variadic::{Arguments, variadic};
use crate::icv::{Kind, MONOTONIC};
use crate::shares::{Doacross, Iterations, Share};
use crate::team::current;

/// Begins such a loop over the iterations of the outermost of `levels` loops.
fn start(
    stated: Stated,
    levels: c_uint,
    counts: *const u64,
    values: Values,
    extras: Extras,
) -> bool {
    // SAFETY: the compiler passes that many numbers.
    let counts = unsafe { slice::from_raw_parts(counts, levels as usize) };
    let member = current();
    let plan = stated.plan(member, Iterations::counted(counts[0]));
    begin_share(member, Some(plan), Some((counts[0], counts)), extras);
    values.0.is_null() || take(member, values, Share::next)
}

macro_rules! doacross {
    ($($name:ident $unsigned:ident ($($size:ident)?) $stated:expr;)*) => { export! {$(
        $name $unsigned(
            levels: c_uint, counts: *const u64, $($size: c_long,)? from: *mut u64, to: *mut u64,
        ) -> bool {
            start($stated, levels, counts, (from, to), NO_EXTRAS)
        }
    )*} };
}

doacross! {
    GOMP_loop_doacross_static_start GOMP_loop_ull_doacross_static_start (size)
        Stated::Given(Kind::Static, IsMonotonic::Yes, chunk(size));
    GOMP_loop_doacross_dynamic_start GOMP_loop_ull_doacross_dynamic_start (size)
        Stated::Given(Kind::Dynamic, IsMonotonic::Yes, chunk(size));
    GOMP_loop_doacross_guided_start GOMP_loop_ull_doacross_guided_start (size)
        Stated::Given(Kind::Guided, IsMonotonic::Yes, chunk(size));
    GOMP_loop_doacross_runtime_start GOMP_loop_ull_doacross_runtime_start ()
        Stated::Runtime(IsMonotonic::Yes);
}

/// Posts an iteration or waits for it. Its numbers are the compiler's.
pub(super) fn act(numbers: *const u64, act: fn(&Doacross, &[u64])) {
    if let Some(doacross) = current().position.current().doacross() {
        // SAFETY: the compiler passes as many numbers as there are loops.
        act(doacross, unsafe { slice::from_raw_parts(numbers, doacross.levels()) });
    }
}

export! {
    GOMP_loop_doacross_start GOMP_loop_ull_doacross_start(
        levels: c_uint, counts: *const u64, schedule: c_long, size: c_long,
        from: *mut u64, to: *mut u64, reductions: *mut usize, memory: *mut *mut c_void,
    ) -> bool {
        let stated = Stated::from_number(schedule | c_long::from(MONOTONIC), chunk(size));
        start(stated, levels, counts, (from, to), (reductions, memory))
    }

    GOMP_doacross_post GOMP_doacross_ull_post(numbers: *const u64) -> () {
        act(numbers, Doacross::post);
    }
}

/// Waits for an iteration whose numbers were passed as arguments.
unsafe extern "C" fn wait(registers: *const u64, stack: *const u64) {
    let Some(doacross) = current().position.current().doacross() else { return };
    let arguments = Arguments { registers, stack };
    // SAFETY: the compiler passes as many numbers as there are loops.
    let number = |at| unsafe { arguments.get(at) };
    let iteration: Vec<_> = (0..doacross.levels()).map(number).collect();
    doacross.wait(&iteration);
}

variadic! { GOMP_doacross_wait GOMP_doacross_ull_wait => wait; }
