//! Programs whose work and critical path are known: random ones, run by pools with a clock that shows what each strand says it costs,
//! against an interpreter of the same tree.

#[cfg_attr(
    feature = "join-lines",
    allow(dead_code, reason = "the joins of random programs are at one line then")
)]
mod course;
mod followed;
mod graphs;
mod halves;
mod limits;
mod networks;
mod places;
mod signals;
mod taken;

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::fork::{Scope, Waiting};
use crate::meter::virtually::spend;
use crate::meter::{Clock, Figures, KEPT, Meeting, Part, Path, Region, Site};
use crate::pool::Pool;
use crate::unwind;
use crate::worker::Worker;
use crate::{PoolBuilder, block_on, intervals};

/// What a strand, or several, do.
#[derive(Clone, Debug, PartialEq)]
enum Program {
    /// Takes so long.
    Work(i64),
    Sequence(Vec<Program>),
    Join(Box<Program>, Box<Program>),
    Scope(Box<Program>),
    /// Into the innermost scope.
    Spawn(Box<Program>),
    SpawnInOrder(Box<Program>),
    /// Metered by itself, as a part of the whole.
    Region(Box<Program>),
    /// In the other of two pools.
    Elsewhere(Box<Program>),
    /// On each worker of the pool.
    Everywhere(i64),
    /// Detached.
    Leave(Box<Program>),
}

impl Program {
    /// Without its detached tasks.
    fn without_what_it_leaves(&self) -> Self {
        let part = |part: &Self| Box::new(part.without_what_it_leaves());
        match self {
            Self::Leave(_) => Self::Sequence(Vec::new()),
            Self::Work(_) | Self::Everywhere(_) => self.clone(),
            Self::Sequence(parts) => {
                Self::Sequence(parts.iter().map(Self::without_what_it_leaves).collect())
            }
            Self::Join(first, second) => Self::Join(part(first), part(second)),
            Self::Scope(body) => Self::Scope(part(body)),
            Self::Spawn(task) => Self::Spawn(part(task)),
            Self::SpawnInOrder(task) => Self::SpawnInOrder(part(task)),
            Self::Region(inner) => Self::Region(part(inner)),
            Self::Elsewhere(task) => Self::Elsewhere(part(task)),
        }
    }
}

/// Which programs there may be.
#[derive(Clone, Copy)]
struct Kinds {
    scopes: bool,
    /// Those that need a worker which waits to run what does not lie below it.
    of_any_order: bool,
    detached: bool,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn program(&mut self, depth: u64, in_scope: bool, kinds: Kinds) -> Program {
        if depth == 0 {
            return Program::Work(self.below(100_000) as i64);
        }
        let mut part = |in_scope| Box::new(self.program(depth - 1, in_scope, kinds));
        match part(in_scope) {
            first if depth % 2 == 1 => Program::Join(first, part(in_scope)),
            first => match self.below(13) {
                0..3 => Program::Sequence(vec![
                    *first,
                    self.program(depth - 1, in_scope, kinds),
                    self.program(0, in_scope, kinds),
                ]),
                3 => Program::Join(first, Box::new(self.program(0, in_scope, kinds))),
                4..6 if kinds.scopes => {
                    Program::Scope(Box::new(self.program(depth - 1, true, kinds)))
                }
                6 if in_scope => Program::SpawnInOrder(first),
                6..9 if in_scope => Program::Spawn(first),
                9 => Program::Region(Box::new(self.program(depth - 1, false, kinds))),
                10 if kinds.of_any_order => Program::Elsewhere(first),
                11 if kinds.of_any_order => Program::Everywhere(self.below(50_000) as i64),
                12 if kinds.detached => {
                    Program::Leave(Box::new(self.program(depth - 1, false, kinds)))
                }
                _ => Program::Sequence(vec![self.program(0, in_scope, kinds), *first]),
            },
        }
    }
}

