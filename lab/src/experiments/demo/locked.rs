//! A lock held across a parallel call.
//!
//! Threads of the program call into a pool. Each call takes one lock, and computes in parallel
//! while it holds that. A worker that waits for a stolen part may then take the next call, if its
//! runtime lets it run any task. That call waits for the lock, which a frame below it on the same
//! stack holds: it waits forever.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;

use super::{CALLS as COMPLETED, LOCKSLEY, RAYON};
use crate::experiment::prelude::*;
use crate::fork::{Fork, Rayon, reduce};
use crate::leaf;

/// How many calls take the lock, and from how many threads.
pub(super) const CALLS: u64 = 2000;
const CALLERS: u64 = 4;
/// Parallel leaves of each, and their steps.
const LEAVES: u64 = 16;
const STEPS: u64 = 5000;

/// If no call is completed for this long, they hang.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);

#[derive(Default)]
struct Shared {
    sum: Mutex<u64>,
    completed: AtomicU64,
}

impl Shared {
    fn call(&self, fork: &impl Fork) {
        let mut sum = self.sum.lock().unwrap_or_else(PoisonError::into_inner);
        let leaf = |_: Range<u64>| leaf::run(STEPS);
        *sum = sum.wrapping_add(reduce(fork, 0..LEAVES, 1, leaf, u64::wrapping_add));
        // Relaxed: only progress is looked at.
        self.completed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Makes all calls on a runtime, until they are completed, or none is for `patience`: how many were
/// completed, and in how many seconds if all were. Threads that hang are left behind.
pub(super) fn watch(runtime: &str, workers: usize, patience: Duration) -> Outcome<Readings> {
    let call: Arc<dyn Fn(&Shared) + Send + Sync> = match runtime {
        LOCKSLEY => {
            // Guests would run calls on the callers' threads, where rayon has no counterpart.
            let pool = Pool::builder().workers(workers).own_threads_only();
            let pool = pool.build().map_err(Fault::run)?;
            Arc::new(move |shared: &Shared| pool.install(|worker| shared.call(worker)))
        }
        RAYON => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers);
            let pool = pool.build().map_err(Fault::run)?;
            Arc::new(move |shared: &Shared| pool.install(|| shared.call(&Rayon)))
        }
        other => return Err(Fault::input(format!("'{other}' makes no calls under a lock"))),
    };
    let (shared, (sender, ended)) = (Arc::new(Shared::default()), mpsc::channel());
    let begun = Instant::now();
    for _ in 0..CALLERS {
        let (call, shared, sender) = (Arc::clone(&call), Arc::clone(&shared), sender.clone());
        thread::spawn(move || {
            (0..CALLS / CALLERS).for_each(|_| call(&shared));
            // There is no receiver if this took too long.
            let _ = sender.send(());
        });
    }
    drop(sender);
    let completed = || shared.completed.load(Ordering::Relaxed);
    let (mut latest, mut since, mut callers) = (0, begun, CALLERS);
    while callers > 0 {
        match ended.recv_timeout(LOOK) {
            Ok(()) => callers -= 1,
            Err(RecvTimeoutError::Disconnected) => return Err(Fault::run("a call panicked")),
            Err(RecvTimeoutError::Timeout) if completed() != latest => {
                (latest, since) = (completed(), Instant::now());
            }
            Err(RecvTimeoutError::Timeout) if since.elapsed() >= patience => {
                return Ok(named([(COMPLETED, latest as f64)]));
            }
            Err(RecvTimeoutError::Timeout) => (),
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let sum = *shared.sum.lock().unwrap_or_else(PoisonError::into_inner);
    right(sum, leaf::run(STEPS).wrapping_mul(CALLS * LEAVES))?;
    Ok(named([(COMPLETED, CALLS as f64), (SECONDS, seconds)]))
}
