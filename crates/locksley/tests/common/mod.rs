//! Shared by the integration tests.

#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod idle_policies;
pub(crate) mod places;

use std::any::Any;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use idle_policies::{Helping, SLEEPLESS, SLEEPY, Yielding};
use locksley::idle::{Balanced, IdleContext, IdlePolicy, Move, Thief};
use locksley::stats::WorkerStats;
use locksley::{Pool, PoolBuilder, Worker};

/// As on a machine with one processor: pushes keep one worker awake.
///
/// `pool/stall.rs` has its own policy of this kind, with shorter waits.
#[derive(Debug)]
pub(crate) struct Confined;

impl IdlePolicy for Confined {
    fn name(&self) -> &'static str {
        "confined"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(Confined)
    }
    fn is_limited(&self) -> bool {
        true
    }
}

impl Thief for Confined {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        if context.failures > 20 { Move::Sleep } else { Move::Search }
    }
}

/// Parks at every step. The pool must run its tasks nevertheless.
#[derive(Debug)]
pub(crate) struct AlwaysAsleep;

impl IdlePolicy for AlwaysAsleep {
    fn name(&self) -> &'static str {
        "always asleep"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(AlwaysAsleep)
    }
}

impl Thief for AlwaysAsleep {
    fn next(&mut self, _context: &IdleContext<'_>) -> Move {
        Move::Sleep
    }
}

/// The idle policies of [`pools`]. One line adds a new one.
fn idle_policies() -> [fn(PoolBuilder) -> PoolBuilder; 6] {
    [
        |pool| pool.idle_policy(Balanced::default()),
        |pool| pool.idle_policy(Helping { attempts: 64 }),
        |pool| pool.idle_policy(SLEEPLESS),
        |pool| pool.idle_policy(Yielding { attempts: 64, sleep_after: Some(64) }),
        |pool| pool.idle_policy(Yielding { attempts: 1, sleep_after: Some(3) }),
        |pool| pool.idle_policy(SLEEPY),
    ]
}

/// A pool for each idle policy, with one worker, about as many as processors, and many more.
pub(crate) fn pools() -> impl Iterator<Item = Pool> {
    idle_policies().into_iter().flat_map(|with_policy| {
        [1, 2, 3, 16].map(|workers| {
            with_policy(Pool::builder()).workers(workers).build().expect("a pool can be built")
        })
    })
}

/// The message of a panic.
pub(crate) fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no text)")
}

/// Runs `what` on a thread of its own, and returns its result. If it hangs, the test fails, and
/// leaves the thread behind.
pub(crate) fn in_time<R: Send + 'static>(what: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = channel();
    let thread = std::thread::spawn(move || drop(sender.send(what())));
    match receiver.recv_timeout(Duration::from_secs(60)) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(RecvTimeoutError::Disconnected) => {
            resume_unwind(thread.join().expect_err("it panicked"))
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on a thread without any runtime.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Waits until the counters of all workers have not changed for 200 ms, except for the time that
/// they have slept.
///
/// # Panics
/// After `patience`. Searches end late on a busy machine.
pub(crate) fn fall_silent(
    patience: Duration,
    stats: impl Fn() -> Vec<WorkerStats>,
) -> Vec<WorkerStats> {
    let counted = || -> Vec<WorkerStats> {
        let mut counted = stats();
        counted.iter_mut().for_each(|worker| worker.sleeping = Duration::ZERO);
        counted
    };
    let until = Instant::now() + patience;
    let mut before = counted();
    loop {
        thread::sleep(Duration::from_millis(200));
        let now = counted();
        if now == before {
            return now;
        }
        assert!(Instant::now() < until, "still awake: {before:?} {now:?}");
        before = now;
    }
}

/// Calls `task` with the worker that the calling thread is.
pub(crate) fn on_worker<R>(task: impl FnOnce(&Worker) -> R) -> R {
    Worker::with_current(|current| task(current.expect("a worker's thread")))
}

/// # Panics
/// After two minutes.
#[track_caller]
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < until, "in vain");
        thread::yield_now();
    }
}

/// [`wait_until`] the flag is set.
#[track_caller]
pub(crate) fn wait_for(flag: &AtomicBool) {
    wait_until(|| flag.load(Ordering::Acquire));
}

pub(crate) fn fib(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}
