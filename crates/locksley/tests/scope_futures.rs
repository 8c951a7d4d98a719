//! Futures of a scope: they borrow, and end before the scope does.

mod common;

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use common::{in_time, pools};
use locksley::{Pool, Scope, Worker, block_on, task};
use locksley_sync::{Barrier, Semaphore};

/// Counts its drops.
struct Counted<'d>(&'d AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// An event that a thread outside of the pool causes.
#[derive(Default)]
struct Event(Mutex<(bool, Vec<Waker>)>);

impl Event {
    fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap();
        if state.0 {
            return Poll::Ready(());
        }
        state.1.push(context.waker().clone());
        Poll::Pending
    }

    async fn happened(&self) {
        poll_fn(|context| self.poll(context)).await;
    }

    fn happen(&self) {
        let wakers = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            std::mem::take(&mut state.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}

async fn take(permits: &Semaphore) {
    permits.acquire().await.unwrap().forget();
}

#[test]
fn futures_borrow_and_end_before_the_scope() {
    for pool in pools() {
        let (dropped, mut squares) = (AtomicUsize::new(0), vec![0; 100]);
        pool.in_place_scope(|scope| {
            for (n, square) in squares.iter_mut().enumerate() {
                let counted = Counted(&dropped);
                scope.spawn_future(async move {
                    let _counted = counted;
                    if n % 3 == 0 {
                        task::yield_now().await;
                    }
                    *square = n * n;
                });
            }
        });
        assert_eq!(dropped.into_inner(), 100);
        assert!(squares.iter().enumerate().all(|(n, &square)| square == n * n));
    }
}

#[test]
fn futures_run_in_scopes_of_workers_and_of_other_threads() {
    fn fill(scope: &Scope<'_>, sum: &'static AtomicUsize) {
        for n in 0..10 {
            scope.spawn_future(async move {
                task::yield_now().await;
                sum.fetch_add(n, Ordering::Relaxed);
            });
        }
    }
    static SUM: AtomicUsize = AtomicUsize::new(0);
    let other = Pool::new(1).unwrap();
    for (round, pool) in pools().enumerate() {
        pool.install(|_| locksley::in_place_scope(|scope| fill(scope, &SUM)));
        other.install(|_| pool.in_place_scope(|scope| fill(scope, &SUM)));
        locksley::scope(|scope| fill(scope, &SUM));
        assert_eq!(SUM.load(Ordering::Relaxed), (round + 1) * 3 * 45);
    }
}

#[test]
fn closures_and_futures_share_a_scope() {
    for pool in pools() {
        let (signal, log) = (Semaphore::new(0), AtomicUsize::new(0));
        pool.in_place_scope(|scope| {
            let (signal, log) = (&signal, &log);
            scope.spawn_future(async move {
                take(signal).await;
                assert_eq!(log.fetch_add(1, Ordering::Relaxed), 1);
            });
            scope.spawn(move |scope| {
                scope.spawn_future(async move {
                    log.fetch_add(1, Ordering::Relaxed);
                    signal.add_permits(1);
                });
            });
        });
        assert_eq!(log.into_inner(), 2);
    }
}

#[test]
fn futures_pass_a_permit_in_a_ring() {
    for pool in pools() {
        let slots = [(); 3].map(|()| Semaphore::new(0));
        pool.in_place_scope(|scope| {
            for n in 0..3 {
                let (own, next) = (&slots[n], &slots[(n + 1) % 3]);
                scope.spawn_future(async move {
                    for _ in 0..300 {
                        take(own).await;
                        next.add_permits(1);
                    }
                });
            }
            slots[0].add_permits(1);
        });
    }
}

#[test]
fn a_future_waits_for_a_thread_outside() {
    for pool in pools() {
        let (event, done) = (Event::default(), AtomicBool::new(false));
        thread::scope(|threads| {
            threads.spawn(|| {
                thread::sleep(Duration::from_millis(5));
                event.happen();
            });
            pool.in_place_scope(|scope| {
                scope.spawn_future(async {
                    event.happened().await;
                    done.store(true, Ordering::Relaxed);
                });
            });
            assert!(done.load(Ordering::Relaxed));
        });
    }
}

/// Wakers are used and dropped after the scope has ended, when the borrowed values are gone.
#[test]
fn wakers_outlive_the_scope() {
    for pool in pools() {
        let kept = Mutex::new(Vec::new());
        {
            let borrowed = vec![1; 1000];
            pool.in_place_scope(|scope| {
                for _ in 0..10 {
                    scope.spawn_future(async {
                        let mut is_last = false;
                        poll_fn(|context| {
                            kept.lock().unwrap().push(context.waker().clone());
                            context.waker().wake_by_ref();
                            if std::mem::replace(&mut is_last, true) {
                                Poll::Ready(())
                            } else {
                                Poll::Pending
                            }
                        })
                        .await;
                        assert_eq!(borrowed.iter().sum::<usize>(), 1000);
                    });
                }
            });
        }
        for (n, waker) in kept.into_inner().unwrap().into_iter().enumerate() {
            if n % 2 == 0 { waker.wake() } else { drop(waker) }
        }
    }
}

/// A future that polls an inner one with its own waker.
#[test]
fn a_waker_that_forwards_wakes_the_future() {
    struct Forwards(Waker);
    impl Wake for Forwards {
        fn wake(self: Arc<Self>) {
            self.0.wake_by_ref();
        }
    }
    for pool in pools() {
        let event = Event::default();
        thread::scope(|threads| {
            threads.spawn(|| event.happen());
            pool.in_place_scope(|scope| {
                scope.spawn_future(async {
                    let mut wait = pin!(event.happened());
                    poll_fn(|context| {
                        let inner = Waker::from(Arc::new(Forwards(context.waker().clone())));
                        wait.as_mut().poll(&mut Context::from_waker(&inner))
                    })
                    .await;
                });
            });
        });
    }
}

/// A scope has a future that waits for a permit. `panics` gives the permit and panics, with the
/// payload `expected`, which must arrive after the future was dropped.
fn assert_panic_after_all_have_ended(
    expected: &str,
    panics: impl for<'s> Fn(&Scope<'s>, &'s Semaphore),
) {
    for pool in pools() {
        let (dropped, signal) = (AtomicUsize::new(0), Semaphore::new(0));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            pool.in_place_scope(|scope| {
                let (signal, counted) = (&signal, Counted(&dropped));
                scope.spawn_future(async move {
                    let _counted = counted;
                    take(signal).await;
                });
                panics(scope, signal);
            });
        }));
        assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), expected);
        assert_eq!(dropped.into_inner(), 1);
    }
}

