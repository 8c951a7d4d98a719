//! Workers run on the processors of the process, even if a pinned thread builds the pool. Linux
//! only.

#![cfg(all(target_os = "linux", not(locksley_portable)))]

#[path = "common/idle_policies.rs"]
mod idle_policies;

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use idle_policies::SLEEPLESS;
use locksley::os::Processors;
use locksley::places::{Places, ProcessorSet};
use locksley::{Affinity, Pool};

/// The processors of the calling thread, as the kernel reports them.
fn allowed() -> String {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap();
    line.to_owned()
}

/// True if this system can bind a thread and report it. If not, the calling test is skipped.
#[track_caller]
fn can_be_bound() -> bool {
    let ids = Processors::allowed().ids().to_vec();
    let is_bound = || std::thread::spawn(move || bind_to(ids[0])).join().unwrap();
    let why_not = match Processors::allowed().count() {
        1 => "there is one processor",
        _ if !is_bound() => "the system binds no thread",
        _ => return true,
    };
    locksley_sys::skip_test(why_not);
    false
}

fn pin_to_the_first_allowed() {
    assert!(bind_to(Processors::allowed().ids()[0]));
}

fn bind_to(first: usize) -> bool {
    // SAFETY: a `cpu_set_t` of zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the number is below 1024 on any machine that runs this test.
    unsafe { libc::CPU_SET(first, &mut set) };
    // SAFETY: the kernel reads one `cpu_set_t`, which is there.
    let answer = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
    answer == 0
}

#[test]
fn a_pinned_builder_does_not_pin_its_workers_by_accident() {
    if !can_be_bound() {
        return;
    }
    let before = allowed();
    std::thread::spawn(move || {
        pin_to_the_first_allowed();
        let pinned = allowed();
        let free = Pool::builder().workers(2).build().unwrap();
        assert_eq!(free.broadcast(|_| allowed()), [before.clone(), before.clone()]);
        let default = Pool::builder().build().unwrap();
        let is_set = std::env::var("LOCKSLEY_WORKERS").is_ok_and(|value| !value.is_empty());
        let size = if is_set { default.size() } else { Processors::allowed().count() };
        assert_eq!(default.size(), size);
        let bound = Pool::builder().workers(2).affinity(Affinity::Builder).build().unwrap();
        assert_eq!(bound.install(|_| allowed()), pinned);
        assert_eq!(allowed(), pinned, "the builder's mask is unchanged");
    })
    .join()
    .unwrap();
}

#[test]
fn workers_are_bound_to_their_places_on_request_only() {
    if !can_be_bound() {
        return;
    }
    let before = allowed();
    let ids = Processors::allowed().ids().to_vec();
    // The last place has a processor that does not exist.
    let sets = ids.iter().map(|&id| ProcessorSet::from_iter([id]));
    let sets: Vec<_> = sets.chain([ProcessorSet::from_iter([ids[ids.len() - 1] + 1])]).collect();
    let places = Places::given(&(0..=ids[ids.len() - 1] + 1).collect(), sets).unwrap();
    let builder = || Pool::builder().workers(ids.len() + 1).places(places.clone());
    let free = builder().build().unwrap();
    assert!(free.broadcast(|_| allowed()).iter().all(|allowed| *allowed == before));
    assert_eq!(free.stats().bound_workers, 0);
    let bound = builder().affinity(Affinity::Place).build().unwrap();
    drop(free);
    let at = |list: &str| format!("Cpus_allowed_list:\t{list}");
    let mut wanted: Vec<_> = ids.iter().map(|id| at(&id.to_string())).collect();
    wanted.push(before.clone());
    assert_eq!(bound.stats().bound_workers, ids.len(), "all but the last");
    assert_eq!(bound.broadcast(|_| allowed()), wanted);
    assert_eq!(allowed(), before, "the builder's mask is unchanged");
}

/// On one processor, the owner of a closed deque answers no request while the thief runs, and it
/// closes the deque again before the thief returns from a yield.
#[test]
fn a_thief_opens_and_steals_in_one_time_slice_on_one_processor() {
    let first = Processors::allowed().ids()[0];
    if !std::thread::spawn(move || bind_to(first)).join().unwrap() {
        return locksley_sys::skip_test("the system binds no thread");
    }
    let (has_run, end) = channel();
    std::thread::spawn(move || {
        pin_to_the_first_allowed();
        let builder = Pool::builder().workers(2).idle_policy(SLEEPLESS);
        let pool = builder.affinity(Affinity::Builder).build().unwrap();
        let flag = AtomicBool::new(false);
        pool.install(|w| {
            locksley::in_place_scope(|scope| {
                scope.spawn(|_| flag.store(true, Ordering::Release));
                while !flag.load(Ordering::Acquire) {
                    w.join(|_| (), |_| ());
                }
            });
        });
        has_run.send(()).unwrap();
    });
    end.recv_timeout(Duration::from_secs(60)).expect("the task below the forks has run");
}
