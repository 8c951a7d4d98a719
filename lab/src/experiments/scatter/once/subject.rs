//! A network of scatter and gather.

use super::work::divide;
use crate::fault::{Fault, Outcome};

/// The most processes, and the most messages.
const MOST_PROCESSES: u64 = 100_000;
const MOST_MESSAGES: u64 = 1_000_000_000;

/// The most work for a message: a minute.
const MOST_NANOS: u64 = 60_000_000_000;

/// A central process sends each of the others a message and waits for all answers, again and again (the study's figure 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject {
    /// How many others there are: n, what the study calls workers.
    pub processes: u64,
    /// How many rounds: m.
    pub rounds: u64,
    /// The work for a message: w, in nanoseconds.
    pub nanos: u64,
}

impl Subject {
    /// The network that a command line or a record names: `PROCESSESxROUNDSxNANOSECONDS`.
    pub fn find(size: &str) -> Outcome<Subject> {
        let read = || {
            let mut parts = size.split('x').map(|part| part.parse::<u64>().ok());
            let mut next = || parts.next().flatten();
            let subject = Subject { processes: next()?, rounds: next()?, nanos: next()? };
            let messages = subject.processes.checked_mul(subject.rounds)?;
            let is_possible = parts.next().is_none()
                && (1..=MOST_PROCESSES).contains(&subject.processes)
                && (1..=MOST_MESSAGES).contains(&messages)
                && (1..=MOST_NANOS).contains(&subject.nanos);
            is_possible.then_some(subject)
        };
        read().ok_or_else(|| {
            Fault::input(format!(
                "a network is PROCESSESxROUNDSxNANOSECONDS, of at most {MOST_PROCESSES} processes, {MOST_MESSAGES} messages \
                 and a minute each: not '{size}'"
            ))
        })
    }

    /// As [`Subject::find`] reads it.
    pub fn size(self) -> String {
        format!("{}x{}x{}", self.processes, self.rounds, self.nanos)
    }

    /// How many messages the central process sends.
    pub fn messages(self) -> u64 {
        self.processes * self.rounds
    }

    /// The work for a message, in microseconds.
    pub fn micros(self) -> f64 {
        self.nanos as f64 / 1e3
    }

    /// The number in a message, by its place among all.
    pub(super) fn number(seed: u64, place: u64) -> u64 {
        seed.wrapping_add(place)
    }

    /// What an answer adds to the sum.
    pub(super) fn weighed(answer: u64, place: u64) -> u64 {
        answer.wrapping_mul(place + 1)
    }

    /// What must come out: the sum of all answers, each times its place. An answer is the message's number and what the divisions
    /// come to.
    pub fn answer(self, divisions: u64, seed: u64) -> u64 {
        let quotients = divide(divisions);
        // Of places p from 1 to N: the sum of p·(seed + p − 1 + quotients).
        let messages = u128::from(self.messages());
        let (first, squares) =
            (messages * (messages + 1) / 2, messages * (messages + 1) * (2 * messages + 1) / 6);
        let each = seed.wrapping_add(quotients).wrapping_sub(1);
        (squares as u64).wrapping_add((first as u64).wrapping_mul(each))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        let subject = Subject::find("250x40x100000").unwrap();
        assert_eq!(subject, Subject { processes: 250, rounds: 40, nanos: 100_000 });
        assert_eq!((subject.size().as_str(), subject.messages()), ("250x40x100000", 10_000));
        for size in [
            "",
            "250",
            "250x40",
            "0x1x1",
            "1x0x1",
            "1x1x0",
            "1x1x1x1",
            "100001x1x1",
            "2x600000000x1",
            "1x1x60000000001",
            "100000x18446744073709551615x1",
            "axbxc",
        ] {
            assert!(matches!(Subject::find(size), Err(Fault::Input(_))), "{size}");
        }
    }

    #[test]
    fn an_answer_is_the_sum_of_all() {
        let subject = Subject { processes: 3, rounds: 4, nanos: 1 };
        for (divisions, seed) in [(1, 0), (10, 5), (77, u64::MAX - 2)] {
            let quotients = divide(divisions);
            let sum = (0..12).fold(0u64, |sum, place| {
                let answer = Subject::number(seed, place).wrapping_add(quotients);
                sum.wrapping_add(Subject::weighed(answer, place))
            });
            assert_eq!(subject.answer(divisions, seed), sum);
            assert_ne!(subject.answer(divisions + 1, seed), sum);
        }
    }
}
