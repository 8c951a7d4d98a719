//! Computations that end, and such that cannot.

use std::collections::BTreeMap;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use locksley::computation::{Incomplete, Own};
use locksley::sync::{Barrier, Condvar, JoinCounter, Mutex, Semaphore};
use locksley::{Pool, Worker, task};

/// Who waits for what, in the order in which they were spawned.
fn stuck<R: std::fmt::Debug>(end: Result<R, Incomplete>) -> Vec<(String, Vec<String>)> {
    match end.unwrap_err() {
        Incomplete::Stuck(waiting) => {
            waiting.iter().map(|one| (one.task().to_owned(), one.waits_for().to_vec())).collect()
        }
        other => panic!("{other}"),
    }
}

fn waits(task: &str, waits_for: &[&str]) -> (String, Vec<String>) {
    (task.to_owned(), waits_for.iter().map(|&name| name.to_owned()).collect())
}

fn pools() -> impl Iterator<Item = Pool> {
    (1..=3).map(|workers| Pool::new(workers).unwrap())
}

/// Dropped when its future is.
struct Counted<'d>(&'d AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn three_in_a_ring() {
    for pool in pools() {
        let dropped = AtomicUsize::new(0);
        let end = pool.computation(|all| {
            let seats = ["a", "b", "c"].map(|name| all.own(name, Semaphore::new(0)));
            for (n, name) in ["first", "second", "third"].into_iter().enumerate() {
                let (mine, next) = (seats[n].clone(), seats[(n + 1) % 3].clone());
                let counted = Counted(&dropped);
                all.spawn(name, async move {
                    let _counted = counted;
                    mine.acquire().await.unwrap().forget();
                    next.add_permits(1);
                });
            }
        });
        let expected = [waits("first", &["a"]), waits("second", &["b"]), waits("third", &["c"])];
        assert_eq!(stuck(end), expected);
        assert_eq!(dropped.into_inner(), 3, "they were given up");
    }
}

#[test]
fn the_ring_goes_round_if_one_begins() {
    for pool in pools() {
        let end = pool.computation(|all| {
            let seats = [(); 3].map(|()| all.own("seat", Semaphore::new(0)));
            for n in 0..3 {
                let (mine, next) = (seats[n].clone(), seats[(n + 1) % 3].clone());
                all.spawn("one", async move {
                    for _ in 0..1000 {
                        mine.acquire().await.unwrap().forget();
                        next.add_permits(1);
                    }
                });
            }
            seats[0].add_permits(1);
            "the body's"
        });
        assert_eq!(end, Ok("the body's"));
    }
}

#[test]
fn each_kind_of_wait_is_known() {
    let pool = Pool::new(2).unwrap();
    let end = pool.computation(|all| {
        let semaphore = all.own("semaphore", Semaphore::new(3));
        all.spawn("asks for too much", async move {
            drop(semaphore.acquire_many(4).await);
        });
        let mutex = all.own("mutex", Mutex::new(0));
        let condvar = all.own("condvar", Condvar::new());
        let lock = mutex.clone();
        all.spawn("waits for a change", async move {
            let guard = lock.lock().await;
            drop(condvar.wait_while(guard, |number| *number == 0).await);
        });
        let keeper = mutex.clone();
        let barrier = all.own("barrier", Barrier::new(2));
        all.spawn("waits for a second one", async move {
            barrier.wait().await;
            drop(keeper);
        });
        let counter = all.own("counter", JoinCounter::new(1));
        all.spawn("waits for a signal", async move { counter.wait().await });
        let thread = all.create("thread", 1, async |_| ());
        drop(thread);
    });
    let expected = [
        waits("asks for too much", &["semaphore"]),
        waits("waits for a change", &["condvar"]),
        waits("waits for a second one", &["barrier"]),
        waits("waits for a signal", &["counter"]),
        waits("thread", &["signals"]),
    ];
    assert_eq!(stuck(end), expected);
}