/// Runs it, on one of two pools.
fn run<'s>(
    program: &'s Program,
    worker: &Worker,
    scope: Option<&Scope<'s>>,
    pools: &'s Arc<[Pool; 2]>,
) {
    match program {
        Program::Leave(task) => {
            let (task, pools) = (Arc::new(Program::clone(task)), Arc::clone(pools));
            worker.spawn(move |worker| run(&task, worker, None, &pools));
        }
        Program::Work(ticks) => {
            // For others to come and steal.
            (0..ticks % 64).for_each(|_| spin_loop());
            if ticks % 7 == 0 {
                thread::yield_now();
            }
            spend(*ticks);
        }
        Program::Sequence(parts) => {
            parts.iter().for_each(|part| run(part, worker, scope, pools));
        }
        Program::Join(first, second) => {
            worker.join(|w| run(first, w, scope, pools), |w| run(second, w, scope, pools));
        }
        Program::Scope(body) => {
            worker.scope(|worker, scope| run(body, worker, Some(scope), pools));
        }
        Program::Spawn(task) => {
            let scope = scope.expect("it lies in a scope");
            scope.spawn_on(worker, |worker, scope| run(task, worker, Some(scope), pools));
        }
        Program::SpawnInOrder(task) => {
            scope.expect("it lies in a scope").spawn_fifo(|scope| {
                Worker::with_current(|current| {
                    let worker = current.expect("a task runs on a worker");
                    run(task, worker, Some(scope), pools);
                });
            });
        }
        Program::Region(inner) => {
            let (result, figures) = worker
                .in_region(Clock::Virtual, Site::here(), |worker| run(inner, worker, None, pools));
            result.unwrap_or_else(|payload| unwind::resume(payload));
            let here = usize::from(!worker.is_of(&pools[0]));
            let at_once = inner.without_what_it_leaves();
            if at_once == **inner {
                assert_eq!(known(figures), expected(inner, here, pools));
                assert_eq!(figures.under_way, 0, "all has been waited for");
            } else {
                // As far as that has ended.
                let least = expected(&at_once, here, pools);
                assert!(figures.work >= least.work && figures.forks >= least.forks);
                assert!(figures.path.span >= least.path.span);
            }
        }
        Program::Elsewhere(task) => {
            let elsewhere = usize::from(worker.is_of(&pools[0]));
            pools[elsewhere].run(|worker| run(task, worker, scope, pools));
        }
        Program::Everywhere(ticks) => {
            worker.broadcast(|_| spend(*ticks));
        }
    }
}

/// Interprets it.
struct Interpreter<'s> {
    pools: &'s [Pool; 2],
    burden: i64,
    work: i64,
    forks: u64,
    /// The scopes that are open: where their tasks run, and where the longest path has come to.
    scopes: Vec<(usize, Path)>,
    /// The longest path to the end of a detached task.
    left: Path,
}

impl Interpreter<'_> {
    /// Goes on with it at the end of a path, in that pool; returns the path to its end.
    fn go(&mut self, program: &Program, at: Path, here: usize) -> Path {
        match program {
            Program::Work(ticks) => {
                self.work += ticks;
                Path { span: at.span + ticks, burdened: at.burdened + ticks, ..at }
            }
            Program::Sequence(parts) => parts.iter().fold(at, |at, part| self.go(part, at, here)),
            Program::Join(first, second) => {
                self.forks += 1;
                let first = self.go(first, at, here);
                first.meet(self.there_and_back(second, at, here))
            }
            Program::Scope(body) => {
                self.scopes.push((here, at));
                let end = self.go(body, at, here);
                let (_, tasks) = self.scopes.pop().expect("just pushed");
                end.meet(tasks)
            }
            Program::Spawn(task) | Program::SpawnInOrder(task) => {
                let depth = self.scopes.len() - 1;
                let home = self.scopes[depth].0;
                let end = self.there_and_back(task, at, home);
                self.scopes[depth].1 = self.scopes[depth].1.meet(end);
                at
            }
            Program::Region(inner) => self.go(inner, at, here),
            Program::Leave(task) => {
                let end = self.go(task, at.along(self.burden), here);
                self.left = self.left.meet(end);
                at
            }
            Program::Elsewhere(task) => self.there_and_back(task, at, 1 - here),
            Program::Everywhere(ticks) => {
                let work = Program::Work(*ticks);
                let ends = (0..self.pools[here].workers())
                    .map(|_| self.there_and_back(&work, at, here))
                    .collect::<Vec<_>>();
                ends.into_iter().fold(at, Path::meet)
            }
        }
    }

    /// The same, where it could be another worker's.
    fn there_and_back(&mut self, program: &Program, at: Path, here: usize) -> Path {
        self.go(program, at.along(self.burden), here).along(self.burden)
    }
}

