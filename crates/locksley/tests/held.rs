//! Locks that are held across joins: who is told, and of what; and that nobody is where nobody watches (without the feature
//! `held-locks`).

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use common::message;
use locksley::held::{self, HeldLock, Mark, Marked, Wait};
use locksley::kahn::{Network, NetworkError, Over};
use locksley::loops::{chunks_mut, for_each};
use locksley::sync::{Condvar, OnceCell, Semaphore};
use locksley::task::{self, Placement};
use locksley::{
    Cancellation, Pool, PoolBuilder, Waiting, Worker, block_on, computation, in_place_scope,
    intervals, scope_until, sync,
};

/// Whether pools have stacks at all.
const STACKS: bool = cfg!(all(feature = "stacks", not(locksley_portable)));

/// What a pool's handler was told.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<HeldLock>>>);

impl Told {
    fn by(builder: PoolBuilder) -> (Pool, Self) {
        let told = Self::default();
        let list = told.clone();
        let note = move |held: &HeldLock| list.0.lock().unwrap().push(held.clone());
        (builder.held_lock_handler(note).build().unwrap(), told)
    }

    fn take(&self) -> Vec<HeldLock> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// Names and waits, in the order in which they were told, since the last time.
    fn names(&self) -> Vec<(&'static str, Wait)> {
        self.take().iter().map(|held| (held.lock(), held.wait())).collect()
    }
}

/// What is told if anything is.
fn expected<T>(told: impl IntoIterator<Item = T>) -> Vec<T> {
    told.into_iter().filter(|_| held::WATCHED).collect()
}

fn pools() -> impl Iterator<Item = (Pool, Told)> {
    let with_stacks = [1, 2, 4].map(|workers| Pool::builder().workers(workers));
    let without = [1, 2].map(|workers| Pool::builder().workers(workers).waiting_stacks(0));
    let below = [1, 2].map(|workers| Pool::builder().workers(workers).waiting(Waiting::Below));
    with_stacks.into_iter().chain(without).chain(below).map(Told::by)
}

fn wait_until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        thread::yield_now();
    }
}

#[test]
fn a_marked_lock_is_reported_with_both_places() {
    for (pool, told) in pools() {
        let lock = Mutex::new(0);
        let lines = pool.run(|w| {
            let (taken, mut number) = (line!(), Marked::new("number", lock.lock().unwrap()));
            let (joined, (a, b)) = (line!(), w.join(|_| 1, |_| 2));
            *number += a + b;
            (taken, joined)
        });
        assert_eq!(*lock.lock().unwrap(), 3);
        let told = told.take();
        assert_eq!(told.len(), usize::from(held::WATCHED));
        for held in told {
            assert_eq!((held.lock(), held.wait()), ("number", Wait::Join));
            assert_eq!((held.taken_at().line(), held.waits_at().line()), lines);
            assert!(held.taken_at().file() == file!() && held.waits_at().file() == file!());
            let text = held.to_string();
            assert!(text.starts_with("`number`, taken at ") && text.contains("across a join at"));
        }
    }
}

/// Luck must not decide what is found.
#[test]
fn it_is_the_same_whether_the_second_half_is_stolen_or_not() {
    let (pool, told) = Told::by(Pool::builder().workers(2));
    for is_stolen in [true, false].into_iter().cycle().take(100) {
        let begun = AtomicBool::new(!is_stolen);
        pool.run(|w| {
            let _outer = Mark::new("outer");
            let first = |w: &Worker| {
                wait_until(&begun);
                w.join(|_| (), |_| ());
            };
            w.join(first, |w| {
                begun.store(true, Ordering::Release);
                let _inner = Mark::new("inner");
                w.join(|_| (), |_| ());
            });
        });
        let mut names = told.names();
        names.sort_by_key(|(name, _)| *name);
        // Once in the first half, once by the join around it; and what the second one holds.
        let all = ["inner", "outer", "outer"].map(|name| (name, Wait::Join));
        assert_eq!(names, expected(all));
    }
}

