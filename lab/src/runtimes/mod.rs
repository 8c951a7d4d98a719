//! What executes an application: [`ALL`] lists the runtimes by name, and a [`Crew`] is one of them
//! with its workers started.

mod rayon;

pub use self::rayon::RayonPool;

use std::fmt::Display;
use std::time::{Duration, Instant};

use itertools::Itertools;
use locksley::alternatives::DequeKind;
use locksley::idle::{Abp, Bws};
use locksley::os::Assists;
use locksley::places::{Places, Topology};
use locksley::{Pool, PoolBuilder};
use locksley_profile::{Profiler, Report};

use crate::apps::{App, Instance};
use crate::fault::{Fault, Outcome};
use crate::policies::{
    DELAYED_YIELD, EXACT_ABP, ExactBws, GlobalInformation, NO_YIELD, SELECTIVE_YIELD,
};
use crate::team::Team;
use crate::topology;

/// A runtime that the command line and the experiments know by name.
pub struct Runtime {
    /// Its name on the command line, in records and in pictures.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The version of an application that it executes.
    pub model: Model,
}

/// The versions of an application, with what Locksley's pool is told. Every application has all
/// but, for some, the static one, and for most that of intervals.
pub enum Model {
    /// The serial program.
    Serial,
    /// One share of the work for each thread, and a barrier.
    Static,
    /// Fork-join on an explicit Locksley worker.
    Locksley(Options),
    /// A graph of intervals on a Locksley pool.
    Intervals(Options),
    /// Fork-join with `rayon::join`.
    Rayon,
}

/// Options of a Locksley pool.
pub type Options = fn(PoolBuilder) -> PoolBuilder;

/// Every runtime. Another idle policy of Locksley's is one entry here.
pub static ALL: &[Runtime] = &[
    fork_join("locksley", "work stealing, with the default idle policy", |b| b),
    fork_join("locksley-profiled", "work stealing with a profiler", |b| {
        b.observer(Profiler::new())
    }),
    fork_join("locksley-abp", HOOD, |b| b.idle_policy(Abp::default())),
    fork_join("locksley-abp-exact", ALGORITHM_1, |b| b.idle_policy(EXACT_ABP)),
    fork_join("locksley-bws", BWS, |b| b.idle_policy(Bws::default())),
    fork_join("locksley-bws-exact", ALGORITHM_2, |b| b.idle_policy(ExactBws::default())),
    fork_join("locksley-bws-32", BWS_AT, |b| b.idle_policy(Bws::with_threshold(32))),
    fork_join("locksley-bws-64", BWS_AT, |b| b.idle_policy(Bws::with_threshold(64))),
    fork_join("locksley-bws-128", BWS_AT, |b| b.idle_policy(Bws::with_threshold(128))),
    fork_join("locksley-bws-256", BWS_AT, |b| b.idle_policy(Bws::with_threshold(256))),
    fork_join("locksley-bws-512", BWS_AT, |b| b.idle_policy(Bws::with_threshold(512))),
    fork_join("locksley-bws-1024", BWS_AT, |b| b.idle_policy(Bws::with_threshold(1024))),
    fork_join("locksley-bws-2048", BWS_AT, |b| b.idle_policy(Bws::with_threshold(2048))),
    fork_join("locksley-bws-4096", BWS_AT, |b| b.idle_policy(Bws::with_threshold(4096))),
    fork_join("locksley-delayed", "thieves yield after 2 P failures and never sleep", |b| {
        b.idle_policy(DELAYED_YIELD)
    }),
    fork_join("locksley-selective", "thieves yield after 64 failures and never sleep", |b| {
        b.idle_policy(SELECTIVE_YIELD)
    }),
    fork_join("locksley-global", "half as many thieves as workers that work", |b| {
        b.idle_policy(GlobalInformation::default())
    }),
    fork_join("locksley-no-membarrier", WITHOUT, |b| lacking(b, Assists::MEMBARRIER)),
    fork_join("locksley-no-lowered-priority", WITHOUT, |b| lacking(b, Assists::LOWERED_PRIORITY)),
    fork_join("locksley-no-run-state", WITHOUT, |b| lacking(b, Assists::RUN_STATE)),
    fork_join("locksley-no-switch-records", WITHOUT, |b| lacking(b, Assists::SWITCH_RECORDS)),
    fork_join("locksley-no-short-time-slices", WITHOUT, |b| lacking(b, Assists::SHORT_TIME_SLICES)),
    fork_join("locksley-no-runnable-threads", WITHOUT, |b| lacking(b, Assists::RUNNABLE_THREADS)),
    fork_join("locksley-no-assists", WITHOUT, |b| lacking(b, Assists::ALL)),
    fork_join("locksley-undivided", "one place, whatever the machine has", undivided),
    fork_join("locksley-places", "several places, though they be private caches", in_places),
    fork_join("locksley-awake", "thieves yield and never sleep: all P stay awake", |b| {
        b.idle_policy(SLEEPLESS)
    }),
    fork_join("locksley-abp-deque", "ABP's bounded deque; thieves yield and never sleep", |b| {
        b.idle_policy(SLEEPLESS).deque(DequeKind::AbpArray)
    }),
    fork_join("locksley-blocking-yields", "blocking locks; thieves yield and never sleep", |b| {
        b.idle_policy(SLEEPLESS).deque(DequeKind::BlockingLock)
    }),
    fork_join("locksley-naive", "thieves neither yield nor sleep", |b| b.idle_policy(NO_YIELD)),
    fork_join("locksley-spinlock", "spinning locks; thieves neither yield nor sleep", |b| {
        b.idle_policy(NO_YIELD).deque(DequeKind::SpinningLock)
    }),
    fork_join("locksley-blocking", "blocking locks; thieves neither yield nor sleep", |b| {
        b.idle_policy(NO_YIELD).deque(DequeKind::BlockingLock)
    }),
    intervals("locksley-intervals", "graphs of intervals in the place of fork and join", |b| b),
    intervals("locksley-intervals-oldest", OLDEST, PoolBuilder::oldest_first),
    intervals("locksley-intervals-places", "graphs of intervals at several places", in_places),
    Runtime { name: "rayon", about: "rayon's thread pool", model: Model::Rayon },
    Runtime { name: "static", about: STATIC, model: Model::Static },
    Runtime { name: "serial", about: SERIAL, model: Model::Serial },
];

