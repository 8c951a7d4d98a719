//! Pools with places in forked children.

use std::panic::catch_unwind;
use std::sync::mpsc::channel;

use locksley::os::Processors;
use locksley::places::{Places, ProcessorSet};
use locksley::{Affinity, Pool, Spawn, Worker, spawn_with};

use crate::children::{End, alone, in_a_child};
use crate::common::message;
use crate::common::places::{PATIENCE, divided};

/// A pool with a place for each processor and a worker bound to it. `None` if binding does not
/// work, and then the calling test is skipped.
#[track_caller]
fn bound_pool() -> Option<Pool> {
    let ids = Processors::allowed().ids().to_vec();
    let sets = ids.iter().map(|&id| ProcessorSet::from_iter([id]));
    let places = Places::given(&ids.iter().copied().collect(), sets).unwrap();
    let builder = Pool::builder().workers(ids.len()).places(places);
    let pool = builder.affinity(Affinity::Place).build().unwrap();
    let why_not = match (ids.len(), pool.stats().bound_workers) {
        (1, _) => "there is one processor",
        (_, 0) => "the system binds no thread",
        _ => return Some(pool),
    };
    locksley_sys::skip_test(why_not);
    None
}

fn bind_to(processor: usize) {
    // SAFETY: a `cpu_set_t` of zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the number is below 1024 on any machine that runs this test.
    unsafe { libc::CPU_SET(processor, &mut set) };
    // SAFETY: the kernel reads one `cpu_set_t`, which is there.
    assert_eq!(unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) }, 0);
}

#[test]
fn the_child_of_a_bound_worker_may_use_all_processors_of_the_process() {
    let _alone = alone();
    let before = Processors::allowed().ids().to_vec();
    let Some(pool) = bound_pool() else { return };
    let ends = pool.broadcast(|w| {
        // All workers fork, one after the other.
        let is_alone = w.index() == 0;
        let child = || i32::from(Processors::allowed().ids() != before);
        if is_alone { in_a_child(child) } else { End::Exit(0) }
    });
    assert!(ends.iter().all(|end| *end == End::Exit(0)), "{ends:?}");
}

#[test]
fn a_rebuilt_pool_keeps_to_the_processors_of_its_process() {
    let _alone = alone();
    let Some(pool) = bound_pool() else { return };
    let places = pool.places().clone();
    let first = Processors::allowed().ids()[0];
    let end = in_a_child(|| {
        bind_to(first);
        let seen = pool.broadcast(|_| {
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = status.lines().find(|it| it.starts_with("Cpus_allowed_list:")).unwrap();
            line.split_whitespace().nth(1).unwrap().to_owned()
        });
        assert_eq!(*pool.places(), places);
        assert_eq!(pool.stats().bound_workers, 1);
        i32::from(seen.iter().any(|allowed| *allowed != first.to_string()))
    });
    assert_eq!(end, End::Exit(0));
}

#[test]
fn a_rebuilt_pool_has_its_places() {
    let _alone = alone();
    let pool = divided(&[1, 1]).build().unwrap();
    let end = in_a_child(|| {
        assert_eq!(pool.broadcast(Worker::place), [0, 1]);
        assert_eq!(pool.install(|w| w.join_near(1, |_| 1, |_| 2)), (1, 2));
        6
    });
    assert_eq!(end, End::Exit(6));
}

/// A free function does not find the worker.
#[test]
fn without_a_pool_the_places_in_a_child_are_those_of_the_global_one() {
    let _alone = alone();
    let count = Pool::global().places().count();
    let pool = divided(&vec![1; count + 1]).build().unwrap();
    let end = pool.install(move |_| {
        spawn_with(Spawn::Near(count), || ());
        in_a_child(move || {
            let (sender, receiver) = channel();
            spawn_with(Spawn::Near(count - 1), move || sender.send(4).unwrap());
            assert_eq!(receiver.recv_timeout(PATIENCE), Ok(4));
            let refused = catch_unwind(|| spawn_with(Spawn::Near(count), || ())).unwrap_err();
            let said = format!("there is no place {count} in a pool of {count}");
            assert_eq!(message(&*refused), said);
            5
        })
    });
    assert_eq!(end, End::Exit(5));
}
