//! Futures as tasks: their outcomes, panics and cancellation.

mod common;

use std::future::{pending, poll_fn};
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use common::{block_on, message, pools, wait_until};
use locksley::task::{self, JoinHandle, yield_now};
use locksley::{Pool, Spawn, Worker, extend};

/// Reports its drop, and the worker that drops it.
struct Dropped(std::sync::mpsc::Sender<Option<usize>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let worker = Worker::with_current(|current| current.map(Worker::index));
        let _ = self.0.send(worker);
    }
}

fn dropped() -> (Dropped, Receiver<Option<usize>>) {
    let (sender, receiver) = channel();
    (Dropped(sender), receiver)
}

/// A pool, and the messages of panics that go to its handler.
fn pool_with_handler(workers: usize) -> (Pool, Receiver<String>) {
    let (sender, receiver) = channel();
    let handler = move |payload: Box<dyn std::any::Any + Send>| {
        sender.send(message(&*payload).to_owned()).unwrap();
    };
    (Pool::builder().workers(workers).panic_handler(handler).build().unwrap(), receiver)
}

/// A future that waits until the door is opened.
#[derive(Default)]
struct Door {
    wakers: Mutex<Vec<Waker>>,
    is_open: AtomicBool,
}

impl Door {
    fn passed(self: Arc<Self>) -> impl Future<Output = ()> + Send {
        poll_fn(move |context| {
            self.wakers.lock().unwrap().push(context.waker().clone());
            if self.is_open.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
        })
    }

    fn has_waiters(&self) -> bool {
        !self.wakers.lock().unwrap().is_empty()
    }

    fn open(&self) {
        self.is_open.store(true, Ordering::Release);
        let wakers = std::mem::take(&mut *self.wakers.lock().unwrap());
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[test]
fn the_output_of_a_task_arrives_at_every_kind_of_waiter() {
    for pool in pools() {
        assert_eq!(pool.spawn_future(async { 1 }).join().unwrap(), 1);
        assert_eq!(block_on(pool.spawn_future(async { 2 })).unwrap(), 2);
        assert_eq!(pool.install(|_| locksley::task::spawn(async { 3 }).join()).unwrap(), 3);
        let outer = pool.spawn_future(async { task::spawn(async { 4 }).await.unwrap() });
        assert_eq!(outer.join().unwrap(), 4);
        let other = Pool::new(1).unwrap();
        let abroad = other.install(|_| pool.spawn_future(async { 5 }).join());
        assert_eq!(abroad.unwrap(), 5);
    }
}

#[test]
fn waiting_tasks_occupy_no_worker() {
    for pool in pools() {
        let door = Arc::new(Door::default());
        let tasks: Vec<_> = (0..1000)
            .map(|n| {
                let door = Arc::clone(&door);
                pool.spawn_future(async move {
                    door.passed().await;
                    n
                })
            })
            .collect();
        wait_until(|| door.wakers.lock().unwrap().len() == 1000);
        assert!(locksley::extend::install(&pool, |w| w.index() < w.workers()));
        assert!(tasks.iter().all(|task| !task.is_finished()));
        door.open();
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.join().unwrap(), n);
        }
    }
}

#[test]
fn a_future_may_fork_and_join() {
    fn fib(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = locksley::join(|| fib(n - 1), || fib(n - 2));
        a + b
    }
    for pool in pools() {
        let tasks: Vec<_> = (0..20).map(|_| pool.spawn_future(async { fib(12) })).collect();
        for task in tasks {
            assert_eq!(task.join().unwrap(), 144);
        }
    }
}

#[test]
fn a_tree_of_tasks_is_counted_right() {
    fn count(depth: u32) -> Pin<Box<dyn Future<Output = u64> + Send>> {
        Box::pin(async move {
            if depth == 0 {
                return 1;
            }
            let (left, right) = (task::spawn(count(depth - 1)), task::spawn(count(depth - 1)));
            if depth % 3 == 0 {
                yield_now().await;
            }
            left.await.unwrap() + right.await.unwrap()
        })
    }
    for pool in pools() {
        assert_eq!(pool.spawn_future(count(10)).join().unwrap(), 1024);
    }
}

