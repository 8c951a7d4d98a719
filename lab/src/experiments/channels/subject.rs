//! What is measured, and how much of it.

use crate::experiment::prelude::*;

/// The most messages, hops or tasks: more would take hours, or all memory.
const MOST: u64 = 1_000_000_000;
/// The most processes or tasks that exist at once.
const MOST_AT_ONCE: u64 = 10_000_000;
/// How many processes one process feeds, or is fed by.
pub(super) const FAN: usize = 100;

/// What is measured; see [`KINDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Stream,
    Ring,
    Pipeline,
    FanOut,
    FanIn,
    Idle,
    Spawn,
    PingPong,
    Waiting,
}

/// The kinds in their order: the name, what a figure counts, and what is measured.
pub(super) const KINDS: [(&str, &str, &str); 9] = [
    ("stream", "ns a message", "Numbers through a channel that holds 64, between two processes."),
    ("ring", "ns a hop", "One token goes round through channels that hold 8; all others wait."),
    ("pipeline", "ns a message", "Numbers through a row of processes, each of which adds one."),
    ("fan-out", "ns a message", "One process sends to 100 others, to each in turn."),
    ("fan-in", "ns a message", "One process receives from 100 others, from each in turn."),
    ("idle", "bytes a process", "Processes wait in a row, each for a message of the one before."),
    ("spawn", "ns a task", "A task spawns an empty one and awaits it, again and again."),
    ("ping-pong", "ns a round trip", "Two tasks wake each other in turn, over two semaphores."),
    ("waiting", "bytes a task", "Tasks wait for one semaphore."),
];

/// Something to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject {
    /// What.
    pub(super) kind: Kind,
    /// How many processes a ring or a pipeline has, or a fan beside the one in its middle; else 1.
    pub(super) width: u64,
    /// How many messages (in each channel of a fan), tasks or processes there are, or how often the
    /// token goes round.
    pub(super) number: u64,
}

impl Kind {
    /// All of them.
    pub(super) const ALL: [Kind; 9] = {
        use Kind::{FanIn, FanOut, Idle, PingPong, Pipeline, Ring, Spawn, Stream, Waiting};
        [Stream, Ring, Pipeline, FanOut, FanIn, Idle, Spawn, PingPong, Waiting]
    };

    /// Its name in records and on the command line.
    pub(super) fn name(self) -> &'static str {
        KINDS[self as usize].0
    }

    /// Whether it is a network of processes and channels, and not tasks with semaphores.
    pub(super) fn is_network(self) -> bool {
        (self as usize) < Kind::Spawn as usize
    }

    /// Whether memory is measured, and not time.
    pub(super) fn is_memory(self) -> bool {
        matches!(self, Kind::Idle | Kind::Waiting)
    }
}

impl Subject {
    /// The subject that a record names: the kind and its size, which is a number, or
    /// `WIDTHxNUMBER` for rings and pipelines.
    ///
    /// # Errors
    ///
    /// [`Fault::Input`] if there is no such kind, or not of this size.
    pub(super) fn find(name: &str) -> Outcome<Subject> {
        let (name, size) = name.split_once(' ').unwrap_or((name, ""));
        chosen("kind", &[name.to_owned()], &Kind::ALL.map(Kind::name), &[])?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        kind.and_then(|kind| Subject::of_size(kind, size)).ok_or_else(|| {
            Fault::input(format!(
                "'{size}' is not a size of {name}: that is PROCESSESxN for rings and pipelines, \
                 else N; at most {MOST} in all, {MOST_AT_ONCE} at once"
            ))
        })
    }

    fn of_size(kind: Kind, size: &str) -> Option<Subject> {
        let (width, number) = match kind {
            Kind::Ring | Kind::Pipeline => {
                let (width, number) = size.split_once('x')?;
                (width.parse().ok()?, number)
            }
            Kind::FanOut | Kind::FanIn => (FAN as u64, size),
            _ => (1, size),
        };
        let number: u64 = number.parse().ok()?;
        let all = number.checked_mul(width)?;
        let at_once = if kind.is_memory() { number } else { width };
        let is_short = kind == Kind::Pipeline && width < 2;
        let is_possible = !is_short && at_once <= MOST_AT_ONCE && (1..=MOST).contains(&all);
        is_possible.then_some(Subject { kind, width, number })
    }

    /// How much goes before what is timed: the workers have started then, and the code and the
    /// allocator's memory are in the cache.
    pub(super) fn warm_up(self) -> u64 {
        (self.number / 10).clamp(1, 10_000)
    }

    /// By what the time or the memory is divided.
    pub(super) fn count(self) -> u64 {
        match self.kind {
            Kind::Pipeline => self.number,
            _ => self.width * self.number,
        }
    }

    /// What must come out, computed without processes or tasks. Networks: the sum of what is
    /// received, each number times its position; the token in the end; how often it was passed on.
    /// Tasks: the sum of what they return; how often the ball was hit; how many went on.
    pub(super) fn answer(self, seed: u64) -> u64 {
        let Subject { kind, width, number } = self;
        // Of numbers that grow by `step`, at positions that grow by `stride`.
        let sum = |first: u64, step: u64, position: u64, stride: u64| {
            (0..number).fold(0u64, |sum, index| {
                let value = first.wrapping_add(index * step);
                sum.wrapping_add(value.wrapping_mul(position + index * stride))
            })
        };
        let of_all = |one: &dyn Fn(u64) -> u64| (0..width).map(one).fold(0, u64::wrapping_add);
        match kind {
            Kind::Stream => sum(seed, 1, 1, 1),
            Kind::Pipeline => sum(seed.wrapping_add(width - 2), 1, 1, 1),
            Kind::FanOut => of_all(&|to| sum(seed.wrapping_add(to), width, 1, 1)),
            Kind::FanIn => {
                of_all(&|from| sum(seed.wrapping_add(from * number), 1, from + 1, width))
            }
            Kind::Ring => seed.wrapping_add((width * (width - 1) / 2).wrapping_mul(number + 1)),
            Kind::Spawn => seed.wrapping_mul(number).wrapping_add(number * (number - 1) / 2),
            Kind::PingPong => 2 * number,
            Kind::Idle | Kind::Waiting => self.count(),
        }
    }
}