const HOOD: &str = "Hood's policy: yields after 64 attempts, later at lowered priority, then sleep";
const ALGORITHM_1: &str = "Algorithm 1 of BWS: a yield before each attempt, and no sleep";
const BWS: &str = "BWS, its threshold tested first, and wake-up counters of at most 64";
const ALGORITHM_2: &str = "Algorithm 2 of BWS line by line, without its watchdog";
const BWS_AT: &str = "BWS with so many failed steals before a worker sleeps";
const WITHOUT: &str = "the default idle policy, without the assist that the name says";
const OLDEST: &str = "graphs of intervals; a worker takes what it has had longest first";
const STATIC: &str = "OS threads, each with 1/P of the work, and a barrier";
const SERIAL: &str = "the serial program, whatever the number of workers";

/// Fork and join on a Locksley pool.
const fn fork_join(name: &'static str, about: &'static str, options: Options) -> Runtime {
    Runtime { name, about, model: Model::Locksley(options) }
}

/// Intervals on a Locksley pool.
const fn intervals(name: &'static str, about: &'static str, options: Options) -> Runtime {
    Runtime { name, about, model: Model::Intervals(options) }
}

fn lacking(builder: PoolBuilder, missing: Assists) -> PoolBuilder {
    builder.assists(Assists::ALL.without(missing))
}

/// One place, whatever the machine has.
fn undivided(builder: PoolBuilder) -> PoolBuilder {
    builder.places(Places::undivided(&topology::allowed()))
}

/// Several places, though they be private caches, where the machine has several of any kind.
fn in_places(builder: PoolBuilder) -> PoolBuilder {
    match topology::several_places(&Topology::of_this_machine(), &topology::allowed()) {
        Some(places) => builder.places(places),
        None => builder,
    }
}

