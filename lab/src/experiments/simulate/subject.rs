//! What is computed, by name and numbers as the simulator has them: `tree:65536:1000`, or
//! `tree:65536:1000 beside 4` with busy threads. Times are in nanoseconds.
//!
//! More conditions are for the papers' studies: `on 8` processors, `under` an adversary, repeated
//! `for` at least so many milliseconds, `within` so many milliseconds from the start, and `beside`
//! the same runtime in another process, of which a computation with `=` before it is named.

use std::fmt;

use crate::experiment::prelude::*;

pub(super) const LOCKSLEY: &str = "locksley";
/// A worker for each processor, and an equal share of the work for each.
pub(super) const STATIC: &str = "static";

pub(super) const TREE: &str = "tree";
pub(super) const LOOP: &str = "loop";
pub(super) const ROUNDS: &str = "rounds";
pub(super) const PRODUCER: &str = "producer";
pub(super) const STORM: &str = "storm";
pub(super) const CALLERS: &str = "callers";
pub(super) const IDLE: &str = "idle";
/// Hood's tree and Nornir's network, which only the papers' studies have.
pub(super) const KNARY: &str = "knary";
pub(super) const SCATTER: &str = "scatter";
/// The kinds, in the order of the simulator's help.
pub(super) const KINDS: [&str; 7] = [TREE, LOOP, ROUNDS, PRODUCER, STORM, CALLERS, IDLE];

/// Nothing after the start of the workers: what it takes is no part of other computations.
pub(super) const START: &str = "idle:1";

/// The conditions.
pub(super) const BESIDE: &str = "beside";
pub(super) const ON: &str = "on";
pub(super) const UNDER: &str = "under";
pub(super) const FOR: &str = "for";
pub(super) const WITHIN: &str = "within";
const CONDITIONS: [&str; 5] = [BESIDE, ON, UNDER, FOR, WITHIN];
/// Those with numbers.
const NUMBERS: [&str; 3] = [ON, FOR, WITHIN];

/// Numbers of processors for which counters and places in the source are shown.
const DETAILED: [usize; 2] = [64, 256];

/// A computation, and how many busy threads it is beside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) kind: &'static str,
    /// As the simulator reads it.
    pub(super) computation: String,
    /// The busy threads.
    pub(super) busy: u64,
    /// Conditions and their values, but for busy threads.
    pub(super) conditions: Vec<(&'static str, String)>,
    /// What is done one after another, so often.
    repeats: u64,
    /// The time before each: of serial work in rounds, else without work.
    before: u64,
    /// Each has so many tasks, leaves, items or calls, which may run in parallel,
    tasks: u64,
    /// and each of them takes so long.
    task: u64,
}

/// The subjects of a plan, alone.
pub(super) fn all(quick: bool) -> Vec<Subject> {
    let quick_or_full = [
        ["tree:65536:10000", "tree:262144:10000"],
        ["tree:65536:1000", "tree:262144:1000"],
        ["loop:65536:10000", "loop:262144:10000"],
        ["loop:65536:1000", "loop:262144:1000"],
        ["rounds:10:50000:512:10000", "rounds:50:50000:512:10000"],
        ["producer:4096:10000", "producer:16384:10000"],
        ["storm:5:256:10000:1000000", "storm:20:256:10000:1000000"],
        ["callers:1000:4:20000", "callers:1000:10:20000"],
        ["idle:10000000", "idle:10000000"],
    ];
    let texts = quick_or_full.map(|texts| texts[usize::from(!quick)]);
    texts.map(|text| Subject::find(text).expect("it is one")).to_vec()
}

impl Subject {
    /// The subject that a text names.
    ///
    /// # Errors
    ///
    /// [`Fault::Input`] if it names none.
    pub(super) fn find(text: &str) -> Outcome<Subject> {
        Self::parse(text)
            .ok_or_else(|| Fault::input(format!("the simulator does not compute '{text}'")))
    }

    fn parse(text: &str) -> Option<Subject> {
        let mut words = text.split(' ');
        let (computation, mut busy, mut conditions) = (words.next()?, 0, Vec::new());
        while let Some(word) = words.next() {
            let (condition, value) =
                (CONDITIONS.into_iter().find(|it| *it == word)?, words.next()?);
            match value.parse() {
                Ok(threads) if condition == BESIDE => busy = threads,
                Err(_) if NUMBERS.contains(&condition) => return None,
                _ if condition == BESIDE && !value.starts_with('=') => return None,
                _ => conditions.push((condition, value.to_owned())),
            }
        }
        let (name, numbers) = computation.split_once(':')?;
        let kind = KINDS.into_iter().chain([KNARY, SCATTER]).find(|kind| *kind == name)?;
        let numbers: Vec<u64> = numbers.split(':').map(str::parse).try_collect().ok()?;
        let (repeats, before, tasks, task) = match (kind, &*numbers) {
            (TREE | LOOP | PRODUCER, &[tasks, task]) => (1, 0, tasks, task),
            (KNARY, &[height, degree, serial, node]) if height <= 64 && serial < degree => {
                let nodes = |of: u64| {
                    (0..height).try_fold(0, |it: u64, _| it.checked_mul(of)?.checked_add(1))
                };
                (1, 0, nodes(degree)?, node)
            }
            (SCATTER, &[processes, rounds, message]) => (rounds, 0, processes, message),
            (ROUNDS, &[rounds, serial, chunks, chunk]) => (rounds, serial, chunks, chunk),
            (STORM, &[bursts, tasks, task, pause]) => (bursts, pause, tasks, task),
            (CALLERS, &[threads, calls, work]) => (calls, 0, threads, work),
            (IDLE, &[time]) => (1, time, 0, 0),
            _ => return None,
        };
        let computation = computation.to_owned();
        let least = u64::from(![KNARY, ROUNDS].contains(&kind));
        let is_sound = numbers.iter().all(|number| (least..=1 << 40).contains(number))
            && tasks.checked_mul(task).is_some_and(|work| work < 1 << 50);
        let subject = Subject { kind, computation, busy, conditions, repeats, before, tasks, task };
        is_sound.then_some(subject)
    }

