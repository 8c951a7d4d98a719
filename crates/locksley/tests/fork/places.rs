//! Pools with places, in children.

use locksley::os::Processors;
use locksley::places::{Places, ProcessorSet};
use locksley::{Affinity, Pool};

use crate::children::{End, alone, in_a_child};

/// A place for each processor, and a worker that is bound to it; none where that cannot be seen.
fn bound_pool() -> Option<Pool> {
    let ids = Processors::allowed().ids().to_vec();
    let sets = ids.iter().map(|&id| ProcessorSet::from_iter([id]));
    let places = Places::given(&ids.iter().copied().collect(), sets).unwrap();
    let builder = Pool::builder().workers(ids.len()).places(places);
    let pool = builder.affinity(Affinity::Place).build().unwrap();
    let why_not = match (ids.len(), pool.bound_workers()) {
        (1, _) => "there is one processor",
        (_, 0) => "the system binds nobody",
        _ => return Some(pool),
    };
    eprintln!("not tried: {why_not}");
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
fn the_child_of_a_bound_worker_may_use_what_the_process_may() {
    let _alone = alone();
    let before = Processors::allowed().ids().to_vec();
    let Some(pool) = bound_pool() else { return };
    let ends = pool.broadcast(|w| {
        // One child at a time would do, but all workers fork.
        let is_alone = w.index() == 0;
        let child = || i32::from(Processors::allowed().ids() != before);
        if is_alone { in_a_child(child) } else { End::Exit(0) }
    });
    assert!(ends.iter().all(|end| *end == End::Exit(0)), "{ends:?}");
}

#[test]
fn a_pool_that_is_built_again_keeps_to_what_its_process_may_use() {
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
        assert_eq!(pool.bound_workers(), 1);
        i32::from(seen.iter().any(|allowed| *allowed != first.to_string()))
    });
    assert_eq!(end, End::Exit(0));
}