#[test]
fn a_panic_arrives_at_the_handle() {
    let pool = Pool::new(2).unwrap();
    let panicking =
        || -> JoinHandle<()> { pool.spawn_future(async { panic!("at the first poll") }) };
    let error = panicking().join().unwrap_err();
    assert!(!error.is_cancelled());
    assert_eq!(error.to_string(), "the task panicked: at the first poll");
    assert_eq!(message(&*error.into_panic()), "at the first poll");
    let error = block_on(panicking()).unwrap_err();
    let again = catch_unwind(AssertUnwindSafe(|| resume_unwind(error.into_panic()))).unwrap_err();
    assert_eq!(message(&*again), "at the first poll");
    let later: JoinHandle<()> = pool.spawn_future(async {
        yield_now().await;
        panic!("{} poll", "at the second");
    });
    let error = later.join().unwrap_err();
    assert_eq!(message(&*error.into_panic()), "at the second poll");
}

/// Panics when it is dropped.
struct PanicsOnDrop(&'static str);

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

/// Returns at its first poll. Its field is dropped with it.
struct Holds<T>(T);

impl<T: Unpin> Future for Holds<T> {
    type Output = u8;
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u8> {
        Poll::Ready(7)
    }
}

#[test]
fn a_future_that_panics_when_it_is_dropped_has_panicked() {
    let (pool, handled) = pool_with_handler(1);
    let error = pool.spawn_future(Holds(PanicsOnDrop("dropped"))).join().unwrap_err();
    assert_eq!(message(&*error.into_panic()), "dropped");
    // Cancelled:
    let guard_that_panics = PanicsOnDrop("given up");
    let task = pool.spawn_future(async move {
        pending::<()>().await;
        drop(guard_that_panics);
    });
    task.abort();
    let error = task.join().unwrap_err();
    assert_eq!(message(&*error.into_panic()), "given up");
    // The first of two panics is the outcome:
    let guard_that_panics = PanicsOnDrop("second");
    struct Both(#[expect(dead_code, reason = "dropped")] PanicsOnDrop);
    impl Future for Both {
        type Output = ();
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            panic!("first")
        }
    }
    let error = pool.spawn_future(Both(guard_that_panics)).join().unwrap_err();
    assert_eq!(message(&*error.into_panic()), "first");
    drop(pool);
    assert_eq!(handled.iter().count(), 0);
}

#[test]
fn a_panic_that_is_not_awaited_goes_to_the_handler() {
    let (pool, handled) = pool_with_handler(2);
    drop(pool.spawn_future(async { panic!("detached") }));
    assert_eq!(handled.recv().unwrap(), "detached");
    // It had panicked before the handle was dropped:
    let task: JoinHandle<()> = pool.spawn_future(async { panic!("not looked at") });
    wait_until(|| task.is_finished());
    drop(task);
    assert_eq!(handled.recv().unwrap(), "not looked at");
    // The same, after the pool was dropped:
    let task: JoinHandle<()> = pool.spawn_future(async { panic!("the last one") });
    wait_until(|| task.is_finished());
    drop(pool);
    drop(task);
    assert_eq!(handled.recv().unwrap(), "the last one");
}

/// It may be dropped by code that unwinds.
#[test]
fn no_panic_of_a_value_leaves_the_drop_of_a_handle() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("a value panics");
        }
    }
    let pool = Pool::new(1).unwrap();
    let [first, second] = [(); 2].map(|()| pool.spawn_future(async { Loud }));
    wait_until(|| first.is_finished() && second.is_finished());
    drop(first);
    let caught = catch_unwind(AssertUnwindSafe(move || {
        let _second = second;
        panic!("the program's");
    }));
    assert_eq!(message(&*caught.unwrap_err()), "the program's");
}

/// Two tasks panic, and the error of the first ends the function that has both handles.
#[test]
fn without_a_handler_a_panic_ends_only_what_it_belongs_to() {
    let pool = Pool::builder().workers(2).on_exit(|_| panic!("a hook panics")).build().unwrap();
    let both = |first: JoinHandle<()>, second: JoinHandle<()>| {
        first.join()?;
        second.join()
    };
    let panicking = || pool.spawn_future(async { panic!("a task panics") });
    for _ in 0..100 {
        let (first, second) = (panicking(), panicking());
        wait_until(|| second.is_finished());
        assert!(both(first, second).is_err(), "the second handle is dropped");
        drop(panicking());
        pool.spawn(|_| panic!("a closure panics"));
        pool.spawn_broadcast(|_| panic!("a closure on each worker panics"));
    }
    assert_eq!(pool.install(|worker| worker.join(|_| 1, |_| 2)), (1, 2));
}

