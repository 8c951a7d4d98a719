//! Pools: how they are built, used from inside and outside, and dropped.

mod common;

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::{message, on_worker, pools};
use locksley::idle::{IdlePolicy, Thief};
use locksley::{BuildError, Pool};

const LONG: Duration = Duration::from_secs(30);

#[test]
fn install_works_from_outside_and_inside() {
    for pool in pools() {
        let workers = pool.workers();
        assert!(pool.install(|w| w.index()) < pool.install(|w| w.indices()));
        assert!(locksley::extend::install(&pool, |w| w.index()) < workers);
        // Inside the pool, it stays on the same worker.
        assert!(pool.install(|w| {
            let index = w.index();
            pool.install(|again| again.index() == index)
        }));
    }
}

#[test]
fn many_threads_use_a_pool_at_once() {
    for pool in pools() {
        thread::scope(|scope| {
            for n in 0..6_u64 {
                let pool = &pool;
                scope.spawn(move || {
                    for _ in 0..20 {
                        let (a, b) = pool.install(|w| w.join(|_| n, |_| n * n));
                        assert_eq!((a, b), (n, n * n));
                    }
                });
            }
        });
    }
}

#[test]
fn pools_call_into_each_other() {
    let (one, other) = (Pool::new(1).unwrap(), Pool::new(1).unwrap());
    // A replacement serves each pool while its only worker waits for the other pool.
    let depth = one.install(|_| other.install(|_| one.install(|_| other.install(|_| 4))));
    assert_eq!(depth, 4);
}

#[test]
fn a_panic_in_install_reaches_the_caller() {
    for pool in pools() {
        let caught = catch_unwind(AssertUnwindSafe(|| pool.install(|_| panic!("in install"))));
        assert_eq!(message(&*caught.unwrap_err()), "in install");
    }
    let (one, other) = (Pool::new(1).unwrap(), Pool::new(1).unwrap());
    let caught = catch_unwind(AssertUnwindSafe(|| {
        one.install(|_| other.install(|_| panic!("in another pool")))
    }));
    assert_eq!(message(&*caught.unwrap_err()), "in another pool");
}

#[test]
fn dropping_a_pool_finishes_its_accepted_tasks() {
    for pool in pools() {
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let done = Arc::clone(&done);
            pool.spawn(move |_| {
                let done_too = Arc::clone(&done);
                locksley::spawn(move || {
                    done_too.fetch_add(1, Ordering::Relaxed);
                });
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        drop(pool);
        assert_eq!(done.load(Ordering::Relaxed), 200);
        assert_eq!(Arc::strong_count(&done), 1, "all tasks are freed");
    }
}

#[test]
fn a_pool_dropped_by_its_own_worker_ends_later() {
    let pool = Pool::builder().workers(2);
    let (sender, ended) = channel();
    let sender = Mutex::new(sender);
    let pool =
        pool.on_exit(move |index| sender.lock().unwrap().send(index).unwrap()).build().unwrap();
    let pool = Arc::new(pool);
    let inner = Arc::clone(&pool);
    let (go, wait) = channel::<()>();
    pool.spawn(move |_| {
        wait.recv().unwrap();
        drop(inner);
    });
    drop(pool);
    go.send(()).unwrap();
    let mut indices = [ended.recv_timeout(LONG).unwrap(), ended.recv_timeout(LONG).unwrap()];
    indices.sort_unstable();
    assert_eq!(indices, [0, 1]);
}

#[test]
fn a_pool_dropped_by_another_pools_worker_may_need_that_worker() {
    let one = Arc::new(Pool::new(1).unwrap());
    let (outer, inner) = (Arc::clone(&one), Arc::clone(&one));
    let done = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&done);
    outer.install(move |_| {
        let other = Pool::new(1).unwrap();
        other.spawn(move |_| {
            inner.install(|_| count.fetch_add(1, Ordering::Relaxed));
        });
        drop(other);
    });
    assert_eq!(done.load(Ordering::Relaxed), 1);
}

#[test]
fn tasks_of_one_sender_start_in_order_on_one_worker() {
    let pool = Pool::new(1).unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    for n in 0..100 {
        let order = Arc::clone(&order);
        pool.spawn(move |_| order.lock().unwrap().push(n));
    }
    drop(pool);
    assert_eq!(*order.lock().unwrap(), (0..100).collect::<Vec<_>>());
}

#[test]
fn a_detached_panic_reaches_the_handler() {
    let (sender, panics) = channel();
    let sender = Mutex::new(sender);
    let pool = Pool::builder()
        .workers(2)
        .panic_handler(move |payload| {
            sender.lock().unwrap().send(message(&*payload).to_owned()).unwrap()
        })
        .build()
        .unwrap();
    pool.spawn(|_| panic!("a detached panic"));
    assert_eq!(panics.recv_timeout(LONG).unwrap(), "a detached panic");
    assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
}

#[test]
fn names_stacks_and_hooks_are_as_configured() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let (at_start, at_exit) = (Arc::clone(&events), Arc::clone(&events));
    let pool = Pool::builder()
        .workers(2)
        .thread_name(|index| format!("painter {index}"))
        .stack_size(16 << 20)
        .on_start(move |index| at_start.lock().unwrap().push(("start", index)))
        .on_exit(move |index| at_exit.lock().unwrap().push(("exit", index)))
        .build()
        .unwrap();
    assert_eq!(events.lock().unwrap().len(), 2, "all workers have started when the pool is built");
    let name = pool.install(|w| (w.index(), thread::current().name().unwrap().to_owned()));
    assert_eq!(name.1, format!("painter {}", name.0));
    // More than the default of 2 MiB, and several copies of it.
    pool.install(|_| assert_eq!(std::hint::black_box([1_u8; 3 << 20])[3 << 19], 1));
    drop(pool);
    let mut events = events.lock().unwrap().clone();
    events.sort_unstable();
    assert_eq!(events, [("exit", 0), ("exit", 1), ("start", 0), ("start", 1)]);
}

