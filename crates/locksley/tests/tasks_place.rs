//! The worker to which a ready task goes. Every worker can take it from there.

mod common;

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use common::idle_policies::{RESTLESS, SLEEPLESS};
use common::{Confined, pools, wait_until};
use locksley::task::{self, JoinHandle, Placement, yield_now};
use locksley::{Pool, Spawn, Worker};

/// A task that waits until it is woken, and records the worker of each run.
#[derive(Default)]
struct Recorder {
    waker: Mutex<Option<Waker>>,
    /// 1 more than the worker that last ran it.
    ran_at: AtomicUsize,
    runs: AtomicUsize,
}

impl Recorder {
    fn task(self: &Arc<Self>, pool: &Pool) -> JoinHandle<()> {
        let this = Arc::clone(self);
        pool.spawn_future(poll_fn(move |context| {
            *this.waker.lock().unwrap() = Some(context.waker().clone());
            let here = Worker::with_current(|current| current.unwrap().index());
            this.ran_at.store(here + 1, Ordering::Release);
            this.runs.fetch_add(1, Ordering::Release);
            Poll::Pending
        }))
    }

    fn wake(&self) {
        let waker = self.waker.lock().unwrap().clone();
        waker.unwrap().wake();
    }

    fn wait_for_run(&self, run: usize) -> usize {
        wait_until(|| self.runs.load(Ordering::Acquire) >= run);
        self.ran_at.load(Ordering::Acquire) - 1
    }
}

type Order = Box<dyn FnOnce(&Worker) + Send>;

/// Holds a worker, which runs only the closures that it gets.
struct Held {
    orders: std::sync::mpsc::Sender<Order>,
}

impl Held {
    fn at(pool: &Pool, worker: usize) -> Self {
        let (orders, received) = std::sync::mpsc::channel::<Order>();
        let (here, is_here) = std::sync::mpsc::channel();
        pool.spawn_with(Spawn::At(worker), move |w| {
            here.send(()).unwrap();
            received.iter().for_each(|what| what(w));
        });
        is_here.recv().unwrap();
        Self { orders }
    }

    fn run<R: Send + 'static>(&self, what: impl FnOnce(&Worker) -> R + Send + 'static) -> R {
        let (result, results) = std::sync::mpsc::channel();
        self.orders.send(Box::new(move |w| result.send(what(w)).unwrap())).unwrap();
        results.recv().unwrap()
    }
}

/// Worker 1 wakes a task that worker 0 ran last. Returns true for worker 0, or for worker 1, if it
/// finds the task in its own queues.
fn woken_by_the_other(placement: Placement) -> (bool, bool) {
    let pool = Pool::builder().workers(2).placement(placement).build().unwrap();
    let held = [Held::at(&pool, 0), Held::at(&pool, 1)];
    let recorder = Arc::new(Recorder::default());
    let task = recorder.task(&pool);
    assert!(held[0].run(Worker::run_one), "it was sent to the pool");
    assert_eq!(recorder.wait_for_run(1), 0);
    let waking = Arc::clone(&recorder);
    let at_the_caller = held[1].run(move |w| {
        waking.wake();
        w.run_local()
    });
    let at_the_last = held[0].run(Worker::run_local);
    assert_eq!(recorder.runs.load(Ordering::Acquire), 2, "it has run once more in any case");
    drop((held, task));
    (at_the_last, at_the_caller)
}

#[test]
fn ws_last_sends_a_task_to_the_worker_that_last_ran_it() {
    assert_eq!(woken_by_the_other(Placement::Last), (true, false));
}

#[test]
fn ws_cur_keeps_a_task_at_the_worker_that_woke_it() {
    assert_eq!(woken_by_the_other(Placement::Current), (false, true));
}

/// For wakes by other threads, `Last` is the same, and `Current` means the pool's injector.
#[test]
fn a_thread_that_is_no_worker_wakes_tasks() {
    for (placement, at_the_last) in [(Placement::Last, true), (Placement::Current, false)] {
        let pool = Pool::builder().workers(2).placement(placement).build().unwrap();
        let held = [Held::at(&pool, 0), Held::at(&pool, 1)];
        let recorder = Arc::new(Recorder::default());
        let task = recorder.task(&pool);
        assert!(held[0].run(Worker::run_one));
        recorder.wake();
        assert!(!held[1].run(Worker::run_local));
        assert_eq!(held[0].run(Worker::run_local), at_the_last);
        assert_eq!(held[1].run(Worker::run_one), !at_the_last);
        assert_eq!(recorder.runs.load(Ordering::Acquire), 2);
        drop((held, task));
    }
}

