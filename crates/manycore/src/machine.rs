//! The machine as its users see it: a builder, a run, and what the run was like.

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Duration;

use crate::coherence::{CacheCosts, Coherence, HotLine, Statistics as CacheStatistics};
use crate::costs::SystemCosts;
use crate::engine::lines::MAX_LINES;
use crate::engine::trace::TraceEvent;
use crate::engine::{Engine, ProgramState, Settings, host_time};
pub use crate::error::{RunError, UnknownCost};
use crate::hypervisor::Hypervisor;
use crate::ids::{LineIndex, Nanos, ThreadId};
use crate::kernel::{Bandwidth, Kernel, KernelConfig};
use crate::neighbours::Program;
use crate::time::nanos;
use crate::topology::Topology;

/// Settings of a [`Machine`].
#[must_use = "a builder does nothing until it runs"]
pub struct Builder {
    sockets: usize,
    clusters: usize,
    cores: usize,
    smt: usize,
    kernel: KernelConfig,
    costs: CacheCosts,
    settings: Settings,
    speeds: Vec<u64>,
    bandwidth: Option<Bandwidth>,
    programs: Vec<Program>,
    hypervisor: Option<Box<dyn Hypervisor>>,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("costs", &self.costs).finish_non_exhaustive()
    }
}

/// A virtual multiprocessor.
///
/// ```
/// use manycore::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use manycore::{Machine, thread};
///
/// let outcome = Machine::builder().cores(8).run(|| {
///     let counter = AtomicU64::new(0);
///     thread::scope(|scope| {
///         for _ in 0..8 {
///             scope.spawn(|| (0..100).for_each(|_| drop(counter.fetch_add(1, Relaxed))));
///         }
///     });
///     counter.into_inner()
/// });
/// assert_eq!(outcome.value, 800);
/// assert!(outcome.statistics.time > 0);
/// ```
#[derive(Debug)]
pub struct Machine;

/// What a run returned, and what it was like.
#[derive(Debug)]
pub struct Outcome<T> {
    /// What the program's closure returned.
    pub value: T,
    /// What the run was like.
    pub statistics: Statistics,
}

/// What a run was like.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// The virtual time at which the program ended.
    pub time: Nanos,
    /// A hash of all events and transfers with their times. Equal seeds give equal hashes.
    pub hash: u64,
    /// How many events the engine handled.
    pub events: u64,
    /// How often the host switched to the code of a thread.
    pub switches: u64,
    /// How often a spinning thread was put to sleep.
    pub spin_sleeps: u64,
    /// Each processor.
    pub processors: Vec<ProcessorStatistics>,
    /// Each program: the closure that `run` was given, and then the others in order.
    pub programs: Vec<ProgramStatistics>,
    /// Hits, and transfers by distance.
    pub caches: CacheStatistics,
    /// The lines that moved most often.
    pub hottest: Vec<HotLine>,
    /// For each of the hottest lines, the places in the source whose accesses moved it and how
    /// often, most often first. Empty unless the builder was asked for them.
    pub sites: Vec<Vec<(Site, u32)>>,
    /// As `sites`, of all lines together.
    pub all_sites: Vec<(Site, u32)>,
    /// What happened, if the builder was asked to keep it.
    pub trace: Vec<TraceEvent>,
    /// The processor time that the host spent.
    pub host: Duration,
}

/// A place in the source.
pub type Site = &'static std::panic::Location<'static>;

/// What a processor did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorStatistics {
    /// How long no thread was on it.
    pub idle: Nanos,
    /// How long the hypervisor has taken it away.
    pub stolen: Nanos,
}

/// What a program did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramStatistics {
    /// Its name; that of the closure that `run` was given is empty.
    pub name: String,
    /// How many threads it has started.
    pub threads: usize,
    /// How long its threads ran, together.
    pub run: Nanos,
    /// How long its threads were ready and did not run, together.
    pub delay: Nanos,
    /// How often a thread gave its processor away.
    pub voluntary_switches: u64,
    /// How often the kernel took a processor from a thread.
    pub involuntary_switches: u64,
    /// How often a thread began to run on another processor.
    pub migrations: u64,
    /// The sum of its calls of [`os::count`](crate::os::count).
    pub count: u64,
}

/// How many lines the statistics list.
const HOTTEST: usize = 16;

impl Machine {
    /// One socket with one processor, Linux 6.18, and costs near those of two virtual processors of
    /// an AMD EPYC.
    pub fn builder() -> Builder {
        Builder {
            sockets: 1,
            clusters: 1,
            cores: 1,
            smt: 1,
            kernel: KernelConfig::linux_6_18(),
            costs: CacheCosts::epyc_guest(),
            settings: Settings {
                system: SystemCosts::default(),
                seed: 1,
                noise: 3,
                spin_quantum: 500,
                time_limit: 100_000_000_000,
                smt_speed: 600,
                stack_bytes: 256 << 10,
                keeps_trace: false,
                keeps_sites: false,
            },
            speeds: Vec::new(),
            bandwidth: None,
            programs: Vec::new(),
            hypervisor: None,
        }
    }
}