#[test]
fn what_is_let_go_of_in_time_is_not_reported() {
    for (pool, told) in pools() {
        let lock = Mutex::new(0);
        pool.run(|w| {
            drop(Marked::new("before", lock.lock().unwrap()));
            w.join(|_| (), |_| ());
            let moved = Mark::new("moved into the first half");
            w.join(move |_| drop(moved), |_| ());
            w.join(|_| drop(Mark::new("in the first half")), |_| drop(Mark::new("in the second")));
            w.scope(|_, scope| {
                scope.spawn(|_| drop(Mark::new("in a task")));
                drop(Mark::new("in the body"));
            });
            let unmarked = Marked::new("unmarked", lock.lock().unwrap()).into_inner();
            w.join(|_| (), |_| ());
            drop(unmarked);
            let elsewhere = Mark::new("let go of by another thread");
            thread::scope(|scope| _ = scope.spawn(|| drop(elsewhere)));
            w.join(|_| (), |_| ());
        });
        assert_eq!(told.names(), []);
    }
}

#[test]
fn what_the_first_half_returns_is_held() {
    for (pool, told) in pools() {
        pool.run(|w| {
            let (mark, ()) = w.join(|_| Mark::new("returned"), |_| ());
            drop(mark);
            w.join(|_| (), |_| ());
        });
        assert_eq!(told.names(), expected([("returned", Wait::Join)]));
    }
}

#[test]
fn a_first_half_that_panics_does_not_hide_it() {
    for (pool, told) in pools() {
        let fails = true;
        let joined = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|w| {
                let _mark = Mark::new("held");
                w.join(|_| assert!(!fails, "first"), |_| ())
            })
        }));
        assert_eq!(message(&*joined.unwrap_err()), "first");
        assert_eq!(told.names(), expected([("held", Wait::Join)]));
    }
}

