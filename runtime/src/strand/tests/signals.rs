//! Signals: random programs of threads and of tasks that wait on stacks, which signal each other and wait at join counters, against an interpreter
//! that goes through what they do in one order in which that could happen.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

use super::limits::{at_rest, metered_pool};
use super::*;
use crate::sync::{Barrier, JoinCounter, OnceCell, Semaphore, SetError};
use crate::task;
use crate::thread::{self as threads, Current, Received, Signaller};

/// Whether tasks may wait on stacks of their own.
const HAS_STACKS: bool = cfg!(all(feature = "stacks", not(locksley_portable)));

#[derive(Clone, Copy, Debug)]
enum Step {
    Work(i64),
    Join(i64, i64),
    /// To a join counter.
    Count(usize),
    /// Until that is complete.
    Wait(usize),
    /// To a thread.
    Signal(usize),
    /// So many.
    Receive(usize),
    /// At a barrier.
    Meet(usize),
}

/// Who sends signals to a thread: then it is decided which is which.
#[derive(Clone, Copy, Debug)]
enum Sender {
    /// One task, in its order. The thread waits for some of them when it likes.
    One(usize),
    /// Anybody. The thread waits for all of them before it does anything else.
    Many,
}

/// What each task does, and all of it in an order in which none waits for ever.
#[derive(Debug)]
struct Plan {
    steps: Vec<Vec<Step>>,
    order: Vec<(usize, Step)>,
    /// How many signals each join counter waits for. The first one is for all to begin, and the last for all to have ended.
    counters: Vec<usize>,
    senders: Vec<Sender>,
    /// For how many each barrier is.
    barriers: Vec<usize>,
    /// Whether a task waits on a stack. Such a one is no thread.
    on_stack: Vec<bool>,
}

impl Plan {
    fn random(random: &mut Random, with_stacks: bool) -> Self {
        let tasks = 2 + random.below(6) as usize;
        let counters = 3 + random.below(6) as usize;
        let mut sender = |task| match random.below(3) {
            0 => Sender::Many,
            _ => Sender::One((task + 1 + random.below(tasks as u64 - 1) as usize) % tasks),
        };
        let senders: Vec<_> = (0..tasks).map(&mut sender).collect();
        let on_stack: Vec<_> = (0..tasks).map(|_| with_stacks && random.below(3) == 0).collect();
        let steps = vec![Vec::new(); tasks];
        let (order, counters_of) = (Vec::new(), vec![0; counters]);
        let mut plan =
            Self { steps, order, counters: counters_of, senders, barriers: Vec::new(), on_stack };
        // Each is for some of the tasks, always the same.
        let mut parties = Vec::new();
        for _ in 0..random.below(3) {
            let some: Vec<_> = (0..tasks).filter(|_| random.below(2) == 0).collect();
            plan.barriers.push(some.len());
            parties.push(some);
        }
        let (mut sent, mut received) = (vec![0; tasks], vec![0; tasks]);
        let mut is_waited_for = vec![false; counters];
        (0..tasks).for_each(|task| plan.does(task, Step::Wait(0)));
        for _ in 0..40 + random.below(120) {
            let task = random.below(tasks as u64) as usize;
            let counter = 1 + random.below(counters as u64 - 2) as usize;
            let to = random.below(tasks as u64) as usize;
            let (may_send, may_receive) = match plan.senders[to] {
                Sender::One(sender) => (sender == task, sent[task] > received[task]),
                Sender::Many => (received[to] == 0, false),
            };
            match random.below(9) {
                0 | 1 => plan.does(task, Step::Work(random.below(50_000) as i64)),
                2 => {
                    let [first, second] = [(); 2].map(|()| random.below(20_000) as i64);
                    plan.does(task, Step::Join(first, second));
                }
                3 if !is_waited_for[counter] => plan.does(task, Step::Count(counter)),
                4 if random.below(3) == 0 => {
                    is_waited_for[counter] = true;
                    plan.does(task, Step::Wait(counter));
                }
                5 | 6 if may_send && !plan.on_stack[to] => {
                    sent[to] += 1;
                    plan.does(task, Step::Signal(to));
                }
                7 if !plan.on_stack[task] && matches!(plan.senders[task], Sender::Many) => {
                    // All of them, by two waits with nothing between.
                    let all = sent[task] - received[task];
                    let first = random.below(all as u64 + 1) as usize;
                    if received[task] == 0 && all > 0 {
                        plan.does(task, Step::Receive(first));
                        plan.does(task, Step::Receive(all - first));
                        received[task] = all;
                    }
                }
                7 if may_receive && !plan.on_stack[task] => {
                    let some = 1 + random.below((sent[task] - received[task]) as u64) as usize;
                    plan.does(task, Step::Receive(some));
                    received[task] += some;
                }
                8 if !parties.is_empty() => {
                    let barrier = random.below(parties.len() as u64) as usize;
                    parties[barrier].iter().for_each(|&one| plan.does(one, Step::Meet(barrier)));
                }
                _ => {}
            }
        }
        (0..tasks).for_each(|task| plan.does(task, Step::Count(counters - 1)));
        plan
    }