fn expected(program: &Program, here: usize, pools: &[Pool; 2]) -> Figures {
    let mut oracle = Interpreter::of(pools);
    let end = oracle.go(program, Path::default(), here);
    oracle.figures(end)
}

impl<'s> Interpreter<'s> {
    fn of(pools: &'s [Pool; 2]) -> Self {
        let burden = Region::new(Clock::Virtual, 1).burden();
        let left = Path::default();
        Interpreter { pools, burden, work: 0, forks: 0, scopes: Vec::new(), left }
    }

    fn figures(&self, end: Path) -> Figures {
        let (work, forks, path) = (self.work, self.forks, end.meet(self.left));
        let (uncarried, under_way, is_mixed) = (0, 0, false);
        let (clock, course) = (Clock::Virtual, [Part::default(); KEPT]);
        let taken = Some(0);
        Figures { clock, work, path, course, forks, taken, uncarried, under_way, is_mixed }
    }
}

/// All but what programs that go to another pool do not say of themselves, or those that leave something behind.
fn known(figures: Figures) -> Figures {
    Figures { under_way: 0, is_mixed: false, course: [Part::default(); KEPT], ..figures }
}

const PROGRAMS: u64 = 60;

/// One region for each program.
fn check(seed: u64, depth: u64, kinds: Kinds, build: impl Fn() -> PoolBuilder) {
    let pools = Arc::new([(); 2].map(|()| build().build().unwrap()));
    let mut random = Random(seed);
    for number in 0..PROGRAMS {
        let program = random.program(depth, false, kinds);
        let ((), figures) = pools[0].metered_by(Clock::Virtual, |w| run(&program, w, None, &pools));
        assert_eq!(known(figures), expected(&program, 0, &pools), "{number}: {program:?}");
        assert_eq!(figures.under_way, 0, "program {number}: {program:?}");
    }
}

/// Two pools that are metered as long as they live, and one thread that asks one of them for a program after the other.
fn check_metered_pools(seed: u64, depth: u64, kinds: Kinds, build: impl Fn() -> PoolBuilder) {
    let pools = Arc::new([(); 2].map(|()| build().metered_virtually().build().unwrap()));
    let (mut random, mut oracle) = (Random(seed), Interpreter::of(&pools));
    let mut outside = Path::default();
    for number in 0..PROGRAMS {
        let program = random.program(depth, false, kinds);
        pools[0].run(|worker| run(&program, worker, None, &pools));
        let end = oracle.go(&program, outside.along(oracle.burden), 0);
        outside = end.along(oracle.burden);
        let expected = oracle.figures(end);
        // Detached tasks may still run.
        let patience = Instant::now() + Duration::from_secs(180);
        let is_over = |figures: Figures| known(figures) == expected && figures.under_way == 0;
        while kinds.detached && !is_over(pools[0].figures()) && Instant::now() < patience {
            thread::yield_now();
        }
        let figures = pools[0].figures();
        assert_eq!(known(figures), expected, "program {number}: {program:?}");
        assert_eq!(figures.under_way, 0, "program {number}: {program:?}");
    }
    let nothing = Figures { work: 0, ..Interpreter::of(&pools).figures(Path::default()) };
    assert_eq!(known(pools[1].figures()), nothing, "all was the first one's");
}

