//! What a pool promises of its indexes, its size and its threads, whatever its tasks do.
//!
//! All that Locksley promises, and the tests of it, in this file and beside it:
//!
//! - At any moment, no two running tasks of a pool have one index, and no more tasks run than there
//!   are workers. `guarantees.rs`:
//!   `no_two_running_tasks_have_the_same_index_and_no_more_run_than_there_are_workers`,
//!   `no_more_tasks_run_than_there_are_workers_while_they_block`
//! - Guests have other indices. `guarantees.rs`: `no_guest_has_the_index_of_another_task`;
//!   `guests.rs`
//! - A wait ends although the thread under its index wants a lock that the waiting task holds.
//!   `guarantees.rs`: `a_mutex_may_be_held_across_a_wait` and two others
//! - A wait runs only descendants on top of its frame, apart from the documented exceptions.
//!   `waits.rs`, `waits_help.rs`
//! - As many workers as the program sets may run or block at a time. `guarantees.rs`:
//!   `as_many_tasks_block_at_a_time_as_the_program_has_set_workers`; `resize.rs`:
//!   `all_workers_within_the_size_may_block`
//! - Blocked tasks get company, also after the limit came down, and in a pool without a number.
//!   `guarantees.rs`: `blocked_tasks_get_company_...`
//! - Each task finds the thread as the program has left it. `guarantees.rs`:
//!   `each_task_finds_the_thread_as_...`, `the_thread_of_a_guest_is_as_it_was`
//! - Child processes inherit what the process has. `guarantees.rs`:
//!   `children_that_tasks_start_have_what_the_process_has`
//! - With `own_threads_only`, each task runs on a thread of the pool. `guests.rs`:
//!   `a_library_may_have_each_task_run_on_the_threads_of_the_pool`
//! - Ready tasks of a worker that blocks or is suspended are run by others. `law2.rs`; stall
//!   harness
//! - An idle pool uses no processor time. `idle.rs`
//! - Pools of one user divide the processors if they are asked to. `shares.rs`; unit tests of
//!   `share.rs`, and of `locksley-sys/src/os/board.rs`
//! - The size follows affinity, quotas and the variable. `environment.rs`, `resize.rs`, unit tests
//!   of `limits.rs` and `machine.rs`
//! - Panics arrive where the documentation says. `join.rs`, `scope.rs`, `broadcast.rs`, `tasks.rs`,
//!   `loops.rs`, `pool.rs`
//! - A dropped pool finishes closures and cancels futures. `pool.rs`:
//!   `dropping_a_pool_finishes_its_accepted_tasks`; `tasks_end.rs`
//! - Tasks begin in the chosen order. `order.rs`
//! - A forked child can build its pools again. `fork/`

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex, OnceLock, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use common::idle_policies::{RESTLESS, SLEEPY};
use common::{Confined, in_time, wait_for};
use locksley::{Pool, PoolBuilder, Spawn, Worker};

/// Pools with idle policies that sleep early, never, and with a limit, and with all replacements
/// that they need, few and none.
fn builders() -> impl Iterator<Item = (PoolBuilder, Option<usize>)> {
    let with_policies: [fn(PoolBuilder) -> PoolBuilder; 4] = [
        |pool| pool,
        |pool| pool.idle_policy(SLEEPY),
        |pool| pool.idle_policy(RESTLESS),
        |pool| pool.idle_policy(Confined),
    ];
    with_policies.into_iter().flat_map(move |with_policy| {
        [None, Some(2), Some(0)].map(|most| {
            let builder = with_policy(Pool::builder());
            (most.into_iter().fold(builder, PoolBuilder::replacements), most)
        })
    })
}

