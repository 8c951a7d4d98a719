//! Random graphs of tasks on a simulated pool, compared with the longest path through the graph.

use std::iter;
use std::time::Duration;

use super::*;
use crate::clock::set;

/// A strand: the part of a task between two events on paths.
#[derive(Default)]
struct Node {
    time: u64,
    /// Its causes, and the burden of each.
    causes: Vec<(usize, u64)>,
}

/// One worker of the pool, with a clock that the test sets.
#[derive(Clone, Copy, Default)]
struct Worker {
    now: i64,
    delay: Duration,
    /// True if it runs a task that does not wait.
    is_busy: bool,
}

/// A task that may begin: its cause, by the profiler and by the graph.
#[derive(Clone, Copy)]
struct Cause {
    stamp: Stamp,
    node: usize,
}

struct Pool {
    profiler: Profiler,
    random: u64,
    workers: Vec<Worker>,
    nodes: Vec<Node>,
    /// The profiler's stamps at the ends of nodes.
    told: Vec<Cause>,
    messages: Vec<Cause>,
    tasks: i64,
    taken: i64,
}

impl Pool {
    fn new(workers: usize, seed: u64) -> Self {
        Self {
            profiler: Profiler::with_slots(Slots::new(Clock::Set)),
            random: seed,
            workers: vec![Worker::default(); workers],
            nodes: Vec::new(),
            told: Vec::new(),
            messages: Vec::new(),
            tasks: 0,
            taken: 0,
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % n
    }

    /// Calls the profiler as a worker.
    fn observe<R>(&self, worker: usize, call: impl FnOnce(&Profiler) -> R) -> R {
        let Worker { now, delay, .. } = self.workers[worker];
        set::show(now, Some(delay));
        call(&self.profiler)
    }

    /// Lets time pass in a task. In a long interval, other threads have the processor for a part of
    /// it.
    fn spend(&mut self, worker: usize, node: usize) {
        let time = self.below(1000);
        let taken = if self.below(8) == 0 { ASK_AFTER + 1 + self.below(5000) as i64 } else { 0 };
        self.workers[worker].now += time as i64 + taken;
        self.workers[worker].delay += Duration::from_nanos(taken as u64);
        self.nodes[node].time += time;
        self.taken += taken;
    }

    /// Lets time pass without a task, in which the worker may wait for a processor.
    fn idle(&mut self, worker: usize) {
        let (time, waits) =
            (1 + ASK_AFTER_IDLE + self.below(10 * ASK_AFTER as u64) as i64, self.below(3));
        self.workers[worker].now += time;
        self.workers[worker].delay += Duration::from_nanos(time as u64 / 3 * waits);
    }

    fn node(&mut self, causes: &[(usize, u64)]) -> usize {
        self.nodes.push(Node { time: 0, causes: causes.to_vec() });
        self.nodes.len() - 1
    }

    /// The running task causes another one. Returns the cause.
    fn cause(&mut self, worker: usize, node: usize) -> Cause {
        let stamp = self.observe(worker, |profiler| profiler.stamp(worker));
        let cause = Cause { stamp, node };
        self.told.push(cause);
        cause
    }

    /// The running task follows another cause. Returns its next node.
    fn follow(&mut self, worker: usize, node: usize, cause: Cause) -> usize {
        self.observe(worker, |profiler| profiler.follow(worker, cause.stamp));
        self.node(&[(node, 0), (cause.node, 0)])
    }

    /// A worker that may begin a task: it has no task, or its task waits.
    fn thief(&mut self) -> Option<usize> {
        let first = self.below(self.workers.len() as u64) as usize;
        let mut all = (0..self.workers.len()).map(|it| (first + it) % self.workers.len());
        all.find(|&it| !self.workers[it].is_busy)
    }

    /// A worker begins and ends a task. Returns its end.
    fn task(&mut self, worker: usize, cause: Cause, is_moved: bool, depth: u64) -> Cause {
        let begin = |profiler: &Profiler| profiler.begin(worker, cause.stamp, is_moved);
        if is_moved {
            self.idle(worker);
        }
        let was_busy = std::mem::replace(&mut self.workers[worker].is_busy, true);
        let suspended = self.observe(worker, begin);
        let burden = BURDEN as u64 * if is_moved { 2 } else { 1 };
        let first = self.node(&[(cause.node, burden)]);
        let node = self.body(worker, first, depth);
        let stamp = self.observe(worker, |profiler| profiler.end(worker, suspended));
        self.workers[worker].is_busy = was_busy;
        self.tasks += 1;
        let end = Cause { stamp, node };
        self.told.push(end);
        end
    }

    /// Runs random events of a task. Returns its last node.
    fn body(&mut self, worker: usize, mut node: usize, depth: u64) -> usize {
        for _ in 0..1 + self.below(3) {
            self.spend(worker, node);
            let event = if depth == 0 { 4 + self.below(3) } else { self.below(7) };
            node = match event {
                0..2 => self.fork(worker, node, depth - 1),
                2..4 => self.scope(worker, node, depth - 1),
                4 => {
                    let message = self.cause(worker, node);
                    self.messages.push(message);
                    self.node(&[(node, 0)])
                }
                5 if !self.messages.is_empty() => {
                    let which = self.below(self.messages.len() as u64) as usize;
                    self.follow(worker, node, self.messages[which])
                }
                _ => node,
            };
        }
        self.spend(worker, node);
        node
    }

    fn fork(&mut self, worker: usize, node: usize, depth: u64) -> usize {
        let cause = self.cause(worker, node);
        let thief = if self.below(2) == 0 { self.thief() } else { None };
        let is_early = self.below(2) == 0;
        let stolen = thief.filter(|_| is_early).map(|it| self.task(it, cause, true, depth));
        let node = self.node(&[(node, 0)]);
        let node = self.body(worker, node, depth);
        let end = match (stolen, thief) {
            (Some(end), _) => end,
            (None, Some(thief)) => self.wait(worker, |pool| pool.task(thief, cause, true, depth)),
            (None, None) => self.task(worker, cause, false, depth),
        };
        self.follow(worker, node, end)
    }

    fn scope(&mut self, worker: usize, mut node: usize, depth: u64) -> usize {
        let mut spawned = Vec::new();
        for _ in 0..self.below(4) {
            spawned.push(self.cause(worker, node));
            node = self.node(&[(node, 0)]);
            self.spend(worker, node);
        }
        let end = self.wait(worker, |pool| {
            let ends: Vec<_> = spawned
                .into_iter()
                .map(|cause| {
                    let thief = pool.thief().expect("the waiting worker is one");
                    pool.task(thief, cause, thief != worker, depth)
                })
                .collect();
            let stamp = ends.iter().map(|end| end.stamp).fold(Stamp::default(), Stamp::max);
            let causes: Vec<_> = ends.iter().map(|end| (end.node, 0)).collect();
            Cause { stamp, node: pool.node(&causes) }
        });
        self.follow(worker, node, end)
    }

    /// The worker's task waits, while tasks begin and end.
    fn wait<R>(&mut self, worker: usize, meanwhile: impl FnOnce(&mut Self) -> R) -> R {
        let paused = self.observe(worker, |profiler| profiler.pause(worker));
        self.workers[worker].is_busy = false;
        self.idle(worker);
        let result = meanwhile(self);
        self.idle(worker);
        self.workers[worker].is_busy = true;
        self.observe(worker, |profiler| profiler.resume(worker, paused));
        result
    }

    /// The longest paths to the ends of all nodes. Causes come first.
    fn longest(&self) -> Vec<Stamp> {
        let mut paths: Vec<Stamp> = Vec::new();
        for Node { time, causes } in &self.nodes {
            let ends = causes.iter().map(|&(cause, burden)| {
                let Stamp([span, burdened]) = paths[cause];
                Stamp([span, burdened + burden])
            });
            let Stamp([span, burdened]) = ends.fold(Stamp::default(), Stamp::max);
            paths.push(Stamp([span + time, burdened + time]));
        }
        paths
    }
}

#[test]
fn random_graphs_have_the_longest_path_of_the_oracle() {
    for (workers, seed) in iter::repeat_n([1, 2, 3, 7], 40).flatten().zip(1..) {
        let mut pool = Pool::new(workers, seed * 7919);
        let root = pool.node(&[]);
        for _ in 0..3 {
            let cause = Cause { stamp: Stamp::default(), node: root };
            let (worker, depth) = (pool.below(workers as u64) as usize, 1 + pool.below(5));
            pool.task(worker, cause, true, depth);
        }
        let paths = pool.longest();
        for &Cause { stamp, node } in &pool.told {
            assert_eq!(stamp, paths[node], "{workers} {seed}");
        }
        let ends = pool.told.iter().map(|cause| cause.stamp);
        let longest = ends.fold(Stamp::default(), Stamp::max);
        let expected = paths.iter().copied().fold(Stamp::default(), Stamp::max);
        assert_eq!((longest, pool.profiler.0.slots.longest()), (expected, expected));
        let totals = pool.profiler.0.slots.totals();
        let work: u64 = pool.nodes.iter().map(|node| node.time).sum();
        assert_eq!((totals.work, totals.tasks), (work as i64, pool.tasks), "{workers} {seed}");
        assert_eq!(totals.taken, Some(pool.taken));
    }
}

/// One worker, without a pool.
struct Alone {
    profiler: Profiler,
    now: i64,
    delay: Option<Duration>,
}

impl Alone {
    fn new() -> Self {
        let profiler = Profiler::with_slots(Slots::new(Clock::Set));
        Self { profiler, now: 0, delay: Some(Duration::ZERO) }
    }

