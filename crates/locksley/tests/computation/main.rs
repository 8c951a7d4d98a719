//! Computations that end, and such that cannot.

mod foreign;
mod nested;
mod panics;
mod random;
#[cfg(all(feature = "stacks", not(locksley_portable)))]
mod stacks;
mod waits;
mod wakers;

use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::Pool;
use locksley::computation::Incomplete;

/// Who waits for what, in the order in which they were spawned.
pub(crate) fn stuck<R: std::fmt::Debug>(end: Result<R, Incomplete>) -> Vec<(String, Vec<String>)> {
    match end.unwrap_err() {
        Incomplete::Stuck(waiting) => {
            waiting.iter().map(|one| (one.task().to_owned(), one.waits_for().to_vec())).collect()
        }
        other => panic!("{other}"),
    }
}

pub(crate) fn waits(task: &str, waits_for: &[&str]) -> (String, Vec<String>) {
    (task.to_owned(), waits_for.iter().map(|&name| name.to_owned()).collect())
}

pub(crate) fn pools() -> impl Iterator<Item = Pool> {
    (1..=3).map(|workers| Pool::new(workers).unwrap())
}

/// Dropped when its future is.
pub(crate) struct Counted<'d>(pub(crate) &'d AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
