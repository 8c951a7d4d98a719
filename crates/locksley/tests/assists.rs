//! Pools without some or all assists of the kernel, and what the assists leave unchanged.

#[path = "common/idle_policies.rs"]
mod idle_policies;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use idle_policies::{Helping, Yielding};
use locksley::idle::{Balanced, IdleContext, IdlePolicy, Move, Thief};
use locksley::os::Assists;
use locksley::{Pool, PoolBuilder, Worker};

fn sets_of_assists() -> Vec<Assists> {
    let each = [
        Assists::MEMBARRIER,
        Assists::RUN_STATE,
        Assists::SWITCH_RECORDS,
        Assists::SHORT_TIME_SLICES,
        Assists::RUNNABLE_THREADS,
        Assists::BOARD,
    ];
    let all = Assists::ALL.with(Assists::BOARD);
    let without_one = each.iter().map(|&assist| all.without(assist));
    without_one.chain(each).chain([Assists::ALL, Assists::NONE]).collect()
}

fn with_policies() -> [fn(PoolBuilder) -> PoolBuilder; 4] {
    [
        |pool| pool.idle_policy(Balanced::default()),
        |pool| {
            pool.idle_policy(
                Balanced::with_threshold(20).with_time_slice(Duration::from_micros(200)),
            )
        },
        |pool| pool.idle_policy(Helping { attempts: 4 }),
        |pool| pool.idle_policy(Yielding { attempts: 1, sleep_after: Some(3) }),
    ]
}

fn sum(w: &Worker, from: u64, to: u64) -> u64 {
    if to - from <= 4 {
        return (from..to).sum();
    }
    let middle = from.midpoint(to);
    let (a, b) = w.join(|w| sum(w, from, middle), |w| sum(w, middle, to));
    a + b
}

#[test]
fn each_assist_may_be_missing() {
    for assists in sets_of_assists() {
        for with_policy in with_policies() {
            for workers in [1, 2, 7] {
                let pool = with_policy(Pool::builder().workers(workers).assists(assists));
                let pool = pool.build().unwrap();
                for _ in 0..20 {
                    assert_eq!(pool.install(|w| sum(w, 0, 2000)), 1999 * 1000, "{assists:?}");
                }
            }
        }
    }
}

/// A policy with thieves that make all moves which affect their peers.
#[derive(Debug, Default)]
struct Meddler;

impl IdlePolicy for Meddler {
    fn name(&self) -> &'static str {
        "meddler"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(Meddler)
    }
    fn time_slice(&self) -> Option<Duration> {
        Some(Duration::from_micros(100))
    }
}

impl Thief for Meddler {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        let peer = context.failures as usize % context.workers;
        let _ = (context.activity(peer), context.run_state(peer));
        match context.failures % 4 {
            1 | 2 => Move::HandOver(peer),
            3 => Move::Wake(peer),
            _ if context.failures > 200 => Move::Sleep,
            _ => Move::Search,
        }
    }
}

/// A pool that uses all assists, whatever `LOCKSLEY_ASSISTS` says.
fn meddling(workers: usize) -> PoolBuilder {
    Pool::builder().workers(workers).idle_policy(Meddler).assists(Assists::ALL)
}

#[cfg(all(target_os = "linux", not(locksley_portable)))]
fn is_working(name: &str) -> bool {
    let all = locksley::os::assists();
    all.iter().any(|assist| assist.name == name && assist.state.is_ok())
}

