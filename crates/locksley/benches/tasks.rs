//! The cost of a future as a task, compared with tokio and async-executor.
//!
//! `cargo bench -p locksley --bench tasks`. Each runtime has one worker; async-executor uses the
//! thread that waits. One item is a spawn and an await, or a round trip between two tasks.

use std::future::poll_fn;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use criterion::{Criterion, Throughput};
use locksley::{Pool, task};

const ITEMS: u64 = 10_000;

/// Two tasks alternate by the parity of a number. The benchmark measures only wakers.
#[derive(Default)]
struct Court {
    turn: AtomicUsize,
    wakers: [AtomicPtr<Waker>; 2],
}

impl Court {
    /// Increments the number `ITEMS` times.
    fn play(self: Arc<Self>, own: usize) -> impl Future<Output = ()> + Send {
        let mut left = ITEMS;
        poll_fn(move |context| {
            if self.wakers[own].load(Ordering::Relaxed).is_null() {
                let waker = Box::into_raw(Box::new(context.waker().clone()));
                self.wakers[own].store(waker, Ordering::Release);
            }
            if self.turn.load(Ordering::Acquire) % 2 != own {
                return Poll::Pending;
            }
            left -= 1;
            self.turn.fetch_add(1, Ordering::AcqRel);
            let other = self.wakers[1 - own].load(Ordering::Acquire);
            // SAFETY: null, or made above and not freed before the court is dropped.
            if let Some(other) = unsafe { other.as_ref() } {
                other.wake_by_ref();
            }
            if left == 0 { Poll::Ready(()) } else { Poll::Pending }
        })
    }
}

impl Drop for Court {
    fn drop(&mut self) {
        for waker in &mut self.wakers {
            let waker = *waker.get_mut();
            if !waker.is_null() {
                // SAFETY: made by `play`, and no player is left.
                drop(unsafe { Box::from_raw(waker) });
            }
        }
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .configure_from_args()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    let pool = Pool::new(1).expect("a pool of one worker");
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
    let tokio = tokio.expect("a runtime with one worker");

    let mut group = criterion.benchmark_group("spawn and await");
    group.throughput(Throughput::Elements(ITEMS));
    group.bench_function("locksley", |bencher| {
        bencher.iter(|| {
            let all = pool.spawn_future(async {
                for n in 0..ITEMS {
                    let _ = black_box(task::spawn(async move { n }).await);
                }
            });
            all.join().expect("it returns");
        });
    });
    group.bench_function("tokio", |bencher| {
        bencher.iter(|| {
            let all = tokio.spawn(async {
                for n in 0..ITEMS {
                    let _ = black_box(tokio::spawn(async move { n }).await);
                }
            });
            tokio.block_on(all).expect("it returns");
        });
    });
    group.bench_function("async-executor", |bencher| {
        let executor: &'static async_executor::Executor<'_> =
            Box::leak(Box::new(async_executor::Executor::new()));
        bencher.iter(|| {
            tokio.block_on(executor.run(executor.spawn(async move {
                for n in 0..ITEMS {
                    black_box(executor.spawn(async move { n }).await);
                }
            })));
        });
    });
    group.finish();

    let mut group = criterion.benchmark_group("ping-pong");
    group.throughput(Throughput::Elements(ITEMS));
    group.bench_function("locksley", |bencher| {
        bencher.iter(|| {
            let court = Arc::new(Court::default());
            let players = [0, 1].map(|own| pool.spawn_future(Arc::clone(&court).play(own)));
            players.into_iter().for_each(|player| player.join().expect("it returns"));
        });
    });
    group.bench_function("tokio", |bencher| {
        bencher.iter(|| {
            let court = Arc::new(Court::default());
            let players = [0, 1].map(|own| tokio.spawn(Arc::clone(&court).play(own)));
            for player in players {
                tokio.block_on(player).expect("it returns");
            }
        });
    });
    group.bench_function("async-executor", |bencher| {
        let executor = async_executor::Executor::new();
        bencher.iter(|| {
            let court = Arc::new(Court::default());
            let players = [0, 1].map(|own| executor.spawn(Arc::clone(&court).play(own)));
            tokio.block_on(executor.run(async {
                for player in players {
                    player.await;
                }
            }));
        });
    });
    group.finish();
    criterion.final_summary();
}
