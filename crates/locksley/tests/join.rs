//! `join`: its results, compared with serial programs, and its panics.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use common::places::divided;
use common::{message, pools, wait_for};
use locksley::extend::{Observer, Stamp};
use locksley::{Pool, Worker, join};

fn fib(n: u32) -> u64 {
    if n < 2 { u64::from(n) } else { fib(n - 1) + fib(n - 2) }
}

fn fib_joined(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = join(|| fib_joined(n - 1), || fib_joined(n - 2));
    a + b
}

fn fib_on(w: &Worker, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = w.join(|w| fib_on(w, n - 1), |w| fib_on(w, n - 2));
    a + b
}

fn quicksort(items: &mut [u32]) {
    if items.len() < 2 {
        return;
    }
    let pivot = items.len() / 2;
    let (left, _, right) = items.select_nth_unstable(pivot);
    join(|| quicksort(left), || quicksort(right));
}

#[test]
fn results_are_those_of_the_serial_program() {
    for pool in pools() {
        assert_eq!(pool.install(|w| fib_on(w, 18)), fib(18));
        assert_eq!(pool.install(|_| fib_joined(16)), fib(16));
    }
}

#[test]
fn borrowed_data_is_divided() {
    for pool in pools() {
        let mut items: Vec<u32> = (0..20_000_u32).map(|n| n.wrapping_mul(2_654_435_761)).collect();
        let mut expected = items.clone();
        expected.sort_unstable();
        pool.install(|_| quicksort(&mut items));
        assert_eq!(items, expected);
    }
}

#[test]
fn a_join_outside_of_any_pool_uses_the_global_one() {
    assert_eq!(fib_joined(15), fib(15));
}

#[test]
fn the_first_task_need_not_be_send() {
    let pool = Pool::new(2).unwrap();
    let sum = pool.install(|w| {
        let local = std::rc::Rc::new(20);
        let (a, b) = w.join(|_| *local + 1, |_| 21);
        a + b
    });
    assert_eq!(sum, 42);
}

#[test]
fn a_panic_arrives_after_both_have_ended() {
    for pool in pools() {
        for (first, second) in [(true, false), (false, true), (true, true)] {
            let ended = AtomicU32::new(0);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                pool.install(|w| {
                    w.join(
                        |_| {
                            ended.fetch_add(1, Ordering::Relaxed);
                            assert!(!first, "first");
                        },
                        |_| {
                            ended.fetch_add(1, Ordering::Relaxed);
                            assert!(!second, "second");
                        },
                    )
                })
            }));
            let expected = if first { "first" } else { "second" };
            assert_eq!(message(&*caught.unwrap_err()), expected);
            assert_eq!(ended.into_inner(), 2);
            assert_eq!(pool.install(|w| fib_on(w, 10)), 55, "the pool works on");
        }
    }
}

#[test]
fn a_panic_passes_through_all_enclosing_joins() {
    fn dig(w: &Worker, depth: u32) {
        assert!(depth > 0, "the bottom");
        w.join(|_| (), |w| dig(w, depth - 1));
    }
    for pool in pools() {
        let caught = catch_unwind(AssertUnwindSafe(|| pool.install(|w| dig(w, 100))));
        assert_eq!(message(&*caught.unwrap_err()), "the bottom");
    }
}

#[test]
fn a_payload_with_a_panicking_destructor_is_discarded() {
    let pool = Pool::new(2).unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        pool.install(|w| w.join(|_| panic!("first"), |_| std::panic::panic_any(Bomb)))
    }));
    assert_eq!(message(&*caught.unwrap_err()), "first");
    assert_eq!(pool.install(|w| fib_on(w, 10)), 55);
}