/// Hood's policy without sleep: thieves yield, at lowered priority where that can be undone.
const SLEEPLESS: Abp = Abp { attempts: 64, lower_after: Some(8), sleep_after: None };

/// The runtime called `name`.
pub fn find(name: &str) -> Outcome<&'static Runtime> {
    ALL.iter().find(|runtime| runtime.name == name).ok_or_else(|| {
        let known = ALL.iter().map(|runtime| runtime.name).join(", ");
        Fault::input(format!("unknown runtime '{name}'; there are {known}"))
    })
}

impl Runtime {
    /// Whether `app` has a version for this runtime.
    pub fn can_run(&self, app: &App) -> bool {
        match self.model {
            Model::Static => app.has_static,
            Model::Intervals(_) => app.has_intervals,
            Model::Serial | Model::Locksley(_) | Model::Rayon => true,
        }
    }

    /// The version of what executes applications: rayon's, or this package's.
    pub fn version(&self) -> &'static str {
        match self.model {
            Model::Rayon => env!("LAB_RAYON"),
            _ => env!("CARGO_PKG_VERSION"),
        }
    }

    /// The number of workers that it really has where `asked` are asked for.
    pub fn workers(&self, asked: usize) -> usize {
        if matches!(self.model, Model::Serial) { 1 } else { asked }
    }

    /// Starts the workers, all of them: this returns when each has said so.
    pub fn start(&self, workers: usize) -> Outcome<Crew> {
        Ok(match self.model {
            Model::Serial => Crew::Serial,
            Model::Static => Crew::Static(self.started(workers, Team::start(workers))?),
            Model::Locksley(options) => Crew::Locksley(self.pool(workers, options)?),
            Model::Intervals(options) => Crew::Intervals(self.pool(workers, options)?),
            Model::Rayon => Crew::Rayon(self.started(workers, RayonPool::start(workers))?),
        })
    }

    /// Starts the workers with a profiler. What is returned resets an instance, computes its
    /// answer, and reports work and span. Only fork and join on a Locksley pool has a profiler.
    pub fn start_profiled(
        &self,
        workers: usize,
    ) -> Outcome<impl Fn(&mut dyn Instance) -> Report + use<>> {
        let Model::Locksley(options) = self.model else {
            return Err(Fault::input(format!("the runtime '{}' has no profiler", self.name)));
        };
        let profiler = Profiler::new();
        let pool = self.pool(workers, |builder| options(builder).observer(profiler.clone()))?;
        Ok(move |instance: &mut dyn Instance| {
            instance.reset();
            profiler.measure(&pool, |_| instance.locksley(&pool)).1
        })
    }

    fn pool(
        &self,
        workers: usize,
        options: impl FnOnce(PoolBuilder) -> PoolBuilder,
    ) -> Outcome<Pool> {
        self.started(workers, options(Pool::builder().workers(workers)).build())
    }

    fn started<T, E: Display>(&self, workers: usize, started: Result<T, E>) -> Outcome<T> {
        started.map_err(|reason| {
            Fault::run(format!("{} cannot start {workers} workers: {reason}", self.name))
        })
    }
}

/// A runtime with its workers started; dropping it ends them.
pub enum Crew {
    /// The calling thread alone.
    Serial,
    /// A team of threads with one share each.
    Static(Team),
    /// A Locksley pool.
    Locksley(Pool),
    /// A Locksley pool for graphs of intervals.
    Intervals(Pool),
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
    pub fn pool(&self) -> Option<&Pool> {
        match self {
            Crew::Locksley(pool) | Crew::Intervals(pool) => Some(pool),
            Crew::Serial | Crew::Static(_) | Crew::Rayon(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_places_is_compared_with_what_has_none() {
        let places = |name| find(name).unwrap().start(4).unwrap().pool().unwrap().places().count();
        assert_eq!(places("locksley-undivided"), 1);
        let several = topology::several_places(&Topology::of_this_machine(), &topology::allowed());
        let expected = several.map_or(1, |places| places.count());
        assert_eq!(places("locksley-places"), expected);
    }
}