    /// Runs for some time, waits for a processor for some time, and then calls the profiler.
    fn after<R>(&mut self, runs: i64, waits: i64, call: impl FnOnce(&Profiler) -> R) -> R {
        self.now += runs + waits;
        self.delay = self.delay.map(|delay| delay + Duration::from_nanos(waits as u64));
        set::show(self.now, self.delay);
        call(&self.profiler)
    }

    fn totals(&self) -> Totals {
        self.profiler.0.slots.totals()
    }
}

#[test]
fn a_running_task_counts_until_now() {
    let mut alone = Alone::new();
    let suspended = alone.after(5, 0, |it| it.begin(3, Stamp([7, 9]), false));
    alone.after(40, 0, |it| assert_eq!(it.stamp(3), Stamp([47, 49 + BURDEN as u64])));
    alone.after(2, 0, |_| ());
    let expected = Totals { work: 42, tasks: 1, taken: Some(0) };
    assert_eq!(alone.totals(), expected);
    assert_eq!(alone.profiler.0.slots.longest(), Stamp([49, 51 + BURDEN as u64]));
    let end = alone.after(1, 0, |it| it.end(3, suspended));
    assert_eq!(end, Stamp([50, 52 + BURDEN as u64]));
    alone.after(100, 0, |_| ());
    assert_eq!(alone.totals(), Totals { work: 43, ..expected });
    assert_eq!(alone.profiler.0.slots.longest(), end);
}

#[test]
fn a_worker_without_a_task_has_no_path() {
    let mut alone = Alone::new();
    alone.after(5, 0, |it| {
        it.follow(0, Stamp([100, 100]));
        let paused = it.pause(0);
        it.resume(0, paused);
        assert_eq!(it.stamp(0), Stamp::default());
    });
    alone.after(5, 0, |_| ());
    assert_eq!(alone.totals(), Totals { work: 0, tasks: 0, taken: Some(0) });
}

/// An earlier cause changes nothing. Each number is the maximum.
#[test]
fn a_path_continues_from_the_longest_of_its_causes() {
    let mut alone = Alone::new();
    alone.after(0, 0, |it| it.begin(0, Stamp([100, 100]), true));
    let burdened = 100 + 2 * BURDEN as u64;
    alone.after(10, 0, |it| it.follow(0, Stamp([105, 0])));
    alone.after(10, 0, |it| assert_eq!(it.stamp(0), Stamp([120, burdened + 20])));
    alone.after(10, 0, |it| it.follow(0, Stamp([500, 0])));
    alone.after(10, 0, |it| assert_eq!(it.stamp(0), Stamp([510, burdened + 40])));
    alone.after(10, 0, |it| it.follow(0, Stamp([0, 90_000])));
    alone.after(10, 0, |it| assert_eq!(it.stamp(0), Stamp([530, 90_010])));
}

#[test]
fn preemption_in_a_long_interval_is_subtracted() {
    let mut alone = Alone::new();
    alone.after(0, 0, |it| it.begin(0, Stamp::default(), false));
    // Too short for the worker to ask.
    alone.after(100, ASK_AFTER - 100, |it| assert_eq!(it.stamp(0).0[0], ASK_AFTER as u64));
    // At most the whole interval.
    let path = alone.after(10, ASK_AFTER, |it| it.stamp(0));
    assert_eq!(path, Stamp([ASK_AFTER as u64, (ASK_AFTER + BURDEN) as u64]));
    assert_eq!(alone.totals(), Totals { work: ASK_AFTER, tasks: 1, taken: Some(ASK_AFTER + 10) });
    alone.after(2 * ASK_AFTER, 500, |it| assert_eq!(it.stamp(0).0[0], 3 * ASK_AFTER as u64));
    assert_eq!(
        alone.totals(),
        Totals { work: 3 * ASK_AFTER, tasks: 1, taken: Some(ASK_AFTER + 510) }
    );
}

/// Before a task begins, and while it waits, preemption does not count.
#[test]
fn waits_without_a_task_are_not_subtracted() {
    let mut alone = Alone::new();
    alone.after(0, 9000, |it| it.begin(0, Stamp::default(), false));
    let paused = alone.after(3 * ASK_AFTER, 0, |it| it.pause(0));
    alone.after(0, 9 * ASK_AFTER, |it| it.resume(0, paused));
    alone.after(3 * ASK_AFTER, 0, |it| it.end(0, NO_TASK));
    alone.after(0, 5 * ASK_AFTER, |it| it.begin(0, Stamp::default(), false));
    alone.after(2 * ASK_AFTER, 0, |it| it.end(0, NO_TASK));
    assert_eq!(alone.totals(), Totals { work: 8 * ASK_AFTER, tasks: 2, taken: Some(0) });
}

#[test]
fn an_unknown_delay_is_reported_as_unknown() {
    let mut alone = Alone { delay: None, ..Alone::new() };
    alone.after(1, 0, |it| it.begin(0, Stamp::default(), false));
    alone.after(2 * ASK_AFTER, 0, |it| it.end(0, NO_TASK));
    assert_eq!(alone.totals(), Totals { work: 2 * ASK_AFTER, tasks: 1, taken: None });
}

/// Slots are allocated in groups.
#[test]
fn any_slot_can_be_used() {
    let mut alone = Alone::new();
    for slot in [0, BLOCK - 1, BLOCK, MAX_SLOTS - 1] {
        alone.after(1, 0, |it| it.begin(slot, Stamp::default(), false));
        alone.after(10, 0, |it| it.end(slot, NO_TASK));
    }
    assert_eq!(alone.totals(), Totals { work: 40, tasks: 4, taken: Some(0) });
}
