//! Blocking calls: a replacement works under the index of the worker.

mod common;

use std::collections::HashSet;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use common::idle_policies::{RESTLESS, SLEEPY};
use common::{Confined, in_time, message, on_worker, wait_for, wait_until};
use locksley::task::{self, JoinHandle, yield_now};
use locksley::{Pool, PoolBuilder, Spawn, Worker, block_on, blocking};
use locksley_sync::Semaphore;

const SOON: Duration = Duration::from_secs(20);

/// Pools with idle policies that sleep early, never, and with a limit.
fn pools(workers: usize) -> [Pool; 4] {
    let builder = || Pool::builder().workers(workers).replacements(20);
    let builders: [PoolBuilder; 4] = [
        builder(),
        builder().idle_policy(SLEEPY),
        builder().idle_policy(RESTLESS),
        builder().idle_policy(Confined),
    ];
    builders.map(|builder| builder.build().unwrap())
}

#[test]
fn outside_of_a_pool_blocking_is_a_call() {
    assert_eq!(blocking(|| 6 * 7), 42);
}

#[test]
fn the_tasks_of_the_only_worker_run_while_it_blocks() {
    for pool in pools(1) {
        for _ in 0..50 {
            let (sender, receiver) = channel();
            let received = pool.install(move |_| {
                locksley::spawn(move || sender.send(1).unwrap());
                locksley::blocking(|| receiver.recv_timeout(SOON))
            });
            assert_eq!(received, Ok(1));
        }
    }
}

/// Futures that yield for ever, as many as keep all workers busy, until this is dropped.
struct Endless(Vec<JoinHandle<()>>);

impl Endless {
    fn on(pool: &Pool) -> Self {
        let polls = Arc::new(AtomicUsize::new(0));
        let endless = || endless(Arc::clone(&polls));
        let tasks = Self((0..3 * pool.workers()).map(|_| pool.spawn_future(endless())).collect());
        wait_until(|| polls.load(Ordering::Relaxed) > 10_000); // none is in the injector any more
        tasks
    }
}

