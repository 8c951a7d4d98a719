//! What executes an application: [`ALL`] lists the runtimes by name, and a [`Crew`] is one of them
//! with its workers started.

pub mod classic;
mod rayon;

pub use self::rayon::RayonPool;

use std::fmt::Display;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use itertools::Itertools;
use locksley::os::Assists;
use locksley::places::{Places, Topology};
use locksley::{Pool, PoolBuilder};
use locksley_classic::static_partition::Team;
use locksley_classic::{Machine, Scheduler};
use locksley_profile::{Profiler, Report};

use crate::apps::{App, Instance};
use crate::fault::{Fault, Outcome};
use crate::topology;

/// A runtime that the command line and the experiments know by name.
#[derive(Clone, Copy)]
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
#[derive(Clone, Copy)]
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
    /// Fork-join by a scheduler of the papers.
    Classic(fn() -> Scheduler),
}

/// Options of a Locksley pool.
pub type Options = fn(PoolBuilder) -> PoolBuilder;

/// Every runtime.
pub static ALL: LazyLock<Vec<Runtime>> =
    LazyLock::new(|| OWN.iter().chain(classic::ALL).copied().collect());

/// Locksley, what it is compared with, and programs without a scheduler.
static OWN: &[Runtime] = &[
    fork_join("locksley", "work stealing, with the default idle policy", |b| b),
    fork_join("locksley-profiled", "work stealing with a profiler", |b| {
        b.observer(Profiler::new())
    }),
    fork_join("locksley-no-membarrier", WITHOUT, |b| lacking(b, Assists::MEMBARRIER)),
    fork_join("locksley-no-run-state", WITHOUT, |b| lacking(b, Assists::RUN_STATE)),
    fork_join("locksley-no-switch-records", WITHOUT, |b| lacking(b, Assists::SWITCH_RECORDS)),
    fork_join("locksley-no-short-time-slices", WITHOUT, |b| lacking(b, Assists::SHORT_TIME_SLICES)),
    fork_join("locksley-no-runnable-threads", WITHOUT, |b| lacking(b, Assists::RUNNABLE_THREADS)),
    fork_join("locksley-no-assists", WITHOUT, |b| lacking(b, Assists::ALL)),
    fork_join("locksley-undivided", "one place, whatever the machine has", undivided),
    fork_join("locksley-places", "several places, though they be private caches", in_places),
    intervals("locksley-intervals", "graphs of intervals in the place of fork and join", |b| b),
    intervals("locksley-intervals-oldest", OLDEST, PoolBuilder::oldest_first),
    intervals("locksley-intervals-places", "graphs of intervals at several places", in_places),
    Runtime { name: "rayon", about: "rayon's thread pool", model: Model::Rayon },
    Runtime { name: "static", about: STATIC, model: Model::Static },
    Runtime { name: "serial", about: SERIAL, model: Model::Serial },
];

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
            Model::Serial | Model::Locksley(_) | Model::Rayon | Model::Classic(_) => true,
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
            Model::Classic(scheduler) => {
                Crew::Classic(self.started(workers, classic::start(workers, scheduler()))?)
            }
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
    /// A machine with a scheduler of the papers.
    Classic(Machine),
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
            Crew::Classic(machine) => instance.classic(machine),
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
            Crew::Serial | Crew::Static(_) | Crew::Rayon(_) | Crew::Classic(_) => None,
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