/// Polls both, with one waker.
async fn both(one: impl Future, other: impl Future) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let mut done = [false; 2];
    poll_fn(|context| {
        done[0] = done[0] || one.as_mut().poll(context).is_ready();
        done[1] = done[1] || other.as_mut().poll(context).is_ready();
        if done == [true; 2] { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[test]
fn one_task_may_wait_for_several() {
    let pool = Pool::new(2).unwrap();
    let end = pool.computation(|all| {
        let [left, right] = ["left", "right"].map(|name| all.own(name, Semaphore::new(0)));
        all.spawn("both", async move { both(left.acquire(), right.acquire()).await });
    });
    assert_eq!(stuck(end), [waits("both", &["left", "right"])]);
}

#[test]
fn who_has_left_its_waker_nowhere_is_stuck() {
    let pool = Pool::new(1).unwrap();
    let end = pool.computation(|all| all.spawn("waits for ever", pending()));
    assert_eq!(
        end.unwrap_err().to_string(),
        "no task of the computation can go on: 'waits for ever' waits for nothing that could wake it"
    );
}

/// Something that another thread brings about after some time.
#[derive(Default)]
struct Foreign(StdMutex<(bool, Option<Waker>)>);

impl Foreign {
    fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap();
        if state.0 {
            return Poll::Ready(());
        }
        state.1 = Some(context.waker().clone());
        Poll::Pending
    }

    async fn wait(&self) {
        poll_fn(|context| self.poll(context)).await;
    }

    fn bring_about(&self) {
        let waker = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[test]
fn who_waits_for_something_foreign_is_waited_for() {
    for pool in pools() {
        let (foreign, done) = (Foreign::default(), AtomicBool::new(false));
        let (foreign, done_here) = (&foreign, &done);
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(50));
                foreign.bring_about();
            });
            let end = pool.computation(|all| {
                let signal = all.own("signal", Semaphore::new(0));
                let sender = signal.clone();
                all.spawn("sends", async move {
                    foreign.wait().await;
                    sender.add_permits(1);
                });
                all.spawn("waits", async move {
                    signal.acquire().await.unwrap().forget();
                    done_here.store(true, Ordering::Relaxed);
                });
            });
            assert_eq!(end, Ok(()));
        });
        assert!(done.into_inner());
    }
}

/// Something that another thread was to bring about, and which it gives up: it drops the waker, which it gets once.
#[derive(Default)]
struct GivenUp(StdMutex<(bool, Option<Waker>)>);