#[test]
fn results_and_captures_are_dropped_once() {
    let pool = Pool::new(2).unwrap();
    let token = Arc::new(());
    for _ in 0..100 {
        let (a, b) = (Arc::clone(&token), Arc::clone(&token));
        let (a, b) = pool.install(|w| w.join(move |_| Arc::clone(&a), move |_| Arc::clone(&b)));
        drop((a, b));
    }
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn joins_of_zero_sized_tasks_nest() {
    let pool = Pool::new(2).unwrap();
    pool.install(|w| {
        for _ in 0..1000 {
            w.join(|w| w.join(|_| (), |_| ()), |w| w.join(|_| (), |_| ()));
        }
    });
}

/// The only worker waits inside of the first task for an event that the second one causes. The wait
/// helps, so it runs the second task, and the join finds it done.
fn second_is_run_in_a_wait_inside_the_first(
    first: impl FnOnce() -> u32 + Send,
    second: impl FnOnce() -> u32 + Send,
) -> std::thread::Result<(u32, u32)> {
    let (pool, other) = (Pool::new(1).unwrap(), Pool::new(1).unwrap());
    let flag = AtomicU32::new(0);
    pool.install(|w| {
        catch_unwind(AssertUnwindSafe(|| {
            w.join(
                |_| {
                    other.install(|_| {
                        while flag.load(Ordering::Acquire) == 0 {
                            std::thread::yield_now();
                        }
                    });
                    first()
                },
                |_| {
                    flag.store(1, Ordering::Release);
                    second()
                },
            )
        }))
    })
}

#[test]
fn a_second_task_that_ran_in_a_wait_inside_the_first_is_not_run_again() {
    assert_eq!(second_is_run_in_a_wait_inside_the_first(|| 1, || 2).unwrap(), (1, 2));
}

#[test]
fn panics_of_tasks_that_ran_in_a_wait_arrive_once() {
    let boom = |text: &'static str| move || -> u32 { panic!("{text}") };
    for (first, second, expected) in
        [(None, Some("two"), "two"), (Some("one"), None, "one"), (Some("one"), Some("two"), "one")]
    {
        let task = |text: Option<&'static str>| move || text.map_or(7, |text| boom(text)());
        let result = second_is_run_in_a_wait_inside_the_first(task(first), task(second));
        assert_eq!(message(&*result.unwrap_err()), expected);
    }
}

#[test]
fn tasks_that_a_panicking_first_task_has_spawned_run() {
    let pool = Pool::new(1).unwrap();
    let count = Arc::new(AtomicU32::new(0));
    let (left, second) = (Arc::clone(&count), Arc::clone(&count));
    let result = pool.install(move |w| {
        catch_unwind(AssertUnwindSafe(|| {
            w.join(
                |_| {
                    locksley::spawn(move || _ = left.fetch_add(1, Ordering::AcqRel));
                    panic!("first");
                },
                |_| second.fetch_add(1, Ordering::AcqRel),
            )
        }))
    });
    assert_eq!(message(&*result.map(|((), _)| ()).unwrap_err()), "first");
    drop(pool);
    assert_eq!(count.load(Ordering::Acquire), 2);
}

/// Its destructor would end the process during an unwinding.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a destructor");
    }
}

fn panic_of<R>(task: impl FnOnce() -> R) -> String {
    let caught = catch_unwind(AssertUnwindSafe(task));
    message(&*caught.map(std::mem::forget).unwrap_err()).to_owned()
}

#[test]
fn a_result_with_a_panicking_destructor_does_not_hide_the_other_panic() {
    let pool = divided(&[1, 1]).build().unwrap();
    let caught = pool.install(|w| {
        let (begun, other) = (AtomicBool::new(false), 1 - w.place());
        let panics = |_: &Worker| -> u32 { panic!("a half") };
        let stolen = |_: &Worker| -> u32 {
            begun.store(true, Ordering::Release);
            panic!("a half")
        };
        let waits = |_: &Worker| {
            wait_for(&begun);
            Bomb
        };
        [
            panic_of(|| w.join(panics, |_| Bomb)),
            panic_of(|| w.join(waits, stolen)),
            panic_of(|| w.join_near(other, panics, |_| Bomb)),
            panic_of(|| w.join_near(other, |_| Bomb, panics)),
        ]
    });
    assert_eq!(caught, ["a half"; 4]);
}

#[test]
fn in_an_observed_pool_a_panicking_destructor_does_not_hide_the_other_panic() {
    let pool = Pool::builder().workers(1).observer(Unstamped).build().unwrap();
    let panics = |_: &Worker| -> u32 { panic!("a half") };
    let caught = pool.install(|w| {
        [panic_of(|| w.join(panics, |_| Bomb)), panic_of(|| w.join(|_| Bomb, panics))]
    });
    assert_eq!(caught, ["a half"; 2]);
}

#[test]
fn the_result_of_a_scope_does_not_hide_the_panic_of_its_task() {
    let pool = Pool::new(1).unwrap();
    let caught = pool.install(|_| {
        panic_of(|| {
            locksley::scope(|scope| {
                scope.spawn(|_| panic!("a task"));
                Bomb
            })
        })
    });
    assert_eq!(caught, "a task");
}

struct Unstamped;

impl Observer for Unstamped {
    fn begin(&self, _: usize, _: Stamp, _: bool) -> Stamp {
        Stamp::default()
    }
    fn end(&self, _: usize, _: Stamp) -> Stamp {
        Stamp::default()
    }
    fn stamp(&self, _: usize) -> Stamp {
        Stamp::default()
    }
    fn follow(&self, _: usize, _: Stamp) {}
    fn pause(&self, _: usize) -> Stamp {
        Stamp::default()
    }
    fn resume(&self, _: usize, _: Stamp) {}
}

/// The first half runs the second one, and pushes a task that gets its index.
#[test]
fn a_half_that_the_first_one_has_run_is_not_taken_back() {
    let pool = Pool::new(1).unwrap();
    let [halves, tasks] = [(); 2].map(|()| Arc::new(AtomicU32::new(0)));
    let task = Arc::clone(&tasks);
    pool.install(|w| {
        let first = |w: &Worker| {
            assert!(w.run_local());
            locksley::spawn(move || _ = task.fetch_add(1, Ordering::AcqRel));
        };
        // The half below it keeps the index from going on.
        w.join(|w| w.join(first, |_| halves.fetch_add(1, Ordering::AcqRel)), |_| ());
    });
    drop(pool);
    assert_eq!([halves, tasks].map(|count| count.load(Ordering::Acquire)), [1, 1]);
}
