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

mod cases;
mod polls;

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