/// Every way to wait: what is told of a lock of ours, and what of a marked one.
#[test]
fn each_wait_has_its_name() {
    use Wait::*;
    let other = Pool::new(1).unwrap();
    let token = Cancellation::new();
    type Waits<'a> = &'a (dyn Fn(&Worker) + Sync);
    let waits: [(Wait, Waits<'_>); 32] = [
        (Join, &|w| _ = w.join(|_| (), |_| ())),
        (Join, &|_| _ = locksley::join(|| (), || ())),
        (Join, &|w| _ = w.join_waiting(Waiting::Below, |_| (), |_| ())),
        (Scope, &|w| w.scope(|_, _| ())),
        (Scope, &|w| w.scope_waiting(Waiting::Anything, |_, scope| scope.spawn(|_| ()))),
        (Scope, &|_| locksley::scope(|scope| scope.spawn(|_| ()))),
        (Scope, &|_| in_place_scope(|scope| scope.spawn(|_| ()))),
        (Scope, &|_| other.in_place_scope(|scope| scope.spawn(|_| ()))),
        (Scope, &|w| w.scope_until(&token, |_, scope| scope.spawn(|_| ())).unwrap()),
        (Scope, &|_| scope_until(&token, |scope| scope.spawn(|_| ())).unwrap()),
        (Loop, &|w| w.for_each(0..10_000, |_| ())),
        (Loop, &|_| for_each(0..10_000, |_| ())),
        (Loop, &|_| for_each(chunks_mut(&mut [0; 100], 3), |_| ())),
        (Loop, &|w| _ = w.map(0..1000, |n| n)),
        (Loop, &|_| _ = locksley::loops::map(0..1000, |n| n)),
        (Loop, &|w| _ = w.reduce(0..1000, || 0, |a, n| a + n, |a, b| a + b)),
        (Loop, &|_| _ = locksley::loops::reduce(0..9, || 0, |a, n| a + n, |a, b| a + b)),
        (Loop, &|w| _ = w.reduce_in_shape(0..99, 7, || 0, |a, n| a + n, |a, b| a + b)),
        (Loop, &|w| w.for_each_until(&token, 0..1000, |_| ()).unwrap()),
        (Loop, &|_| _ = locksley::loops::map_until(&token, 0..1000, |n| n)),
        (Loop, &|w| _ = w.reduce_until(&token, 0..9, || 0, |a, n| a + n, |a, b| a + b)),
        (Broadcast, &|w| _ = w.broadcast(|_| ())),
        (Broadcast, &|_| _ = other.broadcast(|_| ())),
        (Run, &|_| other.run(|_| ())),
        (Task, &|w| w.spawn_future(async {}).join().unwrap()),
        (Task, &|_| task::spawn(async {}).join().unwrap()),
        (Task, &|_| locksley::thread::create(0, async |_| ()).join().unwrap()),
        (Computation, &|_| computation::run(|all| all.spawn("task", async {})).unwrap()),
        (Intervals, &|_| {
            intervals::run("root", |root| _ = root.interval("one").spawn(|_| ())).unwrap();
        }),
        (BlockOn, &|_| block_on(task::yield_now())),
        (RunOne, &|w| _ = w.run_one()),
        (RunOne, &|w| _ = w.run_local()),
    ];
    let (pool, told) = Told::by(Pool::builder().workers(2));
    let ours = sync::Mutex::new(());
    for (n, (wait, what)) in waits.iter().enumerate() {
        pool.run(|w| {
            what(w);
            let _mark = Mark::new("marked");
            what(w);
        });
        let reports = told.take();
        let names: Vec<_> = reports.iter().map(|held| (held.lock(), held.wait())).collect();
        assert_eq!(names, expected([("marked", *wait)]), "wait {n}");
        // The place is where the program calls.
        for held in reports {
            assert_eq!(held.waits_at().file(), file!(), "wait {n}");
        }
        pool.run(|w| {
            let _guard = ours.try_lock().unwrap();
            what(w);
        });
        let is_fault = *wait != BlockOn;
        let of_ours = is_fault.then_some(("locksley::sync::Mutex", *wait));
        assert_eq!(told.names(), expected(of_ours), "wait {n}");
    }
}

#[test]
fn what_a_worker_runs_meanwhile_does_not_hold_it() {
    for (pool, told) in pools() {
        let has_run = Semaphore::new(0);
        pool.run(|w| {
            w.scope(|w, scope| {
                scope.spawn_on(w, |w, _| {
                    w.join(|_| (), |_| ());
                    has_run.add_permits(1);
                });
                let _mark = Mark::new("the waiter's");
                block_on(has_run.acquire()).unwrap().forget();
                w.join(|_| (), |_| ());
            });
        });
        let waits = [Wait::BlockOn, Wait::Join].map(|wait| ("the waiter's", wait));
        assert_eq!(told.names(), expected(waits));
    }
}

/// A mark belongs to the stack on which it was made, and not to the thread.
#[test]
fn a_stack_that_waits_keeps_what_it_holds() {
    if !STACKS {
        return;
    }
    let (pool, told) = Told::by(Pool::builder().workers(1));
    for _ in 0..10 {
        let (waits, may_go_on) = (Semaphore::new(0), Semaphore::new(0));
        pool.run(|w| {
            w.scope(|w, scope| {
                scope.spawn_on(w, |w, _| {
                    let _mark = Mark::new("the other's");
                    waits.add_permits(1);
                    block_on(may_go_on.acquire()).unwrap().forget();
                    w.join(|_| (), |_| ());
                });
                block_on(waits.acquire()).unwrap().forget();
                // The other one is in the middle.
                w.join(|_| (), |_| ());
                may_go_on.add_permits(1);
            });
        });
        let waits = [Wait::BlockOn, Wait::Join].map(|wait| ("the other's", wait));
        assert_eq!(told.names(), expected(waits));
    }
}

#[test]
fn a_future_keeps_what_it_holds_wherever_it_goes_on() {
    const TASKS: usize = 50;
    for placement in [Placement::Last, Placement::Current] {
        let (pool, told) = Told::by(Pool::builder().workers(3).placement(placement));
        let (waiting, go_on) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let join = || Worker::with_current(|w| _ = w.unwrap().join(|_| (), |_| ()));
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let (waiting, go_on) = (Arc::clone(&waiting), Arc::clone(&go_on));
                pool.spawn_future(async move {
                    let lock = sync::Mutex::new(());
                    let guard = lock.lock().await;
                    waiting.fetch_add(1, Ordering::Release);
                    go_on.acquire().await.unwrap().forget();
                    join();
                    drop(guard);
                    join();
                })
            })
            .collect();
        while waiting.load(Ordering::Acquire) < TASKS {
            thread::yield_now();
        }
        // No worker has any of that in its hand.
        pool.broadcast(|w| w.join(|_| (), |_| ()));
        assert_eq!(told.names(), []);
        go_on.add_permits(TASKS);
        for task in tasks {
            task.join().unwrap();
        }
        let each = [("locksley::sync::Mutex", Wait::Join); TASKS];
        assert_eq!(told.names(), expected(each));
    }
}