#[test]
fn worker_data_is_made_and_dropped_on_its_worker() {
    struct Diary {
        pages: RefCell<Vec<u32>>,
        made_by: thread::ThreadId,
        wrong_drops: Arc<AtomicUsize>,
        not_send: Cell<*const u8>,
    }
    impl Drop for Diary {
        fn drop(&mut self) {
            let wrong = usize::from(thread::current().id() != self.made_by);
            self.wrong_drops.fetch_add(wrong + 100, Ordering::Relaxed);
        }
    }
    let (made, drops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (diaries, wrong_drops) = (Arc::clone(&made), Arc::clone(&drops));
    let pool = Pool::builder()
        .workers(3)
        .worker_data(move |_| {
            diaries.fetch_add(1, Ordering::Relaxed);
            Diary {
                pages: RefCell::default(),
                made_by: thread::current().id(),
                wrong_drops: Arc::clone(&wrong_drops),
                not_send: Cell::new(std::ptr::null()),
            }
        })
        .build()
        .unwrap();
    assert_eq!(made.load(Ordering::Relaxed), 3);
    pool.install(|_| {
        locksley::in_place_scope(|scope| {
            for n in 0..100 {
                scope.spawn(move |_| {
                    on_worker(|w| {
                        let diary: &Diary = w.data().unwrap();
                        assert_eq!(diary.made_by, thread::current().id());
                        assert!(diary.not_send.get().is_null());
                        diary.pages.borrow_mut().push(n);
                    })
                });
            }
        });
    });
    assert!(pool.install(|w| w.data::<u32>().is_none()));
    drop(pool);
    // If the kernel delayed a worker, the scope's waiter had a replacement, with data of its own.
    let made = made.load(Ordering::Relaxed);
    assert_eq!(drops.load(Ordering::Relaxed), 100 * made, "all dropped, none on a wrong thread");
}

#[test]
fn wrong_numbers_of_workers_are_errors() {
    assert!(matches!(Pool::new(0), Err(BuildError::NoWorkers)));
    let error = Pool::new(usize::MAX).unwrap_err();
    assert!(matches!(error, BuildError::TooManyWorkers { asked: usize::MAX, .. }), "{error:?}");
    assert!(error.to_string().contains("at most"), "{error}");
}

#[test]
fn an_impossible_stack_size_is_an_error_and_leaves_no_thread_behind() {
    let error = Pool::builder().workers(2).stack_size(usize::MAX / 4).build().unwrap_err();
    assert!(matches!(error, BuildError::Thread { worker: 0, .. }), "{error:?}");
    assert!(error.source().is_some());
}

#[test]
fn a_thread_name_with_a_nul_byte_is_an_error() {
    let name = |index| if index == 1 { String::from("a\0b") } else { String::from("a") };
    let error = Pool::builder().workers(3).thread_name(name).build().unwrap_err();
    assert!(
        matches!(&error, BuildError::ThreadName { worker: 1, name } if name == "a\0b"),
        "{error:?}"
    );
    assert!(error.to_string().contains("NUL"), "{error}");
    // The threads of replacements have names, too.
    let builder = Pool::builder().workers(2).thread_name(name).replacements(1);
    let error = builder.build_with(|_| unreachable!("no worker starts")).unwrap_err();
    assert!(matches!(error, BuildError::ThreadName { worker: 1, .. }), "{error:?}");
    // Without replacements, the program names all threads.
    let pool = Pool::builder().workers(2).thread_name(name).build_with(|worker| {
        thread::spawn(|| worker.run());
        Ok(())
    });
    assert_eq!(pool.unwrap().install(|w| w.join(|_| 1, |_| 2)), (1, 2));
}

#[test]
fn a_hook_that_panics_is_an_error_and_leaves_no_thread_behind() {
    let exits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&exits);
    let error = Pool::builder()
        .workers(3)
        .on_start(|index| assert!(index != 1, "no second worker"))
        .on_exit(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap_err();
    assert!(
        matches!(&error, BuildError::Hook { worker: 1, message } if message == "no second worker")
    );
    assert_eq!(exits.load(Ordering::Relaxed), 2, "the other two have started and ended");

    let error = Pool::builder().workers(2).worker_data(|_| -> u8 { panic!("no data") }).build();
    assert!(matches!(error, Err(BuildError::Hook { .. })));
}

#[test]
fn an_exit_hook_is_called_even_if_data_panics_when_it_is_dropped() {
    struct Broken;
    impl Drop for Broken {
        fn drop(&mut self) {
            panic!("a drop");
        }
    }
    for in_background in [false, true] {
        let (hook, hooked) = channel();
        let (panic, panics) = channel();
        let (hook, panic) = (Mutex::new(hook), Mutex::new(panic));
        let mut builder = Pool::builder().workers(1).worker_data(|_| Broken);
        if in_background {
            builder = builder.start_in_background();
        }
        let builder = builder.on_exit(move |_| hook.lock().unwrap().send(()).unwrap());
        let builder = builder.panic_handler(move |_| panic.lock().unwrap().send(()).unwrap());
        drop(builder.build().unwrap());
        assert_eq!((hooked.iter().count(), panics.iter().count()), (1, 1));
    }
}

/// The last task of the pool that is dropped needs the worker that drops it.
#[test]
fn a_pool_may_be_dropped_while_a_worker_of_another_unwinds() {
    let one = Arc::new(Pool::new(1).unwrap());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        one.install(|_| {
            let other = Pool::new(1).unwrap();
            let one = Arc::clone(&one);
            other.spawn(move |_| one.install(|_| ()));
            panic!("with a pool in the frame");
        });
    }));
    assert!(panicked.is_err());
    assert_eq!(one.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
}