    /// The same computation beside so many busy threads.
    pub(super) fn beside(&self, busy: u64) -> Subject {
        Subject { busy, ..self.clone() }
    }

    /// The value of a condition.
    pub(super) fn condition(&self, name: &str) -> Option<&str> {
        self.conditions.iter().find(|it| it.0 == name).map(|it| &*it.1)
    }

    /// The span of a tree or a network without the runtime's part, in seconds.
    pub(super) fn span(&self) -> f64 {
        let numbers = self.computation.split(':').skip(1).map(|it| it.parse().unwrap_or(0));
        match (self.kind, &*numbers.collect::<Vec<u64>>()) {
            // At each node, those in series, and one of the others.
            (KNARY, &[height, _, serial, node]) => {
                let below = (0..height).fold(0.0, |nodes, _| nodes * (serial + 1) as f64 + 1.0);
                below * node as f64 / 1e9
            }
            _ => self.ideal(usize::MAX),
        }
    }

    /// How many processors it is granted with so many workers.
    pub(super) fn granted(&self, workers: usize) -> usize {
        let count = self.condition(UNDER).and_then(|adversary| adversary.split(':').nth(1));
        let number = |text: Option<&str>| text.and_then(|it| it.parse().ok()).unwrap_or(workers);
        workers.min(number(self.condition(ON))).min(number(count))
    }

    /// True if it is a tree with leaves of 10 µs or more.
    pub(super) fn is_coarse_tree(&self) -> bool {
        self.kind == TREE && self.task >= 10_000
    }

    /// True if the runtime has it. The papers' schedulers have neither tasks without a join nor
    /// calls from outside. Threads with static shares neither start tasks nor wait in a pool.
    pub(super) fn is_of(&self, runtime: &str) -> bool {
        let is_classic = runtime.starts_with("classic-");
        match self.kind {
            PRODUCER => runtime != STATIC && !is_classic,
            CALLERS => !is_classic,
            IDLE => runtime != STATIC || self.computation == START,
            _ => true,
        }
    }

    /// True if the runtime stands for what is possible, and is no competitor: callers that share
    /// the machine without a pool.
    pub(super) fn is_bound(&self, runtime: &str) -> bool {
        self.kind == CALLERS && runtime == STATIC
    }

    /// The number of all leaves, items, tasks or calls.
    pub(super) fn tasks(&self) -> f64 {
        self.repeats as f64 * self.tasks as f64
    }

    /// The processor time of its own work, in seconds.
    pub(super) fn work(&self) -> f64 {
        let serial =
            if self.kind == ROUNDS { self.repeats as f64 * self.before as f64 } else { 0.0 };
        (serial + self.tasks() * self.task as f64) / 1e9
    }

    /// The time on so many processors if nothing but the work itself took time, in seconds.
    pub(super) fn ideal(&self, processors: usize) -> f64 {
        let in_a_row = self.tasks.div_ceil(processors as u64) as f64;
        self.repeats as f64 * (self.before as f64 + in_a_row * self.task as f64) / 1e9
    }

    /// What it is, for people.
    pub(super) fn about(&self) -> String {
        let time = |nanos: u64| match nanos {
            1_000_000.. => format!("{} ms", nanos as f64 / 1e6),
            _ => format!("{} µs", nanos as f64 / 1e3),
        };
        let plus = if self.tasks > 0 { " +" } else { "" };
        let parts = [
            (self.repeats > 1).then(|| format!("{} ×", self.repeats)),
            (self.before > 0).then(|| format!("{}{plus}", time(self.before))),
            (self.tasks > 0).then(|| format!("{} of {}", self.tasks, time(self.task))),
        ];
        let beside = if self.busy > 0 { format!(", beside {}", self.busy) } else { String::new() };
        format!("{}: {}{beside}", self.kind, parts.iter().flatten().join(" "))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.computation)?;
        self.conditions.iter().try_for_each(|(name, value)| write!(f, " {name} {value}"))?;
        if self.busy > 0 { write!(f, " {BESIDE} {}", self.busy) } else { Ok(()) }
    }
}

/// The numbers of processors that are shown in detail: the largest, if the plan has none of them.
pub(super) fn detailed(plan: &Plan) -> Vec<usize> {
    let all = plan.cells.iter().map(|cell| cell.workers).sorted_unstable().dedup().collect_vec();
    let mut detailed = all.clone();
    detailed.retain(|workers| DETAILED.contains(workers));
    if detailed.is_empty() { all.last().copied().into_iter().collect() } else { detailed }
}