#[test]
fn an_output_without_a_handle_is_dropped_and_its_panic_handled() {
    let (pool, handled) = pool_with_handler(1);
    // The tasks return after the handle was dropped, or the handle would drop the output.
    let door = Arc::new(Door::default());
    let passed = Arc::clone(&door).passed();
    let returning = async {
        passed.await;
        PanicsOnDrop("returned")
    };
    drop(pool.spawn_future(returning));
    wait_until(|| door.has_waiters());
    door.open();
    assert_eq!(handled.recv().unwrap(), "returned");
    assert_eq!(pool.install(|_| 1), 1, "the worker goes on");
    let (guard, was_dropped) = dropped();
    let door = Arc::new(Door::default());
    let passed = Arc::clone(&door).passed();
    let returning = async {
        passed.await;
        guard
    };
    drop(pool.spawn_future(returning));
    wait_until(|| door.has_waiters());
    door.open();
    assert_eq!(was_dropped.recv(), Ok(Some(0)));
}

struct PanickingWaker;

impl Wake for PanickingWaker {
    fn wake(self: Arc<Self>) {
        panic!("woken");
    }
}

#[test]
fn a_panic_of_a_waker_goes_to_the_handler() {
    let (pool, handled) = pool_with_handler(1);
    let door = Arc::new(Door::default());
    let mut task = pool.spawn_future(Arc::clone(&door).passed());
    let waker = Waker::from(Arc::new(PanickingWaker));
    let polled = Pin::new(&mut task).poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    wait_until(|| door.has_waiters());
    door.open();
    assert_eq!(handled.recv().unwrap(), "woken");
    assert!(task.join().is_ok());
}

#[test]
fn a_worker_drops_the_future_as_soon_as_it_has_ended() {
    let pool = Pool::new(1).unwrap();
    let (guard, was_dropped) = dropped();
    let door = Arc::new(Door::default());
    let at = Arc::clone(&door);
    let task = pool.spawn_future(async move {
        at.passed().await;
        drop(guard);
    });
    wait_until(|| door.has_waiters());
    let kept = door.wakers.lock().unwrap()[0].clone();
    assert!(was_dropped.try_recv().is_err());
    door.open();
    assert_eq!(was_dropped.recv(), Ok(Some(0)));
    assert!(task.join().is_ok());
    kept.wake(); // too late
    assert_eq!(was_dropped.iter().count(), 0, "once");
}

#[test]
fn a_task_is_cancelled_in_every_state() {
    for pool in pools() {
        // Waiting:
        let (guard, was_dropped) = dropped();
        let task = pool.spawn_future(async move {
            pending::<()>().await;
            drop(guard);
        });
        task.abort();
        task.abort();
        assert!(block_on(task).unwrap_err().is_cancelled());
        assert!(was_dropped.recv().unwrap().is_some(), "by a worker");
        assert_eq!(was_dropped.iter().count(), 0, "once");
        // Running, and then waiting:
        let (begun, go_on) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let flags = (Arc::clone(&begun), Arc::clone(&go_on));
        let task = pool.spawn_future(async move {
            flags.0.store(true, Ordering::Release);
            wait_until(|| flags.1.load(Ordering::Acquire));
            pending::<()>().await;
        });
        wait_until(|| begun.load(Ordering::Acquire));
        task.abort();
        assert!(!task.is_finished());
        go_on.store(true, Ordering::Release);
        assert!(task.join().unwrap_err().is_cancelled());
        // Finished:
        let task = pool.spawn_future(async { 1 });
        wait_until(|| task.is_finished());
        task.abort();
        assert_eq!(task.join().unwrap(), 1);
    }
}

#[test]
fn a_task_that_has_not_begun_is_cancelled_without_being_polled() {
    let pool = Pool::new(1).unwrap();
    let was_polled = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&was_polled);
    let error = pool.install(|_| {
        let task = locksley::task::spawn(async move { flag.store(true, Ordering::Release) });
        task.abort();
        task.join().unwrap_err()
    });
    assert!(error.is_cancelled());
    assert!(!was_polled.load(Ordering::Acquire));
}

