//! Guests: threads outside of a pool that run a call themselves, under an index of their own.

#![cfg(all(target_os = "linux", not(locksley_portable)))]

mod common;

use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use common::{fib, message, wait_for, wait_until};
use locksley::os::Assists;
use locksley::{Affinity, Pool, PoolBuilder, Spawn, Worker};

const SOON: Duration = Duration::from_secs(20);

/// Calls until `is_reached` accepts a call's thread.
fn calls_until(pool: &Pool, is_reached: impl Fn(ThreadId) -> bool) -> bool {
    let until = Instant::now() + SOON;
    while Instant::now() < until {
        if is_reached(pool.install(|_| thread::current().id())) {
            return true;
        }
        thread::yield_now();
    }
    false
}

fn runs_here(pool: &Pool) -> bool {
    let this = thread::current().id();
    calls_until(pool, |thread| thread == this)
}

/// Repeats the call until it runs on the calling thread. `task` runs only then.
fn call_here<R: Send>(pool: &Pool, task: impl Fn(&Worker) -> R + Sync) -> R {
    let this = thread::current().id();
    let until = Instant::now() + SOON;
    loop {
        let is_here = || thread::current().id() == this;
        if let Some(result) = pool.install(|w| is_here().then(|| task(w))) {
            return result;
        }
        assert!(Instant::now() < until);
        thread::yield_now();
    }
}

/// In a pool that has guests, each of these calls but the first runs here.
fn never_runs_here(pool: &Pool) -> bool {
    let this = thread::current().id();
    (0..20).all(|_| {
        thread::sleep(Duration::from_millis(1));
        pool.install(|_| thread::current().id()) != this
    })
}

/// Sets its flag when it is dropped, so that a test that fails ends.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn builder() -> PoolBuilder {
    Pool::builder().workers(2)
}

#[test]
fn a_call_runs_on_the_calling_thread_under_an_index_behind_the_workers() {
    for workers in [1, 2, 5] {
        let pool = Pool::new(workers).unwrap();
        assert!(runs_here(&pool), "{workers}");
        let (index, indices, again) =
            call_here(&pool, |w| (w.index(), w.indices(), pool.install(Worker::index)));
        assert!((workers..indices).contains(&index) && index == again, "{index} of {indices}");
        assert!(Worker::with_current(|current| current.is_none()));
        assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
    }
}

#[test]
fn a_library_may_have_each_task_run_on_the_threads_of_the_pool() {
    let pool = builder().build().unwrap();
    assert!(runs_here(&pool));
    let this = thread::current().id();
    for _ in 0..20 {
        let of_task = |w: &Worker| (w.index(), thread::current().id());
        let (index, thread) = locksley::extend::install(&pool, of_task);
        assert!(index < 2 && thread != this, "{index}");
    }
    assert!(runs_here(&pool));
}

#[test]
fn a_call_runs_on_the_calling_thread_only_after_a_short_one() {
    let pool = builder().build().unwrap();
    let this = thread::current().id();
    assert_ne!(pool.install(|_| thread::current().id()), this, "the first");
    for _ in 0..5 {
        call_here(&pool, |_| thread::sleep(Duration::from_millis(2)));
        assert_ne!(pool.install(|_| thread::current().id()), this, "after a long one");
    }
    assert!(runs_here(&pool));
}

#[test]
fn a_pool_whose_threads_may_differ_from_others_has_no_guests() {
    let pools = [
        builder().own_threads_only(),
        builder().on_start(|_| ()),
        builder().worker_data(|index| index),
        builder().stack_size(3 << 20),
        builder().affinity(Affinity::Builder),
    ];
    for pool in pools {
        let pool = pool.build().unwrap();
        assert!(never_runs_here(&pool), "{pool:?}");
    }
}

/// A guest has no index of a worker, so tasks for each worker are no reason against one.
#[test]
fn a_call_runs_on_the_calling_thread_after_tasks_were_sent_to_single_workers() {
    let pool = builder().build().unwrap();
    pool.spawn_with(Spawn::At(1), |_| ());
    assert_eq!(pool.broadcast(Worker::index), [0, 1]);
    assert!(runs_here(&pool));
}

#[test]
fn a_thread_with_a_small_stack_calls_a_worker() {
    let pool = builder().build().unwrap();
    thread::scope(|scope| {
        let small = thread::Builder::new().stack_size(256 << 10);
        small.spawn_scoped(scope, || assert!(never_runs_here(&pool))).unwrap();
    });
    assert!(runs_here(&pool));
}

#[test]
fn a_call_hides_no_times_of_workers() {
    let pool = builder().build().unwrap();
    let knows = || {
        let total = pool.stats().total();
        (total.off_processor.is_some(), total.processor_time.is_some())
    };
    let before = knows();
    assert!(runs_here(&pool));
    assert_eq!(knows(), before);
}