#[test]
fn a_panic_of_a_future_arrives_after_all_have_ended() {
    assert_panic_after_all_have_ended("robin", |scope, signal| {
        scope.spawn_future(async move {
            task::yield_now().await;
            signal.add_permits(1);
            resume_unwind(Box::new("robin"));
        });
    });
}

#[test]
fn a_panic_of_the_body_arrives_after_all_have_ended() {
    assert_panic_after_all_have_ended("marian", |scope, signal| {
        scope.spawn(move |_| signal.add_permits(1));
        resume_unwind(Box::new("marian"));
    });
}

#[test]
fn a_panic_of_a_drop_is_the_panic_of_the_scope() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            resume_unwind(Box::new("tuck"));
        }
    }
    /// Returns at its first poll. Its field is dropped with it.
    struct Holds(Panics);
    impl Future for Holds {
        type Output = ();
        fn poll(self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            Poll::Ready(())
        }
    }
    let pool = Pool::new(1).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        pool.in_place_scope(|scope| scope.spawn_future(Holds(Panics)));
    }));
    assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), "tuck");
}

/// The inner futures wait for a permit from an outer future.
#[test]
fn a_poll_may_run_a_scope_of_futures() {
    for pool in pools() {
        let (signal, inner_ended) = (Semaphore::new(0), AtomicBool::new(false));
        pool.in_place_scope(|outer| {
            let (signal, inner_ended) = (&signal, &inner_ended);
            outer.spawn_future(async move {
                Worker::with_current(|worker| assert!(worker.is_some()));
                locksley::scope(|inner| inner.spawn_future(take(signal)));
                inner_ended.store(true, Ordering::Relaxed);
            });
            outer.spawn_future(async move {
                for _ in 0..20 {
                    task::yield_now().await;
                }
                signal.add_permits(1);
            });
        });
        assert!(inner_ended.into_inner());
    }
}

