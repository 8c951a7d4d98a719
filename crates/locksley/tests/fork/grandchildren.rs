//! A fork in a child: what the child has pushed is the child's, as what its parent has pushed is the parent's.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::{Pool, Waiting, Worker, intervals};

use crate::children::{End, alone, end_of, fork_and_go_on};

thread_local! {
    /// Whether this process is the one that runs the test, and its children that go on.
    static IS_FIRST: Cell<bool> = const { Cell::new(true) };
    static CHILDREN: RefCell<Vec<libc::pid_t>> = const { RefCell::new(Vec::new()) };
}

/// Forks; both processes go on.
fn forks() {
    let child = fork_and_go_on();
    if child == 0 {
        IS_FIRST.set(false);
        CHILDREN.take();
    } else {
        CHILDREN.with_borrow_mut(|children| children.push(child));
    }
}

/// Runs `what`, which [forks], on a worker, and goes on in all processes. A child ends with the number that `what` returns there,
/// below 16, and 16 times the code with which its own last child has ended.
fn end_of_the_first_child(what: impl Fn(&Worker) -> usize + Sync) -> End {
    let end = Pool::new(1).unwrap().run(|w| {
        let number = what(w) as i32;
        let ends: Vec<_> = CHILDREN.take().into_iter().map(end_of).collect();
        if IS_FIRST.get() {
            return ends.into_iter().next();
        }
        let code = match ends.last() {
            None => number,
            Some(End::Exit(code)) => number + 16 * code,
            Some(_) => 255,
        };
        // SAFETY: ends the process.
        unsafe { libc::_exit(code) };
    });
    end.expect("it forks")
}

#[test]
fn the_harness_sees_how_both_end() {
    let _alone = alone();
    let levels = AtomicUsize::new(1);
    let end = end_of_the_first_child(|_| {
        forks();
        forks();
        levels.fetch_add(1, Ordering::AcqRel)
    });
    // Both forks, in the first process as in its child; each counts for itself.
    assert_eq!(end, End::Exit(1 + 16));
}

struct Count(Arc<AtomicUsize>);

impl Count {
    fn add(&self, number: usize) -> impl FnOnce() + Send + 'static {
        let count = Arc::clone(&self.0);
        move || _ = count.fetch_add(number, Ordering::AcqRel)
    }

    fn spawn(&self, w: &Worker, number: usize) {
        let add = self.add(number);
        w.spawn(|_| add());
    }
}

fn run_all(w: &Worker) {
    while w.run_one() || w.run_local() {}
}

/// Second halves around the call of `last`, each of which counts 1.
fn joins(w: &Worker, levels: usize, count: &Count, last: &dyn Fn(&Worker)) {
    if levels == 0 {
        return last(w);
    }
    let second = count.add(1);
    w.join(|w| joins(w, levels - 1, count, last), |_| second());
}

#[test]
fn each_process_runs_what_it_has_pushed_and_what_it_waits_for() {
    type Run = fn(&Worker, &Count);
    // With what the child counts, and its child.
    let runs: [(Run, usize, usize); 9] = [
        (
            |w, count| {
                forks();
                (0..3).for_each(|_| count.spawn(w, 1));
                forks();
                run_all(w);
            },
            3,
            0,
        ),
        // What is pushed after both.
        (
            |w, count| {
                count.spawn(w, 8);
                forks();
                count.spawn(w, 1);
                forks();
                count.spawn(w, 2);
                run_all(w);
            },
            3,
            2,
        ),
        // Nothing is pushed in between.
        (
            |w, count| {
                count.spawn(w, 8);
                joins(w, 3, count, &|_| (forks(), forks()).1);
                run_all(w);
            },
            3,
            3,
        ),
        // The child has looked for something in between.
        (
            |w, count| {
                count.spawn(w, 8);
                joins(w, 3, count, &|w| {
                    forks();
                    run_all(w);
                    forks();
                });
            },
            3,
            3,
        ),
        // Both wait for second halves of before each of the forks.
        (
            |w, count| {
                joins(w, 2, count, &|w| {
                    forks();
                    count.spawn(w, 1);
                    joins(w, 3, count, &|_| forks());
                });
                run_all(w);
            },
            6,
            5,
        ),
        // Only what is waited for below.
        (
            |w, count| {
                let first = count.add(1);
                let outer = |w: &Worker| {
                    forks();
                    let second = count.add(2);
                    w.join_waiting(Waiting::Below, |_| forks(), |_| second());
                };
                w.join_waiting(Waiting::Below, outer, |_| first());
            },
            3,
            3,
        ),
        // Tasks of a scope, and others between them.
        (
            |w, count| {
                w.scope(|w, scope| {
                    let [one, two, three] = [1, 2, 4].map(|n| count.add(n));
                    scope.spawn_fifo(|_| one());
                    forks();
                    scope.spawn_on(w, |_, _| two());
                    count.spawn(w, 8);
                    scope.spawn_on(w, |_, _| three());
                    forks();
                });
            },
            15,
            7,
        ),
        // The deque has grown over what was there.
        (
            |w, count| {
                joins(w, 7, count, &|w| {
                    forks();
                    (0..300).for_each(|_| count.spawn(w, 0));
                    joins(w, 2, count, &|w| {
                        forks();
                        (0..300).for_each(|_| count.spawn(w, 0));
                        count.spawn(w, 1);
                    });
                });
                run_all(w);
            },
            10,
            10,
        ),
        (
            |_, count| {
                let root = intervals::run("root", |root| {
                    let [one, two] = [1, 2].map(|n| count.add(n));
                    root.interval("one").spawn(|_| one());
                    root.interval("two").spawn(|_| two());
                    forks();
                    forks();
                });
                root.unwrap();
            },
            3,
            3,
        ),
    ];
    let _alone = alone();
    for (form, (run, childs, grandchilds)) in runs.into_iter().enumerate() {
        let end = end_of_the_first_child(|w| {
            let count = Count(Arc::default());
            run(w, &count);
            count.0.load(Ordering::Acquire)
        });
        assert_eq!(end, End::Exit((childs + 16 * grandchilds) as i32), "form {form}");
    }
}
