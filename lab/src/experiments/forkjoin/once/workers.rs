//! The runtimes of this laboratory with their workers started.

use std::num::NonZero;
use std::time::Instant;

use locksley::{Pool, Worker};
use locksley_profile::Profiler;

use super::stuck::{self, Forks, Shape, Takeover};
use super::tree::Node;
use super::{Timed, fib, tree};

/// A runtime that runs in this process.
pub struct Local {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    start: fn(usize) -> Result<Workers, String>,
}

/// All of them, in the order of their turns.
pub static LOCAL: [Local; 7] = [
    Local {
        name: "serial",
        about: "the same code with two calls for a fork",
        start: |_| Ok(Workers::Serial),
    },
    Local {
        name: "serial-plain",
        about: "Ts: the recursion as anybody would write it; compilers turn some of its calls into loops",
        start: |_| Ok(Workers::Plain),
    },
    Local {
        name: "locksley",
        about: "Locksley, Worker::join",
        start: |workers| pool(workers).map(Workers::Locksley),
    },
    Local {
        name: "locksley-join",
        about: "Locksley, join: the worker is looked up at each fork",
        start: |workers| pool(workers).map(Workers::LocksleyJoin),
    },
    Local {
        name: "locksley-profiled",
        about: "Locksley, Worker::join, in a pool with a profiler",
        start: profiled,
    },
    Local { name: "rayon", about: "rayon::join", start: rayon },
    Local {
        name: "chili",
        about: "chili, Scope::join; shares at its heartbeat only",
        start: chili,
    },
];

/// A runtime with its workers; dropping it ends them.
pub(super) enum Workers {
    Serial,
    Plain,
    Locksley(Pool),
    LocksleyJoin(Pool),
    Rayon(rayon::ThreadPool),
    Chili(chili::ThreadPool),
}

/// What is computed.
pub(super) enum Work {
    Fib(u64),
    Tree(Node),
}

impl Local {
    /// The runtime of that name.
    pub fn find(name: &str) -> Option<&'static Local> {
        LOCAL.iter().find(|local| local.name == name)
    }

    pub(super) fn start(&self, workers: usize) -> Result<Workers, String> {
        (self.start)(workers)
    }
}

fn pool(workers: usize) -> Result<Pool, String> {
    Pool::new(workers).map_err(|error| error.to_string())
}

fn profiled(workers: usize) -> Result<Workers, String> {
    let pool = Pool::builder().workers(workers).observer(Profiler::new()).build();
    pool.map(Workers::Locksley).map_err(|error| error.to_string())
}

fn rayon(workers: usize) -> Result<Workers, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
    pool.map(Workers::Rayon).map_err(|error| error.to_string())
}

fn chili(workers: usize) -> Result<Workers, String> {
    let thread_count = NonZero::new(workers);
    let pool = chili::ThreadPool::with_config(chili::Config { thread_count, ..Default::default() });
    Ok(Workers::Chili(pool))
}

impl Workers {
    /// Computes `warm_up`, then `work`, and times the latter on the worker that begins it, so that the way there does not
    /// count.
    pub(super) fn time(&self, warm_up: &Work, work: &Work) -> Timed {
        match self {
            Workers::Serial => timed(warm_up, work, fib::serial, tree::serial),
            Workers::Plain => timed(warm_up, work, fib::plain, tree::plain),
            Workers::Locksley(pool) => pool.install(|w: &Worker| {
                timed(warm_up, work, |n| fib::on_worker(w, n), |node| tree::on_worker(w, node))
            }),
            Workers::LocksleyJoin(pool) => {
                pool.install(|_| timed(warm_up, work, fib::with_join, tree::with_join))
            }
            Workers::Rayon(pool) => {
                pool.install(|| timed(warm_up, work, fib::on_rayon, tree::on_rayon))
            }
            // The calling thread is one of chili's workers.
            Workers::Chili(pool) => timed(
                warm_up,
                work,
                |n| fib::on_chili(&mut pool.scope(), n),
                |node| tree::on_chili(&mut pool.scope(), node),
            ),
        }
    }

    /// Goes through a stuck owner's shape; `None` if this runtime has no forks or loses tasks.
    pub(super) fn stick(&self, shape: Shape) -> Option<Takeover> {
        match self {
            Workers::Serial | Workers::Plain => None,
            Workers::Locksley(pool) => {
                pool.install(|worker| stuck::run::<OnWorker>(shape, &mut &*worker))
            }
            Workers::LocksleyJoin(pool) => pool.install(|_| stuck::run::<WithJoin>(shape, &mut ())),
            Workers::Rayon(pool) => pool.install(|| stuck::run::<OnRayon>(shape, &mut ())),
            Workers::Chili(pool) => stuck::run::<OnChili>(shape, &mut pool.scope()),
        }
    }
}

fn timed(
    warm_up: &Work,
    work: &Work,
    mut fib: impl FnMut(u64) -> u64,
    mut tree: impl FnMut(&Node) -> u64,
) -> Timed {
    // The compiler must not see which numbers these are.
    let mut compute = |work: &Work| match std::hint::black_box(work) {
        Work::Fib(n) => fib(*n),
        Work::Tree(node) => tree(node),
    };
    compute(warm_up);
    let start = Instant::now();
    let answer = compute(work);
    Timed { seconds: start.elapsed().as_secs_f64(), answer }
}

struct OnWorker;
struct WithJoin;
struct OnRayon;
struct OnChili;

impl Forks for OnWorker {
    type Context<'c> = &'c Worker;

    fn fork<A, B>(context: &mut &Worker, first: A, second: B)
    where
        A: for<'c> FnOnce(&mut &'c Worker) + Send,
        B: for<'c> FnOnce(&mut &'c Worker) + Send,
    {
        context.join(|w| first(&mut &*w), |w| second(&mut &*w));
    }
}

impl Forks for WithJoin {
    type Context<'c> = ();

    fn fork<A, B>((): &mut (), first: A, second: B)
    where
        A: FnOnce(&mut ()) + Send,
        B: FnOnce(&mut ()) + Send,
    {
        locksley::join(|| first(&mut ()), || second(&mut ()));
    }
}

impl Forks for OnRayon {
    type Context<'c> = ();

    fn fork<A, B>((): &mut (), first: A, second: B)
    where
        A: FnOnce(&mut ()) + Send,
        B: FnOnce(&mut ()) + Send,
    {
        rayon::join(|| first(&mut ()), || second(&mut ()));
    }
}

impl Forks for OnChili {
    type Context<'c> = chili::Scope<'c>;

    /// The caller of chili's join runs the *second* closure first.
    fn fork<A, B>(context: &mut chili::Scope<'_>, first: A, second: B)
    where
        A: for<'c> FnOnce(&mut chili::Scope<'c>) + Send,
        B: for<'c> FnOnce(&mut chili::Scope<'c>) + Send,
    {
        context.join(|scope| second(scope), |scope| first(scope));
    }
}