fn pools_of(workers: usize) -> impl Iterator<Item = Pool> {
    let of = move || Pool::builder().workers(workers);
    let pools =
        [of(), of().idle_policy(SLEEPLESS), of().idle_policy(RESTLESS), of().idle_policy(Confined)];
    pools.into_iter().map(|builder| builder.build().unwrap())
}

/// The worker to which a task is sent is stuck until that task has run.
#[test]
fn a_task_in_the_inbox_of_a_stuck_worker_runs() {
    for pool in pools_of(2) {
        for by_a_worker in [false, true] {
            let recorder = Arc::new(Recorder::default());
            let task = recorder.task(&pool);
            for run in 1..30 {
                let last = recorder.wait_for_run(run);
                let (here, is_here) = std::sync::mpsc::channel();
                let stuck = Arc::clone(&recorder);
                pool.spawn_with(Spawn::At(last), move |_| {
                    here.send(()).unwrap();
                    wait_until(|| stuck.runs.load(Ordering::Acquire) > run);
                });
                is_here.recv().unwrap();
                if by_a_worker {
                    let waking = Arc::clone(&recorder);
                    pool.spawn_with(Spawn::At(1 - last), move |_| waking.wake());
                } else {
                    recorder.wake();
                }
            }
            recorder.wait_for_run(30);
            task.abort();
            assert!(task.join().unwrap_err().is_cancelled());
        }
    }
}

/// The worker that woke the task is stuck, too. A third one finds it.
#[test]
fn a_task_in_the_inbox_of_a_stuck_worker_runs_although_its_waker_is_stuck() {
    for pool in pools_of(3) {
        let recorder = Arc::new(Recorder::default());
        let task = recorder.task(&pool);
        for run in 1..20 {
            let last = recorder.wait_for_run(run);
            let (here, is_here) = std::sync::mpsc::channel();
            let stuck = Arc::clone(&recorder);
            pool.spawn_with(Spawn::At(last), move |_| {
                here.send(()).unwrap();
                wait_until(|| stuck.runs.load(Ordering::Acquire) > run);
            });
            is_here.recv().unwrap();
            let waking = Arc::clone(&recorder);
            pool.spawn_with(Spawn::At((last + 1) % 3), move |_| {
                waking.wake();
                wait_until(|| waking.runs.load(Ordering::Acquire) > run);
            });
        }
        recorder.wait_for_run(20);
        drop(task);
    }
}

/// Thieves leave the newest task for a moment, since its worker may run it next. It runs even if
/// that worker does not.
#[test]
fn the_newest_task_runs_although_its_parent_spins() {
    for pool in pools_of(2) {
        for _ in 0..100 {
            let parent = pool.spawn_future(async {
                let has_run = Arc::new(AtomicBool::new(false));
                let flag = Arc::clone(&has_run);
                let child = task::spawn(async move { flag.store(true, Ordering::Release) });
                wait_until(|| has_run.load(Ordering::Acquire));
                child.await.unwrap();
            });
            parent.join().unwrap();
        }
    }
}

/// The same for a task that was woken, by a task that forks until then.
#[test]
fn a_woken_task_runs_although_its_waker_continues() {
    for pool in pools_of(2) {
        let recorder = Arc::new(Recorder::default());
        let task = recorder.task(&pool);
        for run in 1..200 {
            recorder.wait_for_run(run);
            let waking = Arc::clone(&recorder);
            let waker = pool.spawn_future(async move {
                waking.wake();
                wait_until(|| {
                    if run % 2 == 0 {
                        Worker::with_current(|w| w.unwrap().join(|_| (), |_| ()));
                    }
                    waking.runs.load(Ordering::Acquire) > run
                });
            });
            waker.join().unwrap();
        }
        drop(task);
    }
}

/// Two tasks on one worker that wake each other for ever.
fn ping_pong(pool: &Pool) -> Vec<JoinHandle<()>> {
    let balls = [0, 1].map(|_| Arc::new(Mutex::new(None::<Waker>)));
    let player = |own: usize| {
        let balls = balls.clone();
        pool.spawn_future(poll_fn(move |context| {
            *balls[own].lock().unwrap() = Some(context.waker().clone());
            if let Some(other) = balls[1 - own].lock().unwrap().take() {
                other.wake();
            }
            Poll::<()>::Pending
        }))
    };
    vec![player(0), player(1)]
}

