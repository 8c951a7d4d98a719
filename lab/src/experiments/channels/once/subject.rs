//! What is measured, and how much of it.

use super::FAN;
use crate::fault::{Fault, Outcome};

/// The most messages, hops or processes: beyond, it takes hours, or all memory.
const MOST: u64 = 1_000_000_000;

/// The most processes of a ring, of a pipeline, or that are idle.
const MOST_PROCESSES: u64 = 10_000_000;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Messages through one channel.
    Stream,
    /// A token goes round in a ring of processes.
    Ring,
    /// Messages through a row of processes.
    Pipeline,
    /// One process feeds [`FAN`] others.
    FanOut,
    /// One process is fed by [`FAN`] others.
    FanIn,
    /// Processes wait, and take memory meanwhile.
    Idle,
}

/// Something to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject {
    /// What.
    pub kind: Kind,
    /// Of how many processes it consists; fans: how many feed one, or are fed; idle: 1.
    pub processes: u64,
    /// How many messages there are (in each channel of a fan), how often the token goes round, or how many processes wait.
    pub number: u64,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] =
        [Kind::Stream, Kind::Ring, Kind::Pipeline, Kind::FanOut, Kind::FanIn, Kind::Idle];

    /// Its name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Stream => "stream",
            Kind::Ring => "ring",
            Kind::Pipeline => "pipeline",
            Kind::FanOut => "fan-out",
            Kind::FanIn => "fan-in",
            Kind::Idle => "idle",
        }
    }

    /// The kind of that name.
    pub fn find(name: &str) -> Outcome<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let known = Kind::ALL.map(Kind::name).join(", ");
            Fault::input(format!("unknown kind '{name}'; there are {known}"))
        })
    }

    /// Whether its size also says how many processes there are.
    fn has_processes(self) -> bool {
        matches!(self, Kind::Ring | Kind::Pipeline)
    }
}

impl Subject {
    /// The subject that a command line or a record names. The size is a number, or for rings and pipelines
    /// `PROCESSESxNUMBER`.
    pub fn find(kind: &str, size: &str) -> Outcome<Subject> {
        let kind = Kind::find(kind)?;
        let read = || {
            let (processes, number) = match (kind, size.split_once('x')) {
                (Kind::Ring | Kind::Pipeline, Some((processes, number))) => {
                    (processes.parse().ok()?, number)
                }
                (Kind::Ring | Kind::Pipeline, None) => return None,
                (Kind::Stream, _) => (2, size),
                (Kind::FanOut | Kind::FanIn, _) => (FAN as u64, size),
                (Kind::Idle, _) => (1, size),
            };
            let (least, most) = match kind {
                Kind::Pipeline => (2, MOST_PROCESSES),
                _ => (1, MOST_PROCESSES),
            };
            let number: u64 = number.parse().ok()?;
            let all = number.checked_mul(processes)?;
            let is_possible = (least..=most).contains(&processes)
                && (1..=MOST).contains(&all)
                && (kind != Kind::Idle || number <= MOST_PROCESSES);
            is_possible.then_some(Subject { kind, processes, number })
        };
        read().ok_or_else(|| {
            let (name, form) = (kind.name(), if kind.has_processes() { "PROCESSESxN" } else { "N" });
            Fault::input(format!(
                "the size of {name} is {form}, with at most {MOST} messages and {MOST_PROCESSES} processes"
            ))
        })
    }

    /// The size, as [`Subject::find`] reads it.
    pub fn size(self) -> String {
        if self.kind.has_processes() {
            format!("{}x{}", self.processes, self.number)
        } else {
            self.number.to_string()
        }
    }

    /// Among how many the time or the memory is divided.
    pub fn count(self) -> u64 {
        match self.kind {
            Kind::Ring | Kind::FanOut | Kind::FanIn => self.processes * self.number,
            Kind::Stream | Kind::Pipeline | Kind::Idle => self.number,
        }
    }