#[test]
fn an_idle_policy_that_panics_at_the_start_is_an_error() {
    #[derive(Debug)]
    struct Broken;
    impl IdlePolicy for Broken {
        fn name(&self) -> &'static str {
            "broken"
        }
        fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
            panic!("no thief")
        }
    }
    let error = Pool::builder().workers(2).idle_policy(Broken).build().unwrap_err();
    assert!(matches!(error, BuildError::Hook { .. }), "{error:?}");
}

#[test]
fn statistics_count_tasks_and_times() {
    // A replacement would be counted, too, if a join waits for long.
    let pool = Pool::builder().workers(2).replacements(0).own_threads_only().build().unwrap();
    pool.install(|w| {
        for _ in 0..1000 {
            w.join(|_| (), |_| ());
        }
    });
    let stats = pool.stats();
    assert_eq!(stats.workers.len(), 2);
    assert_eq!(stats.idle_policy, "balanced");
    let total = stats.total();
    assert_eq!(total.received, 1, "the task from outside");
    assert!(total.tasks > total.steals, "the task from outside was not stolen: {total:?}");
    assert!(total.wakeups <= total.sleeps);
    assert!(total.searching > std::time::Duration::ZERO, "workers begin with a search");
}

#[test]
fn a_pool_can_be_printed() {
    let pool = Pool::new(2).unwrap();
    let text = format!("{pool:#?}");
    assert!(text.contains("workers: 2") && text.lines().count() <= 10, "{text}");
    assert!(format!("{:?}", Pool::builder()).contains("workers: None"));
    assert!(pool.install(|w| format!("{w:?}")).contains("workers: 2"));
}