fn spin(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

fn sleep() {
    thread::sleep(Duration::from_micros(500));
}

/// Something of which a program has one for each index, and which tasks use without a lock.
struct Scratch {
    in_use: Vec<AtomicBool>,
    workers: usize,
    /// How many tasks run on workers.
    running: AtomicUsize,
    most_running: AtomicUsize,
    clashes: AtomicUsize,
    uses_by_guests: AtomicUsize,
}

impl Scratch {
    fn new(pool: &Pool) -> Self {
        let indices = pool.install(Worker::indices);
        Self {
            in_use: (0..indices).map(|_| AtomicBool::new(false)).collect(),
            workers: pool.workers(),
            running: AtomicUsize::new(0),
            most_running: AtomicUsize::new(0),
            clashes: AtomicUsize::new(0),
            uses_by_guests: AtomicUsize::new(0),
        }
    }

    /// Uses what belongs to the index of the calling task.
    fn take(&self) {
        let index = common::on_worker(Worker::index);
        let is_worker = index < self.workers;
        if self.in_use[index].swap(true, Ordering::SeqCst) {
            self.clashes.fetch_add(1, Ordering::SeqCst);
        }
        if is_worker {
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_running.fetch_max(running, Ordering::SeqCst);
        } else {
            self.uses_by_guests.fetch_add(1, Ordering::SeqCst);
        }
        spin(Duration::from_micros(100));
        assert_eq!(common::on_worker(Worker::index), index, "a task keeps its index");
        if is_worker {
            self.running.fetch_sub(1, Ordering::SeqCst);
        }
        self.in_use[index].store(false, Ordering::SeqCst);
    }

    fn check(&self) {
        assert_eq!(self.clashes.load(Ordering::SeqCst), 0, "two tasks have one index");
        let most = self.most_running.load(Ordering::SeqCst);
        assert!(most <= self.workers, "{most} tasks at a time");
    }
}

/// The last one is `block_on`, which needs a replacement.
const KINDS_OF_WAITS: usize = 9;

/// Waits in one of several ways. Uses the scratch before, meanwhile and afterwards.
fn wait_somehow(scratch: &Scratch, pool: &Pool, other: &Pool, kind: usize) {
    let take = || scratch.take();
    take();
    match kind {
        0 => _ = locksley::join(sleep, take),
        1 => _ = locksley::join(take, sleep),
        2 => other.install(|_| sleep()),
        3 => locksley::scope(|scope| (0..4).for_each(|_| scope.spawn(|_| take()))),
        4 => locksley::loops::par(0..4).grain(1).for_each(|_| take()),
        5 => locksley::blocking(sleep),
        6 => other.install(|_| pool.install(|_| take())),
        7 => drop(pool.broadcast(|_| take())),
        _ => {
            let ended = locksley::task::spawn(async {
                locksley::task::yield_now().await;
                sleep();
            });
            locksley::block_on(ended).unwrap();
        }
    }
    take();
}

#[test]
#[cfg_attr(any(not(target_os = "linux"), locksley_portable), ignore = "a wait ends after 100 ms")]
fn no_two_running_tasks_have_the_same_index_and_no_more_run_than_there_are_workers() {
    for (builder, most_replacements) in builders() {
        let kinds = KINDS_OF_WAITS - usize::from(most_replacements.is_some());
        let pool = builder.workers(4).build().unwrap();
        in_time(move || {
            let other = Pool::new(2).unwrap();
            let scratch = Scratch::new(&pool);
            let (scratch, pool, other) = (&scratch, &pool, &other);
            pool.in_place_scope(|scope| {
                for n in 0..270 {
                    scope.spawn(move |_| wait_somehow(scratch, pool, other, n % kinds));
                }
            });
            scratch.check();
        });
    }
}

#[test]
#[cfg_attr(any(not(target_os = "linux"), locksley_portable), ignore = "a wait ends after 100 ms")]
fn no_guest_has_the_index_of_another_task() {
    in_time(|| {
        let pool = Pool::new(2).unwrap();
        let other = Pool::new(2).unwrap();
        let scratch = Scratch::new(&pool);
        let (scratch, pool, other) = (&scratch, &pool, &other);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let callers: Vec<_> = (0..10)
                .map(|_| {
                    scope.spawn(|| {
                        for n in 0..90 {
                            // A short call, so that the next one may run here.
                            pool.install(|_| ());
                            let kind = n % KINDS_OF_WAITS;
                            pool.install(|_| wait_somehow(scratch, pool, other, kind));
                        }
                    })
                })
                .collect();
            // The workers have tasks of their own meanwhile.
            scope.spawn(|| {
                while !is_over.load(Ordering::Acquire) {
                    pool.in_place_scope(|scope| {
                        (0..KINDS_OF_WAITS).for_each(|kind| {
                            scope.spawn(move |_| wait_somehow(scratch, pool, other, kind));
                        });
                    });
                }
            });
            callers.into_iter().for_each(|caller| caller.join().unwrap());
            is_over.store(true, Ordering::Release);
        });
        scratch.check();
        assert!(scratch.uses_by_guests.load(Ordering::SeqCst) > 0);
    });
}