    fn does(&mut self, task: usize, step: Step) {
        if let Step::Count(counter) = step {
            self.counters[counter] += 1;
        }
        self.steps[task].push(step);
        self.order.push((task, step));
    }
}

/// A plan that is being carried out.
struct Run {
    plan: Plan,
    counters: Vec<JoinCounter>,
    barriers: Vec<Barrier>,
    signallers: OnceLock<Vec<Option<Signaller>>>,
}

impl Run {
    fn of(plan: Plan) -> Arc<Self> {
        let mut counters: Vec<_> = plan.counters.iter().map(|&all| JoinCounter::new(all)).collect();
        counters[0] = JoinCounter::new(1);
        let barriers = plan.barriers.iter().map(|&parties| Barrier::new(parties)).collect();
        Arc::new(Self { plan, counters, barriers, signallers: OnceLock::new() })
    }

    /// What does not wait.
    fn step(&self, step: Step) {
        let work = |ticks: i64| {
            (0..ticks % 64).for_each(|_| spin_loop());
            if ticks % 7 == 0 {
                thread::yield_now();
            }
            spend(ticks);
        };
        match step {
            Step::Work(ticks) => work(ticks),
            Step::Join(first, second) => {
                crate::join(|| work(first), || work(second));
            }
            Step::Count(counter) => self.counters[counter].signal(),
            Step::Signal(to) => {
                let signallers = self.signallers.get().expect("they were there before it began");
                signallers[to].as_ref().expect("it is a thread").signal();
            }
            Step::Wait(_) | Step::Receive(_) | Step::Meet(_) => unreachable!("it waits"),
        }
    }

    async fn run(&self, task: usize, me: Current) {
        for &step in &self.plan.steps[task] {
            match step {
                Step::Wait(counter) => self.counters[counter].wait().await,
                Step::Receive(signals) => me.wait(signals).await,
                Step::Meet(barrier) => _ = self.barriers[barrier].wait().await,
                _ => self.step(step),
            }
        }
    }

    fn run_blocking(&self, task: usize) {
        for &step in &self.plan.steps[task] {
            match step {
                Step::Wait(counter) => block_on(self.counters[counter].wait()),
                Step::Meet(barrier) => _ = block_on(self.barriers[barrier].wait()),
                _ => self.step(step),
            }
        }
    }

    /// Begins all, and waits until all have come to their end.
    fn carry_out(self: &Arc<Self>, worker: &Worker) {
        let begin = |task: usize| {
            let this = Arc::clone(self);
            if self.plan.on_stack[task] {
                worker.spawn(move |_| this.run_blocking(task));
                return None;
            }
            let body = async move |me| this.run(task, me).await;
            Some(threads::create(0, body).signaller())
        };
        let signallers = (0..self.plan.steps.len()).map(begin).collect();
        assert!(self.signallers.set(signallers).is_ok());
        self.counters[0].signal();
        block_on(self.counters.last().expect("there are some").wait());
    }
}

