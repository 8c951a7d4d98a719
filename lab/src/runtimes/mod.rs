//! What executes an application: [`ALL`] lists the runtimes by name, and a [`Crew`] is one of them
//! with its workers started.

mod locksley;
mod profiled;
mod rayon;

pub use self::rayon::RayonPool;
pub use profiled::Profiled;

use std::time::{Duration, Instant};

use ::locksley::PoolBuilder;
use ::locksley::alternatives::DequeKind;
use ::locksley::idle::{Abp, Bws};
use ::locksley::os::Assists;
use locksley_profile::Profiler;

use crate::apps::{App, Instance};
use crate::fault::{Fault, Outcome};
use crate::policies::{
    DELAYED_YIELD, EXACT_ABP, ExactBws, GlobalInformation, NO_YIELD, SELECTIVE_YIELD,
};
use crate::team::Team;

/// A runtime that the command line and the experiments know by name.
pub struct Runtime {
    /// Its name on the command line, in records and in pictures.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The version of an application that it executes.
    pub model: Model,
    start: Start,
}

/// How the workers of a runtime are started.
enum Start {
    /// As those of a Locksley pool with these options.
    Pool(Options),
    /// Otherwise.
    Other(fn(usize) -> Result<Crew, String>),
}

/// Options of a Locksley pool.
type Options = fn(PoolBuilder) -> PoolBuilder;

/// The versions of an application. Every application has all but, for some, the static one, and for
/// most that of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// The serial program.
    Serial,
    /// One share of the work for each thread, and a barrier.
    Static,
    /// Fork-join on an explicit Locksley worker.
    Locksley,
    /// A graph of intervals on a Locksley pool.
    Intervals,
    /// Fork-join with `rayon::join`.
    Rayon,
}

