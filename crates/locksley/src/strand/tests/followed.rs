//! Futures that are tasks: what they await, who wakes them, and what they did before.

use std::pin::Pin;
use std::sync::mpsc::channel;

use super::limits::{at_rest, metered_pool};
use super::*;
use crate::sync::Semaphore;
use crate::task;

#[test]
fn who_joins_a_handle_comes_after_the_task() {
    for workers in [1, 2] {
        let pool = Pool::new(workers).unwrap();
        let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
            spend(1);
            let task = worker.spawn_future(async { spend(10) });
            spend(3);
            task.join().unwrap();
            spend(1);
            let task = worker.spawn_future(async { spend(20) });
            block_on(task).unwrap();
            spend(2);
        });
        assert_eq!((figures.work, figures.path.span), (37, 1 + 10 + 1 + 20 + 2));
        assert_eq!(figures.under_way, 0);
    }
}

/// What a future does after a wait comes after who woke it, and after what it did before, whichever is later.
#[test]
fn a_future_comes_after_who_wakes_it_and_after_itself() {
    for (own, others) in [(50, 5), (5, 50)] {
        let (pool, permits) = (Pool::new(1).unwrap(), Arc::new(Semaphore::new(0)));
        let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
            let permits = Arc::clone(&permits);
            let wanted = Arc::clone(&permits);
            let task = worker.spawn_future(async move {
                spend(own);
                wanted.acquire().await.unwrap().forget();
                spend(7);
            });
            assert!(worker.run_one(), "it waits");
            spend(others);
            permits.add_permits(1);
            task.join().unwrap();
            spend(1);
        });
        assert_eq!((figures.work, figures.path.span), (own + others + 8, 50 + 7 + 1));
    }
}

/// A plain thread wakes it: it still comes after itself, in its own region, and in the name of who spawned it.
#[test]
fn a_future_that_a_stranger_wakes_goes_on_where_it_was() {
    let (pool, permits) = (metered_pool(1), Arc::new(Semaphore::new(0)));
    let wanted = Arc::clone(&permits);
    let line = line!() + 1;
    let task = pool.spawn_future(async move {
        spend(30);
        wanted.acquire().await.unwrap().forget();
        spend(7);
    });
    while pool.figures().work < 30 {
        thread::yield_now();
    }
    let before = pool.figures().uncarried;
    permits.add_permits(1);
    task.join().unwrap();
    let figures = at_rest(&pool);
    assert_eq!((figures.work, figures.path.span), (37, 37));
    assert!(figures.uncarried > before, "{figures:?}");
    let report = pool.report().unwrap();
    assert_eq!(report.course.len(), 1);
    let at = format!("at {}:{line}", file!());
    assert_eq!(report.course[0].to_string(), at);
}

/// A task that nobody awaits is counted until it has ended, and when it is cancelled that is its end.
#[test]
fn a_future_that_waits_is_under_way() {
    let (pool, permits) = (metered_pool(1), Arc::new(Semaphore::new(0)));
    let task = pool.run(|worker| {
        let permits = Arc::clone(&permits);
        worker.spawn_future(async move { drop(permits.acquire().await) })
    });
    assert_eq!(pool.figures().under_way, 1);
    task.cancel();
    assert!(task.join().is_err());
    assert_eq!(at_rest(&pool).under_way, 0);
}

/// Nobody will ask for its work any more, so it is metered no more; and so is nothing that it spawns.
#[test]
fn a_future_that_outlives_its_region_is_metered_until_the_report() {
    let is_metered = || Worker::with_current(|current| current.is_some_and(Worker::is_metered));
    for outer in [false, true] {
        // One worker: the future waits before the report. Another could still be in its first poll, and finish in that.
        let (pool, permits) = (Pool::new(1).unwrap(), Arc::new(Semaphore::new(0)));
        let wanted = Arc::clone(&permits);
        let future = async move {
            let before = is_metered();
            wanted.acquire().await.unwrap().forget();
            (before, is_metered(), task::spawn(async move { is_metered() }).await.unwrap())
        };
        let (sender, begun) = channel();
        let inner = move |worker: &Worker| {
            let task = worker.spawn_future(future);
            while !task.is_finished() && worker.run_one() {}
            sender.send(task).unwrap();
        };
        let seen = |task: task::Task<_>| {
            permits.add_permits(1);
            task.join().unwrap()
        };
        if outer {
            let (seen, _) = pool.metered_by(Clock::Virtual, |_| {
                let begun = begun;
                pool.metered_by(Clock::Virtual, inner);
                seen(begun.recv().unwrap())
            });
            assert_eq!(seen, (true, true, true), "the outer one's report is to come");
        } else {
            pool.metered_by(Clock::Virtual, inner);
            let seen = seen(begun.recv().unwrap());
            assert!(!seen.1 && !seen.2, "{seen:?}");
        }
    }
}

/// What an asynchronous task does.
#[derive(Debug)]
enum Step {
    Work(i64),
    Spawn(Tree),
    /// The task that was spawned first of those that are not awaited yet.
    Await,
}

type Tree = Arc<Vec<Step>>;

/// All that it spawns it awaits.
fn random_tree(random: &mut Random, depth: u64) -> Tree {
    let (mut steps, mut left) = (Vec::new(), 0);
    for _ in 0..2 + random.below(4) {
        match random.below(4) {
            0 | 1 if depth > 0 => {
                steps.push(Step::Spawn(random_tree(random, depth - 1)));
                left += 1;
            }
            2 if left > 0 => {
                steps.push(Step::Await);
                left -= 1;
            }
            _ => steps.push(Step::Work(random.below(1000) as i64)),
        }
    }
    steps.extend((0..left).map(|_| Step::Await));
    Arc::new(steps)
}

fn run(tree: Tree) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let mut tasks = std::collections::VecDeque::new();
        for step in &*tree {
            match step {
                Step::Work(ticks) => {
                    (0..ticks % 64).for_each(|_| spin_loop());
                    spend(*ticks);
                }
                Step::Spawn(task) => tasks.push_back(task::spawn(run(Arc::clone(task)))),
                Step::Await => tasks.pop_front().expect("it was spawned").await.unwrap(),
            }
        }
    })
}

/// The path to its end, from one of that length; and its work.
fn interpret(tree: &Tree, mut at: i64, work: &mut i64) -> i64 {
    let mut ends = std::collections::VecDeque::new();
    for step in &**tree {
        match step {
            Step::Work(ticks) => {
                at += ticks;
                *work += ticks;
            }
            Step::Spawn(task) => ends.push_back(interpret(task, at, work)),
            Step::Await => at = at.max(ends.pop_front().expect("it was spawned")),
        }
    }
    at
}

#[test]
fn random_trees_of_futures() {
    for workers in [1, 2, 4] {
        let (pool, mut random) = (Pool::new(workers).unwrap(), Random(71 * workers as u64));
        for number in 0..100 {
            let tree = random_tree(&mut random, 4);
            let mut work = 0;
            let span = interpret(&tree, 5, &mut work) + 3;
            let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
                spend(5);
                worker.spawn_future(run(Arc::clone(&tree))).join().unwrap();
                spend(3);
            });
            let told = (figures.work, figures.path.span, figures.under_way);
            assert_eq!(told, (work + 8, span, 0), "{number}: {tree:?}");
        }
    }
}
