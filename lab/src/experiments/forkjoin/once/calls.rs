//! Two calls in a row, where a parallel program has a fork.

use std::sync::atomic::{Ordering, compiler_fence};

/// Calls both. The compiler may not turn one of the calls into a loop, or move anything across them: it could not if there
/// were a fork either. The fences are the compiler's alone and cost no instruction.
#[inline(always)]
pub(super) fn both<A, B>(a: impl FnOnce() -> A, b: impl FnOnce() -> B) -> (A, B) {
    let a = a();
    compiler_fence(Ordering::SeqCst);
    let b = b();
    compiler_fence(Ordering::SeqCst);
    (a, b)
}