/// The longest path, when the first strand has waited for all; and the work.
fn expected(plan: &Plan, burden: i64) -> (Path, i64) {
    let start = Path::default().along(burden);
    let mut paths = vec![start; plan.steps.len()];
    let mut counted: Vec<Option<Path>> = vec![None; plan.counters.len()];
    counted[0] = Some(start);
    let mut sent = vec![VecDeque::new(); plan.steps.len()];
    let mut met = vec![Vec::new(); plan.barriers.len()];
    let mut work = 0;
    for &(task, step) in &plan.order {
        let path = paths[task];
        let goes_on = |path: Path, ticks| Path {
            span: path.span + ticks,
            burdened: path.burdened + ticks,
            ..path
        };
        paths[task] = match step {
            Step::Work(ticks) => {
                work += ticks;
                goes_on(path, ticks)
            }
            Step::Join(first, second) => {
                work += first + second;
                goes_on(path, first).meet(goes_on(path.along(burden), second).along(burden))
            }
            Step::Count(counter) => {
                let path_there = path.along(burden);
                let longest = counted[counter].map_or(path_there, |it| it.meet(path_there));
                counted[counter] = Some(longest);
                path
            }
            Step::Wait(counter) => counted[counter].map_or(path, |it| path.meet(it)),
            Step::Signal(to) => {
                sent[to].push_back(path.along(burden));
                path
            }
            Step::Meet(barrier) => {
                met[barrier].push(task);
                if met[barrier].len() == plan.barriers[barrier] {
                    let all = || met[barrier].iter();
                    let longest = all().map(|&one| paths[one].along(burden)).reduce(Path::meet);
                    for &one in met[barrier].iter().filter(|&&one| one != task) {
                        paths[one] = paths[one].meet(longest.expect("they have met"));
                    }
                    met[barrier].clear();
                    path.meet(longest.expect("they have met"))
                } else {
                    path
                }
            }
            Step::Receive(signals) => sent[task].drain(..signals).fold(path, Path::meet),
        };
    }
    (counted.pop().flatten().expect("all have ended"), work)
}

fn check_signals(seed: u64, with_stacks: bool, build: impl Fn() -> PoolBuilder) {
    let pool = build().build().unwrap();
    let burden = Region::new(Clock::Virtual, 1).burden();
    let mut random = Random(seed);
    for number in 0..PROGRAMS {
        let run = Run::of(Plan::random(&mut random, with_stacks));
        let ((), figures) = pool.metered_by(Clock::Virtual, |worker| run.carry_out(worker));
        let (path, work) = expected(&run.plan, burden);
        let found = (figures.path.span, figures.path.burdened, figures.work);
        assert_eq!(found, (path.span, path.burdened, work), "{number}: {:?}", run.plan);
        assert_eq!(figures.uncarried, 0, "{number}: {:?}", run.plan);
    }
}

#[test]
fn random_threads_on_any_number_of_workers() {
    for workers in 1..=5 {
        check_signals(workers as u64 * 7919, false, || Pool::builder().workers(workers));
    }
}

#[test]
fn random_threads_and_stacks_that_wait_on_any_number_of_workers() {
    for workers in (1..=5).filter(|_| HAS_STACKS) {
        check_signals(61 * workers as u64, true, || Pool::builder().workers(workers));
    }
}

#[test]
fn random_threads_without_stacks_that_wait() {
    for workers in [1, 3] {
        let build = || Pool::builder().workers(workers).waiting_stacks(0);
        check_signals(67 + workers as u64, false, build);
    }
}

#[test]
fn random_threads_that_run_where_they_were_woken() {
    let build = || Pool::builder().workers(3).placement(crate::task::Placement::Current);
    check_signals(71, HAS_STACKS, build);
}

/// The first signal is the one that comes after most, and the last one wakes.
#[test]
fn a_signal_that_came_before_is_not_forgotten() {
    for in_thread in [true, false] {
        let pool = Pool::new(1).unwrap();
        let counter = Arc::new(JoinCounter::new(2));
        let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
            worker.join(
                |worker| {
                    let wait = Arc::clone(&counter);
                    let waiter = threads::create(0, async move |me| {
                        if in_thread {
                            me.wait(2).await
                        } else {
                            wait.wait().await
                        }
                        spend(7);
                    });
                    let signal = || {
                        if in_thread { waiter.signal() } else { counter.signal() }
                    };
                    assert!(worker.run_one(), "it waits");
                    worker.join(|_| (spend(100), signal()), |_| (spend(5), signal()));
                    waiter.join().unwrap();
                    spend(1);
                },
                |_| spend(10),
            );
        });
        assert_eq!((figures.work, figures.path.span, figures.uncarried), (123, 108, 0));
    }
}

