//! Whole lifetimes of pools, from the build to the drop, under schedules that shuttle chooses.
//!
//! Each test runs its scenario under `SCHEDULES` schedules (default: 1,000). Half of them are
//! random. The other half follow Burckhardt et al., "A randomized scheduler with probabilistic
//! guarantees of finding bugs", ASPLOS 2010 (PCT). A failure prints its schedule. Shuttle reports a
//! deadlock, or a schedule that does not end, by itself.
#![cfg(shuttle)]

mod ends;
#[path = "../common/idle_policies.rs"]
mod idle_policies;
mod lifetimes;
mod tasks;
mod waits;

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use idle_policies::{Helping, Yielding};
use locksley::idle::Balanced;
use locksley::{Pool, PoolBuilder, Worker};
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, MaxSteps, Runner, thread};

/// The number of priority changes that PCT makes, plus one.
const DEPTH: usize = 4;
/// Many more steps than any schedule takes that ends.
const MAX_STEPS: usize = 1_000_000;

fn check(scenario: fn()) {
    let number = env::var("SCHEDULES").map_or(1000, |number| number.parse().unwrap());
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    config.max_steps = MaxSteps::FailAfter(MAX_STEPS);
    config.silence_warnings = true;
    Runner::new(RandomScheduler::new(number - number / 2), config.clone()).run(scenario);
    Runner::new(PctScheduler::new(DEPTH, number / 2), config).run(scenario);
}

fn below(bound: usize) -> usize {
    thread_rng().gen_range(0..bound)
}

/// Builds a pool of 1 to 3 workers, gives it to `life`, which drops it, and checks that its threads
/// have ended then.
fn with_pool(life: impl FnOnce(Pool)) {
    with_pool_of(builder(1 + below(3)), life);
}

/// A pool with fewer replacements than by default, since each has a slot to be made.
fn builder(workers: usize) -> PoolBuilder {
    Pool::builder().workers(workers).replacements(3)
}

/// As [`with_pool`], with other options. The policy is a random one.
fn with_pool_of(builder: PoolBuilder, life: impl FnOnce(Pool)) {
    // Thieves sleep early, so that schedules are short.
    let builder = match below(4) {
        0 => builder.idle_policy(Helping { attempts: 2 }),
        1 => builder.idle_policy(Yielding { attempts: 2, sleep_after: Some(2) }),
        _ => builder.idle_policy(Balanced::with_threshold(2)),
    };
    let threads = [Count::default(), Count::default()];
    let [begin, end] = threads.clone();
    // A pool with a start hook has no guests.
    let has_hook = below(2) == 0;
    let builder = if has_hook { builder.on_start(move |_| begin.add()) } else { builder };
    let pool = builder.on_exit(move |_| end.add()).build().unwrap();
    let workers = pool.workers();
    // In half of the schedules, workers fall asleep before tasks come.
    (0..below(2) * below(200)).for_each(|_| thread::yield_now());
    life(pool);
    let [begun, ended] = threads.map(|count| count.get());
    assert!(ended >= workers, "a worker has not begun or not ended");
    assert!(!has_hook || begun == ended, "a thread has not ended");
}

/// A counter that is no step of a schedule.
#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Count {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs `other` on a second thread while the calling one runs `here`, and then drops the pool.
// Not by shuttle's scoped threads: the end of the last one unblocks the thread that has the scope,
// whatever that one waits for.
fn beside(pool: Pool, other: impl FnOnce(&Pool) + Send + 'static, here: impl FnOnce(&Pool)) {
    let pool = Arc::new(pool);
    let shared = Arc::clone(&pool);
    let other = thread::spawn(move || other(&shared));
    here(&pool);
    other.join().unwrap();
}

fn fib(worker: &Worker, n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|worker| fib(worker, n - 1), |worker| fib(worker, n - 2));
    a + b
}
