//! What it costs to wait on a stack of one's own.
//!
//! `cargo bench -p locksley --bench stacks`. *There and back* is the bare switch. A *hop* is one of two tasks that wake each other by
//! semaphores: a wait, a switch back, a switch to the other one, and what the semaphore takes. On one worker both wait on stacks; as
//! futures, neither has one.

use std::hint::black_box;
use std::time::{Duration, Instant};

use corosensei::Coroutine;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use locksley::sync::Semaphore;
use locksley::{Pool, Worker, block_on};

fn there_and_back(c: &mut Criterion) {
    c.bench_function("there and back", |b| {
        let mut routine = Coroutine::<(), (), ()>::new(|way, ()| {
            loop {
                way.suspend(());
            }
        });
        b.iter(|| routine.resume(()));
        // SAFETY: nothing lies on that stack that would have to be dropped.
        unsafe { routine.force_reset() };
    });
}

/// A task that is found by a worker who waits: on top of the waiting frame, or on a stack that was used before.
fn found(c: &mut Criterion) {
    const TASKS: u64 = 1000;
    let mut group = c.benchmark_group("a task found while another waits");
    group.throughput(Throughput::Elements(TASKS));
    for (name, stacks) in [("on top", 0), ("on a stack", 10_000)] {
        let pool = Pool::builder().workers(1).waiting_stacks(stacks).build().unwrap();
        let tasks = |w: &Worker| {
            let last = Semaphore::new(0);
            w.scope(|w, scope| {
                let last = &last;
                scope.spawn_on(w, move |_, _| last.add_permits(1));
                for n in 1..TASKS {
                    scope.spawn_on(w, move |_, _| _ = black_box(n));
                }
                block_on(last.acquire()).unwrap().forget();
            });
        };
        group.bench_function(name, |b| {
            b.iter_custom(|times| pool.run(|w| time(times, || tasks(w))))
        });
    }
    group.finish();
}

fn ping_pong(c: &mut Criterion) {
    const HOPS: u64 = 2000;
    let mut group = c.benchmark_group("ping-pong");
    group.throughput(Throughput::Elements(HOPS));
    let pool = Pool::new(1).unwrap();
    group.bench_function("stacks", |b| {
        let play = |w: &Worker| {
            let (ping, pong) = (Semaphore::new(0), Semaphore::new(0));
            w.scope(|w, scope| {
                for (mine, theirs) in [(&ping, &pong), (&pong, &ping)] {
                    scope.spawn_on(w, move |_, _| {
                        for _ in 0..HOPS / 2 {
                            block_on(mine.acquire()).unwrap().forget();
                            theirs.add_permits(1);
                        }
                    });
                }
                ping.add_permits(1);
            });
        };
        b.iter_custom(|times| pool.run(|w| time(times, || play(w))));
    });
    group.bench_function("futures", |b| {
        let play = |w: &Worker| {
            let ends = std::sync::Arc::new([Semaphore::new(0), Semaphore::new(0)]);
            let players = [0, 1].map(|mine| {
                let ends = std::sync::Arc::clone(&ends);
                w.spawn_future(async move {
                    for _ in 0..HOPS / 2 {
                        ends[mine].acquire().await.unwrap().forget();
                        ends[1 - mine].add_permits(1);
                    }
                })
            });
            ends[0].add_permits(1);
            players.into_iter().for_each(|player| player.join().unwrap());
        };
        b.iter_custom(|times| pool.run(|w| time(times, || play(w))));
    });
    group.finish();
}

fn time<R>(times: u64, mut operation: impl FnMut() -> R) -> Duration {
    let start = Instant::now();
    for _ in 0..times {
        black_box(operation());
    }
    start.elapsed()
}

criterion_group!(benches, there_and_back, found, ping_pong);
criterion_main!(benches);