/// What the producer does for later ones is on no path of the first, though all signals are there when it is waited for.
#[test]
fn a_signal_for_a_later_wait_comes_early() {
    const SIGNALS: i64 = 20;
    let pool = Pool::new(1).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        let consumer = threads::create(0, async |me| {
            for _ in 0..SIGNALS {
                me.wait(1).await;
                spend(3);
            }
        });
        for _ in 0..SIGNALS {
            spend(10);
            consumer.signal();
        }
        consumer.join().unwrap();
    });
    assert_eq!((figures.work, figures.path.span), (13 * SIGNALS, 10 * SIGNALS + 3));
    assert_eq!(figures.uncarried, 0);
}

/// Of those who come from outside nothing is known, and this is said: but only if a strand goes on after them, and not a plain thread.
#[test]
fn strangers_signal() {
    let pool = Pool::new(1).unwrap();
    // Before anything of the region.
    let before = JoinCounter::new(2);
    before.signal();
    for in_strand in [true, false] {
        let counter = JoinCounter::new(2);
        let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
            spend(5);
            thread::scope(|threads| {
                threads.spawn(|| counter.signal());
            });
            counter.signal();
            if in_strand {
                block_on(counter.wait());
            } else {
                thread::scope(|threads| {
                    threads.spawn(|| block_on(counter.wait()));
                });
            }
            spend(6);
        });
        let told = (figures.work, figures.path.span, figures.uncarried);
        assert_eq!(told, (11, 11, u64::from(in_strand)));
    }
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        spend(5);
        before.signal();
        block_on(before.wait());
    });
    // Unless something else in the process was metered when the first one came.
    assert!(figures.uncarried <= 1, "{figures:?}");
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        let thread = threads::create(2, async |_| spend(3));
        thread::scope(|threads| {
            threads.spawn(|| thread.signal());
        });
        spend(5);
        thread.signal();
        thread.join().unwrap();
    });
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (8, 8, 1));
}

/// What has come to its end in one region is nothing to the next; but two that are metered at the same time do not know each other's paths.
#[test]
fn signals_from_another_region() {
    let pool = Pool::new(1).unwrap();
    let counter = JoinCounter::new(1);
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        spend(100);
        counter.signal();
        assert!(counter.is_complete());
    });
    assert_eq!(figures.uncarried, 0);
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        block_on(counter.wait());
        spend(5);
    });
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (5, 5, 0));
    let pools = [(); 2].map(|()| metered_pool(1));
    let counter = JoinCounter::new(2);
    pools[0].run(|_| {
        spend(100);
        counter.signal();
    });
    pools[1].run(|_| {
        spend(10);
        counter.signal();
        block_on(counter.wait());
    });
    pools[0].run(|_| assert!(counter.is_complete()));
    let uncarried = pools.each_ref().map(|pool| at_rest(pool).uncarried);
    assert_eq!(uncarried, [1, 1], "each lacks a signal of the other's");
    assert_eq!(at_rest(&pools[1]).path.span, 10);
}

/// The paths of a region inside of another one have the same beginning. What is made in the inner one is good in the outer one afterwards.
#[test]
fn signals_between_a_region_and_the_one_around_it() {
    let pool = Pool::new(1).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
        let counter = JoinCounter::new(2);
        let inner = |worker: &Worker, ticks| {
            let inside = worker.in_region(Clock::Virtual, Site::here(), |_| {
                spend(ticks);
                counter.signal();
            });
            inside.1.path.span
        };
        let inner_spans = worker.join(|w| inner(w, 100), |w| inner(w, 20));
        assert_eq!(inner_spans, (100, 20));
        block_on(counter.wait());
        spend(3);
    });
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (123, 103, 0));
}

/// What a thread waits for when the report has been given is not carried any more, and nothing is kept for it.
#[test]
fn a_thread_outlives_its_report() {
    let pool = Pool::new(1).unwrap();
    let (thread, _) =
        pool.metered_by(Clock::Virtual, |_| threads::create(1, async |me| me.wait(1).await));
    thread.signal();
    thread.signal();
    thread.join().unwrap();
}