#[test]
fn many_wakes_cause_one_poll() {
    let pool = Pool::new(1).unwrap();
    let polls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&polls);
    let door = Arc::new(Door::default());
    let inner = Arc::clone(&door);
    let mut passed = Box::pin(inner.passed());
    let task = pool.spawn_future(poll_fn(move |context| {
        if count.fetch_add(1, Ordering::Relaxed) == 0 {
            for _ in 0..1000 {
                context.waker().wake_by_ref();
                let another = context.waker().clone();
                another.wake();
            }
        }
        passed.as_mut().poll(context)
    }));
    wait_until(|| polls.load(Ordering::Relaxed) == 2);
    pool.install(|w| {
        // On the only worker.
        let wakers = door.wakers.lock().unwrap().clone();
        for waker in wakers.iter().cycle().take(1000) {
            waker.wake_by_ref();
        }
        while w.run_one() {}
    });
    assert_eq!(polls.load(Ordering::Relaxed), 3);
    door.open();
    task.join().unwrap();
    assert_eq!(polls.load(Ordering::Relaxed), 4);
}

#[test]
fn a_handle_is_polled_with_one_waker_after_the_other() {
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let pool = Pool::new(1).unwrap();
    let door = Arc::new(Door::default());
    let mut task = pool.spawn_future(Arc::clone(&door).passed());
    let counts = [0, 1].map(|_| Arc::new(Count(AtomicUsize::new(0))));
    for count in [&counts[0], &counts[0], &counts[1], &counts[1]] {
        let waker = Waker::from(Arc::clone(count));
        assert!(Pin::new(&mut task).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert_eq!(Arc::strong_count(&counts[0]), 1, "the first waker is gone");
    assert_eq!(Arc::strong_count(&counts[1]), 2);
    wait_until(|| door.has_waiters());
    door.open();
    wait_until(|| counts[1].0.load(Ordering::Relaxed) == 1);
    task.join().unwrap();
    assert_eq!(counts.map(|count| count.0.load(Ordering::Relaxed)), [0, 1]);
    // A dropped handle drops its waker.
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let mut task = pool.spawn_future(pending::<()>());
    let waker = Waker::from(Arc::clone(&count));
    assert!(Pin::new(&mut task).poll(&mut Context::from_waker(&waker)).is_pending());
    drop((task, waker));
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
#[should_panic(expected = "can be taken once")]
fn an_outcome_can_be_taken_once() {
    let mut task = Pool::new(1).unwrap().spawn_future(async {});
    let _ = block_on(&mut task);
    let _ = block_on(&mut task);
}

#[test]
fn a_borrowed_thread_joins_tasks_itself() {
    thread::spawn(|| {
        let pool = Pool::builder().workers(1).with_current_thread().build().unwrap();
        assert_eq!(pool.spawn_future(async { 1 }).join().unwrap(), 1);
        let waiting = pool.spawn_future(pending::<()>());
        pool.install(Worker::run_one);
        drop(pool);
        assert!(waiting.join().unwrap_err().is_cancelled());
        // The thread is still a worker, but its pool is closed.
        assert!(task::spawn(async { 1 }).join().unwrap_err().is_cancelled());
    })
    .join()
    .unwrap();
}

/// What a future or a closure of a task keeps: several copies would fill a worker's stack.
const LARGE: usize = 300 << 10;

async fn large() -> usize {
    let buffer = [1_u8; LARGE];
    yield_now().await;
    black_box(&buffer).iter().map(|&byte| usize::from(byte)).sum()
}

#[test]
fn a_worker_spawns_large_tasks() {
    let run: [fn(&Pool) -> usize; 7] = [
        |_| task::spawn(large()).join().unwrap(),
        |pool| pool.spawn_future(large()).join().unwrap(),
        |pool| pool.spawn_future_with(Spawn::Near(0), large()).join().unwrap(),
        |pool| {
            let buffer = [1_u8; LARGE];
            pool.spawn_task(move || black_box(&buffer).len()).join().unwrap()
        },
        |_| {
            let buffer = [1_u8; LARGE];
            extend::spawn_task(move || black_box(&buffer).len()).join().unwrap()
        },
        |_| {
            let mut size = 0;
            locksley::scope(|scope| scope.spawn_future(async { size = large().await }));
            size
        },
        |_| locksley::block_on(large()),
    ];
    let pool = Arc::new(Pool::new(1).unwrap());
    for run in run {
        let inner = Arc::clone(&pool);
        // On a worker, since the stack of this thread may be larger.
        assert_eq!(pool.spawn_task(move || run(&inner)).join().unwrap(), LARGE);
    }
}
