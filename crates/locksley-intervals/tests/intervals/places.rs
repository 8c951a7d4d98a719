//! Intervals at places, in pools with explicit places.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use locksley::{Pool, Worker};
use locksley_intervals::{Context, IntervalLock, Recording, Root};

use crate::common::{divided, hold, message};
use crate::refusals::until;

/// Returns the place of the calling worker.
fn here() -> usize {
    Worker::with_current(|worker| worker.expect("bodies run on workers").place())
}

fn has_own_tasks() -> bool {
    Worker::with_current(|worker| worker.expect("bodies run on workers").has_own_tasks())
}

fn out_of_place(pool: &Pool) -> u64 {
    pool.stats().total().out_of_place
}

#[test]
fn a_place_that_is_not_there_is_refused() {
    for sizes in [&[1][..], &[2], &[1, 1], &[1, 3, 2]] {
        let (pool, count) = (divided(sizes).build().unwrap(), sizes.len());
        let ran = AtomicUsize::new(0);
        let root = Root::new("root").on(&pool).run(|root| {
            for place in [count, count + 1, usize::MAX] {
                let named = catch_unwind(AssertUnwindSafe(|| _ = root.interval("x").near(place)));
                let said = format!("there is no place {place} in a pool of {count}");
                assert_eq!(message(&*named.unwrap_err()), said);
            }
            for place in 0..count {
                let ran = &ran;
                root.interval("x").near(place).spawn(move |_| ran.fetch_add(1, Ordering::Relaxed));
            }
        });
        assert_eq!((root, ran.into_inner()), (Ok(()), count), "the pool is none the worse for it");
    }
}

#[test]
fn a_body_for_another_place_goes_there_and_one_for_this_place_stays() {
    let pool = divided(&[1, 1]).build().unwrap();
    let go_on = hold(&pool, 1);
    let ran = Mutex::new(Vec::new());
    let root = Root::new("root").on(&pool).run(|root| {
        assert_eq!(here(), 0, "the other one is held");
        let ran = &ran;
        root.interval("there")
            .near(0)
            .near(1)
            .spawn(move |_| ran.lock().unwrap().push(("there", here())));
        assert!(
            !has_own_tasks(),
            "it is in the injector of that place; and the last that was named counts"
        );
        root.interval("here").near(0).spawn(move |_| ran.lock().unwrap().push(("here", here())));
        assert!(has_own_tasks(), "at its own place, it is pushed");
        go_on.send(()).unwrap();
        // This worker is busy until the other one has taken its own interval.
        while !ran.lock().unwrap().contains(&("there", 1)) {
            thread::yield_now();
        }
    });
    assert_eq!(root, Ok(()));
    let mut ran = ran.into_inner().unwrap();
    ran.sort_unstable();
    assert_eq!(ran.len(), 2);
    assert_eq!((ran[0].0, ran[1]), ("here", ("there", 1)));
    let here_was_taken = u64::from(ran[0].1 == 1);
    assert_eq!(out_of_place(&pool), here_was_taken, "and that alone counts");
}

/// The only worker of the place is held until the root has ended.
#[test]
fn an_idle_worker_takes_what_was_left_and_counts_it() {
    let pool = divided(&[1, 1]).build().unwrap();
    let go_on = hold(&pool, 1);
    let places = Mutex::new(Vec::new());
    let root = Root::new("root").on(&pool).run(|root| {
        for place in [0, 1, 1, 0, 1] {
            let places = &places;
            root.interval("x").near(place).spawn(move |_| places.lock().unwrap().push(here()));
        }
    });
    assert_eq!(root, Ok(()));
    assert_eq!(places.into_inner().unwrap(), [0; 5]);
    assert_eq!(out_of_place(&pool), 3);
    go_on.send(()).unwrap();
}

/// An interval that waits for an edge or a lock goes to its place, although the end that it waits
/// for occurs at another place.
#[test]
fn an_interval_that_waited_for_an_edge_or_a_lock_goes_to_its_place() {
    for is_lock in [false, true] {
        let pool = divided(&[1, 1]).own_threads_only().build().unwrap();
        let go_on = hold(&pool, 1);
        let (lock, ran) = (IntervalLock::new(()), AtomicUsize::new(usize::MAX));
        let root = Root::new("root").on(&pool).run(|root| {
            let ran = &ran;
            let mut first = root.interval("first");
            let _key = is_lock.then(|| first.lock(&lock));
            let first = first.spawn(|_| ());
            let mut waits = root.interval("waits").near(1);
            let _key = is_lock.then(|| waits.lock(&lock));
            let waits = if is_lock { waits } else { waits.after(first) };
            waits.spawn(move |_| ran.store(here(), Ordering::Release));
            root.interval("is busy").after(first).spawn(move |_| {
                assert_eq!(here(), 0, "the other one is held");
                assert_eq!(ran.load(Ordering::Acquire), usize::MAX, "it was sent, and we are here");
                go_on.send(()).unwrap();
                while ran.load(Ordering::Acquire) == usize::MAX {
                    thread::yield_now();
                }
            });
        });
        assert_eq!((root, ran.into_inner()), (Ok(()), 1), "lock: {is_lock}");
        assert_eq!(out_of_place(&pool), 0);
    }
}