#[test]
fn a_lock_that_comes_back_from_a_condition_variable_was_taken_where_it_was_taken() {
    let (pool, told) = Told::by(Pool::builder().workers(2));
    let both = Arc::new((sync::Mutex::new(false), Condvar::new()));
    let waiter = Arc::clone(&both);
    let waits = pool.spawn_future(async move {
        let (open, changed) = &*waiter;
        let (line, guard) = (line!(), open.lock().await);
        let _guard = changed.wait_while(guard, |open| !*open).await;
        Worker::with_current(|w| _ = w.unwrap().join(|_| (), |_| ()));
        line
    });
    block_on(async {
        *both.0.lock().await = true;
        both.1.notify_all();
    });
    let line = waits.join().unwrap();
    let told = told.take();
    assert_eq!(told.len(), usize::from(held::WATCHED));
    assert!(told.iter().all(|held| held.taken_at().line() == line));
}

#[test]
fn who_makes_the_value_of_a_cell_keeps_others_waiting() {
    let (pool, told) = Told::by(Pool::builder().workers(2));
    let (cell, other) = (OnceCell::new(), OnceCell::new());
    pool.run(|w| {
        let joins = async || w.join(|_| 1, |_| 2);
        assert_eq!(block_on(cell.get_or_init(joins)), &(1, 2));
        assert_eq!(block_on(cell.get_or_init(joins)), &(1, 2));
        let fails = async || {
            w.join(|_| (), |_| ());
            Err::<(), _>("no")
        };
        assert_eq!(block_on(other.get_or_try_init(fails)), Err("no"));
        w.join(|_| (), |_| ());
    });
    let reports = told.take();
    assert!(reports.iter().all(|held| held.taken_at().file() == file!()));
    let names: Vec<_> = reports.iter().map(|held| (held.lock(), held.wait())).collect();
    assert_eq!(names, expected([("locksley::sync::OnceCell", Wait::Join); 2]));
}

#[test]
fn a_computation_s_mutex_is_known_by_where_it_is_locked() {
    let (pool, told) = Told::by(Pool::builder().workers(2));
    let computed = pool.computation(|all| {
        let lock = all.own("lock", sync::Mutex::new(0));
        all.spawn("locks", async move {
            let mut guard = lock.lock().await;
            Worker::with_current(|w| _ = w.unwrap().join(|_| (), |_| ()));
            *guard += 1;
        });
    });
    computed.unwrap();
    let reports = told.take();
    assert_eq!(reports.len(), usize::from(held::WATCHED));
    assert!(reports.iter().all(|held| held.taken_at().file() == file!()));
}

#[test]
fn on_other_threads_nothing_is_said() {
    let (pool, told) = Told::by(Pool::builder().workers(2));
    let _mark = Mark::new("outside");
    pool.run(|w| w.join(|_| (), |_| ()));
    pool.in_place_scope(|scope| scope.spawn(|_| ()));
    pool.broadcast(|_| ());
    pool.spawn_future(async {}).join().unwrap();
    block_on(task::yield_now());
    assert_eq!(told.names(), []);
}

/// A panic of the handler is raised by what would have waited, which leaves nothing behind.
#[test]
fn a_handler_may_panic() {
    if !held::WATCHED {
        return;
    }
    for workers in [1, 2] {
        let builder = Pool::builder().workers(workers);
        let pool = builder.held_lock_handler(|held| panic!("{}", held.wait())).build().unwrap();
        let ended = AtomicUsize::new(0);
        let end = |_: &Worker| _ = ended.fetch_add(1, Ordering::Relaxed);
        let caught = |what: &(dyn Fn(&Worker) + Sync)| {
            let marked = |w: &Worker| {
                let _mark = Mark::new("mark");
                what(w);
            };
            let panic = catch_unwind(AssertUnwindSafe(|| pool.run(marked))).unwrap_err();
            message(&*panic).to_owned()
        };
        assert_eq!(caught(&|w| _ = w.join(end, end)), "a join");
        assert_eq!(ended.swap(0, Ordering::Relaxed), 2);
        assert_eq!(caught(&|w| w.scope(|w, scope| scope.spawn_on(w, |w, _| end(w)))), "a scope");
        assert_eq!(ended.swap(0, Ordering::Relaxed), 1);
        let one_ended = |_| _ = ended.fetch_add(1, Ordering::Relaxed);
        assert_eq!(caught(&|w| w.for_each(0..10, one_ended)), "a loop");
        assert_eq!(ended.swap(0, Ordering::Relaxed), 0);
        // What was taken back is not held any more.
        pool.run(|w| w.join(|_| (), |_| ()));
    }
}