/// A poll that has found what tells, and waits for what does not, counts; and one that is a part of another does not tell for that.
#[test]
fn polls_that_tell_and_polls_that_do_not() {
    let pool = Pool::new(1).unwrap();
    let counted = |begin: &(dyn Fn(Arc<JoinCounter>, Arc<Semaphore>) -> task::Task<()> + Sync)| {
        let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
            let (complete, permits) = (Arc::new(JoinCounter::new(0)), Arc::new(Semaphore::new(1)));
            begin(complete, permits).join().unwrap();
        });
        figures.uncarried
    };
    let found = counted(&|complete, _| task::spawn(async move { complete.wait().await }));
    assert_eq!(found, 0);
    let foreign = counted(&|_, permits| task::spawn(async move { drop(permits.acquire().await) }));
    assert_eq!(foreign, 1);
    let both = counted(&|complete, _| {
        task::spawn(async move {
            complete.wait().await;
            task::yield_now().await;
            complete.wait().await;
        })
    });
    assert_eq!(both, 1, "the first poll waits for something else");
    let full = counted(&|_, _| {
        let cell = OnceCell::from(1);
        task::spawn(async move {
            assert_eq!(cell.get_or_init(async || 2).await, &1);
        })
    });
    assert_eq!(full, 0, "a cell that has its value");
    let waits_and_finds = counted(&|complete, _| {
        task::spawn(async move {
            let last = Arc::new(JoinCounter::new(1));
            let (mut wait, mut signal) = (pin!(last.wait()), Some(Arc::clone(&last)));
            poll_fn(|context| {
                let polled = wait.as_mut().poll(context);
                assert!(pin!(complete.wait()).poll(context).is_ready());
                if let Some(signal) = signal.take() {
                    assert!(polled.is_pending());
                    let worker = |worker: Option<&Worker>| {
                        worker.expect("a task").spawn(move |_| signal.signal());
                    };
                    Worker::with_current(worker);
                }
                polled
            })
            .await;
        })
    });
    assert_eq!(
        waits_and_finds, 0,
        "what it waits for has told, and so has what it found meanwhile"
    );
    let inside = counted(&|complete, permits| {
        task::spawn(async move {
            complete.wait().await;
            block_on(async { drop(permits.acquire().await) });
        })
    });
    assert_eq!(inside, 1, "the wait inside");
    let inside = counted(&|complete, permits| {
        task::spawn(async move {
            drop(permits.acquire().await);
            block_on(complete.wait());
        })
    });
    assert_eq!(inside, 1, "the poll around it");
}

/// Polls a future when it is woken, at once, as a strand that has nothing to come after but what it waits for.
struct AtOnce {
    region: Arc<Region>,
    future: Mutex<Option<Waiting<'static>>>,
    end: OnceLock<i64>,
}

type Waiting<'f> = Pin<Box<dyn Future<Output = ()> + Send + 'f>>;

impl AtOnce {
    fn poll(self: &Arc<Self>) {
        let Some(mut future) = self.future.lock().unwrap().take() else { return };
        let waker = Waker::from(Arc::clone(self));
        Worker::with_current(|current| {
            let worker = current.expect("a strand signals");
            let (polled, path) = worker.as_strand(&self.region, &Path::default(), || {
                future.as_mut().poll(&mut Context::from_waker(&waker))
            });
            match polled.unwrap_or_else(|payload| unwind::resume(payload)) {
                Poll::Ready(()) => self.end.set(path.span).unwrap(),
                Poll::Pending => *self.future.lock().unwrap() = Some(future),
            }
        });
    }
}

impl Wake for AtOnce {
    fn wake(self: Arc<Self>) {
        self.poll();
    }
}