async fn endless(polls: Arc<AtomicUsize>) {
    loop {
        polls.fetch_add(1, Ordering::Relaxed);
        yield_now().await;
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

#[test]
fn tasks_of_a_thread_that_blocks_run_beside_endless_ones() {
    in_time(|| {
        for pool in [1, 2].map(pools).into_iter().flatten() {
            let _endless = Endless::on(&pool);
            let received = pool.install(|_| {
                let (sender, receiver) = channel();
                locksley::spawn(move || sender.send(1).unwrap());
                blocking(|| receiver.recv())
            });
            assert_eq!(received, Ok(1));
            let joined = pool.install(|_| {
                // The second one lies above the first.
                let [first, second] = [1, 2].map(|value| task::spawn(async move { value }));
                first.join().unwrap() + second.join().unwrap()
            });
            assert_eq!(joined, 3);
        }
    });
}

/// The thread that waits runs any task: no replacement can be had.
#[test]
fn a_wait_that_runs_any_task_finds_those_of_others_beside_endless_ones() {
    in_time(|| {
        let pool = Pool::builder().workers(2).replacements(0).own_threads_only().build().unwrap();
        let semaphore = Arc::new(Semaphore::new(0));
        let permits = Arc::clone(&semaphore);
        let (is_spawned, spawned) = channel();
        let (end, ended) = channel::<()>();
        pool.spawn_with(Spawn::At(1), move |_| {
            locksley::spawn(move || permits.add_permits(1));
            blocking(|| {
                is_spawned.send(()).unwrap();
                let _ = ended.recv();
            });
        });
        let (is_done, done) = channel();
        pool.spawn_with(Spawn::At(0), move |_| {
            spawned.recv().unwrap();
            let polls = Arc::default();
            let _endless =
                Endless([(); 3].map(|()| task::spawn(endless(Arc::clone(&polls)))).into());
            let acquired = async move { semaphore.acquire().await.unwrap().forget() };
            task::spawn(acquired).join().unwrap();
            is_done.send(()).unwrap();
        });
        assert_eq!(done.recv_timeout(SOON), Ok(()));
        drop(end);
    });
}

/// A replacement has run the task that spawns, and lost the index at its end.
#[test]
fn tasks_that_a_replacement_has_left_run_beside_endless_ones() {
    for is_chain in [false, true] {
        let pool = Pool::new(1).unwrap();
        let _endless = (!is_chain).then(|| Endless::on(&pool));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = StopOnDrop(Arc::clone(&stop));
        let (left, has_left) = channel();
        let (is_replaced, replaced) = channel();
        let (end, ended) = channel::<()>();
        pool.spawn_with(Spawn::At(0), move |_| {
            blocking(|| {
                is_replaced.send(()).unwrap();
                let _ = ended.recv();
            });
            if is_chain {
                chain(stop);
            }
        });
        replaced.recv().unwrap();
        pool.spawn(move |_| {
            locksley::spawn(move || left.send(()).unwrap());
            drop(end);
            // Until the thread has claimed its index.
            thread::sleep(Duration::from_millis(50));
        });
        assert_eq!(has_left.recv_timeout(SOON), Ok(()), "chain: {is_chain}");
        drop(stopped);
    }
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A closure that spawns itself until it is stopped.
fn chain(stop: Arc<AtomicBool>) {
    if !stop.load(Ordering::Relaxed) {
        locksley::spawn(move || chain(stop));
    }
}

#[test]
fn as_many_threads_work_as_the_pool_has_workers() {
    for pool in pools(3) {
        let (at_work, done) = (AtomicUsize::new(0), AtomicBool::new(false));
        pool.install(|_| {
            locksley::in_place_scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|_| on_worker(|_| locksley::blocking(|| wait_for(&done))));
                }
                // These tasks need three threads at the same time, while two or three of the
                // workers block.
                for _ in 0..3 {
                    scope.spawn(|_| {
                        at_work.fetch_add(1, Ordering::AcqRel);
                        while at_work.load(Ordering::Acquire) < 3 {
                            thread::yield_now();
                        }
                        done.store(true, Ordering::Release);
                    });
                }
            });
        });
        assert!(done.into_inner());
    }
}

#[test]
fn tasks_that_arrive_while_all_workers_block_are_run() {
    for pool in pools(2) {
        let (pool, released) = (Arc::new(pool), Arc::new(AtomicBool::new(false)));
        let blocked = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let (released, blocked) = (Arc::clone(&released), Arc::clone(&blocked));
            pool.spawn(move |_| {
                locksley::blocking(|| {
                    blocked.fetch_add(1, Ordering::AcqRel);
                    wait_for(&released);
                });
            });
        }
        while blocked.load(Ordering::Acquire) < 2 {
            thread::yield_now();
        }
        let sum = pool.install(|_| {
            let all = locksley::loops::par(0..100_000_u64);
            all.reduce(|| 0, |a, n| a + n, |a, b| a + b)
        });
        assert_eq!(sum, 4_999_950_000);
        released.store(true, Ordering::Release);
    }
}