/// Runs tasks while thieves meddle. Each task calls `look`.
fn meddle(pool: &Pool, look: impl Fn() + Sync) {
    for _ in 0..100 {
        let count = AtomicU64::new(0);
        pool.in_place_scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|_| {
                    look();
                    let busy = Instant::now() + Duration::from_micros(300);
                    while Instant::now() < busy {
                        std::hint::spin_loop();
                    }
                    look();
                    count.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(count.into_inner(), 16);
    }
}

#[cfg(all(target_os = "linux", not(locksley_portable)))]
mod linux {
    use std::fs;

    use super::*;

    /// The affinity of the calling thread, as the kernel reports it.
    fn allowed() -> String {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap();
        line.to_owned()
    }

    /// The scheduling policy, nice value and time slice of the calling thread.
    fn schedule() -> (u32, i32, u64) {
        let attributes = attributes();
        let nice = attributes[2] as u32 as i32;
        ((attributes[0] >> 32) as u32, nice, attributes[3])
    }

    /// The `sched_attr` of the calling thread: size and policy, flags, nice value and priority,
    /// time slice.
    fn attributes() -> [u64; 7] {
        let mut attributes = [0_u64; 7];
        // SAFETY: the kernel writes at most the given number of bytes, for which there is room; 0
        // is the calling thread.
        let answer = unsafe {
            libc::syscall(libc::SYS_sched_getattr, 0, attributes.as_mut_ptr(), 48_u32, 0)
        };
        assert_eq!(answer, 0);
        attributes
    }

    /// At each moment, not only in the end: what a task starts inherits the affinity of its thread.
    #[test]
    fn each_task_has_the_affinity_of_the_process() {
        let before = allowed();
        // More workers than processors, so that some are always preempted.
        let workers = 3 * locksley::os::Processors::allowed().count();
        let pool = meddling(workers).build().unwrap();
        meddle(&pool, || assert_eq!(allowed(), before));
        assert!(pool.broadcast(|_| allowed()).into_iter().all(|now| now == before));
        drop(pool);
        assert_eq!(allowed(), before);
    }

    #[test]
    fn workers_stay_where_a_hook_has_pinned_them() {
        let ids = locksley::os::Processors::allowed().ids().to_owned();
        let pinned_to = move |index: usize| ids[index % ids.len()];
        let pin = pinned_to.clone();
        let builder = meddling(4).on_start(move |index| {
            // SAFETY: a `cpu_set_t` of zeros is the empty set.
            let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            // SAFETY: the number is below 1024 on any machine that runs this test.
            unsafe { libc::CPU_SET(pin(index), &mut set) };
            // SAFETY: the kernel reads one `cpu_set_t`, which is there.
            let answer = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
            assert_eq!(answer, 0);
        });
        let pool = builder.build().unwrap();
        meddle(&pool, || {
            let wanted = pinned_to(locksley::Worker::with_current(|w| w.unwrap().index()));
            assert_eq!(allowed().split_whitespace().last(), Some(&*wanted.to_string()));
        });
    }

    #[test]
    fn time_slices_and_priorities_of_other_threads_do_not_change() {
        let before = schedule();
        let pool = meddling(4).build().unwrap();
        meddle(&pool, || ());
        let on_each = |_: &_| (schedule(), std::thread::spawn(schedule).join().unwrap());
        let (inside, child) = pool.broadcast(on_each).pop().unwrap();
        drop(pool);
        assert_eq!(schedule(), before, "the thread that builds the pool");
        assert_eq!(child, before, "a thread that a task starts");
        assert_eq!((inside.0, inside.1), (before.0, before.1), "policy and nice value");
        if is_working("short time slices") && before.1 == 0 {
            assert_eq!(inside.2, 100_000, "a worker has the time slice that the policy asks for");
        }
    }

    #[test]
    fn a_time_slice_that_a_hook_has_set_is_kept() {
        let chosen = 5_000_000_u64;
        let builder = meddling(2).on_start(move |_| {
            // The flags are kept: an unprivileged thread cannot clear `RESET_ON_FORK`.
            let mut attributes = attributes();
            attributes[3] = chosen;
            // SAFETY: the kernel reads as many bytes as the attributes say they have.
            let answer =
                unsafe { libc::syscall(libc::SYS_sched_setattr, 0, attributes.as_ptr(), 0) };
            assert_eq!(answer, 0);
        });
        let pool = builder.build().unwrap();
        if is_working("short time slices") {
            assert_eq!(pool.install(|_| schedule()).2, chosen);
        }
    }
}

#[test]
fn a_pool_may_end_while_its_workers_meddle() {
    for _ in 0..200 {
        let pool = meddling(6).build().unwrap();
        pool.spawn(|w| {
            let _ = w.join(|_| 1, |_| 2);
        });
        drop(pool);
    }
}

#[test]
fn tasks_run_while_workers_meddle() {
    let pool = meddling(5).build().unwrap();
    meddle(&pool, || ());
}