/// Tasks that block without telling the pool count as running.
/// A task that a wait runs inside of `blocking` has the index of the thread, and is alone with it.
#[test]
#[cfg_attr(any(not(target_os = "linux"), locksley_portable), ignore = "a wait ends after 100 ms")]
fn a_task_inside_of_blocking_shares_its_index_with_no_other() {
    let pool = Pool::builder().workers(1).own_threads_only().build().unwrap();
    let other = Pool::builder().workers(1).own_threads_only().build().unwrap();
    let (is_busy, has_clashed) = (AtomicBool::new(false), AtomicBool::new(false));
    let (starts, is_started) = channel();
    pool.in_place_scope(|scope| {
        let (is_busy, has_clashed, other) = (&is_busy, &has_clashed, &other);
        scope.spawn(move |scope| {
            locksley::blocking(|| {
                scope.spawn(move |_| {
                    is_busy.store(true, Ordering::Release);
                    starts.send(()).unwrap();
                    thread::sleep(Duration::from_millis(30));
                    is_busy.store(false, Ordering::Release);
                });
                is_started.recv().unwrap();
                scope.spawn_with(Spawn::At(0), move |worker, _| {
                    assert_eq!(worker.index(), 0);
                    has_clashed.store(is_busy.load(Ordering::Acquire), Ordering::Release);
                });
                other.install(|_| thread::sleep(Duration::from_millis(60)));
            });
        });
    });
    assert!(!has_clashed.into_inner());
}

#[test]
fn no_more_tasks_run_than_there_are_workers_while_they_block() {
    in_time(|| {
        for workers in [1, 3, 16] {
            let pool = Pool::builder().workers(workers).own_threads_only().build().unwrap();
            let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            pool.in_place_scope(|scope| {
                for _ in 0..10 * workers {
                    scope.spawn(|_| {
                        most.fetch_max(
                            running.fetch_add(1, Ordering::SeqCst) + 1,
                            Ordering::SeqCst,
                        );
                        thread::sleep(Duration::from_millis(3));
                        running.fetch_sub(1, Ordering::SeqCst);
                    });
                }
            });
            assert!(most.load(Ordering::SeqCst) <= workers, "{most:?} of {workers}");
        }
    });
}

/// Has as many tasks as the pool has workers wait for each other, in each way of starting them.
fn all_meet(pool: &Pool) {
    let workers = pool.workers();
    let meet = |start: &dyn Fn(Box<dyn Fn() + Send + Sync>)| {
        let (barrier, (sender, receiver)) = (Barrier::new(workers), channel());
        start(Box::new(move || {
            barrier.wait();
            sender.send(()).unwrap();
        }));
        assert_eq!(receiver.iter().count(), workers);
    };
    meet(&|task| {
        pool.in_place_scope(|scope| (0..workers).for_each(|_| scope.spawn(|_| task())));
    });
    meet(&|task| {
        // From a task: all are in one deque.
        let task = &task;
        locksley::extend::install(pool, |_| {
            locksley::scope(|scope| (0..workers).for_each(|_| scope.spawn(move |_| task())));
        });
    });
    meet(&|task| {
        let task = Arc::new(task);
        for _ in 0..workers {
            let task = Arc::clone(&task);
            pool.spawn(move |_| task());
        }
    });
    meet(&|task| {
        let task = Arc::new(task);
        pool.spawn(move |_| {
            for _ in 0..workers {
                let task = Arc::clone(&task);
                locksley::spawn(move || task());
            }
        });
    });
    meet(&|task| {
        let task = Arc::new(task);
        for index in 0..workers {
            let task = Arc::clone(&task);
            pool.spawn_with(Spawn::At(index), move |_| task());
        }
    });
    meet(&|task| _ = pool.broadcast(|_| task()));
    meet(&|task| {
        let task = &task;
        locksley::extend::install(pool, |_| {
            locksley::loops::par(0..workers).grain(1).for_each(|_| task());
        });
    });
}

/// Computes on all workers. On a machine with fewer processors, fewer workers are active then.
fn compute(pool: &Pool) {
    for _ in 0..5 {
        locksley::extend::install(pool, |_| {
            locksley::loops::par(0..500_000).grain(16).for_each(|n| {
                std::hint::black_box((n..n + 50).fold(1_u64, |a, n| a.wrapping_mul(n | 1)));
            });
        });
    }
}