/// However soon somebody goes on whom a signal lets go, the path is there: it arrives before that. (If it is the other way round, this fails.)
#[test]
fn a_path_is_there_when_the_signal_is() {
    fn check<S: Send + Sync + 'static>(
        make: impl Fn() -> S + Sync,
        wait: impl Fn(Arc<S>) -> Waiting<'static> + Sync,
        signal: impl Fn(&S) + Sync,
    ) {
        let pool = Pool::new(1).unwrap();
        let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
            let signals = Arc::new(make());
            let future = Mutex::new(Some(wait(Arc::clone(&signals))));
            let region = Arc::clone(worker.region().unwrap());
            let waiter = Arc::new(AtOnce { region, future, end: OnceLock::new() });
            waiter.poll();
            assert_eq!(waiter.end.get(), None, "it waits");
            spend(50);
            signal(&signals);
            assert_eq!(waiter.end.get(), Some(&50));
        });
        assert_eq!((figures.work, figures.path.span, figures.uncarried), (50, 50, 0));
    }
    check(
        || JoinCounter::new(1),
        |counter| Box::pin(async move { counter.wait().await }),
        JoinCounter::signal,
    );
    check(
        || Received::new(None),
        |received| Box::pin(async move { received.wait(1).await }),
        Received::give,
    );
    check(
        || Barrier::new(2),
        |barrier| Box::pin(async move { _ = barrier.wait().await }),
        |barrier| {
            let mut arrives = pin!(barrier.wait());
            let polled = arrives.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_ready(), "it comes last");
        },
    );
    // One has its turn to make the value, and waits for the second permit; whoever gives that lets it go on.
    for succeeds in [true, false] {
        check(
            || (OnceCell::new(), JoinCounter::new(1), Mutex::new(None)),
            move |shared| {
                let maker = Arc::clone(&shared);
                let mut make: Waiting<'static> = Box::pin(async move {
                    let (cell, begin, _) = &*maker;
                    let made = cell.get_or_try_init(async || {
                        begin.wait().await;
                        if succeeds { Ok(()) } else { Err(()) }
                    });
                    assert_eq!(made.await.is_ok(), succeeds);
                });
                let polled = make.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending());
                *shared.2.lock().unwrap() = Some(make);
                Box::pin(async move { _ = shared.0.get_or_init(async || ()).await })
            },
            |(_, begin, make)| {
                begin.signal();
                let mut make = make.lock().unwrap().take().unwrap();
                let polled = make.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_ready());
            },
        );
    }
}

/// A value comes after who has made it, and after those who have failed to before; also where it is found at once, by who has done less.
#[test]
fn a_value_comes_after_who_has_made_it() {
    let pool = Pool::new(1).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
        let (cell, other) = (OnceCell::new(), OnceCell::new());
        // On one worker, one after the other.
        worker.join(
            |_| {
                let made = block_on(cell.get_or_try_init(async || {
                    spend(30);
                    Err::<(), _>("no")
                }));
                assert_eq!(made, Err("no"));
            },
            |worker| {
                worker.join(
                    |_| {
                        block_on(cell.get_or_init(async || spend(20)));
                        spend(7);
                        assert_eq!(other.set(1), Ok(()));
                    },
                    |_| {
                        spend(5);
                        assert_eq!(other.get(), Some(&1));
                        spend(3);
                    },
                );
            },
        );
        spend(1);
    });
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (66, 61, 0));
}

/// Who sees that it has occurred comes after it, in whatever words that is asked; but for who only has it printed.
#[test]
fn who_sees_that_it_has_occurred_comes_after_it() {
    type Looks = fn(&OnceCell<i32>, &JoinCounter);
    let looks: [(Looks, i64); 5] = [
        (|cell, _| assert_eq!(cell.get(), Some(&1)), 23),
        (|cell, _| assert_eq!(cell.set(2), Err(SetError::AlreadySet(2))), 23),
        (|_, counter| assert!(counter.is_complete()), 23),
        (|_, counter| assert_eq!(counter.missing(), 0), 23),
        (|cell, _| assert_eq!(format!("{cell:?}"), "OnceCell(Some(1))"), 20),
    ];
    let pool = Pool::new(1).unwrap();
    for (number, (look, span)) in looks.into_iter().enumerate() {
        let (cell, counter) = (OnceCell::new(), JoinCounter::new(1));
        let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
            // On one worker, one after the other.
            let sets = || {
                spend(20);
                assert_eq!(cell.set(1), Ok(()));
                counter.signal();
            };
            let finds = || {
                spend(5);
                look(&cell, &counter);
                spend(3);
            };
            worker.join(|_| sets(), |_| finds());
        });
        let told = (figures.work, figures.path.span, figures.uncarried);
        assert_eq!(told, (28, span, 0), "{number}");
    }
}

