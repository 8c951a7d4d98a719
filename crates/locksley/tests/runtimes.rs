//! Tasks together with other runtimes, and with crates that need no runtime.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{block_on, pools};
use locksley::Pool;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = locksley::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn a_tokio_program_offloads_and_awaits() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    for pool in pools() {
        let sum = runtime.block_on(async {
            let tasks: Vec<_> = (0..20).map(|_| pool.spawn_future(async { fib(10) })).collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 20 * 55);
    }
}

#[test]
fn a_task_continues_when_the_tokio_task_that_awaits_it_is_cancelled() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let pool = Pool::new(1).unwrap();
    let (open, mut is_open) = tokio::sync::mpsc::channel::<()>(1);
    let (done, is_done) = std::sync::mpsc::channel();
    let task = pool.spawn_future(async move {
        is_open.recv().await;
        done.send(()).unwrap();
    });
    let late =
        runtime.block_on(async { tokio::time::timeout(Duration::from_millis(5), task).await });
    assert!(late.is_err(), "and the handle with it");
    runtime.block_on(open.send(())).unwrap();
    assert_eq!(is_done.recv(), Ok(()));
}

#[test]
fn tasks_await_tokios_channels_and_locks() {
    use tokio::sync::{Barrier, Mutex, Notify, Semaphore, mpsc, oneshot};
    for pool in pools() {
        let (sender, mut receiver) = mpsc::channel(3);
        let lock = Arc::new(Mutex::new(0));
        let (permits, barrier) = (Arc::new(Semaphore::new(2)), Arc::new(Barrier::new(8)));
        let (went, has_gone) = oneshot::channel();
        let go = Arc::new(Notify::new());
        let tasks: Vec<_> = (0..8)
            .map(|n| {
                let (sender, lock) = (sender.clone(), Arc::clone(&lock));
                let (permits, barrier) = (Arc::clone(&permits), Arc::clone(&barrier));
                pool.spawn_future(async move {
                    barrier.wait().await;
                    for m in 0..50 {
                        let _permit = permits.acquire().await.unwrap();
                        *lock.lock().await += 1;
                        sender.send(n * 50 + m).await.unwrap();
                    }
                })
            })
            .collect();
        drop(sender);
        let notified = Arc::clone(&go);
        let sum = pool.spawn_future(async move {
            let mut sum = 0;
            while let Some(number) = receiver.recv().await {
                sum += number;
            }
            notified.notify_one();
            sum
        });
        let last = pool.spawn_future(async move {
            go.notified().await;
            went.send("all").unwrap();
        });
        assert_eq!(block_on(has_gone), Ok("all"));
        assert_eq!(sum.join().unwrap(), (0..400).sum());
        tasks.into_iter().chain([last]).for_each(|task| task.join().unwrap());
        assert_eq!(*block_on(lock.lock()), 400);
    }
}

#[test]
fn tasks_await_tokios_timers_where_its_runtime_is_entered() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let pool = Pool::new(1).unwrap();
    let handle = runtime.handle().clone();
    let task = pool.spawn_future(async move {
        let begin = std::time::Instant::now();
        let sleep = {
            let _entered = handle.enter(); // not across an await
            tokio::time::sleep(Duration::from_millis(20))
        };
        sleep.await;
        begin.elapsed()
    });
    assert!(task.join().unwrap() >= Duration::from_millis(20));
}

#[test]
fn async_channel_works_between_tasks() {
    for pool in pools() {
        let (sender, receiver) = async_channel::bounded(2);
        let senders: Vec<_> = (0..4)
            .map(|n| {
                let sender = sender.clone();
                pool.spawn_future(async move {
                    for m in 0..100 {
                        sender.send(n * 100 + m).await.unwrap();
                    }
                })
            })
            .collect();
        drop(sender);
        let receivers: Vec<_> = (0..3)
            .map(|_| {
                let receiver = receiver.clone();
                pool.spawn_future(async move {
                    let mut sum = 0;
                    while let Ok(number) = receiver.recv().await {
                        sum += number;
                    }
                    sum
                })
            })
            .collect();
        senders.into_iter().for_each(|task| task.join().unwrap());
        let sum: i32 = receivers.into_iter().map(|task| task.join().unwrap()).sum();
        assert_eq!(sum, (0..400).sum());
    }
}

#[test]
fn flume_works_between_tasks() {
    for pool in pools() {
        let ((to, from_here), (back, from_there)) = (flume::bounded(1), flume::bounded(1));
        let echo = pool.spawn_future(async move {
            while let Ok(number) = from_here.recv_async().await {
                back.send_async(number + 1).await.unwrap();
            }
        });
        let calls = pool.spawn_future(async move {
            let mut number = 0;
            for _ in 0..500 {
                to.send_async(number).await.unwrap();
                number = from_there.recv_async().await.unwrap();
            }
            number
        });
        assert_eq!(calls.join().unwrap(), 500);
        echo.join().unwrap();
    }
}

/// A cancelled receiver loses no message.
#[test]
fn a_cancelled_receiver_leaves_the_channel_to_others() {
    let pool = Pool::new(2).unwrap();
    let (sender, receiver) = async_channel::unbounded();
    let cancelled = {
        let receiver = receiver.clone();
        pool.spawn_future(async move { receiver.recv().await })
    };
    cancelled.abort();
    assert!(cancelled.join().unwrap_err().is_cancelled());
    let other = pool.spawn_future(async move { receiver.recv().await });
    sender.try_send(42).unwrap();
    assert_eq!(other.join().unwrap(), Ok(42));
}
