//! What the integration tests have in common.

#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod places;
pub(crate) mod seen;

use std::any::Any;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use locksley::idle::{Abp, Balanced, Bws, IdleContext, IdlePolicy, Limit, Move, Thief};
use locksley::stats::WorkerStats;
use locksley::{Pool, PoolBuilder};

/// Sleeps whenever it may: the most sleeping and waking that a program can cause.
#[derive(Debug)]
pub(crate) struct Sleepy;

impl IdlePolicy for Sleepy {
    fn name(&self) -> &'static str {
        "sleepy"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(Sleepy)
    }
}

impl Thief for Sleepy {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        if context.failures == 0 { Move::Search } else { Move::Sleep }
    }
}

/// Only searches: it neither yields nor sleeps.
#[derive(Debug)]
pub(crate) struct Restless;

impl IdlePolicy for Restless {
    fn name(&self) -> &'static str {
        "restless"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(Restless)
    }
}

impl Thief for Restless {
    fn next(&mut self, _context: &IdleContext<'_>) -> Move {
        Move::Search
    }
}

/// As on a machine with one processor: pushes keep one worker awake.
#[derive(Debug)]
pub(crate) struct Confined;

impl IdlePolicy for Confined {
    fn name(&self) -> &'static str {
        "confined"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(Confined)
    }
    fn limit(&self, _processors: usize) -> Limit {
        Limit { awake: 1, timed_park: Duration::from_micros(200) }
    }
}

impl Thief for Confined {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        let is_tired = context.is_over_limit() || context.failures > 20;
        if is_tired { Move::Sleep } else { Move::Search }
    }
}

/// Says nothing but sleep. The pool must do its work all the same.
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

/// Every idle policy; a new one gets all tests that use [`pools`] by one line here.
fn idle_policies() -> [fn(PoolBuilder) -> PoolBuilder; 6] {
    [
        |pool| pool.idle_policy(Balanced::default()),
        |pool| pool.idle_policy(Bws::default()),
        |pool| pool.idle_policy(Abp::default()),
        // Never sleeps:
        |pool| pool.idle_policy(Abp { sleep_after: None, ..Abp::default() }),
        // Lowers its priority at once:
        |pool| pool.idle_policy(Abp { attempts: 1, lower_after: Some(0), sleep_after: Some(3) }),
        |pool| pool.idle_policy(Sleepy),
    ]
}

/// A pool for each idle policy and each of some numbers of workers: one, as many as processors, many
/// more.
pub(crate) fn pools() -> impl Iterator<Item = Pool> {
    idle_policies().into_iter().flat_map(|with_policy| {
        [1, 2, 3, 16].map(|workers| {
            with_policy(Pool::builder()).workers(workers).build().expect("a pool can be built")
        })
    })
}

/// What a panic said.
pub(crate) fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no text)")
}

/// What `what` returns, on a thread of its own. If that hangs, the test fails, and the thread is
/// left behind.
pub(crate) fn in_time<R: Send + 'static>(what: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = channel();
    let thread = std::thread::spawn(move || drop(sender.send(what())));
    match receiver.recv_timeout(Duration::from_secs(20)) {
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

/// Waits for a future as a thread that knows no runtime.
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

/// Waits until nothing that workers count has changed for 200 ms, but for how long they have slept.
///
/// # Panics
///
/// After `patience`: thieves give up after a while, which is long on a busy machine.
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
