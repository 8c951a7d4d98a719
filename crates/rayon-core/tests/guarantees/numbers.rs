//! The number of tasks that run at the same time, and the indexes of their threads.

use super::*;

/// Runs 300 items with waits of each kind in a pool. `section` runs between the waits.
///
/// The sections are short, so that the test does not depend on what happens when a thread makes no
/// progress for 100 ms.
fn run_sections_between_waits(threads: usize, section: &(impl Fn() + Sync)) {
    let (pool, other) = (pool(threads), pool(2));
    let pause = |micros| thread::sleep(Duration::from_micros(micros));
    let item = |number: u32| {
        let index = current_thread_index();
        section();
        rayon_core::join(|| pause(500), section);
        assert_eq!(current_thread_index(), index, "after a join");
        section();
        match number % 3 {
            0 => other.install(|| pause(800)),
            1 => rayon_core::scope(|scope| (0..4).for_each(|_| scope.spawn(|_| section()))),
            _ => for_each(0..4, &|_| section()),
        }
        assert_eq!(current_thread_index(), index, "after a wait");
        section();
    };
    pool.install(|| for_each(0..300, &item));
}

/// Rayon's issue 639: a value for each thread, which its index finds.
#[test]
fn no_two_running_tasks_have_one_index() {
    assert_ends(|| {
        const THREADS: usize = 4;
        let in_use: [AtomicBool; THREADS] = Default::default();
        let (clashes, uses) = (AtomicUsize::new(0), AtomicUsize::new(0));
        run_sections_between_waits(THREADS, &|| {
            let index = current_thread_index().expect("in a pool");
            assert!(index < current_num_threads());
            uses.fetch_add(1, SeqCst);
            if in_use[index].swap(true, SeqCst) {
                clashes.fetch_add(1, SeqCst);
            }
            spin(200);
            in_use[index].store(false, SeqCst);
        });
        let (clashes, uses) = (clashes.into_inner(), uses.into_inner());
        assert_eq!(clashes, 0, "of {uses} uses: two threads have one index");
    });
}

#[test]
fn no_more_tasks_run_than_there_are_threads() {
    assert_ends(|| {
        const THREADS: usize = 3;
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        run_sections_between_waits(THREADS, &|| {
            most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
            spin(200);
            running.fetch_sub(1, SeqCst);
        });
        let most = most.into_inner();
        assert!(most <= THREADS, "{most} tasks run at the same time on {THREADS} threads");
    });
}

/// A task that ends the wait of another one, and then runs for 20 ms.
#[derive(Default)]
struct Releasing {
    has_released: AtomicBool,
    is_running: AtomicBool,
    index: AtomicUsize,
}

impl Releasing {
    fn run(&self) {
        self.index.store(current_thread_index().expect("in a pool"), SeqCst);
        self.is_running.store(true, SeqCst);
        self.has_released.store(true, SeqCst);
        spin(20_000);
        self.is_running.store(false, SeqCst);
    }

    fn wait_for_release(&self) {
        until(|| self.has_released.load(SeqCst));
    }

    /// To be called when the wait has ended.
    fn assert_no_clash(&self) {
        let index = current_thread_index();
        let has_index = self.is_running.load(SeqCst) && Some(self.index.load(SeqCst)) == index;
        assert!(!has_index, "a task still runs under the index of the thread that has waited");
    }
}

#[test]
fn an_install_in_another_pool_returns_when_no_other_task_has_the_index() {
    assert_ends(|| {
        let (only, other) = (pool(1), pool(1));
        for _ in 0..10 {
            let task = Releasing::default();
            only.scope(|scope| {
                scope.spawn(|_| task.run());
                other.install(|| task.wait_for_release());
                task.assert_no_clash();
            });
            let task = Releasing::default();
            only.scope(|scope| {
                scope.spawn(|_| task.run());
                other.in_place_scope(|scope| scope.spawn(|_| task.wait_for_release()));
                task.assert_no_clash();
            });
        }
    });
}