#[test]
fn as_many_tasks_block_at_a_time_as_the_program_has_set_workers() {
    for workers in [1, 2, 32, 64] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            all_meet(&pool);
        });
    }
}

#[test]
fn blocked_tasks_get_company_after_a_computation_has_lowered_the_size() {
    for workers in [32, 64] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            for _ in 0..3 {
                compute(&pool);
                all_meet(&pool);
            }
        });
    }
}

/// The same for a pool that follows the system.
#[test]
fn blocked_tasks_get_company_in_a_pool_without_a_number() {
    in_time(|| {
        let pool = Pool::builder().build().unwrap();
        compute(&pool);
        all_meet(&pool);
    });
}

/// Runs a join while `hold` is on the stack. The second half, on the other thread, spawns
/// `wants_it` into the surrounding scope and goes on for a while. (The shape of rayon's issue 592.)
fn join_under_a_lock(
    hold: impl FnOnce(&dyn Fn()) + Send + 'static,
    wants_it: impl Fn() + Send + Sync + 'static,
) {
    in_time(move || {
        let (started, wants_it) = (AtomicBool::new(false), &wants_it);
        let pool = Pool::new(2).unwrap();
        locksley::extend::install(&pool, |_| {
            locksley::scope(|scope| {
                let second = || {
                    started.store(true, Ordering::Release);
                    scope.spawn(move |_| wants_it());
                    thread::sleep(Duration::from_millis(100));
                };
                hold(&|| _ = locksley::join(|| wait_for(&started), second));
            });
        });
    });
}

/// Has the only worker hold a lock during a blocking call, while the thread under its index waits
/// for that lock. The call ends when the other thread is about to wait.
fn block_under_a_lock(
    hold: impl FnOnce(&dyn Fn()) + Send + 'static,
    wants_it: impl Fn() + Send + Sync + 'static,
) {
    in_time(move || {
        let (is_held, is_wanted) = (AtomicBool::new(false), AtomicBool::new(false));
        let (is_held, is_wanted, wants_it) = (&is_held, &is_wanted, &wants_it);
        let pool = Pool::new(1).unwrap();
        locksley::extend::install(&pool, |_| {
            locksley::scope(|scope| {
                hold(&|| {
                    is_held.store(true, Ordering::Release);
                    scope.spawn(move |_| {
                        wait_for(is_held);
                        is_wanted.store(true, Ordering::Release);
                        wants_it();
                    });
                    locksley::blocking(|| wait_for(is_wanted));
                });
            });
        });
    });
}

type Shape = fn(Box<dyn FnOnce(&dyn Fn()) + Send>, Box<dyn Fn() + Send + Sync>);

const SHAPES: [Shape; 2] =
    [|hold, wants| join_under_a_lock(hold, wants), |hold, wants| block_under_a_lock(hold, wants)];

#[test]
fn a_mutex_may_be_held_across_a_wait() {
    for shape in SHAPES {
        let lock = Arc::new(Mutex::new(0));
        let (held, wanted) = (Arc::clone(&lock), Arc::clone(&lock));
        shape(
            Box::new(move |wait| {
                let mut held = held.lock().unwrap();
                wait();
                *held += 1;
            }),
            Box::new(move || *wanted.lock().unwrap() += 1),
        );
        assert_eq!(*lock.lock().unwrap(), 2);
    }
}

#[test]
fn a_read_write_lock_may_be_held_across_a_wait() {
    for shape in SHAPES {
        let lock = Arc::new(RwLock::new(0));
        let wanted = Arc::clone(&lock);
        shape(
            Box::new(move |wait| {
                let mut held = lock.write().unwrap();
                wait();
                *held += 1;
            }),
            Box::new(move || assert_eq!(*wanted.read().unwrap(), 1)),
        );
    }
}

#[test]
fn a_once_lock_may_be_initialized_by_a_wait() {
    for shape in SHAPES {
        let cell = Arc::new(OnceLock::new());
        let wanted = Arc::clone(&cell);
        shape(
            Box::new(move |wait| {
                let value = cell.get_or_init(|| {
                    wait();
                    7
                });
                assert_eq!(*value, 7);
            }),
            Box::new(move || {
                let other = || unreachable!("another thread initializes it");
                assert_eq!(*wanted.get_or_init(other), 7);
            }),
        );
    }
}