#[test]
fn futures_fork_block_and_await_tasks() {
    for pool in pools() {
        let (sum, gate) = (AtomicUsize::new(0), Semaphore::new(0));
        pool.in_place_scope(|scope| {
            let (sum, gate) = (&sum, &gate);
            scope.spawn_future(async move {
                let (a, b) = locksley::join(|| 1, || 2);
                let c = task::spawn(async { 3 }).await.unwrap();
                sum.fetch_add(a + b + c, Ordering::Relaxed);
                gate.add_permits(1);
            });
            scope.spawn_future(async move { block_on(take(gate)) });
        });
        assert_eq!(sum.into_inner(), 6);
    }
}

#[test]
fn futures_wait_at_barriers_and_for_several_permits() {
    for pool in pools() {
        let (barrier, counter) = (Barrier::new(8), Semaphore::new(0));
        let after = AtomicUsize::new(0);
        pool.in_place_scope(|scope| {
            for _ in 0..8 {
                scope.spawn_future(async {
                    barrier.wait().await;
                    after.fetch_add(1, Ordering::Relaxed);
                    counter.add_permits(1);
                });
            }
            scope.spawn_future(async {
                counter.acquire_many(8).await.unwrap().forget();
                assert_eq!(after.load(Ordering::Relaxed), 8);
            });
        });
    }
}

/// The pool is dropped while a detached closure waits in a scope. The pool waits for it.
#[test]
fn a_dropped_pool_waits_for_the_futures_of_scopes() {
    in_time(|| {
        for workers in 1..4 {
            let (pool, event) = (Pool::new(workers).unwrap(), Arc::new(Event::default()));
            let (begun, ended) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
            let (begins, ends) = (Arc::clone(&begun), Arc::clone(&ended));
            let inner = Arc::clone(&event);
            pool.spawn(move |_| {
                locksley::in_place_scope(|scope| {
                    scope.spawn_future(async {
                        begins.store(true, Ordering::Release);
                        inner.happened().await;
                        ends.store(true, Ordering::Release);
                    });
                });
            });
            while !begun.load(Ordering::Acquire) {
                thread::yield_now();
            }
            let happens = thread::spawn(move || {
                thread::sleep(Duration::from_millis(5));
                event.happen();
            });
            drop(pool);
            assert!(ended.load(Ordering::Acquire));
            happens.join().unwrap();
        }
    });
}

/// A random number below `limit` (splitmix64).
fn below(state: &mut u64, limit: usize) -> usize {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ z >> 31) % limit as u64) as usize
}

/// Gives a permit to a future, or takes one from it.
#[derive(Clone, Copy, Debug)]
enum Step {
    Give(usize),
    Take(usize),
    Yield,
}

/// A program that ends: each `Take` is added after its `Give`.
fn program(seed: u64) -> Vec<Vec<Step>> {
    let state = &mut seed.clone();
    let futures = 1 + below(state, 6);
    let mut program = vec![Vec::new(); futures];
    for _ in 0..below(state, 40) {
        let (from, to) = (below(state, futures), below(state, futures));
        if below(state, 6) == 0 {
            program[from].push(Step::Yield);
        }
        program[from].push(Step::Give(to));
        program[to].push(Step::Take(from));
    }
    program
}

/// Each pair of futures has a semaphore of its own.
fn run(pool: &Pool, program: &[Vec<Step>]) {
    let futures = program.len();
    let semaphores: Vec<_> = (0..futures * futures).map(|_| Semaphore::new(0)).collect();
    pool.in_place_scope(|scope| {
        for (own, steps) in program.iter().enumerate() {
            let semaphores = &semaphores;
            scope.spawn_future(async move {
                for &step in steps {
                    match step {
                        Step::Give(to) => semaphores[own * futures + to].add_permits(1),
                        Step::Take(from) => take(&semaphores[from * futures + own]).await,
                        Step::Yield => task::yield_now().await,
                    }
                }
            });
        }
    });
    assert!(semaphores.iter().all(|semaphore| semaphore.available_permits() == 0));
}

#[test]
fn random_programs_end() {
    let pools: Vec<Pool> = pools().collect();
    for seed in 0..100 {
        let program = program(seed);
        pools.iter().for_each(|pool| run(pool, &program));
    }
}