/// What a handler does, though it runs while the lock is held, is not told to it.
#[test]
fn a_handler_may_join() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let handler = move |_: &HeldLock| {
        count.fetch_add(1, Ordering::Relaxed);
        locksley::join(|| (), || ());
    };
    let pool = Pool::builder().workers(2).held_lock_handler(handler).build().unwrap();
    pool.run(|w| {
        let _mark = Mark::new("mark");
        w.join(|_| (), |_| ());
    });
    assert_eq!(calls.load(Ordering::Relaxed), usize::from(held::WATCHED));
}

/// A part of a random program.
enum Step {
    Join(Vec<Step>, Vec<Step>),
    /// Its tasks, and what the body does beside.
    Scope(Vec<Vec<Step>>, Vec<Step>),
    /// What is done under a lock; the first of [`LOCKS`] is ours.
    Under(usize, Vec<Step>),
    BlockOn,
    /// A future that takes a lock, waits, goes on anywhere, and is joined.
    Future(usize, Arc<Vec<Step>>),
}

const LOCKS: [&str; 3] = ["locksley::sync::Mutex", "second", "third"];

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end) as usize
    }

    fn steps(&mut self, depth: u32) -> Vec<Step> {
        let number = if depth == 0 { 0 } else { self.below(4) };
        (0..number).map(|_| self.step(depth - 1)).collect()
    }

    fn step(&mut self, depth: u32) -> Step {
        match self.below(6) {
            0 => Step::Scope((0..2).map(|_| self.steps(depth)).collect(), self.steps(depth)),
            1 | 2 => Step::Under(self.below(3), self.steps(depth)),
            3 => Step::BlockOn,
            4 => Step::Future(1 + self.below(2), Arc::new(self.steps(depth))),
            _ => Step::Join(self.steps(depth), self.steps(depth)),
        }
    }
}

fn execute(w: &Worker, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Join(a, b) => _ = w.join(|w| execute(w, a), |w| execute(w, b)),
            Step::Scope(tasks, body) => w.scope(|w, scope| {
                for task in tasks {
                    scope.spawn_on(w, |w, _| execute(w, task));
                }
                execute(w, body);
            }),
            Step::Under(0, steps) => {
                let ours = sync::Mutex::new(());
                let _guard = ours.try_lock().unwrap();
                execute(w, steps);
            }
            Step::Under(lock, steps) => {
                let _mark = Mark::new(LOCKS[*lock]);
                execute(w, steps);
            }
            Step::BlockOn => block_on(task::yield_now()),
            Step::Future(lock, steps) => {
                let (lock, steps) = (*lock, Arc::clone(steps));
                let future = async move {
                    let _mark = Mark::new(LOCKS[lock]);
                    task::yield_now().await;
                    Worker::with_current(|w| execute(w.unwrap(), &steps));
                };
                w.spawn_future(future).join().unwrap();
            }
        }
    }
}

/// What is told of a program whose own task holds `held`: by what the module says, and nothing else.
fn simulate(steps: &[Step], held: &mut Vec<usize>, told: &mut Vec<(&str, &str)>) {
    for step in steps {
        let wait = match step {
            Step::Join(a, b) => {
                simulate(a, held, told);
                simulate(b, &mut Vec::new(), told);
                Wait::Join
            }
            Step::Scope(tasks, body) => {
                tasks.iter().for_each(|task| simulate(task, &mut Vec::new(), told));
                simulate(body, held, told);
                Wait::Scope
            }
            Step::Under(lock, steps) => {
                held.push(*lock);
                simulate(steps, held, told);
                held.pop();
                continue;
            }
            Step::BlockOn => Wait::BlockOn,
            Step::Future(lock, steps) => {
                simulate(steps, &mut vec![*lock], told);
                Wait::Task
            }
        };
        for &lock in held.iter().filter(|&&lock| lock != 0 || wait != Wait::BlockOn) {
            told.push((LOCKS[lock], words(wait)));
        }
    }
}

/// To be sorted.
fn words(wait: Wait) -> &'static str {
    match wait {
        Wait::Join => "join",
        Wait::Scope => "scope",
        Wait::BlockOn => "block_on",
        Wait::Task => "task",
        other => panic!("{other} is not in these programs"),
    }
}

