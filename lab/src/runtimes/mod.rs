//! What executes an application: [`ALL`] lists the runtimes by name, a [`Crew`] is one of them with its workers started.

mod effort;
mod gate;
mod locksley;
mod rayon;
mod team;

pub use self::rayon::RayonPool;
pub use effort::{Effort, Split, Times};
pub use team::Team;

use std::time::{Duration, Instant};

use ::locksley::alternatives::{
    BusyWakes, DelayedYield, DequeKind, GlobalInformation, NoYield, SelectiveYield, StealHalf,
};
use ::locksley::hunt::{Abp, Balanced, Bws};
use ::locksley::meter::Report;
use ::locksley::os::Assists;
use ::locksley::{PoolBuilder, Waiting};

use crate::apps::{App, Instance};
use crate::fault::{Fault, Outcome};

/// The most workers that may be asked for; each is an OS thread.
pub const MOST_WORKERS: usize = 1024;

/// A runtime that the command line and the experiments know by name.
pub struct Runtime {
    /// Its name on the command line, in records and in pictures.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The version of an application that it executes.
    pub model: Model,
    start: fn(usize) -> Result<Crew, String>,
}

/// The versions of an application. Every application has all but, for some, the static one, and for most that of intervals.
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

/// Every runtime. Another governor of Locksley's is one line here.
pub static ALL: &[Runtime] = &[
    Runtime {
        name: "locksley",
        about: "work stealing, Locksley with its default governor",
        model: Model::Locksley,
        start: |workers| locksley::start(workers, |builder| builder),
    },
    Runtime {
        name: "locksley-abp",
        about: "work stealing, Locksley with Hood's policy: hunters yield, later at lowered priority, then sleep",
        model: Model::Locksley,
        start: |workers| locksley::start(workers, |builder| builder.governor(Abp::default())),
    },
    Runtime {
        name: "locksley-bws",
        about: "work stealing, Locksley with the policy of BWS as the paper has it",
        model: Model::Locksley,
        start: |workers| locksley::start(workers, |builder| builder.governor(Bws::default())),
    },
    bws_at("locksley-bws-32", bws::<32>),
    bws_at("locksley-bws-64", bws::<64>),
    bws_at("locksley-bws-128", bws::<128>),
    bws_at("locksley-bws-256", bws::<256>),
    bws_at("locksley-bws-512", bws::<512>),
    bws_at("locksley-bws-1024", bws::<1024>),
    bws_at("locksley-bws-2048", bws::<2048>),
    bws_at("locksley-bws-4096", bws::<4096>),
    Runtime {
        name: "locksley-delayed",
        about: "work stealing, Locksley with hunters that yield when they have failed 2 P times, and never sleep",
        model: Model::Locksley,
        start: |workers| locksley::start(workers, |builder| builder.governor(DelayedYield)),
    },
    Runtime {
        name: "locksley-selective",
        about: "work stealing, Locksley with hunters that yield after every 64th failure, and never sleep",
        model: Model::Locksley,
        start: |workers| locksley::start(workers, |builder| builder.governor(SelectiveYield)),
    },
    Runtime {
        name: "locksley-global",
        about: "work stealing, Locksley with half as many hunters as workers that work",
        model: Model::Locksley,
        start: |workers| {
            locksley::start(workers, |builder| builder.governor(GlobalInformation::default()))
        },
    },
    Runtime {
        name: "locksley-bws-busy",
        about: "work stealing, Locksley with the policy of BWS but that workers with work wake the others",
        model: Model::Locksley,
        start: |workers| locksley::start(workers, |builder| builder.governor(BusyWakes::default())),
    },
    without("locksley-no-membarrier", |workers| lacking(workers, Assists::MEMBARRIER)),
    without("locksley-no-lowered-priority", |workers| lacking(workers, Assists::LOWERED_PRIORITY)),
    without("locksley-no-run-state", |workers| lacking(workers, Assists::RUN_STATE)),
    without("locksley-no-switch-records", |workers| lacking(workers, Assists::SWITCH_RECORDS)),
    without("locksley-no-moves", |workers| lacking(workers, Assists::MOVES)),
    without("locksley-no-short-turns", |workers| lacking(workers, Assists::SHORT_TURNS)),
    without("locksley-no-runnable-threads", |workers| lacking(workers, Assists::RUNNABLE_THREADS)),
    without("locksley-no-assists", |workers| lacking(workers, Assists::ALL)),
    Runtime {
        name: "locksley-half",
        about: "work stealing, Locksley with thieves that take half of what they find, and not one task",
        model: Model::Locksley,
        start: |workers| {
            locksley::start(workers, |builder| builder.governor(StealHalf(Balanced::default())))
        },
    },
    Runtime {
        name: "locksley-on-top",
        about: "work stealing, Locksley without stacks for what waits: waiters run what they find on top of themselves",
        model: Model::Locksley,
        start: |workers| locksley::start(workers, |builder| builder.waiting_stacks(0)),
    },
    Runtime {
        name: "locksley-below",
        about: "work stealing, Locksley with waiters that run only what lies below them",
        model: Model::Locksley,
        start: |workers| locksley::start(workers, |builder| builder.waiting(Waiting::Below)),
    },
    Runtime {
        name: "locksley-undivided",
        about: "work stealing, Locksley with one place, whatever the machine has",
        model: Model::Locksley,
        start: locksley::start_undivided,
    },
    Runtime {
        name: "locksley-places",
        about: "work stealing, Locksley with several places, though they be private caches",
        model: Model::Locksley,
        start: locksley::start_in_places,
    },
    Runtime {
        name: "locksley-awake",
        about: "work stealing, Locksley with a governor that lets no worker sleep: all P stay awake",
        model: Model::Locksley,
        start: |workers| locksley::start(workers, |builder| builder.governor(SLEEPLESS)),
    },
    Runtime {
        name: "locksley-abp-deque",
        about: "work stealing, Locksley with the bounded deque of Arora, Blumofe and Plaxton",
        model: Model::Locksley,
        start: |workers| {
            locksley::start(workers, |b| b.governor(SLEEPLESS).deque(DequeKind::AbpArray))
        },
    },
    Runtime {
        name: "locksley-abp-barrier",
        about: "work stealing, Locksley with that deque, its owner's fences moved to thieves",
        model: Model::Locksley,
        start: |workers| {
            locksley::start(workers, |b| b.governor(SLEEPLESS).deque(DequeKind::AbpBarrier))
        },
    },
    Runtime {
        name: "locksley-spinlock",
        about: "work stealing, Locksley with spinning locks, hunters that neither yield nor sleep",
        model: Model::Locksley,
        start: |workers| {
            locksley::start(workers, |b| b.governor(NoYield).deque(DequeKind::SpinningLock))
        },
    },
    Runtime {
        name: "locksley-blocking",
        about: "work stealing, Locksley with blocking locks, hunters that neither yield nor sleep",
        model: Model::Locksley,
        start: |workers| {
            locksley::start(workers, |b| b.governor(NoYield).deque(DequeKind::BlockingLock))
        },
    },
    Runtime {
        name: "locksley-naive",
        about: "work stealing, Locksley with hunters that neither yield nor sleep",
        model: Model::Locksley,
        start: |workers| locksley::start(workers, |builder| builder.governor(NoYield)),
    },
    Runtime {
        name: "locksley-intervals",
        about: "work stealing, Locksley with a graph of intervals in the place of fork and join",
        model: Model::Intervals,
        start: |workers| locksley::pool(workers, |builder| builder).map(Crew::Intervals),
    },
    Runtime {
        name: "locksley-intervals-oldest",
        about: "the same, with workers that take what they have had longest first, and not the newest",
        model: Model::Intervals,
        start: |workers| locksley::pool(workers, PoolBuilder::oldest_first).map(Crew::Intervals),
    },
    Runtime {
        name: "locksley-intervals-places",
        about: "the same, with several places, though they be private caches",
        model: Model::Intervals,
        start: |workers| locksley::pool(workers, locksley::in_places).map(Crew::Intervals),
    },
    Runtime {
        name: "rayon",
        about: "work stealing, rayon's thread pool",
        model: Model::Rayon,
        start: rayon::start,
    },
    Runtime {
        name: "static",
        about: "OS threads, each with 1/P of the work, and a barrier",
        model: Model::Static,
        start: |workers| Team::start(workers).map(Crew::Static),
    },
    Runtime {
        name: "serial",
        about: "the serial program, whatever the number of workers",
        model: Model::Serial,
        start: |_| Ok(Crew::Serial),
    },
];

