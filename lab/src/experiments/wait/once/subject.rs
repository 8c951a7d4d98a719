//! What is measured, and how much of it.

use crate::fault::{Fault, Outcome};

/// The most tasks, round trips or threads: beyond, it takes hours, or all memory.
const MOST: u64 = 100_000_000;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A task spawns an empty one and awaits it, again and again.
    Spawn,
    /// Two tasks wake each other in turn, over two semaphores.
    PingPong,
    /// Tasks wait for a semaphore, and take memory meanwhile.
    Waiting,
    /// A task creates threads and waits until all have signalled, again and again.
    Fork,
}

/// Something to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject {
    /// What.
    pub kind: Kind,
    /// How many tasks, round trips, or threads.
    pub number: u64,
    /// How often, for threads; else 1.
    pub rounds: u64,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 4] = [Kind::Spawn, Kind::PingPong, Kind::Waiting, Kind::Fork];

    /// Its name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Spawn => "spawn",
            Kind::PingPong => "ping-pong",
            Kind::Waiting => "waiting",
            Kind::Fork => "fork",
        }
    }

    /// The kind of that name.
    pub fn find(name: &str) -> Outcome<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let known = Kind::ALL.map(Kind::name).join(", ");
            Fault::input(format!("unknown kind '{name}'; there are {known}"))
        })
    }
}

impl Subject {
    /// The subject that a command line or a record names. The size is a number, or for threads also `NUMBERxROUNDS`.
    pub fn find(kind: &str, size: &str) -> Outcome<Subject> {
        let kind = Kind::find(kind)?;
        let (number, rounds) = match size.split_once('x') {
            Some((number, rounds)) if kind == Kind::Fork => (number, rounds),
            _ => (size, "1"),
        };
        let count =
            |text: &str| text.parse::<u64>().ok().filter(|count| (1..=MOST).contains(count));
        match (count(number), count(rounds)) {
            (Some(number), Some(rounds)) if number.saturating_mul(rounds) <= MOST => {
                Ok(Subject { kind, number, rounds })
            }
            _ => {
                let form =
                    if kind == Kind::Fork { "N or NxROUNDS, all together" } else { "a number" };
                let name = kind.name();
                Err(Fault::input(format!("the size of {name} is {form} from 1 to {MOST}")))
            }
        }
    }

    /// The size, as [`Subject::find`] reads it.
    pub fn size(self) -> String {
        match (self.kind, self.rounds) {
            (Kind::Fork, 2..) => format!("{}x{}", self.number, self.rounds),
            _ => self.number.to_string(),
        }
    }

    /// Among how many the time or the memory is divided.
    pub fn count(self) -> u64 {
        self.number * self.rounds
    }

    /// What must come out, found in another way: the sum of what the tasks return, which are the numbers from the seed on; how
    /// often the ball was hit; how many tasks went on; how many threads there were.
    pub fn answer(self, seed: u64) -> u64 {
        let count = self.count();
        match self.kind {
            Kind::Spawn => seed.wrapping_mul(count).wrapping_add(count * (count - 1) / 2),
            Kind::PingPong => 2 * count,
            Kind::Waiting | Kind::Fork => count,
        }
    }

    /// What is measured, in words.
    pub fn about(self) -> String {
        match self.kind {
            Kind::Spawn => "spawn and await an empty task".to_owned(),
            Kind::PingPong => "ping-pong of two tasks over semaphores".to_owned(),
            Kind::Waiting => format!("{} waiting tasks", self.number),
            Kind::Fork => format!("create {} threads and await their signals", self.number),
        }
    }

    /// What a figure of it counts.
    pub fn unit(self) -> &'static str {
        match self.kind {
            Kind::Spawn => "ns a task",
            Kind::PingPong => "ns a round trip",
            Kind::Waiting => "bytes a task",
            Kind::Fork => "ns a thread",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for (kind, size, number, rounds) in [
            ("spawn", "7", 7, 1),
            ("ping-pong", "100000000", MOST, 1),
            ("waiting", "1", 1, 1),
            ("fork", "10", 10, 1),
            ("fork", "10x200", 10, 200),
        ] {
            let subject = Subject::find(kind, size).unwrap();
            assert_eq!((subject.number, subject.rounds), (number, rounds));
            assert_eq!((subject.kind.name(), subject.size().as_str()), (kind, size));
        }
        for (kind, size) in [
            ("spawn", "0"),
            ("spawn", "7x2"),
            ("spawn", "-1"),
            ("waiting", "100000001"),
            ("fork", "100000x100000"),
            ("fork", "x"),
            ("fork", "10x0"),
            ("fork", "10x2x3"),
            ("sleep", "1"),
        ] {
            assert!(matches!(Subject::find(kind, size), Err(Fault::Input(_))), "{kind} {size}");
        }
    }

    #[test]
    fn answers_are_those_of_counting() {
        let answer = |kind, size, seed| Subject::find(kind, size).unwrap().answer(seed);
        let sum =
            (0..10).fold(0u64, |sum, index| sum.wrapping_add((u64::MAX - 3).wrapping_add(index)));
        assert_eq!(answer("spawn", "10", u64::MAX - 3), sum);
        assert_eq!(answer("ping-pong", "10", 1), 20);
        assert_eq!((answer("waiting", "10", 1), answer("fork", "10x3", 1)), (10, 30));
    }
}