/// A process of a network comes after what it has waited for, also where that is no channel; and it is known.
#[test]
fn a_process_waits_for_signals() {
    use crate::kahn::Network;
    for (workers, on_stack) in [(1, false), (2, false), (1, true), (2, true)] {
        if on_stack && !HAS_STACKS {
            continue;
        }
        let pool = Pool::new(workers).unwrap();
        let counter = Arc::new(JoinCounter::new(2));
        let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
            let mut network = Network::new();
            let (out, inn) = network.channel("numbers", 1);
            let early = Arc::clone(&counter);
            network.process("sends", out, async move |mut out| {
                spend(10);
                early.signal();
                out.send(1).await;
                spend(500);
                early.signal();
            });
            let wait = Arc::clone(&counter);
            if on_stack {
                network.process_on_stack("receives", inn, move |mut inn| {
                    assert_eq!(inn.recv_blocking().unwrap(), Some(1));
                    block_on(wait.wait());
                    spend(7);
                });
            } else {
                network.process("receives", inn, async move |mut inn| {
                    assert_eq!(inn.recv().await, Some(1));
                    wait.wait().await;
                    spend(7);
                });
            }
            network.run(&pool).unwrap();
        });
        let told = (figures.work, figures.path.span, figures.uncarried);
        assert_eq!(told, (517, 517, 0), "{workers} {on_stack}");
    }
}

/// Threads of a computation, too.
#[test]
fn threads_of_a_computation_signal() {
    for workers in [1, 2] {
        let pool = Pool::new(workers).unwrap();
        let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
            let ended = crate::computation::run(|all| {
                let sum = all.create("sum", 0, async |me| {
                    me.wait(2).await;
                    spend(5);
                });
                for ticks in [300, 20] {
                    let sum = sum.clone();
                    all.create("part", 0, async move |_| {
                        spend(ticks);
                        sum.signal();
                    });
                }
            });
            ended.unwrap();
        });
        // Who runs it does not come after it: that is not carried.
        assert_eq!((figures.work, figures.path.span), (325, 305));
    }
}

/// Also if a plain thread begins it in a pool that is metered: the region is that pool's, and not the global one's.
#[test]
fn threads_of_a_computation_that_is_begun_outside_signal() {
    for workers in [1, 2] {
        let pool = metered_pool(workers);
        let ended = pool.computation(|all| {
            let sum = all.create("sum", 0, async |me| {
                me.wait(2).await;
                spend(5);
            });
            for ticks in [300, 20] {
                let sum = sum.clone();
                all.create("part", 0, async move |_| {
                    spend(ticks);
                    sum.signal();
                });
            }
        });
        ended.unwrap();
        let figures = at_rest(&pool);
        assert_eq!((figures.work, figures.path.span, figures.uncarried), (325, 305, 0));
    }
}

/// A job that outlives the report of the region that it is of is metered anew, and not within that one.
#[test]
fn a_region_begins_where_the_one_around_it_is_over() {
    let pool = Pool::new(1).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    pool.metered_by(Clock::Virtual, |worker| {
        let around = Arc::clone(worker.region().unwrap());
        worker.spawn(move |worker| {
            assert!(around.is_over(), "it has ended before, on the same worker");
            let (is_within, figures) = worker.in_region(Clock::Virtual, Site::here(), |worker| {
                let (cell, is_within) = (OnceCell::new(), worker.is_in(&around));
                let sets = || {
                    spend(20);
                    assert_eq!(cell.set(1), Ok(()));
                };
                let finds = || {
                    spend(5);
                    assert_eq!(cell.get(), Some(&1));
                    spend(3);
                };
                worker.join(|_| sets(), |_| finds());
                is_within
            });
            let figures = (figures.work, figures.path.span, figures.uncarried);
            tell.send((is_within.unwrap_or(true), figures)).unwrap();
        });
    });
    assert_eq!(told.recv(), Ok((false, (28, 23, 0))));
}