/// Every runtime. Another idle policy of Locksley's is one entry here.
pub static ALL: &[Runtime] = &[
    fork_join("locksley", "work stealing, Locksley with its default idle policy", |b| b),
    fork_join("locksley-profiled", "the same with a profiler", |b| b.observer(Profiler::new())),
    fork_join(
        "locksley-abp",
        "work stealing, Locksley with Hood's policy: thieves yield after 64 attempts, later at \
         lowered priority, then sleep",
        |b| b.idle_policy(Abp::default()),
    ),
    fork_join(
        "locksley-abp-exact",
        "work stealing, Locksley with Algorithm 1 of BWS: thieves yield before each attempt, and \
         never sleep",
        |b| b.idle_policy(EXACT_ABP),
    ),
    fork_join(
        "locksley-bws",
        "work stealing, Locksley with the policy of BWS, its threshold tested first, and wake-up \
         counters of at most 64",
        |b| b.idle_policy(Bws::default()),
    ),
    fork_join(
        "locksley-bws-exact",
        "work stealing, Locksley with Algorithm 2 of BWS line by line, without its watchdog",
        |b| b.idle_policy(ExactBws::default()),
    ),
    fork_join("locksley-bws-32", BWS_AT, |b| b.idle_policy(Bws::with_threshold(32))),
    fork_join("locksley-bws-64", BWS_AT, |b| b.idle_policy(Bws::with_threshold(64))),
    fork_join("locksley-bws-128", BWS_AT, |b| b.idle_policy(Bws::with_threshold(128))),
    fork_join("locksley-bws-256", BWS_AT, |b| b.idle_policy(Bws::with_threshold(256))),
    fork_join("locksley-bws-512", BWS_AT, |b| b.idle_policy(Bws::with_threshold(512))),
    fork_join("locksley-bws-1024", BWS_AT, |b| b.idle_policy(Bws::with_threshold(1024))),
    fork_join("locksley-bws-2048", BWS_AT, |b| b.idle_policy(Bws::with_threshold(2048))),
    fork_join("locksley-bws-4096", BWS_AT, |b| b.idle_policy(Bws::with_threshold(4096))),
    fork_join(
        "locksley-delayed",
        "work stealing, Locksley with thieves that yield when they have failed 2 P times, and \
         never sleep",
        |b| b.idle_policy(DELAYED_YIELD),
    ),
    fork_join(
        "locksley-selective",
        "work stealing, Locksley with thieves that yield after every 64th failure, and never sleep",
        |b| b.idle_policy(SELECTIVE_YIELD),
    ),
    fork_join(
        "locksley-global",
        "work stealing, Locksley with half as many thieves as workers that work",
        |b| b.idle_policy(GlobalInformation::default()),
    ),
    fork_join("locksley-no-membarrier", WITHOUT, |b| lacking(b, Assists::MEMBARRIER)),
    fork_join("locksley-no-lowered-priority", WITHOUT, |b| lacking(b, Assists::LOWERED_PRIORITY)),
    fork_join("locksley-no-run-state", WITHOUT, |b| lacking(b, Assists::RUN_STATE)),
    fork_join("locksley-no-switch-records", WITHOUT, |b| lacking(b, Assists::SWITCH_RECORDS)),
    fork_join("locksley-no-moves", WITHOUT, |b| lacking(b, Assists::MOVES)),
    fork_join("locksley-no-short-turns", WITHOUT, |b| lacking(b, Assists::SHORT_TURNS)),
    fork_join("locksley-no-runnable-threads", WITHOUT, |b| lacking(b, Assists::RUNNABLE_THREADS)),
    fork_join("locksley-no-assists", WITHOUT, |b| lacking(b, Assists::ALL)),
    fork_join(
        "locksley-undivided",
        "work stealing, Locksley with one place, whatever the machine has",
        locksley::undivided,
    ),
    fork_join(
        "locksley-places",
        "work stealing, Locksley with several places, though they be private caches",
        locksley::in_places,
    ),
    fork_join(
        "locksley-awake",
        "work stealing, Locksley with an idle policy that lets no worker sleep: all P stay awake",
        |b| b.idle_policy(SLEEPLESS),
    ),
    fork_join(
        "locksley-abp-deque",
        "work stealing, Locksley with the bounded deque of Arora, Blumofe and Plaxton",
        |b| b.idle_policy(SLEEPLESS).deque(DequeKind::AbpArray),
    ),
    fork_join(
        "locksley-spinlock",
        "work stealing, Locksley with spinning locks, thieves that neither yield nor sleep",
        |b| b.idle_policy(NO_YIELD).deque(DequeKind::SpinningLock),
    ),
    fork_join(
        "locksley-blocking-yields",
        "work stealing, Locksley with blocking locks, and thieves that yield and never sleep",
        |b| b.idle_policy(SLEEPLESS).deque(DequeKind::BlockingLock),
    ),
    fork_join(
        "locksley-blocking",
        "work stealing, Locksley with blocking locks, thieves that neither yield nor sleep",
        |b| b.idle_policy(NO_YIELD).deque(DequeKind::BlockingLock),
    ),
    fork_join(
        "locksley-naive",
        "work stealing, Locksley with thieves that neither yield nor sleep",
        |b| b.idle_policy(NO_YIELD),
    ),
    intervals(
        "locksley-intervals",
        "work stealing, Locksley with a graph of intervals in the place of fork and join",
        |b| b,
    ),
    intervals(
        "locksley-intervals-oldest",
        "the same, with workers that take what they have had longest first, and not the newest",
        PoolBuilder::oldest_first,
    ),
    intervals(
        "locksley-intervals-places",
        "the same, with several places, though they be private caches",
        locksley::in_places,
    ),
    Runtime {
        name: "rayon",
        about: "work stealing, rayon's thread pool",
        model: Model::Rayon,
        start: Start::Other(rayon::start),
    },
    Runtime {
        name: "static",
        about: "OS threads, each with 1/P of the work, and a barrier",
        model: Model::Static,
        start: Start::Other(|workers| Team::start(workers).map(Crew::Static)),
    },
    Runtime {
        name: "serial",
        about: "the serial program, whatever the number of workers",
        model: Model::Serial,
        start: Start::Other(|_| Ok(Crew::Serial)),
    },
];

const BWS_AT: &str = "work stealing, Locksley with the policy of BWS and so many failed steals \
                      before a worker sleeps";

const WITHOUT: &str = "work stealing, Locksley with its default idle policy, without the assist \
                       that the name says";

/// Fork and join on a Locksley pool.
const fn fork_join(name: &'static str, about: &'static str, options: Options) -> Runtime {
    Runtime { name, about, model: Model::Locksley, start: Start::Pool(options) }
}

