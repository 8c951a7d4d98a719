//! Activities that end badly: panics, pools that are dropped, forks.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::fork::{Fork, fork as fork_process, waitpid};
use locksley::Pool;
use locksley::loops::par;
use locksley::task::yield_now;

use super::activities::{Checked, Checks, Tree, policy_pool};
use crate::random::Random;

/// The payload of all panics that are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Injected(u64);

/// The payload of a panic of `run`; another panic than one that is meant goes on.
fn injected(run: impl FnOnce()) -> Option<u64> {
    let payload = catch_unwind(AssertUnwindSafe(run)).err()?;
    payload.downcast().map_or_else(|other| resume_unwind(other), |it: Box<Injected>| Some(it.0))
}

fn inject(number: u64) {
    panic_any(Injected(number))
}

/// Panics in loops, scopes, futures and detached tasks: each reaches its waiter.
pub(super) fn panics(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let (items, grain) = (2000, 1 + (random.next_u64() % 20) as usize);
    let payload = injected(|| pool.install(|_| par(0..items).grain(grain).for_each(inject)));
    checks.expect("a payload of a loop", payload.is_some_and(|n| n < items), true)?;

    let ended = AtomicU64::new(0);
    let payload = injected(|| {
        pool.in_place_scope(|scope| {
            for n in 0..100 {
                let ended = &ended;
                scope.spawn(move |_| {
                    ended.fetch_add(1, Ordering::Relaxed);
                    if n % 3 == 0 {
                        inject(n);
                    }
                });
            }
        });
    });
    checks.expect("a payload of a scope", payload.is_some_and(|n| n % 3 == 0), true)?;
    checks.expect("the tasks of the scope", ended.into_inner(), 100)?;

    let task = pool.spawn_future(async {
        yield_now().await;
        inject(7);
    });
    let payload = injected(|| match task.join() {
        Ok(()) => (),
        Err(error) => resume_unwind(error.into_panic()),
    });
    checks.expect("the payload of a future", payload, Some(7))?;

    let caught = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&caught);
    let handler = move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    };
    let own = Pool::builder().workers(pool.workers()).panic_handler(handler).build()?;
    (0..100).for_each(|n| own.spawn(move |_| inject(n)));
    drop(own);
    checks.expect("the panics that were handled", caught.load(Ordering::Relaxed), 100)
}

/// Counts when it is dropped.
struct Counted(Arc<AtomicU64>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A pool that is dropped with tasks in it: closures run once, futures end or are cancelled.
pub(super) fn drop_pool(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let own = policy_pool(pool.workers(), random.next_u64())?;
    let (run, dropped) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    for n in 0..150 {
        let run = Arc::clone(&run);
        own.spawn(move |_| {
            run.fetch_add(1, Ordering::Relaxed);
            locksley::spawn(move || {
                run.fetch_add(1, Ordering::Relaxed);
            });
        });
        let counted = Counted(Arc::clone(&dropped));
        drop(own.spawn_future(async move {
            let _counted = counted;
            if n % 2 == 0 {
                loop {
                    yield_now().await;
                }
            }
            std::future::pending::<()>().await;
        }));
    }
    drop(own);
    checks.expect("the closures that were run", run.load(Ordering::Relaxed), 300)?;
    checks.expect("the futures that were dropped", dropped.load(Ordering::Relaxed), 150)
}

/// A child that uses an idle pool of its parent.
pub(super) fn fork(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let tree = Tree::random(random);
    let own = policy_pool(pool.workers(), random.next_u64())?;
    let sum = || own.install(|worker| tree.joined(worker));
    checks.expect("the sum before", sum(), tree.serial())?;
    match fork_process()? {
        Fork::Child => {
            let is_right = catch_unwind(AssertUnwindSafe(|| sum() == tree.serial()));
            process::exit(if is_right.unwrap_or(false) { 0 } else { 1 });
        }
        Fork::Parent(child) => {
            let status = waitpid(child)?;
            checks.expect("the status of the child", status, 0)?;
        }
    }
    checks.expect("the sum after", sum(), tree.serial())
}