    /// What must come out, as a program without processes finds it: sums of what is received, each time its position there;
    /// the token in the end; how often it was passed on.
    pub fn answer(self, seed: u64) -> u64 {
        let Subject { kind, processes, number } = self;
        let sum = |numbers: &mut dyn Iterator<Item = u64>| {
            let weighed =
                numbers.zip(1u64..).map(|(number, position)| number.wrapping_mul(position));
            weighed.fold(0, u64::wrapping_add)
        };
        match kind {
            Kind::Stream | Kind::Pipeline => {
                sum(&mut (0..number).map(|n| seed.wrapping_add(n + processes - 2)))
            }
            Kind::Ring => {
                let turn = processes * (processes - 1) / 2;
                seed.wrapping_add(turn.wrapping_mul(number + 1))
            }
            Kind::FanOut => {
                let one = |to| sum(&mut (0..number).map(|n| seed.wrapping_add(n * processes + to)));
                (0..processes).map(one).fold(0, u64::wrapping_add)
            }
            Kind::FanIn => {
                let rounds = (0..number).flat_map(|n| (0..processes).map(move |from| (n, from)));
                sum(&mut rounds.map(|(n, from)| seed.wrapping_add(from * number + n)))
            }
            Kind::Idle => number,
        }
    }

    /// What is measured, in words.
    pub fn about(self) -> String {
        let Subject { kind, processes, number } = self;
        match kind {
            Kind::Stream => "messages through one channel".to_owned(),
            Kind::Ring => format!("a token in a ring of {processes} processes"),
            Kind::Pipeline => format!("messages through a pipeline of {processes} processes"),
            Kind::FanOut => format!("one process feeds {processes}"),
            Kind::FanIn => format!("{processes} processes feed one"),
            Kind::Idle => format!("{number} idle processes"),
        }
    }

    /// What a figure of it counts.
    pub fn unit(self) -> &'static str {
        match self.kind {
            Kind::Ring => "ns a hop",
            Kind::Idle => "bytes a process",
            Kind::Stream | Kind::Pipeline | Kind::FanOut | Kind::FanIn => "ns a message",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for (kind, size, processes, number) in [
            ("stream", "7", 2, 7),
            ("ring", "1x1", 1, 1),
            ("ring", "1000x300", 1000, 300),
            ("pipeline", "2x9", 2, 9),
            ("fan-out", "20", 100, 20),
            ("fan-in", "20", 100, 20),
            ("idle", "1000000", 1, 1_000_000),
        ] {
            let subject = Subject::find(kind, size).unwrap();
            assert_eq!((subject.processes, subject.number), (processes, number));
            assert_eq!((subject.kind.name(), subject.size().as_str()), (kind, size));
        }
        for (kind, size) in [
            ("stream", "0"),
            ("stream", "7x2"),
            ("stream", "-1"),
            ("stream", "600000000"),
            ("ring", "1000"),
            ("ring", "0x5"),
            ("ring", "5x0"),
            ("ring", "5x"),
            ("ring", "1000000000000x1000000000000"),
            ("ring", "20000000x1"),
            ("pipeline", "1x5"),
            ("pipeline", "2x3x4"),
            ("fan-out", "0"),
            ("idle", "10000001"),
            ("sleep", "1"),
        ] {
            assert!(matches!(Subject::find(kind, size), Err(Fault::Input(_))), "{kind} {size}");
        }
    }

    #[test]
    fn answers_are_those_of_counting_on_paper() {
        let answer = |kind, size, seed| Subject::find(kind, size).unwrap().answer(seed);
        // 1·5 + 2·6 + 3·7, and the same with one more each.
        assert_eq!((answer("stream", "3", 5), answer("pipeline", "3x3", 5)), (38, 38 + 6));
        // Three turns, each of 1 + 2 + 3.
        assert_eq!((answer("ring", "4x2", 5), answer("ring", "1x9", 5)), (5 + 18, 5));
        // Each gets one: 5 to 104.
        assert_eq!(answer("fan-out", "1", 5), (5..105).sum::<u64>());
        // Each gets two: what it got before, and 100 more, twice.
        let second: u64 = (105..205).map(|number| 2 * number).sum();
        assert_eq!(answer("fan-out", "2", 5), (5..105).sum::<u64>() + second);
        assert_eq!(answer("fan-in", "1", 0), (0..100).map(|from| from * (from + 1)).sum::<u64>());
        assert_eq!(answer("idle", "10", 5), 10);
        assert_eq!(answer("stream", "1", u64::MAX), u64::MAX);
    }

    #[test]
    fn an_answer_depends_on_the_order() {
        let numbers = [5u64, 6, 7];
        let swapped = [6u64, 5, 7];
        let sum =
            |numbers: [u64; 3]| numbers.into_iter().zip(1..).map(|(n, at)| n * at).sum::<u64>();
        assert_eq!(sum(numbers), Subject::find("stream", "3").unwrap().answer(5));
        assert_ne!(sum(swapped), sum(numbers));
    }
}