/// A task may need the stack that a worker would have.
#[test]
fn the_variable_for_the_size_of_stacks_holds_for_guests() {
    const NAME: &str = "RUST_MIN_STACK";
    if std::env::var_os(NAME).is_none() {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let test = "the_variable_for_the_size_of_stacks_holds_for_guests";
        let child = child.args(["--exact", test]).env(NAME, (64 << 20).to_string());
        return assert!(child.status().unwrap().success());
    }
    let pool = builder().build().unwrap();
    thread::scope(|scope| {
        let usual = thread::Builder::new().stack_size(8 << 20);
        usual.spawn_scoped(scope, || assert!(never_runs_here(&pool))).unwrap();
    });
}

#[test]
fn a_panic_comes_out_of_a_call_and_the_pool_works_on() {
    let pool = Pool::new(1).unwrap();
    for _ in 0..20 {
        let call = || call_here(&pool, |_| panic!("in a call"));
        assert_eq!(message(&*catch_unwind(AssertUnwindSafe(call)).unwrap_err()), "in a call");
        assert!(Worker::with_current(|current| current.is_none()));
    }
    assert!(runs_here(&pool));
}

/// As on a worker: the newest first. (The only worker is held meanwhile, so it steals none.)
#[test]
fn detached_tasks_of_a_call_run_after_it() {
    let pool = Pool::new(1).unwrap();
    let (sender, receiver) = channel();
    let this = thread::current().id();
    let (begun, is_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let set = SetOnDrop(&is_over);
    call_here(&pool, |_| {
        let (its_begin, is_over) = (Arc::clone(&begun), Arc::clone(&is_over));
        let hold = move |_: &Worker| {
            its_begin.store(true, Ordering::Release);
            wait_for(&is_over);
        };
        // Not from here, where it would wait for the end of the call.
        thread::scope(|scope| _ = scope.spawn(|| pool.spawn(hold)));
        wait_for(&begun);
        for n in 0..10 {
            let sender = sender.clone();
            locksley::spawn(move || sender.send((n, thread::current().id())).unwrap());
        }
    });
    drop(set);
    drop(sender);
    let (order, threads): (Vec<_>, Vec<_>) = receiver.iter().unzip();
    assert!(order.into_iter().eq((0..10).rev()));
    assert!(threads.into_iter().all(|thread| thread != this));
}

/// Workers steal what a guest forks, and the guest waits for it.
#[test]
fn workers_run_what_a_guest_forks() {
    let pool = Pool::new(1).unwrap();
    for _ in 0..20 {
        let flag = AtomicBool::new(false);
        call_here(&pool, |w| {
            w.join(|_| wait_for(&flag), |_| flag.store(true, Ordering::Release));
        });
    }
}

/// The worker blocks with a task in its closed deque, and only the guest could take it.
#[test]
fn a_guest_opens_the_deque_of_its_thief() {
    let pool = Pool::new(1).unwrap();
    call_here(&pool, |w| {
        let (is_held, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        let hold = |_: &Worker| {
            is_held.store(true, Ordering::Release);
            wait_for(&is_over);
        };
        let block = |w: &Worker| {
            fib(w, 15); // so many pushes without a steal close the deque
            w.join(hold, |_| is_over.store(true, Ordering::Release));
        };
        w.join(|_| wait_for(&is_held), block);
    });
}

/// What the caller has borrowed, such as a thread-local, is not borrowed again by another task.
#[test]
fn a_guest_runs_only_its_task_and_what_that_forks() {
    let pool = builder().build().unwrap();
    let threads = Mutex::new(Vec::new());
    let note = || threads.lock().unwrap().push(thread::current().id());
    pool.in_place_scope(|scope| {
        call_here(&pool, |w| {
            let is_stolen = AtomicBool::new(false);
            let stolen = |_: &Worker| {
                is_stolen.store(true, Ordering::Release);
                // The guest waits meanwhile, and tasks of the pool are queued.
                (0..50).for_each(|_| scope.spawn(|_| note()));
                thread::sleep(Duration::from_millis(5));
            };
            w.join(|_| wait_for(&is_stolen), stolen);
        });
    });
    let threads = threads.into_inner().unwrap();
    assert!(threads.len() == 50 && !threads.contains(&thread::current().id()));
}

/// The worker may have been woken for the task, and not have run yet.
#[test]
fn a_call_may_wait_for_a_task_that_was_sent_before() {
    let pool = Pool::new(1).unwrap();
    for round in 0..300 {
        assert!(runs_here(&pool));
        // In some rounds, the worker sleeps deeply.
        thread::sleep(Duration::from_micros(round % 3 * 50));
        let (sender, receiver) = channel();
        pool.spawn(move |_| sender.send(round).unwrap());
        assert_eq!(pool.install(move |_| receiver.recv_timeout(SOON)), Ok(round));
    }
}

#[test]
fn a_call_may_wait_for_a_task_of_each_worker() {
    let pool = builder().build().unwrap();
    for index in 0..2 {
        let (of_task, of_call) = call_here(&pool, |_| {
            let (sender, receiver) = channel();
            pool.spawn_with(Spawn::At(index), move |w| {
                sender.send((w.index(), thread::current().id())).unwrap();
            });
            (receiver.recv_timeout(SOON), thread::current().id())
        });
        let (of, thread) = of_task.unwrap();
        assert!(of == index && thread != of_call);
    }
}

#[test]
fn a_broadcast_from_a_call_runs_once_on_each_worker() {
    let pool = Pool::new(3).unwrap();
    let (threads, of_call) = call_here(&pool, |_| {
        (pool.broadcast(|w| (w.index(), thread::current().id())), thread::current().id())
    });
    assert!(threads.iter().map(|of| of.0).eq(0..3));
    assert!(threads.iter().all(|of| of.1 != of_call));
}

/// Data that a program keeps by index is used by one thread at a time.
#[test]
fn no_index_is_used_by_two_threads_at_once() {
    for assists in [Assists::ALL, Assists::NONE] {
        let pool = Pool::builder().workers(3).assists(assists).build().unwrap();
        let indices = pool.install(Worker::indices);
        let used: Vec<_> = (0..indices).map(|_| AtomicBool::new(false)).collect();
        let use_index = |w: &Worker| {
            assert!(!used[w.index()].swap(true, Ordering::Acquire), "{}", w.index());
            std::hint::black_box((0..50).sum::<u64>());
            used[w.index()].store(false, Ordering::Release);
        };
        let on_own_thread = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let this = thread::current().id();
                    // Until some calls have run as guests.
                    let goes_on = |n: &u32| *n < 300 || on_own_thread.load(Ordering::Relaxed) == 0;
                    for _ in (0..).take_while(goes_on) {
                        pool.install(|w| {
                            let is_here = thread::current().id() == this;
                            on_own_thread.fetch_add(usize::from(is_here), Ordering::Relaxed);
                            use_index(w);
                            w.join(use_index, use_index);
                        });
                    }
                });
            }
        });
        assert!(on_own_thread.into_inner() > 0);
    }
}