const fn bws_at(name: &'static str, start: fn(usize) -> Result<Crew, String>) -> Runtime {
    let about = "work stealing, Locksley with the policy of BWS and so many failed steals before a worker sleeps";
    Runtime { name, about, model: Model::Locksley, start }
}

fn bws<const THRESHOLD: u32>(workers: usize) -> Result<Crew, String> {
    locksley::start(workers, |builder| builder.governor(Bws::with_threshold(THRESHOLD)))
}

const fn without(name: &'static str, start: fn(usize) -> Result<Crew, String>) -> Runtime {
    let about =
        "work stealing, Locksley with its default governor, without the assist that the name says";
    Runtime { name, about, model: Model::Locksley, start }
}

fn lacking(workers: usize, missing: Assists) -> Result<Crew, String> {
    locksley::start(workers, |builder| builder.assists(Assists::ALL.without(missing)))
}

/// Hood's policy as the papers have it: hunters yield, at lowered priority where that can be undone, and never sleep.
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
    pub fn can_run(&self, app: &dyn App) -> bool {
        match self.model {
            Model::Static => app.has_static(),
            Model::Intervals => app.has_intervals(),
            Model::Serial | Model::Locksley | Model::Rayon => true,
        }
    }

    /// The number of workers that it really has where `asked` are asked for.
    pub fn workers(&self, asked: usize) -> usize {
        if self.model == Model::Serial { 1 } else { asked }
    }

    /// Starts the workers, all of them: this returns when each has said so.
    pub fn start(&self, workers: usize) -> Outcome<Crew> {
        (self.start)(workers).map_err(|reason| {
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

    /// Resets `instance`, computes its answer and reports work and critical path; `None` where the runtime has no meter.
    pub fn meter(&self, instance: &mut dyn Instance) -> Option<Report> {
        let Crew::Locksley(pool) = self else { return None };
        instance.reset();
        let ((), report) = pool.metered(|_| instance.locksley(pool));
        Some(report)
    }

    /// Where the workers' context switches went since they were started; `None` where nobody records them.
    pub fn switches(&self) -> Option<Split> {
        match self {
            Crew::Locksley(pool) | Crew::Intervals(pool) => Split::of(pool),
            Crew::Serial | Crew::Static(_) | Crew::Rayon(_) => None,
        }
    }

    /// What the workers did since they were started; `None` where the runtime does not count it.
    pub fn effort(&self) -> Option<Effort> {
        match self {
            Crew::Locksley(pool) | Crew::Intervals(pool) => Some(Effort::of(pool)),
            Crew::Serial | Crew::Static(_) | Crew::Rayon(_) => None,
        }
    }
}
