//! Fibonacci numbers, doubly recursive: nothing but calls, so nothing but the cost of a fork. One version a runtime, each as
//! its users would write it.

use locksley::Worker;

use super::calls::both;

/// The same code without forks.
#[inline(never)]
pub(super) fn serial(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = both(|| serial(n - 1), || serial(n - 2));
    a + b
}

/// What one writes who has no forks in mind; the compiler may make a loop of one of the two calls.
#[inline(never)]
pub(super) fn plain(n: u64) -> u64 {
    if n < 2 { n } else { plain(n - 1) + plain(n - 2) }
}

pub(in crate::experiments) fn on_worker(worker: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|w| on_worker(w, n - 1), |w| on_worker(w, n - 2));
    a + b
}

pub(super) fn with_join(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = locksley::join(|| with_join(n - 1), || with_join(n - 2));
    a + b
}

pub(super) fn on_rayon(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| on_rayon(n - 1), || on_rayon(n - 2));
    a + b
}

/// The caller of chili's join runs the second closure first: in reverse, so that all go the same way.
pub(super) fn on_chili(scope: &mut chili::Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (b, a) = scope.join(|s| on_chili(s, n - 2), |s| on_chili(s, n - 1));
    a + b
}
