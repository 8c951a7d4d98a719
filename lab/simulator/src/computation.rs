//! What is computed: by name and numbers, as `tree:65536:1000`.

use std::str::FromStr;

/// A computation. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computation {
    /// A balanced tree of joins.
    Tree { leaves: u64, leaf: u64 },
    /// A tree whose nodes compute, too.
    Knary(Knary),
    /// Nornir's network: a process sends a message to each of the others, which compute and answer.
    Scatter { processes: u64, rounds: u64, message: u64 },
    /// A parallel loop.
    Loop { items: u64, item: u64 },
    /// A serial part and a parallel loop, again and again.
    Rounds { rounds: u64, serial: u64, chunks: u64, chunk: u64 },
    /// One task starts all others.
    Producer { tasks: u64, task: u64 },
    /// Bursts of tasks, with pauses in which the workers fall asleep.
    Storm { bursts: u64, tasks: u64, task: u64, pause: u64 },
    /// Threads outside of the pool call it, again and again.
    Callers { threads: u64, calls: u64, work: u64 },
    /// Nothing, for a time.
    Idle { time: u64 },
}

/// The synthetic benchmark of Hood's study (section 5): at each node some work, then the first
/// children one after the other, and the rest in parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knary {
    /// A tree of height 1 is a node.
    pub height: u64,
    /// The number of children.
    pub degree: u64,
    /// Those one after the other.
    pub serial: u64,
    /// The work of a node.
    pub node: u64,
}

impl Knary {
    /// How many nodes it has; as many as the number's type holds, if they are more.
    pub fn nodes(&self) -> u64 {
        let below = |nodes: u64, _| nodes.saturating_mul(self.degree).saturating_add(1);
        (0..self.height).fold(0, below)
    }
}

impl Computation {
    /// The processor time of its own work.
    pub fn work(&self) -> u64 {
        match *self {
            Self::Tree { leaves, leaf } => leaves * leaf,
            Self::Knary(tree) => tree.nodes() * tree.node,
            Self::Scatter { processes, rounds, message } => processes * rounds * message,
            Self::Loop { items, item } => items * item,
            Self::Rounds { rounds, serial, chunks, chunk } => rounds * (serial + chunks * chunk),
            Self::Producer { tasks, task } => tasks * task,
            Self::Storm { bursts, tasks, task, .. } => bursts * tasks * task,
            Self::Callers { threads, calls, work } => threads * calls * work,
            Self::Idle { .. } => 0,
        }
    }
}

/// The computations and their numbers; times are in nanoseconds.
const KNOWN: &str = "tree:LEAVES:NS, knary:HEIGHT:DEGREE:SERIAL:NS, \
                     scatter:PROCESSES:ROUNDS:NS, loop:ITEMS:NS, rounds:ROUNDS:SERIAL:CHUNKS:NS, \
                     producer:TASKS:NS, storm:BURSTS:TASKS:NS:PAUSE, callers:THREADS:CALLS:NS, \
                     idle:NS";

/// A text that names no computation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownComputation(String);

impl std::fmt::Display for UnknownComputation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unknown computation '{}'; there are {KNOWN}, with whole numbers above 0", self.0)
    }
}

impl std::error::Error for UnknownComputation {}

impl FromStr for Computation {
    type Err = UnknownComputation;

    fn from_str(text: &str) -> Result<Self, UnknownComputation> {
        let unknown = || UnknownComputation(text.to_owned());
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let numbers: Result<Vec<u64>, _> = words.map(str::parse).collect();
        match (name, numbers.map_err(|_| unknown())?.as_slice()) {
            ("tree", &[leaves, leaf]) if leaves > 0 => Ok(Self::Tree { leaves, leaf }),
            ("knary", &[height, degree, serial, node])
                if (1..=64).contains(&height) && (1..1 << 20).contains(&degree) =>
            {
                let tree = Knary { height, degree, serial, node };
                let is_sound = serial <= degree && tree.nodes() < 1 << 40;
                is_sound.then_some(Self::Knary(tree)).ok_or_else(unknown)
            }
            ("scatter", &[processes, rounds, message]) if processes > 0 => {
                Ok(Self::Scatter { processes, rounds, message })
            }
            ("loop", &[items, item]) if items > 0 => Ok(Self::Loop { items, item }),
            ("rounds", &[rounds, serial, chunks, chunk]) if chunks > 0 => {
                Ok(Self::Rounds { rounds, serial, chunks, chunk })
            }
            ("producer", &[tasks, task]) if tasks > 0 => Ok(Self::Producer { tasks, task }),
            ("storm", &[bursts, tasks, task, pause]) if tasks > 0 => {
                Ok(Self::Storm { bursts, tasks, task, pause })
            }
            ("callers", &[threads, calls, work]) => Ok(Self::Callers { threads, calls, work }),
            ("idle", &[time]) => Ok(Self::Idle { time }),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_a_computation_or_is_refused() {
        assert_eq!("tree:8:100".parse(), Ok(Computation::Tree { leaves: 8, leaf: 100 }));
        let rounds: Computation = "rounds:2:50:4:10".parse().unwrap();
        assert_eq!(rounds.work(), 180);
        let knary: Computation = "knary:4:3:1:10".parse().unwrap();
        assert_eq!(knary.work(), 10 * (1 + 3 + 9 + 27));
        assert_eq!("scatter:3:2:10".parse::<Computation>().map(|it| it.work()), Ok(60));
        for wrong in [
            "",
            "knary:0:3:1:10",
            "knary:4:3:4:10",
            "knary:64:3:1:10",
            "scatter:0:1:1",
            "tree",
            "tree:1",
            "tree:0:1",
            "rounds:1:1:0:1",
            "loop:0:1",
            "tree:1:2:3",
            "tree:x:1",
            "bush:1:2",
        ] {
            assert!(wrong.parse::<Computation>().is_err(), "{wrong}");
        }
    }
}