/// An interval that follows another becomes ready on one worker, and is sent to the other worker,
/// which ran the followed one.
#[test]
fn an_interval_that_follows_another_is_sent_to_its_worker() {
    let pool = Pool::builder().workers(2).own_threads_only().build().unwrap();
    let before = Instant::now();
    // An idle worker may take it on the way, so that it is tried again.
    while !pool.install(|worker| is_sent_back(&pool, worker.index())) {
        assert!(before.elapsed() < Duration::from_secs(60), "it was never sent");
    }
}

/// Returns true if `follows`, which becomes ready on worker `here`, was received by the other one.
fn is_sent_back(pool: &Pool, here: usize) -> bool {
    let index = || Worker::with_current(|worker| worker.expect("bodies run on workers").index());
    let other = 1 - here;
    let received = || pool.stats().workers[other].received;
    let (received_before, ran_on) = (received(), AtomicUsize::new(usize::MAX));
    let (is_there, is_here) = (AtomicBool::new(false), AtomicBool::new(false));
    let root = Root::new("root").on(pool).run(|root| {
        let (ran_on, is_there, is_here) = (&ran_on, &is_there, &is_here);
        let there = root.interval("there").spawn(move |_| {
            assert_eq!(index(), other, "the root's worker waits in the root's body");
            is_there.store(true, Ordering::Release);
            until(is_here);
        });
        until(is_there);
        let gate = root.interval("gate").spawn(move |_| {
            assert_eq!(index(), here, "the other worker waits for this body");
            is_here.store(true, Ordering::Release);
            while !there.end().has_occurred() {
                thread::yield_now();
            }
        });
        let follows = root.interval("follows").follow(there).after(gate);
        follows.spawn(move |_| ran_on.store(index(), Ordering::Relaxed));
        root.interval("busy").after(gate).spawn(|_| ());
    });
    assert_eq!(root, Ok(()));
    ran_on.into_inner() == other && received() > received_before
}

/// As in LASSI, an interval without a place may run anywhere, although its parent has a place.
#[test]
fn children_do_not_inherit_a_place() {
    let pool = divided(&[1, 1]).build().unwrap();
    let go_on = hold(&pool, 1);
    let mut recording = Recording::default();
    let root = Root::new("root").on(&pool).recorded(&mut recording).run(|root| {
        root.interval("parent").near(1).spawn(|cx| {
            // The other worker has taken it, because the only one of that place is held.
            assert_eq!(here(), 0);
            cx.interval("child").spawn(|_| assert_eq!(here(), 0));
            assert!(has_own_tasks(), "it stays where it is made");
            cx.interval("placed child").near(1).spawn(|_| assert_eq!(here(), 0));
        });
    });
    assert_eq!(root, Ok(()));
    let near: Vec<_> = recording.intervals.iter().map(|it| (&it.name[..], it.near)).collect();
    let expected =
        [("root", None), ("parent", Some(1)), ("child", None), ("placed child", Some(1))];
    assert_eq!(near, expected);
    assert_eq!(out_of_place(&pool), 2);
    go_on.send(()).unwrap();
}

/// Threads that are no workers, and workers of another pool, borrow the context. They create
/// children, some of which are refused, while the body creates others.
#[test]
fn children_that_other_threads_make_are_waited_for_too() {
    let (pool, other) = (divided(&[1, 2]).build().unwrap(), Pool::new(2).unwrap());
    for _ in 0..50 {
        let (ended, has_left) = (AtomicUsize::new(0), AtomicBool::new(false));
        let root = Root::new("root").on(&pool).run(|root| {
            root.interval("parent").spawn(|cx| make_on_many_threads(cx, &other, &ended, &has_left));
        });
        assert_eq!((root, ended.into_inner()), (Ok(()), 3 * 20));
    }
}

fn make_on_many_threads<'env>(
    cx: &Context<'_, 'env>,
    other: &Pool,
    ended: &'env AtomicUsize,
    has_left: &'env AtomicBool,
) {
    let make = || {
        for n in 0..20 {
            cx.interval("child").near(n % 2).spawn(move |_| {
                // Some children end while the body runs, and some later.
                if n % 3 == 0 {
                    until(has_left);
                }
                ended.fetch_add(1, Ordering::Relaxed);
            });
            assert!(cx.interval("refused").after(cx.end()).try_spawn(|_| ()).is_err());
        }
    };
    thread::scope(|scope| {
        let threads = [scope.spawn(make), scope.spawn(|| other.install(|_| make()))];
        make();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    has_left.store(true, Ordering::Release);
}