fn yielder(pool: &Pool) -> Vec<JoinHandle<()>> {
    let endless = async {
        loop {
            yield_now().await;
        }
    };
    vec![pool.spawn_future(endless)]
}

#[test]
fn endless_tasks_do_not_starve_others() {
    for endless in [ping_pong, yielder] {
        for pool in [1, 2].map(|workers| Pool::new(workers).unwrap()) {
            let endless = endless(&pool);
            for _ in 0..20 {
                assert_eq!(pool.install(|_| 1), 1, "what was sent to the pool");
                assert_eq!(pool.spawn_future(async { 2 }).join().unwrap(), 2);
                assert_eq!(pool.broadcast(|w| w.index()).len(), pool.workers(), "pinned tasks");
                let below = pool.spawn_future(async {
                    // At the old end of the deque:
                    task::spawn(async { 3 }).await.unwrap()
                });
                assert_eq!(below.join().unwrap(), 3);
            }
            for task in endless {
                task.abort();
                assert!(task.join().unwrap_err().is_cancelled());
            }
        }
    }
}

#[test]
fn two_endless_tasks_that_yield_alternate() {
    let pool = Pool::new(1).unwrap();
    let (log, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let tasks = [0, 1].map(|name| {
        let (log, stop) = (Arc::clone(&log), Arc::clone(&stop));
        pool.spawn_future(async move {
            while !stop.load(Ordering::Relaxed) {
                {
                    let mut log = log.lock().unwrap();
                    // Until the second one begins, the first one runs alone.
                    if log.last() != Some(&name) || log.contains(&(1 - name)) {
                        log.push(name);
                    }
                }
                yield_now().await;
            }
        })
    });
    wait_until(|| log.lock().unwrap().len() > 1000);
    stop.store(true, Ordering::Relaxed);
    tasks.into_iter().for_each(|task| task.join().unwrap());
    let log = log.lock().unwrap();
    assert!(log.windows(3).all(|three| three != [0; 3] && three != [1; 3]), "{log:?}");
}

/// The task is sent to a worker that is about to park, or to wake up.
#[test]
fn no_wake_from_another_thread_is_lost() {
    for pool in pools() {
        let recorder = Arc::new(Recorder::default());
        let task = recorder.task(&pool);
        for run in 1..300 {
            recorder.wait_for_run(run);
            if run % 50 == 0 {
                thread::sleep(Duration::from_millis(2)); // all workers park
            }
            recorder.wake();
        }
        recorder.wait_for_run(300);
        drop(task);
    }
}

#[test]
fn a_future_begins_at_its_worker_or_in_order() {
    let pool = Pool::new(3).unwrap();
    let index = || Worker::with_current(|current| current.unwrap().index());
    for worker in [0, 1, 2] {
        let task = pool.spawn_future_with(Spawn::At(worker), async move { index() });
        assert_eq!(task.join().unwrap(), worker);
    }
    let single = Pool::new(1).unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = single.install(|_| {
        let task = |n| {
            let order = Arc::clone(&order);
            single.spawn_future_with(Spawn::Fifo, async move { order.lock().unwrap().push(n) })
        };
        (0..10).map(task).collect()
    });
    tasks.into_iter().for_each(|task| task.join().unwrap());
    assert_eq!(*order.lock().unwrap(), (0..10).collect::<Vec<_>>());
}

/// With each option, a pool that is dropped runs or drops the future.
#[test]
fn futures_for_a_busy_worker_are_dropped_with_the_pool() {
    for option in [Spawn::At(0), Spawn::Fifo, Spawn::Near(0)] {
        for _ in 0..20 {
            let pool = Pool::new(1).unwrap();
            let owned = Arc::new(());
            let (begin, may_begin) = std::sync::mpsc::channel::<()>();
            pool.spawn(move |_| _ = may_begin.recv_timeout(Duration::from_secs(30)));
            for _ in 0..10 {
                let owned = Arc::clone(&owned);
                drop(pool.spawn_future_with(option, async move { drop(owned) }));
            }
            begin.send(()).unwrap();
            drop(pool);
            assert_eq!(Arc::strong_count(&owned), 1);
        }
    }
}