impl GivenUp {
    async fn wait(&self) {
        poll_fn(|context| {
            let mut state = self.0.lock().unwrap();
            if !std::mem::replace(&mut state.0, true) {
                state.1 = Some(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// The waker, when it is there.
    fn waker(&self) -> Waker {
        loop {
            if let Some(waker) = self.0.lock().unwrap().1.take() {
                return waker;
            }
            thread::yield_now();
        }
    }
}

#[test]
fn whom_somebody_outside_has_given_up_is_stuck() {
    for pool in pools() {
        for _ in 0..100 {
            let foreign = &GivenUp::default();
            thread::scope(|scope| {
                scope.spawn(|| drop(foreign.waker()));
                let end = pool.computation(|all| all.spawn("alone", foreign.wait()));
                assert_eq!(stuck(end), [waits("alone", &[])]);
            });
        }
    }
}

/// Somebody outside drops the last waker that is left, and others wait for the one whose it was.
#[test]
fn who_waits_for_one_that_somebody_outside_has_given_up_is_stuck() {
    for pool in pools() {
        for _ in 0..100 {
            let foreign = &GivenUp::default();
            thread::scope(|scope| {
                scope.spawn(|| drop(foreign.waker()));
                let end = pool.computation(|all| {
                    let lock = all.own("lock", Mutex::new(()));
                    let locked = all.own("locked", JoinCounter::new(1));
                    let (held, signal) = (lock.clone(), locked.clone());
                    all.spawn("holds", async move {
                        let _guard = held.lock().await;
                        signal.signal();
                        foreign.wait().await;
                    });
                    for name in ["first", "second"] {
                        let (lock, locked) = (lock.clone(), locked.clone());
                        all.spawn(name, async move {
                            locked.wait().await;
                            drop(lock.lock().await);
                        });
                    }
                });
                let expected =
                    [waits("holds", &[]), waits("first", &["lock"]), waits("second", &["lock"])];
                assert_eq!(stuck(end), expected);
            });
        }
    }
}

#[test]
fn many_whom_somebody_outside_gives_up_one_after_the_other_are_stuck_together() {
    for pool in pools() {
        for _ in 0..100 {
            let foreign: &[GivenUp; 4] = &Default::default();
            thread::scope(|scope| {
                scope.spawn(|| foreign.iter().for_each(|foreign| drop(foreign.waker())));
                let end = pool.computation(|all| {
                    foreign.iter().for_each(|foreign| all.spawn("one", foreign.wait()));
                });
                assert_eq!(stuck(end), [(); 4].map(|()| waits("one", &[])));
            });
        }
    }
}

/// Whoever wakes it keeps the waker, and drops it when it waits for something else.
#[test]
fn a_waker_that_was_used_is_dropped_late() {
    for pool in pools() {
        let (foreign, woken) = (&GivenUp::default(), &AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                let waker = foreign.waker();
                woken.store(true, Ordering::Release);
                waker.wake_by_ref();
                thread::sleep(Duration::from_millis(10));
            });
            let end = pool.computation(|all| {
                let signal = all.own("signal", Semaphore::new(0));
                all.spawn("waits", async move {
                    let mut foreign = pin!(foreign.wait());
                    poll_fn(|context| {
                        assert!(foreign.as_mut().poll(context).is_pending());
                        if woken.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
                    })
                    .await;
                    drop(signal.acquire().await);
                });
            });
            assert_eq!(stuck(end), [waits("waits", &["signal"])]);
        });
    }
}

/// A wait is served that its task does not look at, because it waits for something foreign in between.
#[test]
fn a_wait_that_was_served_and_not_looked_at_does_not_count() {
    for pool in pools() {
        let (foreign, looked) = (&Foreign::default(), &AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                // The second time because it has been served.
                while looked.load(Ordering::Acquire) < 2 {
                    thread::yield_now();
                }
                thread::sleep(Duration::from_millis(20));
                foreign.bring_about();
            });
            let end = pool.computation(|all| {
                let turn = all.own("turn", Semaphore::new(0));
                let given = turn.clone();
                all.spawn("takes its turn late", async move {
                    let mut turn = pin!(turn.acquire());
                    poll_fn(|context| {
                        assert!(turn.as_mut().poll(context).is_pending());
                        Poll::Ready(())
                    })
                    .await;
                    poll_fn(|context| {
                        let polled = foreign.poll(context);
                        looked.fetch_add(1, Ordering::Release);
                        polled
                    })
                    .await;
                    turn.await.unwrap().forget();
                });
                all.spawn("gives", async move {
                    while looked.load(Ordering::Acquire) == 0 {
                        task::yield_now().await;
                    }
                    given.add_permits(1);
                });
            });
            assert_eq!(end, Ok(()));
        });
    }
}

/// Both block in the middle of a poll, and their stacks take turns on one thread.
#[cfg(all(feature = "stacks", not(locksley_portable)))]
#[test]
fn tasks_that_block_on_one_worker_are_not_mixed_up() {
    let pool = Pool::new(1).unwrap();
    let turns = &[Semaphore::new(0), Semaphore::new(0)];
    let begun = &AtomicUsize::new(0);
    let end = pool.computation(|all| {
        let never = all.own("never", Semaphore::new(0));
        for name in ["one", "other"] {
            let never = never.clone();
            all.spawn(name, async move {
                if begun.fetch_add(1, Ordering::Relaxed) == 0 {
                    locksley::block_on(turns[0].acquire()).unwrap().forget();
                    turns[1].add_permits(1);
                } else {
                    turns[0].add_permits(1);
                    locksley::block_on(turns[1].acquire()).unwrap().forget();
                }
                drop(never.acquire().await);
            });
        }
    });
    assert_eq!(stuck(end), [waits("one", &["never"]), waits("other", &["never"])]);
}

#[test]
fn who_waits_for_both_at_once_is_waited_for() {
    for pool in pools() {
        let foreign = &Foreign::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                foreign.bring_about();
            });
            let end = pool.computation(|all| {
                let signal = all.own("signal", Semaphore::new(0));
                let own = signal.clone();
                all.spawn("either", async move {
                    // The foreign one ends this wait, and then nobody sends the signal.
                    let mut wait = pin!(own.acquire());
                    let mut foreign = pin!(foreign.wait());
                    poll_fn(|context| {
                        assert!(wait.as_mut().poll(context).is_pending());
                        foreign.as_mut().poll(context)
                    })
                    .await;
                });
                all.spawn("never", async move { drop(signal.acquire().await) });
            });
            assert_eq!(stuck(end), [waits("never", &["signal"])]);
        });
    }
}