const ANY: Kinds = Kinds { scopes: true, of_any_order: true, detached: false };

#[test]
fn random_programs_on_any_number_of_workers() {
    for workers in [1, 2, 3, 5] {
        check(workers as u64 * 7919, 6, ANY, || Pool::builder().workers(workers));
    }
}

#[test]
fn random_programs_without_stacks_that_wait() {
    for workers in [1, 4] {
        check(17 + workers as u64, 6, ANY, || Pool::builder().workers(workers).waiting_stacks(0));
    }
}

#[test]
fn random_programs_whose_waiters_run_only_what_lies_below() {
    let kinds = Kinds { of_any_order: false, ..ANY };
    for workers in [1, 3] {
        check(23 + workers as u64, 6, kinds, || {
            Pool::builder().workers(workers).waiting(Waiting::Below)
        });
    }
}

#[test]
fn random_programs_on_pools_that_are_always_metered() {
    for workers in [1, 2, 4] {
        let kinds = Kinds { detached: true, ..ANY };
        check_metered_pools(37 * workers as u64, 6, kinds, || Pool::builder().workers(workers));
    }
}

#[test]
fn random_programs_on_such_pools_whose_waiters_run_only_what_lies_below() {
    for workers in [1, 2, 3] {
        let kinds = Kinds { scopes: true, of_any_order: false, detached: true };
        check_metered_pools(41 * workers as u64, 6, kinds, || {
            Pool::builder().workers(workers).waiting(Waiting::Below)
        });
    }
}

#[cfg(feature = "alternatives")]
#[test]
fn random_programs_whose_thieves_take_half() {
    use crate::alternatives::StealHalf;
    use crate::hunt::Balanced;
    let build = || Pool::builder().workers(3).governor(StealHalf(Balanced::default()));
    check(43, 6, ANY, build);
    check_metered_pools(47, 6, ANY, build);
}

#[test]
fn random_programs_oldest_first() {
    check(29, 5, ANY, || Pool::builder().workers(2).oldest_first());
}

#[cfg(feature = "alternatives")]
#[test]
fn random_programs_on_other_deques() {
    use crate::deque::alternatives::DequeKind;
    for deque in [DequeKind::AbpArray, DequeKind::SpinningLock] {
        check(31, 5, ANY, || Pool::builder().workers(3).deque(deque));
    }
}

/// The second half is stolen for certain, and the first waits for it.
#[test]
fn a_wait_for_a_thief_is_neither_work_nor_path() {
    let pool = Pool::new(2).unwrap();
    let is_stolen = AtomicBool::new(false);
    let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
        spend(5);
        worker.join(
            |_| {
                while !is_stolen.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                spend(20);
            },
            |worker| {
                is_stolen.store(true, Ordering::Release);
                spend(100);
                worker.join(|_| spend(1), |_| spend(30));
            },
        );
        spend(7);
    });
    assert_eq!((figures.work, figures.path.span, figures.forks), (163, 142, 2));
    assert_eq!(figures.uncarried, 0);
}

/// Whichever half panics: both have taken their time, and what comes after is metered.
#[test]
fn panics_keep_to_the_path() {
    for workers in [1, 2] {
        for (first_panics, second_panics) in [(true, false), (false, true), (true, true)] {
            let pool = Pool::new(workers).unwrap();
            let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
                let take = |ticks, panics: bool| {
                    spend(ticks);
                    if panics {
                        unwind::resume(Box::new(ticks));
                    }
                };
                let result = unwind::halt(|| {
                    worker.join(|_| take(10, first_panics), |_| take(20, second_panics))
                });
                let payload = result.unwrap_err();
                let first = *payload.downcast_ref::<i64>().unwrap();
                assert_eq!(first, if first_panics { 10 } else { 20 });
                spend(3);
                let scope = unwind::halt(|| {
                    worker.scope(|worker, scope| {
                        scope.spawn_on(worker, |_, _| take(50, true));
                    });
                });
                assert!(scope.is_err());
                spend(2);
            });
            assert_eq!((figures.work, figures.path.span, figures.forks), (85, 75, 1));
        }
    }
}