#[test]
fn random_programs_are_told_what_a_simulation_says() {
    let mut random = Random(0x5EED);
    let mut all = 0;
    // (A waiter that runs only what lies below it leaves futures to others, of whom there may be none.)
    let options = [(1, 10_000), (2, 10_000), (4, 10_000), (1, 0), (2, 0)];
    let builders = options.map(|(n, stacks)| Pool::builder().workers(n).waiting_stacks(stacks));
    for (pool, told) in builders.map(Told::by) {
        for _ in 0..60 {
            let program = random.steps(5);
            let mut simulated = Vec::new();
            simulate(&program, &mut Vec::new(), &mut simulated);
            all += simulated.len();
            pool.run(|w| execute(w, &program));
            let mut names: Vec<_> =
                told.names().into_iter().map(|(name, wait)| (name, words(wait))).collect();
            names.sort_unstable();
            simulated.sort_unstable();
            assert_eq!(names, expected(simulated));
        }
    }
    assert!(all > 1000, "the programs hold locks: {all}");
}

/// It may hold one of ours where it waits for a channel, which is no fault; and it is told whether it has to wait or not.
#[test]
fn a_process_on_a_stack_is_told_at_its_channels() {
    let (pool, told) = Told::by(Pool::builder().workers(2));
    let mut network = Network::new();
    let (output, input) = network.channel("numbers", 1);
    network.process_on_stack("sends", output, |mut output| {
        let ours = sync::Mutex::new(());
        let _guard = ours.try_lock().unwrap();
        let _mark = Mark::new("sender's");
        for number in 0..3 {
            output.send_blocking(number)?;
        }
        Ok::<_, Over>(())
    });
    let sum = network.process_on_stack("receives", input, |mut input| {
        let mut sum = 0;
        while let Some(number) = input.recv_blocking()? {
            sum += number;
        }
        let _mark = Mark::new("receiver's");
        assert_eq!(input.recv_blocking(), Ok(None));
        Ok::<_, Over>(sum)
    });
    match network.run(&pool) {
        Ok(_) => assert_eq!(sum.take(), Some(Ok(3))),
        Err(NetworkError::NoStack { .. }) if !STACKS => return,
        Err(error) => panic!("{error}"),
    }
    let told = told.take();
    assert!(told.iter().all(|held| held.waits_at().file() == file!()), "{told:?}");
    let mut names: Vec<_> = told.iter().map(|held| (held.lock(), held.wait())).collect();
    names.sort_by_key(|(name, _)| *name);
    let all = ["receiver's", "sender's", "sender's", "sender's"].map(|name| (name, Wait::Channel));
    assert_eq!(names, expected(all));
}

const CASE: &str = "LOCKSLEY_TEST_CASE";

/// Not a test of its own: what the next ones run in other processes.
#[test]
fn child() {
    if std::env::var(CASE).is_ok_and(|case| case == "from outside") {
        let handler = |held: &HeldLock| println!("told of {}: {}", held.lock(), held.waits_at());
        Pool::builder().workers(2).held_lock_handler(handler).build_global().unwrap();
        // The first half, or the body, runs on a worker, and holds what it returns.
        let _join = locksley::join(|| Mark::new("join"), || ());
        let _scope = locksley::scope(|_| Mark::new("scope"));
        let _until = scope_until(&Cancellation::new(), |_| Mark::new("scope_until")).unwrap();
        let _root = intervals::run("root", |_| Mark::new("intervals")).unwrap();
    } else if std::env::var(CASE).is_ok() {
        let joined_under = |w: &Worker, _: &Mark| _ = w.join(|_| (), |_| ());
        Pool::new(2).unwrap().run(|w| {
            for _ in 0..3 {
                joined_under(w, &Mark::new("first"));
                joined_under(w, &Mark::new("second"));
            }
        });
    }
}

#[test]
fn a_caller_that_is_no_worker_is_named_too() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child", "--exact", "--nocapture"]).env(CASE, "from outside");
    let output = child.output().unwrap();
    assert!(output.status.success());
    let says = String::from_utf8_lossy(&output.stdout);
    assert_eq!(says.matches("told of ").count(), if held::WATCHED { 4 } else { 0 }, "{says}");
    for lock in expected(["join", "scope", "scope_until", "intervals"]) {
        assert!(says.contains(&format!("told of {lock}: {}:", file!())), "{says}");
    }
}

#[test]
fn without_a_handler_each_pair_of_places_is_printed_once() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child", "--exact", "--nocapture"]).env(CASE, "prints").env("RUST_BACKTRACE", "0");
    let output = child.output().unwrap();
    assert!(output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    for name in ["first", "second"] {
        let line = format!("locksley: `{name}`, taken at {}", file!());
        assert_eq!(errors.matches(&line).count(), usize::from(held::WATCHED), "{errors}");
    }
}