#[cfg(all(target_os = "linux", not(locksley_portable)))]
mod threads {
    use std::mem::zeroed;
    use std::process::Command;
    use std::{fs, ptr};

    use locksley::idle::Balanced;
    use locksley::os::{Assists, Processors};

    use super::*;

    /// What a thread or a process has: the processors that it may run on, the signals that it
    /// blocks, its nice value and its scheduling policy.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Attributes {
        affinity: String,
        blocked_signals: String,
        nice: String,
        policy: String,
    }

    impl Attributes {
        /// Those of the thread that a `status` and a `stat` of the kernel tell about.
        fn parse(status: &str, stat: &str) -> Self {
            let line = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.unwrap_or_else(|| panic!("no {name}: {status}")).trim().to_owned()
            };
            // The name, in parentheses, may contain spaces. The third field comes after it.
            let (_, fields) = stat.rsplit_once(')').unwrap();
            let field =
                |number: usize| fields.split_whitespace().nth(number - 3).unwrap().to_owned();
            Self {
                affinity: line("Cpus_allowed_list:"),
                blocked_signals: line("SigBlk:"),
                nice: field(19),
                policy: field(41),
            }
        }

        fn of_this_thread() -> Self {
            let read = |name| fs::read_to_string(format!("/proc/thread-self/{name}")).unwrap();
            Self::parse(&read("status"), &read("stat"))
        }

        /// Starts a process, and returns what it has inherited.
        fn of_a_child() -> Self {
            let child = Command::new("cat").args(["/proc/self/status", "/proc/self/stat"]).output();
            let output = String::from_utf8(child.unwrap().stdout).unwrap();
            let (status, stat) = output.trim_end().rsplit_once('\n').unwrap();
            Self::parse(status, stat)
        }
    }

    fn with_policies() -> [fn(PoolBuilder) -> PoolBuilder; 4] {
        use crate::common::idle_policies::{Helping, Yielding};

        [
            |pool| pool.idle_policy(Balanced::default()),
            |pool| pool.idle_policy(Helping { attempts: 64 }),
            |pool| pool.idle_policy(Yielding { attempts: 64, sleep_after: Some(64) }),
            |pool| pool.idle_policy(Yielding { attempts: 1, sleep_after: None }),
        ]
    }

    /// Calls `look` in tasks while other tasks begin, end, wait and compute, and other threads want
    /// all processors: so workers search, sleep and are preempted.
    fn under_load(pool: &Pool, looks: usize, look: impl Fn() + Sync) {
        let left = AtomicUsize::new(looks);
        let is_over = || left.load(Ordering::Acquire) == 0;
        thread::scope(|threads| {
            for _ in 0..Processors::allowed().count() {
                threads.spawn(|| {
                    while !is_over() {
                        spin(Duration::from_micros(100));
                    }
                });
            }
            pool.in_place_scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|_| {
                        while !is_over() {
                            locksley::join(|| spin(Duration::from_micros(500)), sleep);
                            locksley::blocking(sleep);
                        }
                    });
                }
                for _ in 0..looks {
                    scope.spawn(|_| {
                        let ended = CountDownOnDrop(&left);
                        look();
                        spin(Duration::from_micros(500));
                        look();
                        drop(ended);
                    });
                }
            });
        });
    }

    /// Counts down also if the task panics, so that a test that fails ends.
    struct CountDownOnDrop<'a>(&'a AtomicUsize);

    impl Drop for CountDownOnDrop<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// More workers than processors, so that some are always preempted.
    fn workers() -> usize {
        3 * Processors::allowed().count()
    }

    #[test]
    fn children_that_tasks_start_have_what_the_process_has() {
        let expected = Attributes::of_a_child();
        for with_policy in with_policies() {
            let builder = with_policy(Pool::builder().workers(workers()).assists(Assists::ALL));
            let pool = builder.build().unwrap();
            under_load(&pool, 40, || {
                assert_eq!(Attributes::of_a_child(), expected);
                let thread = thread::spawn(Attributes::of_this_thread);
                assert_eq!(thread.join().unwrap(), expected);
                assert_eq!(Attributes::of_this_thread(), expected);
            });
        }
        assert_eq!(Attributes::of_a_child(), expected);
    }

    /// Binds the calling thread to one processor, blocks a signal, raises the nice value, and sets
    /// a policy and a name.
    fn change_this_thread(name: &str) {
        let processor = Processors::allowed().ids().iter().copied().next().unwrap();
        // SAFETY: a `cpu_set_t` of zeros is the empty set.
        let mut set: libc::cpu_set_t = unsafe { zeroed() };
        // SAFETY: the number is below 1024 on any machine that runs this test.
        unsafe { libc::CPU_SET(processor, &mut set) };
        // SAFETY: the kernel reads one `cpu_set_t`, which is there.
        let answer = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
        assert_eq!(answer, 0);
        // SAFETY: a `sigset_t` of zeros is initialized below.
        let mut signals: libc::sigset_t = unsafe { zeroed() };
        // SAFETY: there is one `sigset_t`.
        unsafe { libc::sigemptyset(&raw mut signals) };
        // SAFETY: as above; the signal exists.
        unsafe { libc::sigaddset(&raw mut signals, libc::SIGUSR2) };
        // SAFETY: the set is initialized, and the old one is not wanted.
        let answer =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, ptr::null_mut()) };
        assert_eq!(answer, 0);
        // `SCHED_BATCH`, with the flag for forks, which an unprivileged thread cannot clear.
        // SAFETY: zeros are parameters.
        let parameters: libc::sched_param = unsafe { zeroed() };
        let policy = libc::SCHED_BATCH | libc::SCHED_RESET_ON_FORK;
        // SAFETY: the kernel reads the parameters, which are there.
        let answer = unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
        assert_eq!(answer, 0);
        // Above that of the first thread: an unprivileged thread cannot lower it.
        // SAFETY: no memory is passed.
        let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, std::process::id()) };
        // SAFETY: no memory is passed.
        let answer = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, (nice + 3).min(19)) };
        assert_eq!(answer, 0);
        fs::write("/proc/thread-self/comm", name).unwrap();
    }

    fn name_of_this_thread() -> String {
        fs::read_to_string("/proc/thread-self/comm").unwrap().trim_end().to_owned()
    }

    #[test]
    fn each_task_finds_the_thread_as_the_start_hook_has_left_it() {
        const NAME: &str = "of the hook";
        let expected = thread::spawn(|| {
            change_this_thread(NAME);
            assert_eq!(name_of_this_thread(), NAME);
            Attributes::of_this_thread()
        });
        let expected = expected.join().unwrap();
        assert_ne!(expected, Attributes::of_this_thread());
        for with_policy in with_policies() {
            let builder = with_policy(Pool::builder().workers(workers()).assists(Assists::ALL));
            let pool = builder.on_start(|_| change_this_thread(NAME)).build().unwrap();
            under_load(&pool, 500, || {
                assert_eq!(Attributes::of_this_thread(), expected);
                assert_eq!(name_of_this_thread(), NAME);
            });
        }
    }

    /// The program may change a thread at any time, not only in the start hook.
    #[test]
    fn each_task_finds_the_thread_as_an_earlier_task_has_left_it() {
        for with_policy in with_policies() {
            let builder = with_policy(Pool::builder().workers(workers()).assists(Assists::ALL));
            let pool = builder.own_threads_only().build().unwrap();
            under_load(&pool, 100, || ());
            let changed = pool.broadcast(|_| {
                change_this_thread("of a task");
                (thread::current().id(), Attributes::of_this_thread())
            });
            under_load(&pool, 500, || {
                let this = thread::current().id();
                // (A replacement is another thread.)
                if let Some((_, expected)) = changed.iter().find(|(thread, _)| *thread == this) {
                    assert_eq!(Attributes::of_this_thread(), *expected);
                    assert_eq!(name_of_this_thread(), "of a task");
                }
            });
        }
    }

    #[test]
    fn the_thread_of_a_guest_is_as_it_was() {
        let this_thread = || (Attributes::of_this_thread(), name_of_this_thread());
        let pool = Pool::builder().workers(workers()).assists(Assists::ALL).build().unwrap();
        thread::spawn(move || {
            change_this_thread("of a guest");
            let expected = this_thread();
            let this = thread::current().id();
            let calls_here = AtomicUsize::new(0);
            common::wait_until(|| {
                let is_here = pool.install(|w| {
                    w.join(
                        |_| spin(Duration::from_micros(20)),
                        |_| spin(Duration::from_micros(50)),
                    );
                    thread::current().id() == this
                });
                assert_eq!(this_thread(), expected);
                calls_here.fetch_add(usize::from(is_here), Ordering::Relaxed) >= 100
            });
        })
        .join()
        .unwrap();
    }
}