/// What else the pool does is none of the region's.
#[test]
fn two_regions_at_a_time_do_not_mix() {
    let pool = Pool::new(3).unwrap();
    let tree = |worker: &Worker| {
        fn tree(worker: &Worker, depth: u32) {
            spend(1);
            if depth > 0 {
                worker.join(|w| tree(w, depth - 1), |w| tree(w, depth - 1));
            }
        }
        tree(worker, 10);
    };
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let ((), figures) = pool.metered_by(Clock::Virtual, tree);
                assert_eq!((figures.work, figures.path.span, figures.forks), (2047, 11, 1023));
            });
        }
        // Not metered.
        scope.spawn(|| pool.run(tree));
    });
}

/// Law 2 holds in a region, too.
#[test]
fn the_second_half_does_not_wait_for_the_first() {
    let pool = Pool::new(2).unwrap();
    let flag = AtomicBool::new(false);
    let wait = |_: &Worker| {
        while !flag.load(Ordering::Acquire) {
            thread::yield_now();
        }
    };
    pool.metered(|worker| worker.join(wait, |_| flag.store(true, Ordering::Release)));
}

#[test]
fn what_is_not_carried_is_said() {
    let pool = Pool::new(2).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
        spend(1);
        let task = worker.spawn_future(async { spend(10) });
        block_on(task).unwrap();
        spend(1);
    });
    assert!(figures.uncarried > 0, "{figures:?}");
    assert!((2..=12).contains(&figures.path.span), "{figures:?}");
}

/// `run_one` runs something that has nothing to do with the strand.
#[test]
fn what_is_run_in_between_is_another_strand() {
    let pool = Pool::new(1).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
        spend(1);
        worker.spawn(|_| spend(100));
        assert!(worker.run_one());
        spend(1);
    });
    // The detached task comes after the first tick.
    assert_eq!((figures.work, figures.path.span), (102, 101));
}

#[test]
fn the_latest_of_those_that_meet() {
    let meeting = Meeting::new();
    assert_eq!(meeting.latest(), None);
    let path = |span, burdened| Path { span, burdened, ..Path::default() };
    meeting.arrive(&path(3, 9));
    meeting.arrive(&path(5, 7));
    assert_eq!(meeting.latest(), Some(path(5, 9)));
}

/// Both regions have one beginning; the outer one goes on where the inner one's own code has come to, and has what that leaves behind.
#[test]
fn a_region_inside_leaves_something_behind() {
    let pool = Pool::new(1).unwrap();
    let ((), outer) = pool.metered_by(Clock::Virtual, |worker| {
        spend(1);
        let (result, inner) = worker.in_region(Clock::Virtual, Site::here(), |worker| {
            spend(10);
            worker.spawn(|_| spend(1000));
            assert!(worker.run_one(), "the only worker runs it");
            worker.spawn(|_| spend(100));
        });
        result.unwrap_or_else(|payload| unwind::resume(payload));
        assert_eq!((inner.work, inner.path.span), (1010, 1010));
        spend(5);
        // It belongs to the inner region, which is over, and so to the outer one.
        assert!(worker.run_one());
    });
    assert_eq!((outer.work, outer.path.span, outer.uncarried), (1116, 1011, 0));
}