#[test]
fn a_replacement_has_the_index_of_the_worker_and_a_thread_and_data_of_its_own() {
    let pool = Pool::builder()
        .workers(2)
        .thread_name(|index| format!("w{index}"))
        .worker_data(|index| (index, thread::current().id()))
        .build()
        .unwrap();
    let seen = pool.install(|w| {
        let (sender, receiver) = channel();
        // Tasks end in pairs, so both threads run some.
        let pair = Arc::new(Barrier::new(2));
        for _ in 0..20 {
            let (sender, pair) = (sender.clone(), Arc::clone(&pair));
            locksley::spawn(move || {
                on_worker(|w| {
                    let (index, id) = *w.data::<(usize, thread::ThreadId)>().unwrap();
                    assert_eq!(id, thread::current().id());
                    assert!(index < w.workers());
                    let name = thread::current().name().unwrap().to_owned();
                    pair.wait();
                    sender.send((w.index(), name)).unwrap();
                })
            });
        }
        drop(sender);
        let here = w.index();
        (here, locksley::blocking(|| receiver.iter().collect::<Vec<_>>()))
    });
    let (here, seen) = seen;
    assert_eq!(seen.len(), 20);
    assert!(seen.iter().all(|(index, _)| *index < 2));
    let names: HashSet<_> = seen.iter().map(|(_, name)| name.as_str()).collect();
    let blocked = format!("w{here}");
    assert!(!names.contains(&*blocked), "that worker blocks: {names:?}");
    let replacement = format!("w{here}'");
    assert!(names.contains(&*replacement), "{names:?}");
    assert!(seen.iter().filter(|(_, name)| *name == replacement).all(|(index, _)| *index == here));
    assert_eq!(pool.workers(), 2);
    assert_eq!(pool.stats().workers.len(), 3, "two workers and one replacement");
}

#[test]
fn pinned_tasks_wait_for_the_blocked_worker() {
    let pool = Pool::builder().workers(2).own_threads_only().build().unwrap();
    let (released, sent) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
    thread::scope(|scope| {
        let (sender, receiver) = channel();
        let (pool, released) = (&pool, &released);
        scope.spawn(move || {
            pool.install(|w| {
                locksley::blocking(|| {
                    sender.send((w.index(), thread::current().id())).unwrap();
                    wait_for(released);
                });
            });
        });
        let (index, thread) = receiver.recv().unwrap();
        let (answer, answers) = channel();
        pool.spawn_with(Spawn::At(index), move |w| {
            answer.send((w.index(), thread::current().id())).unwrap()
        });
        let flag = Arc::clone(&sent);
        pool.spawn(move |_| flag.store(true, Ordering::Release));
        wait_for(&sent);
        assert!(answers.recv_timeout(Duration::from_millis(20)).is_err(), "it waits");
        released.store(true, Ordering::Release);
        assert_eq!(answers.recv_timeout(SOON), Ok((index, thread)));
    });
    assert_eq!(pool.broadcast(Worker::index), [0, 1]);
}

#[test]
fn after_a_panic_in_the_call_the_replacement_is_free_again() {
    let pool = Pool::builder().workers(1).replacements(1).build().unwrap();
    for _ in 0..20 {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|_| locksley::blocking(|| panic!("in the call")))
        }));
        assert_eq!(message(&*caught.unwrap_err()), "in the call");
        // The replacement is free again.
        let (sender, receiver) = channel();
        let received = pool.install(move |_| {
            locksley::spawn(move || sender.send(2).unwrap());
            locksley::blocking(|| receiver.recv_timeout(SOON))
        });
        assert_eq!(received, Ok(2));
    }
}

#[test]
fn a_nested_blocking_call_takes_no_second_replacement() {
    let pool = Pool::builder().workers(1).replacements(4).own_threads_only().build().unwrap();
    pool.install(|_| {
        locksley::blocking(|| locksley::blocking(|| blocking(|| ())));
    });
    assert_eq!(pool.stats().workers.len(), 2, "the worker and one replacement");
}