#[test]
fn a_join_and_a_scope_return_when_no_other_task_has_the_index() {
    assert_ends(|| {
        let pool = pool(2);
        for is_join in [true, false].repeat(10) {
            let (task, is_stolen) = (Releasing::default(), AtomicBool::new(false));
            pool.scope(|scope| {
                // Runs on the second thread, which is then busy.
                let second = || {
                    is_stolen.store(true, SeqCst);
                    scope.spawn(|_| task.run());
                    task.wait_for_release();
                };
                let first = || until(|| is_stolen.load(SeqCst));
                if is_join {
                    rayon_core::join(first, second);
                } else {
                    rayon_core::scope(|scope| {
                        scope.spawn(|_| second());
                        first();
                    });
                }
                task.assert_no_clash();
            });
        }
    });
}

/// The exception: a task that blocks keeps no wait from ending.
#[test]
fn a_wait_ends_although_a_task_under_its_index_blocks() {
    assert_ends(|| {
        let (only, other) = (pool(1), pool(1));
        let has_released = AtomicBool::new(false);
        let (go_on, goes_on) = channel();
        only.scope(|scope| {
            let (released, goes_on) = (&has_released, Mutex::new(goes_on));
            scope.spawn(move |_| {
                released.store(true, SeqCst);
                goes_on.into_inner().unwrap().recv().unwrap();
            });
            other.install(|| until(|| has_released.load(SeqCst)));
            go_on.send(()).unwrap();
        });
    });
}

/// The tasks of a pool wait for each other, so each needs a thread.
fn assert_that_all_threads_work(start: impl FnOnce(&ThreadPool, &Barrier) + Send + 'static) {
    const THREADS: usize = 64;
    assert_ends(|| start(&pool(THREADS), &Barrier::new(THREADS)));
}

#[test]
fn all_threads_work_on_the_tasks_of_a_scope() {
    assert_that_all_threads_work(|pool, barrier| {
        pool.scope(|scope| {
            for _ in 0..pool.current_num_threads() {
                scope.spawn(|_| _ = barrier.wait());
            }
        });
    });
}

#[test]
fn all_threads_work_on_the_tasks_of_an_outside_scope() {
    assert_that_all_threads_work(|pool, barrier| {
        pool.in_place_scope(|scope| {
            for _ in 0..pool.current_num_threads() {
                scope.spawn(|_| _ = barrier.wait());
            }
        });
    });
}

#[test]
fn all_threads_work_on_the_halves_of_joins() {
    assert_that_all_threads_work(|pool, barrier| {
        pool.install(|| for_each(0..pool.current_num_threads() as u32, &|_| _ = barrier.wait()));
    });
}

#[test]
fn all_threads_work_on_spawned_tasks() {
    static BARRIER: Barrier = Barrier::new(64);
    assert_that_all_threads_work(|pool, _| {
        for is_inside in [false, true] {
            let (sender, receiver) = channel();
            let spawn_all = || {
                for _ in 0..pool.current_num_threads() {
                    let sender = sender.clone();
                    pool.spawn(move || {
                        BARRIER.wait();
                        sender.send(()).unwrap();
                    });
                }
            };
            if is_inside {
                pool.install(spawn_all)
            } else {
                spawn_all()
            }
            drop(sender);
            assert_eq!(receiver.iter().count(), pool.current_num_threads());
        }
    });
}

#[test]
fn all_threads_work_on_a_broadcast() {
    assert_that_all_threads_work(|pool, barrier| {
        let leaders =
            |is_leader: Vec<bool>| is_leader.iter().filter(|&&is_leader| is_leader).count();
        let wait = || barrier.wait().is_leader();
        assert_eq!(leaders(pool.broadcast(|_| wait())), 1);
        assert_eq!(leaders(pool.install(|| rayon_core::broadcast(|_| wait()))), 1);
    });
}