/// A wait of which the waker is another one, which somebody outside could keep.
#[test]
fn a_wait_with_a_waker_in_between_is_not_known() {
    let pool = Pool::new(1).unwrap();
    let foreign = Foreign::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            foreign.bring_about();
        });
        let end = pool.computation(|all| {
            let signal = all.own("signal", Semaphore::new(0));
            let foreign = &foreign;
            all.spawn("in between", async move {
                let mut wait = pin!(signal.acquire());
                poll_fn(|context| {
                    let inner = Waker::from(Arc::new(Passes(context.waker().clone())));
                    assert!(wait.as_mut().poll(&mut Context::from_waker(&inner)).is_pending());
                    foreign.poll(context)
                })
                .await;
            });
        });
        assert_eq!(end, Ok(()));
    });
}

struct Passes(Waker);

impl std::task::Wake for Passes {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

#[test]
fn a_wait_may_change_its_task() {
    type Wait<'c> = std::pin::Pin<Box<dyn Future<Output = ()> + Send + 'c>>;
    let pool = Pool::new(2).unwrap();
    let end = pool.computation(|all| {
        let signal = all.own("signal", Semaphore::new(0));
        let handed_on = all.own("handed on", Mutex::new(None::<Wait<'_>>));
        let ready = all.own("ready", JoinCounter::new(1));
        let (place, sender) = (handed_on.clone(), ready.clone());
        all.spawn("begins", async move {
            let mut wait: Wait<'_> = Box::pin(async move { drop(signal.acquire().await) });
            poll_fn(|context| {
                assert!(wait.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            *place.lock().await = Some(wait);
            sender.signal();
            pending::<()>().await;
        });
        all.spawn("goes on", async move {
            ready.wait().await;
            let wait = handed_on.lock().await.take();
            wait.unwrap().await;
        });
    });
    assert_eq!(stuck(end), [waits("begins", &[]), waits("goes on", &["signal"])]);
}

#[test]
fn panics_arrive_when_all_have_ended() {
    for pool in pools() {
        let dropped = AtomicUsize::new(0);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            pool.computation(|all| {
                let signal = all.own("signal", Semaphore::new(0));
                let counted = Counted(&dropped);
                all.spawn("waits for who panics", async move {
                    let _counted = counted;
                    drop(signal.acquire().await);
                });
                all.spawn("panics", async { std::panic::resume_unwind(Box::new("robin")) });
            })
        }));
        assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), "robin");
        assert_eq!(dropped.into_inner(), 1);
    }
}

#[test]
fn a_panic_of_the_body_arrives_when_all_have_ended() {
    let (dropped, pool) = (AtomicUsize::new(0), Pool::new(2).unwrap());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _: Result<(), _> = pool.computation(|all| {
            let signal = all.own("signal", Semaphore::new(0));
            let counted = Counted(&dropped);
            all.spawn("waits for the body", async move {
                let _counted = counted;
                drop(signal.acquire().await);
            });
            std::panic::resume_unwind(Box::new("marian"))
        });
    }));
    assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), "marian");
    assert_eq!(dropped.into_inner(), 1);
}

#[test]
fn a_future_that_panics_when_it_is_given_up() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("tuck"));
        }
    }
    let pool = Pool::new(1).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        pool.computation(|all| {
            all.spawn("waits for ever", async {
                let _panics = Panics;
                pending::<()>().await;
            });
        })
    }));
    assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), "tuck");
}

/// The tasks of the inner one wait for the outer one's semaphore, which somebody gives: for the inner one that is foreign.
#[test]
fn one_inside_of_another() {
    for pool in pools() {
        let end = pool.computation(|outer| {
            let signal = outer.own("signal", Semaphore::new(0));
            let given = signal.clone();
            outer.spawn("has one inside", async move {
                let inside = Worker::with_current(|worker| {
                    assert!(worker.is_some());
                    locksley::computation::run(|inner| {
                        inner.spawn("waits", async { drop(given.acquire().await) });
                    })
                });
                assert_eq!(inside, Ok(()));
            });
            outer.spawn("gives", async move {
                for _ in 0..20 {
                    task::yield_now().await;
                }
                signal.add_permits(1);
            });
        });
        assert_eq!(end, Ok(()));
    }
}