/// Methods of the builder: `name(argument: T) { field = value }` sets the field of the builder.
macro_rules! setters {
    ($(
        $(#[$doc:meta])*
        $name:ident($argument:ident: $t:ty) { $($field:ident).+ = $value:expr }
    )*) => {$(
        $(#[$doc])*
        pub fn $name(mut self, $argument: $t) -> Self {
            self.$($field).+ = $value;
            self
        }
    )*};
}

impl Builder {
    setters! {
        /// How many sockets the machine has.
        sockets(sockets: usize) { sockets = sockets }

        /// How many groups of cores with a last-level cache each socket has.
        clusters(clusters: usize) { clusters = clusters }

        /// How many cores each cluster has.
        cores(cores: usize) { cores = cores }

        /// How many hardware threads each core has.
        smt(threads: usize) { smt = threads }

        /// What a hardware thread computes while the other ones of its core run, in thousandths of
        /// what it computes alone. The default is 600.
        smt_speed(thousandths: u64) { settings.smt_speed = thousandths.clamp(1, 1000) }

        /// The speeds of the first processors, in thousandths. Others have full speed.
        speeds(thousandths: &[u64]) { speeds = thousandths.to_vec() }

        /// The kernel's scheduler.
        kernel(kernel: KernelConfig) { kernel = kernel }

        /// What cache lines cost.
        costs(costs: CacheCosts) { costs = costs }

        /// What system calls cost.
        system(system: SystemCosts) { settings.system = system }

        /// Decides all that is random: noise, and [`os::random`](crate::os::random).
        seed(seed: u64) { settings.seed = seed }

        /// Each transfer of a line takes up to this much longer, at random.
        noise(noise: Nanos) { settings.noise = noise }

        /// A thread that spins on lines which do not change sleeps until one does, or for this
        /// long: 500 ns unless set. 0 switches this off, which takes much more of the host's time.
        spin_quantum(quantum: Nanos) { settings.spin_quantum = quantum }

        /// The run ends with an error if the program has not ended at this virtual time: 100 s
        /// unless set.
        time_limit(limit: Duration) { settings.time_limit = nanos(limit) }

        /// The size of stacks of threads that do not ask for another one: 256 KiB unless set, an
        /// eighth of std's. A stack that overflows ends the process by a signal.
        stack_size(bytes: usize) { settings.stack_bytes = bytes }

        /// Puts the program into a control group with this processor bandwidth.
        bandwidth(bandwidth: Bandwidth) { bandwidth = Some(bandwidth) }

        /// Something that takes processors away.
        hypervisor(hypervisor: impl Hypervisor + 'static) {
            hypervisor = Some(Box::new(hypervisor))
        }

        /// Keeps wake-ups, switches, waits and ends of threads for the statistics.
        trace(keeps_trace: bool) { settings.keeps_trace = keeps_trace }

        /// Counts for each line the places in the source whose accesses moved it:
        /// [`Statistics::sites`].
        sites(keeps_sites: bool) { settings.keeps_sites = keeps_sites }
    }

    /// Sets one cost, in nanoseconds, by the name of its field in [`CacheCosts`], [`SystemCosts`]
    /// or [`KernelCosts`](crate::kernel::KernelCosts).
    ///
    /// Use it for costs that a calibration has found, and to see what a result depends on. Call it
    /// after the methods that set all costs.
    ///
    /// # Errors
    /// If there is no such cost.
    ///
    /// # Examples
    /// ```
    /// let builder = manycore::Machine::builder().cost("cluster", 25)?;
    /// assert!(builder.cost("clutter", 25).is_err());
    /// # Ok::<(), manycore::UnknownCost>(())
    /// ```
    pub fn cost(mut self, name: &str, nanos: Nanos) -> Result<Self, UnknownCost> {
        let (system, kernel) = (&mut self.settings.system, &mut self.kernel.costs);
        let cost = self.costs.by_name(name).or_else(|| system.by_name(name));
        let cost = cost.or_else(|| kernel.by_name(name));
        *cost.ok_or_else(|| UnknownCost(name.to_owned()))? = nanos;
        Ok(self)
    }

    /// Another program that starts with the machine.
    pub fn program(mut self, program: Program) -> Self {
        self.programs.push(program);
        self
    }

    /// Runs `root` as the first thread until it ends. As in a process, other threads end with it:
    /// without running destructors, so that a lock in a static stays locked.
    ///
    /// # Panics
    /// If `root` panics, with its payload. If the machine cannot run, or the program cannot go on:
    /// see [`RunError`].
    pub fn run<T: 'static>(self, root: impl FnOnce() -> T + 'static) -> Outcome<T> {
        self.try_run(root).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`run`](Self::run), with errors.
    ///
    /// # Errors
    /// If the machine cannot run, or the program cannot go on.
    ///
    /// # Panics
    /// If `root` panics, with its payload.
    pub fn try_run<T: 'static>(
        mut self,
        root: impl FnOnce() -> T + 'static,
    ) -> Result<Outcome<T>, RunError> {
        assert!(crate::engine::engine().is_none(), "a machine runs already on this host thread");
        let began = host_time();
        let programs = std::mem::take(&mut self.programs);
        let bandwidth = self.bandwidth;
        let quotas = programs.iter().map(|program| program.bandwidth).chain([bandwidth]);
        if let Some(wrong) = quotas.flatten().find(|it| !it.is_possible()) {
            return Err(RunError::Bandwidth(wrong));
        }
        let mut engine = self.engine()?;
        let result = Rc::new(Cell::new(None));
        let place = Rc::clone(&result);
        let root = move || place.set(Some(catch_unwind(AssertUnwindSafe(root))));
        let root = add_program(&mut engine, Program { bandwidth, ..Program::new("", root) });
        for program in programs {
            add_program(&mut engine, program);
        }
        let stop = engine.run(root);
        let time = engine.clock; // of the processor that ran last: that of the root, if it has ended
        let host = host_time().saturating_sub(began);
        stop?;
        let value = match result.take().expect("the root has ended") {
            Ok(value) => value,
            Err(payload) => resume_unwind(payload),
        };
        Ok(Outcome { value, statistics: statistics(&mut engine, time, host) })
    }

    fn engine(self) -> Result<Box<Engine>, RunError> {
        let topology = Topology::new(self.sockets, self.clusters, self.cores, self.smt);
        let topology = topology.map_err(RunError::Topology)?;
        let count = topology.processors();
        let mut speeds = self.speeds;
        if speeds.len() > count || speeds.iter().any(|speed| !(1..=1000).contains(speed)) {
            return Err(RunError::Speeds);
        }
        speeds.resize(count, 1000);
        Ok(Engine::new(
            topology,
            self.settings,
            Coherence::new(topology, self.costs, MAX_LINES),
            Kernel::new(topology, self.kernel),
            &speeds,
            self.hypervisor,
        ))
    }
}