/// As soon as a thread learns that its task has ended, the pool knows it, too.
#[test]
fn a_pool_knows_at_once_what_it_has_done() {
    let pool = Pool::builder().workers(2).metered_virtually().build().unwrap();
    for n in 1..=2000 {
        pool.run(|worker| worker.join(|_| spend(1), |_| spend(3)));
        let figures = pool.figures();
        assert_eq!((figures.work, figures.path.span, figures.forks), (4 * n, 3 * n, n as u64));
    }
}

/// A pool that lies where another one lay does not go on where that one's callers have come to.
#[test]
fn a_thread_has_waited_for_one_pool_and_not_for_another() {
    for _ in 0..50 {
        let pools =
            [(); 2].map(|()| Pool::builder().workers(1).metered_virtually().build().unwrap());
        for pool in &pools {
            pool.run(|_| spend(7));
            assert_eq!(pool.figures().path.span, 7);
        }
    }
}

/// It comes after the scope's beginning, and of the rest nothing is known.
#[test]
fn a_plain_thread_spawns_into_a_metered_scope() {
    for waiting in [Waiting::Anything, Waiting::Below] {
        let pool = Pool::builder().workers(2).waiting(waiting).build().unwrap();
        let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
            spend(5);
            worker.scope(|_, scope| {
                let spawn = || {
                    scope.spawn(|_| spend(100));
                    scope.spawn_fifo(|_| spend(20));
                    scope.spawn_broadcast(|_, _| spend(3));
                };
                thread::scope(|threads| drop(threads.spawn(spawn)));
            });
            spend(2);
        });
        assert_eq!((figures.work, figures.path.span), (5 + 100 + 20 + 2 * 3 + 2, 107));
        assert_eq!(figures.uncarried, 4);
    }
}

#[test]
fn intervals_come_after_who_makes_them_and_before_who_waits() {
    for workers in [1, 3] {
        let pool = Pool::new(workers).unwrap();
        let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
            spend(1);
            let ended = intervals::Root::new("root").run(|root| {
                spend(2);
                root.interval("parent").spawn(|parent| {
                    spend(10);
                    parent.interval("child").spawn(|_| spend(50));
                });
                root.interval("other").spawn(|_| spend(30));
                spend(4);
            });
            ended.unwrap();
            spend(3);
        });
        assert_eq!((figures.work, figures.path.span, figures.uncarried), (100, 66, 0));
    }
}

/// What was over before anybody waited is no edge that is known.
#[test]
fn a_wait_for_what_is_over_is_said() {
    let pool = Pool::new(1).unwrap();
    let tasks = [(); 2].map(|()| pool.spawn_future(async { spend(10) }));
    pool.run(|worker| while worker.run_one() {});
    assert!(tasks.iter().all(crate::task::Task::is_finished));
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        let [one, other] = tasks;
        block_on(one).unwrap();
        other.join().unwrap();
    });
    assert_eq!((figures.work, figures.uncarried), (0, 2));
}

/// The time of the call is nobody's, and the worker goes on with its strand.
#[test]
fn a_call_that_blocks_is_a_wait() {
    let pool = Pool::new(1).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
        spend(1);
        worker.blocking(|| spend(1000));
        spend(2);
        worker.join(|_| spend(10), |_| spend(20));
    });
    assert_eq!((figures.work, figures.path.span, figures.forks), (33, 23, 1));
    assert_eq!(figures.uncarried, 1);
}

/// A job that carries its path begins a strand of its own whatever it is run on.
#[test]
fn a_strand_upon_a_strand() {
    let pool = Pool::new(1).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
        spend(1);
        let region = Arc::clone(worker.region().unwrap());
        let from = Path { span: 50, burdened: 50, ..Path::default() };
        let (_, path) = worker.as_strand(&region, &from, || spend(5));
        assert_eq!(path.span, 55);
        spend(2);
    });
    // The longest path of all, though the first strand does not come after it.
    assert_eq!((figures.work, figures.path.span), (8, 55));
}