/// A random number below `limit` (splitmix64).
fn below(state: &mut u64, limit: usize) -> usize {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ z >> 31) % limit as u64) as usize
}

/// Gives to a task, or takes what that task has given.
#[derive(Clone, Copy, Debug)]
enum Step {
    Give(usize),
    Take(usize),
    Yield,
}

type Program = Vec<Vec<Step>>;

fn program(seed: u64) -> Program {
    let state = &mut seed.clone();
    let tasks = 1 + below(state, 5);
    // What is given is mostly taken: about half of the programs come to their end.
    let mut program: Program = vec![Vec::new(); tasks];
    for _ in 0..below(state, 30) {
        let (from, to) = (below(state, tasks), below(state, tasks));
        match below(state, 12) {
            0 => program[from].push(Step::Take(to)),
            1 => program[from].push(Step::Give(to)),
            2 => program[from].push(Step::Yield),
            _ => {
                program[from].push(Step::Give(to));
                program[to].push(Step::Take(from));
            }
        }
    }
    program
}

/// Who waits for whom when nobody can go on: the order of steps does not matter, since each pair of tasks has a semaphore of
/// its own, from which only one takes.
fn simulated(program: &Program) -> BTreeMap<usize, usize> {
    let mut given = BTreeMap::<(usize, usize), usize>::new();
    let mut at = vec![0; program.len()];
    loop {
        let mut went = false;
        for (task, steps) in program.iter().enumerate() {
            while let Some(&step) = steps.get(at[task]) {
                match step {
                    Step::Give(to) => *given.entry((task, to)).or_default() += 1,
                    Step::Take(from) => match given.get_mut(&(from, task)) {
                        Some(permits) if *permits > 0 => *permits -= 1,
                        _ => break,
                    },
                    Step::Yield => {}
                }
                at[task] += 1;
                went = true;
            }
        }
        if !went {
            let waits = |(task, steps): (usize, &Vec<Step>)| match steps.get(at[task])? {
                Step::Take(from) => Some((task, *from)),
                _ => None,
            };
            return program.iter().enumerate().filter_map(waits).collect();
        }
    }
}

fn run(pool: &Pool, program: &Program) -> BTreeMap<usize, usize> {
    let tasks = program.len();
    let end = pool.computation(|all| {
        let semaphore = |n: usize| all.own(&(n / tasks).to_string(), Semaphore::new(0));
        let semaphores: Arc<[Own<'_, Semaphore>]> = (0..tasks * tasks).map(semaphore).collect();
        for (task, steps) in program.iter().enumerate() {
            let semaphores = Arc::clone(&semaphores);
            all.spawn(&task.to_string(), async move {
                for &step in steps {
                    match step {
                        Step::Give(to) => semaphores[task * tasks + to].add_permits(1),
                        Step::Take(from) => {
                            semaphores[from * tasks + task].acquire().await.unwrap().forget();
                        }
                        Step::Yield => task::yield_now().await,
                    }
                }
            });
        }
    });
    match end {
        Ok(()) => BTreeMap::new(),
        Err(_) => {
            let number = |name: &str| name.parse::<usize>().unwrap();
            stuck(end).iter().map(|(task, for_)| (number(task), number(&for_[0]))).collect()
        }
    }
}

#[test]
fn random_programs_end_as_they_are_simulated() {
    let pools: Vec<Pool> = pools().collect();
    let (mut complete, mut incomplete) = (0, 0);
    for seed in 0..600 {
        let program = program(seed);
        let expected = simulated(&program);
        for pool in &pools {
            assert_eq!(run(pool, &program), expected, "seed {seed}: {program:?}");
        }
        *(if expected.is_empty() { &mut complete } else { &mut incomplete }) += 1;
    }
    assert!(complete > 50 && incomplete > 50, "both are tried: {complete}, {incomplete}");
}