#[test]
fn there_are_no_more_replacements_than_the_limit() {
    for most in [0, 1, 2, 5] {
        let pool = Pool::builder().workers(1).replacements(most).build().unwrap();
        let (released, blocked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for _ in 0..10 {
            let (released, blocked) = (Arc::clone(&released), Arc::clone(&blocked));
            pool.spawn(move |_| {
                locksley::blocking(|| {
                    blocked.fetch_add(1, Ordering::AcqRel);
                    wait_for(&released);
                });
            });
        }
        while blocked.load(Ordering::Acquire) < 1 + most {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(20));
        assert_eq!(blocked.load(Ordering::Acquire), 1 + most, "the worker and its replacements");
        released.store(true, Ordering::Release);
        while blocked.load(Ordering::Acquire) < 10 {
            thread::yield_now();
        }
        let stats = pool.stats();
        assert_eq!(stats.workers.iter().filter(|it| it.tasks > 0).count(), 1 + most);
        drop(pool);
    }
}

#[test]
fn a_pool_on_threads_of_the_program_has_no_replacements() {
    thread::scope(|scope| {
        let pool = Pool::builder().workers(1).build_with(|worker| {
            thread::Builder::new().spawn_scoped(scope, || worker.run())?;
            Ok(())
        });
        let pool = pool.unwrap();
        assert_eq!(pool.install(|_| locksley::blocking(|| 5)), 5);
        assert_eq!(pool.stats().workers.len(), 1);
    });
}

#[test]
fn hooks_are_called_on_the_threads_of_replacements_and_the_pool_waits_for_them() {
    let (started, ended) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
    let (at_start, at_end) = (Arc::clone(&started), Arc::clone(&ended));
    let pool = Pool::builder()
        .workers(1)
        .on_start(move |index| at_start.lock().unwrap().push((index, thread::current().id())))
        .on_exit(move |_| {
            at_end.fetch_add(1, Ordering::AcqRel);
        })
        .build()
        .unwrap();
    let (sender, receiver) = channel();
    pool.install(move |_| {
        locksley::spawn(move || sender.send(()).unwrap());
        locksley::blocking(|| receiver.recv_timeout(SOON)).unwrap();
    });
    drop(pool);
    assert_eq!(ended.load(Ordering::Acquire), 2);
    let started = started.lock().unwrap();
    assert!(started.iter().all(|(index, _)| *index == 0));
    assert_ne!(started[0].1, started[1].1);
}

#[test]
fn tasks_that_a_replacement_leaves_are_run_by_others() {
    for pool in pools(2) {
        let count = Arc::new(AtomicUsize::new(0));
        for _ in 0..20 {
            let (sender, receiver) = channel();
            let count = Arc::clone(&count);
            pool.spawn(move |_| {
                locksley::spawn(move || {
                    on_worker(|_| {
                        for _ in 0..50 {
                            let count = Arc::clone(&count);
                            locksley::spawn(move || {
                                count.fetch_add(1, Ordering::AcqRel);
                            });
                        }
                        sender.send(()).unwrap();
                    })
                });
                locksley::blocking(|| receiver.recv_timeout(SOON)).unwrap();
            });
        }
        let patience = Instant::now() + SOON;
        while count.load(Ordering::Acquire) < 20 * 50 {
            assert!(Instant::now() < patience, "{}", count.load(Ordering::Acquire));
            thread::yield_now();
        }
    }
}

/// A call after the other takes the replacement of the one before, once it is free.
#[test]
fn calls_in_a_row_do_not_start_thread_after_thread() {
    let pool = Pool::builder().workers(1).own_threads_only().build().unwrap();
    pool.install(|_| (0..1000).for_each(|_| locksley::blocking(thread::yield_now)));
    let threads = pool.stats().workers.len();
    assert!(threads < 10, "{threads} threads");
}

/// Forks, blocks and opens scopes at random. A pool of one worker gives the expected count.
#[test]
fn a_tree_whose_leaves_block_is_counted_right() {
    fn grow(w: &Worker, seed: u64, size: u64, count: &AtomicUsize) {
        count.fetch_add(1, Ordering::Relaxed);
        if size < 2 {
            return;
        }
        let seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let left = 1 + (seed >> 33) % (size - 1);
        match seed >> 61 {
            0 => locksley::blocking(|| thread::sleep(Duration::from_micros(30))),
            1 => locksley::blocking(|| ()),
            2 => locksley::in_place_scope(|scope| {
                scope.spawn(|_| {
                    on_worker(|w| locksley::blocking(|| assert!(w.index() < w.workers())))
                });
                scope.spawn(|_| blocking(thread::yield_now));
            }),
            _ => {}
        }
        w.join(|w| grow(w, seed, left, count), |w| grow(w, !seed, size - left, count));
    }
    let expected = AtomicUsize::new(0);
    Pool::new(1).unwrap().install(|w| (0..6).for_each(|seed| grow(w, seed, 300, &expected)));
    for workers in [1, 2, 5] {
        for pool in pools(workers) {
            let count = AtomicUsize::new(0);
            pool.install(|w| (0..6).for_each(|seed| grow(w, seed, 300, &count)));
            assert_eq!(count.into_inner(), expected.load(Ordering::Relaxed));
        }
    }
}

#[test]
fn a_borrowed_thread_may_block_too() {
    thread::spawn(|| {
        let pool = Pool::builder().workers(1).with_current_thread().build().unwrap();
        let (sender, receiver) = channel();
        pool.spawn(move |_| sender.send("done").unwrap());
        assert_eq!(blocking(|| receiver.recv_timeout(SOON)), Ok("done"));
        drop(pool);
        assert_eq!(blocking(|| 3), 3);
    })
    .join()
    .unwrap();
}

#[test]
fn a_task_that_waits_on_a_released_replacement_goes_on() {
    let (begin, end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let pool = Pool::builder().workers(1).replacements(1).build().unwrap();
    let (sender, receiver) = channel();
    let (its_begin, its_end) = (Arc::clone(&begin), Arc::clone(&end));
    pool.install(move |_| {
        locksley::spawn(move || {
            block_on(its_begin.acquire()).unwrap().forget();
            block_on(its_end.acquire()).unwrap().forget();
            sender.send(thread::current().id()).unwrap();
        });
        // Until the replacement has taken the task.
        locksley::blocking(|| {
            begin.add_permits(1);
            while begin.available_permits() > 0 {
                thread::yield_now();
            }
        });
    });
    // Then the replacement is released.
    thread::sleep(Duration::from_millis(20));
    assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
    end.add_permits(1);
    let _ = receiver.recv_timeout(SOON).expect("the task goes on");
}

/// While a replacement blocks, it is released and assigned to another worker. When its call ends,
/// it still releases its own replacement.
#[test]
fn a_replacement_with_a_new_index_releases_its_own_replacement() {
    let pool = Pool::builder().workers(2).replacements(2).thread_name(|n| format!("w{n}")).build();
    let pool = pool.unwrap();
    let flags: Arc<[AtomicBool; 6]> = Arc::default();
    let at = |n: usize| {
        let flags = Arc::clone(&flags);
        move || flags[n].store(true, Ordering::Release)
    };
    let wait = |n: usize| {
        let flags = Arc::clone(&flags);
        move || wait_for(&flags[n])
    };
    const OTHER_IS_BUSY: usize = 0;
    const REPLACEMENT_BLOCKS: usize = 1;
    const ONE_IS_BACK: usize = 2;
    const OTHER_MAY_BLOCK: usize = 3;
    const OTHER_BLOCKS: usize = 4;
    const END: usize = 5;
    let (is_busy, may_block) = (at(OTHER_IS_BUSY), wait(OTHER_MAY_BLOCK));
    let (blocks, end) = (at(OTHER_BLOCKS), wait(END));
    pool.spawn_with(Spawn::At(1), move |_| {
        is_busy();
        may_block();
        locksley::blocking(|| {
            blocks();
            end();
        });
    });
    let (other_is_busy, its_call) = (wait(OTHER_IS_BUSY), at(REPLACEMENT_BLOCKS));
    let (replacement_blocks, is_back) = (wait(REPLACEMENT_BLOCKS), at(ONE_IS_BACK));
    let [its_end, end] = [wait(END), wait(END)];
    let (sender, ended) = channel();
    pool.spawn_with(Spawn::At(0), move |_| {
        other_is_busy();
        locksley::spawn(move || {
            on_worker(|_| {
                locksley::blocking(|| {
                    its_call();
                    its_end();
                });
                sender.send(()).unwrap();
            })
        });
        locksley::blocking(replacement_blocks);
        is_back();
        end();
    });
    wait(ONE_IS_BACK)();
    at(OTHER_MAY_BLOCK)();
    wait(OTHER_BLOCKS)();
    at(END)();
    ended.recv_timeout(SOON).unwrap();
    // In the end workers run all tasks.
    let patience = Instant::now() + SOON;
    loop {
        let names = Mutex::new(HashSet::new());
        pool.in_place_scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|_| {
                    names.lock().unwrap().insert(thread::current().name().unwrap().to_owned());
                    thread::sleep(Duration::from_micros(100));
                });
            }
        });
        let names = names.into_inner().unwrap();
        if names.iter().all(|name| !name.ends_with('\'')) {
            break;
        }
        assert!(Instant::now() < patience, "a replacement still works: {names:?}");
    }
}