#[test]
fn there_are_at_most_eight_guests() {
    let pool = Pool::new(1).unwrap();
    let (is_ready, are_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let here = AtomicUsize::new(0);
    thread::scope(|scope| {
        let set = SetOnDrop(&are_over);
        let ninth = scope.spawn(|| {
            assert!(runs_here(&pool));
            is_ready.store(true, Ordering::Release);
            wait_until(|| here.load(Ordering::Acquire) == 8);
            pool.install(Worker::index)
        });
        wait_for(&is_ready);
        for _ in 0..8 {
            scope.spawn(|| {
                call_here(&pool, |_| {
                    here.fetch_add(1, Ordering::AcqRel);
                    wait_for(&are_over);
                });
            });
        }
        assert_eq!(ninth.join().unwrap(), 0, "the worker");
        drop(set);
    });
    assert_eq!(pool.stats().workers.iter().filter(|it| it.tasks > 0).count(), 9);
}

/// Guests count towards no limit, so a call need not wait for busy workers.
#[test]
fn a_call_runs_on_the_calling_thread_while_all_workers_are_busy() {
    let pool = builder().build().unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let _set = SetOnDrop(&is_over);
    let held = Arc::new(AtomicUsize::new(0));
    for _ in 0..2 {
        let (is_over, held) = (Arc::clone(&is_over), Arc::clone(&held));
        assert!(runs_here(&pool));
        pool.spawn(move |_| {
            held.fetch_add(1, Ordering::AcqRel);
            wait_for(&is_over);
        });
    }
    wait_until(|| held.load(Ordering::Acquire) == 2);
    let this = thread::current().id();
    assert_eq!(pool.install(|_| thread::current().id()), this);
}

/// What the pool keeps of a calling thread may be gone by then, or not be there yet.
#[test]
fn a_destructor_of_a_thread_local_calls() {
    struct CallAtEnd(Arc<Pool>, Sender<u32>);
    impl Drop for CallAtEnd {
        fn drop(&mut self) {
            let (one, two) = self.0.install(|w| w.join(|_| 1, |_| 2));
            let _ = self.1.send(one + two);
        }
    }
    thread_local! {
        static AT_END: OnceCell<CallAtEnd> = const { OnceCell::new() };
    }
    let pool = Arc::new(Pool::new(1).unwrap());
    assert!(runs_here(&pool));
    for [calls_before, calls_after] in [[false, false], [true, false], [false, true]] {
        let (sender, receiver) = channel();
        let pool = Arc::clone(&pool);
        let call_at_end = move || {
            assert!(!calls_before || runs_here(&pool));
            let call = CallAtEnd(Arc::clone(&pool), sender);
            AT_END.with(|at_end| assert!(at_end.set(call).is_ok()));
            assert!(!calls_after || runs_here(&pool));
        };
        thread::spawn(call_at_end).join().unwrap();
        assert_eq!(receiver.recv_timeout(SOON), Ok(3), "{calls_before} {calls_after}");
    }
}