fn add_program(engine: &mut Engine, program: Program) -> ThreadId {
    let group = program.bandwidth.map(|bandwidth| engine.kernel.add_group(bandwidth));
    let state = ProgramState { name: program.name, group, count: 0 };
    let id = engine.programs.push(state);
    let stack = engine.new_stack(None).expect("there is memory for a first stack");
    let thread = engine.add_thread(id, None, None, stack, (program.body, Box::new(|| ())));
    if let Some(set) = program.affinity {
        engine.kernel.set_affinity(thread, set, 0);
    }
    engine.begin(thread);
    thread
}

fn statistics(engine: &mut Engine, time: Nanos, host: Duration) -> Statistics {
    engine.settle_absences(time);
    let kernel = &engine.kernel;
    let mut programs: Vec<_> = engine
        .programs
        .iter()
        .map(|program| ProgramStatistics {
            name: program.name.clone(),
            count: program.count,
            ..ProgramStatistics::default()
        })
        .collect();
    for (id, thread) in engine.threads.entries() {
        let times = kernel.times(id, time);
        let of = &mut programs[thread.program.index()];
        of.threads += 1;
        of.run += times.run;
        of.delay += times.delay;
        of.voluntary_switches += times.voluntary_switches;
        of.involuntary_switches += times.involuntary_switches;
        of.migrations += times.migrations;
    }
    let processor = |cpu| ProcessorStatistics {
        idle: kernel.idle_time(cpu, time),
        stolen: engine.stolen(cpu, time),
    };
    let processors = engine.topology.all().map(processor).collect();
    let (caches, hottest) = (*engine.coherence.statistics(), engine.coherence.hottest(HOTTEST));
    let sites_where = |is_wanted: &dyn Fn(LineIndex) -> bool| {
        let mut counts: HashMap<Site, u32> = HashMap::new();
        for (&(line, site), count) in engine.sites.iter().flatten() {
            if is_wanted(line) {
                *counts.entry(site).or_default() += count;
            }
        }
        let mut sites: Vec<_> = counts.into_iter().collect();
        sites.sort_by_key(|&(site, count)| (std::cmp::Reverse(count), site));
        sites
    };
    let sites = hottest.iter().map(|hot| sites_where(&|line| line == hot.line)).collect();
    let all_sites = sites_where(&|_| true);
    let (hash, trace) = engine.trace.take();
    Statistics {
        time,
        hash,
        events: engine.events,
        switches: engine.switches,
        spin_sleeps: engine.spin_sleeps,
        processors,
        programs,
        caches,
        hottest,
        sites,
        all_sites,
        trace,
        host,
    }
}