/// Intervals on a Locksley pool.
const fn intervals(name: &'static str, about: &'static str, options: Options) -> Runtime {
    Runtime { name, about, model: Model::Intervals, start: Start::Pool(options) }
}

fn lacking(builder: PoolBuilder, missing: Assists) -> PoolBuilder {
    builder.assists(Assists::ALL.without(missing))
}

/// Hood's policy without sleep: thieves yield, at lowered priority where that can be undone.
const SLEEPLESS: Abp = Abp { attempts: 64, lower_after: Some(8), sleep_after: None };

/// The runtime called `name`.
pub fn find(name: &str) -> Outcome<&'static Runtime> {
    ALL.iter().find(|runtime| runtime.name == name).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|runtime| runtime.name).collect();
        Fault::input(format!("unknown runtime '{name}'; there are {}", known.join(", ")))
    })
}

impl Runtime {
    /// Whether `app` has a version for this runtime.
    pub fn can_run(&self, app: &App) -> bool {
        match self.model {
            Model::Static => app.has_static,
            Model::Intervals => app.has_intervals,
            Model::Serial | Model::Locksley | Model::Rayon => true,
        }
    }

    /// The number of workers that it really has where `asked` are asked for.
    pub fn workers(&self, asked: usize) -> usize {
        if self.model == Model::Serial { 1 } else { asked }
    }

    /// Starts the workers, all of them: this returns when each has said so.
    pub fn start(&self, workers: usize) -> Outcome<Crew> {
        let crew = match self.start {
            Start::Other(start) => start(workers),
            Start::Pool(options) => {
                let crew = match self.model {
                    Model::Intervals => Crew::Intervals,
                    _ => Crew::Locksley,
                };
                locksley::pool(workers, options).map(crew)
            }
        };
        crew.map_err(|reason| self.cannot_start(workers, &reason))
    }

    /// The same, with a profiler. Only fork and join on a Locksley pool has one.
    pub fn start_profiled(&self, workers: usize) -> Outcome<Profiled> {
        match (&self.start, self.model) {
            (Start::Pool(options), Model::Locksley) => Profiled::start(workers, options)
                .map_err(|reason| self.cannot_start(workers, &reason)),
            _ => Err(Fault::input(format!("the runtime '{}' has no profiler", self.name))),
        }
    }

    fn cannot_start(&self, workers: usize, reason: &str) -> Fault {
        Fault::run(format!("{} cannot start {workers} workers: {reason}", self.name))
    }
}

/// A runtime with its workers started; dropping it ends them.
pub enum Crew {
    /// The calling thread alone.
    Serial,
    /// A team of threads with one share each.
    Static(Team),
    /// A Locksley pool.
    Locksley(::locksley::Pool),
    /// A Locksley pool for graphs of intervals.
    Intervals(::locksley::Pool),
    /// A rayon pool.
    Rayon(RayonPool),
}

impl Crew {
    /// Resets `instance`, computes its answer and returns the time of the computation alone.
    ///
    /// # Panics
    /// If the application has no version for this runtime ([`Runtime::can_run`]).
    pub fn compute(&self, instance: &mut dyn Instance) -> Duration {
        instance.reset();
        self.time(instance)
    }

    /// The time of the computation alone, from input that has been reset.
    ///
    /// # Panics
    /// As [`compute`](Self::compute).
    pub fn time(&self, instance: &mut dyn Instance) -> Duration {
        let start = Instant::now();
        match self {
            Crew::Serial => instance.serial(),
            Crew::Locksley(pool) => instance.locksley(pool),
            Crew::Intervals(pool) => {
                instance.intervals(pool).expect("an application with a version of intervals");
            }
            Crew::Rayon(pool) => instance.rayon(pool),
            Crew::Static(team) => {
                return instance
                    .static_partition(team)
                    .expect("an application with a static version");
            }
        }
        start.elapsed()
    }

    /// The Locksley pool that it is, if it is one.
    pub fn pool(&self) -> Option<&::locksley::Pool> {
        match self {
            Crew::Locksley(pool) | Crew::Intervals(pool) => Some(pool),
            Crew::Serial | Crew::Static(_) | Crew::Rayon(_) => None,
        }
    }
}