/// A hook may wait, as a task may. It does so on the threads of replacements, too.
#[test]
fn start_hooks_and_exit_hooks_may_block() {
    for in_background in [false, true] {
        for replacements in [1, 20] {
            let (started, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let count = |count: &Arc<AtomicUsize>| {
                let count = Arc::clone(count);
                move |_| {
                    blocking(|| thread::sleep(Duration::from_micros(300)));
                    count.fetch_add(1, Ordering::Relaxed);
                }
            };
            let builder = Pool::builder().workers(2).replacements(replacements);
            let builder = builder.on_start(count(&started)).on_exit(count(&ended));
            let builder = if in_background { builder.start_in_background() } else { builder };
            let pool = builder.build().unwrap();
            let done = Arc::new(AtomicUsize::new(0));
            for _ in 0..40 {
                let done = Arc::clone(&done);
                pool.spawn(move |_| {
                    blocking(|| thread::sleep(Duration::from_micros(100)));
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
            drop(pool);
            assert_eq!(done.load(Ordering::Relaxed), 40);
            let [started, ended] = [started, ended].map(|count| count.load(Ordering::Relaxed));
            assert!(ended == started && ended >= 2, "{started} {ended}");
        }
    }
}

/// The threads of replacements start, run their hooks and become free in the middle of it.
#[test]
fn workers_that_block_in_turns_always_find_a_replacement() {
    let pool = Pool::builder().workers(2).replacements(4).on_start(|_| blocking(|| ())).build();
    let pool = pool.unwrap();
    for _ in 0..300 {
        let (sender, receiver) = channel();
        for _ in 0..2 {
            let sender = sender.clone();
            pool.spawn(move |_| {
                let (here, is_here) = channel();
                locksley::spawn(move || here.send(()).unwrap());
                blocking(|| is_here.recv_timeout(SOON).unwrap());
                sender.send(()).unwrap();
            });
        }
        drop(sender);
        assert_eq!(receiver.iter().count(), 2);
    }
}

/// A thread outside of pools and a worker block until they are woken.
#[test]
fn block_on_polls_once_for_each_wake_up() {
    let polls_of_one_wake_up = || {
        let (polls, waker) = (AtomicUsize::new(0), Arc::new(Mutex::new(None::<Waker>)));
        let other = {
            let waker = Arc::clone(&waker);
            thread::spawn(move || {
                while waker.lock().unwrap().is_none() {
                    thread::yield_now();
                }
                thread::sleep(Duration::from_millis(20));
                waker.lock().unwrap().take().unwrap().wake();
            })
        };
        block_on(poll_fn(|context| {
            let mut waker = waker.lock().unwrap();
            if polls.fetch_add(1, Ordering::Relaxed) > 0 && waker.is_none() {
                return Poll::Ready(());
            }
            *waker = Some(context.waker().clone());
            Poll::Pending
        }));
        other.join().unwrap();
        polls.into_inner()
    };
    assert_eq!(polls_of_one_wake_up(), 2);
    let pool = Pool::builder().workers(1).own_threads_only().build().unwrap();
    assert_eq!(pool.install(|_| polls_of_one_wake_up()), 2);
}
