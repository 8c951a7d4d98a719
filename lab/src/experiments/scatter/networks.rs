//! The networks that are measured.

use std::fmt;

use super::once::{CURRENT, LAST, NORNIR_CURRENT, NORNIR_LAST, SERIAL, STATIC};
use super::{DIVISION, UTILIZATION};
use crate::experiment::prelude::*;

const MOST_PROCESSES: u64 = 100_000;
const MOST_MESSAGES: u64 = 1_000_000_000;
/// A minute.
const MOST_NANOS: u64 = 60_000_000_000;

/// Experiment 1 keeps more of its rounds than the others by this factor: its coarse messages have
/// few. The work of whole rounds may differ from what is wanted by the tolerance.
pub(super) const DIVISION_KEEPS: f64 = 2.5;
const DIVISION_TOLERANCE: f64 = 0.1;

/// A central process sends each of the others a message and waits for all answers, again and again
/// (the study's figure 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    /// n: all but the central process.
    pub(super) processes: u64,
    /// m.
    pub(super) rounds: u64,
    /// w: the work for a message, in nanoseconds.
    pub(super) nanos: u64,
}

impl Network {
    /// The network that a subject names: `PROCESSESxROUNDSxNANOSECONDS`.
    pub(super) fn find(subject: &str) -> Outcome<Network> {
        let read = || {
            let numbers = subject.split('x').map(|number| number.parse().ok());
            let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
            let &[processes, rounds, nanos] = &numbers[..] else { return None };
            let is_possible = (1..=MOST_PROCESSES).contains(&processes)
                && (1..=MOST_MESSAGES).contains(&processes.checked_mul(rounds)?)
                && (1..=MOST_NANOS).contains(&nanos);
            is_possible.then_some(Network { processes, rounds, nanos })
        };
        read().ok_or_else(|| {
            Fault::input(format!(
                "a network is PROCESSESxROUNDSxNANOSECONDS, of at most {MOST_PROCESSES} processes, \
                 {MOST_MESSAGES} messages and a minute each: not '{subject}'"
            ))
        })
    }

    pub(super) fn messages(&self) -> u64 {
        self.processes * self.rounds
    }

    pub(super) fn micros(&self) -> f64 {
        self.nanos as f64 / 1e3
    }

    pub(super) fn about(&self) -> String {
        format!("n = {}, w = {} µs", self.processes, self.micros())
    }

    /// The study's d: the work of a message is 1/d seconds.
    pub(super) fn division(&self) -> u64 {
        1_000_000_000 / self.nanos
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.processes, self.rounds, self.nanos)
    }
}

/// The networks of an experiment: all n with all w.
pub(super) fn networks(part: &str, quick: bool, divisor: u64) -> Vec<Network> {
    let pick = |full: &[u64], less: &[u64]| if quick { less.to_vec() } else { full.to_vec() };
    let tens = |from: u64, to: u64| (from..=to).map(|ten| 10_000 * ten);
    let (processes, nanos): (_, Vec<u64>) = match part {
        DIVISION => {
            let full: Vec<u64> = [100, 1000].into_iter().chain(tens(1, 10)).collect();
            let divisions = pick(&full, &[1000, 10_000, 40_000, 100_000]);
            let nanos = divisions.into_iter().map(|division| 1_000_000_000 / division);
            (pick(&[50, 250, 500, 750, 1000], &[50, 250]), nanos.collect())
        }
        "2" => (pick(&[8, 16, 32, 64, 128, 192, 256], &[8, 32, 128]), vec![100_000]),
        "3" => {
            let micros = pick(&[25, 50, 100, 200, 400, 800], &[25, 100, 400]);
            (pick(&[16, 50, 250], &[16, 250]), micros.iter().map(|w| 1000 * w).collect())
        }
        "4" => ((16..=if quick { 24 } else { 48 }).collect(), vec![800_000]),
        _ => (vec![250], vec![100_000, 10_000]),
    };
    // The work of all rounds of experiment 1, in ns.
    let total = 50e9 * DIVISION_KEEPS / divisor as f64;
    let network = |processes: u64, nanos: u64| {
        let of_a_round = processes * nanos;
        let rounds = match part {
            DIVISION => (total / of_a_round as f64).round() as u64,
            UTILIZATION => (500_000_000_000 / of_a_round / divisor).max(1),
            _ => (12_500 / divisor).max(1),
        };
        let share = (rounds * of_a_round) as f64 / total;
        let is_whole = part != DIVISION || (share - 1.0).abs() <= DIVISION_TOLERANCE;
        is_whole.then_some(Network { processes, rounds, nanos })
    };
    let all = processes.iter().flat_map(|&n| nanos.iter().map(move |&w| (n, w)));
    all.filter_map(|(n, w)| network(n, w)).collect()
}

/// What the networks of an experiment run on, and whether with all workers, or with one.
pub(super) fn runtimes(part: &str) -> &'static [(&'static str, bool)] {
    match part {
        "4" => &[(LAST, false), (LAST, true), (NORNIR_LAST, true)],
        UTILIZATION => &[(SERIAL, false), (STATIC, true), (LAST, true), (CURRENT, true)],
        _ => &[
            (LAST, false),
            (LAST, true),
            (CURRENT, true),
            (NORNIR_LAST, true),
            (NORNIR_CURRENT, true),
        ],
    }
}

/// The place of a network on the horizontal axis, and the chart in which it is shown.
pub(super) fn place(part: &str, network: &Network) -> (f64, String) {
    let (n, w) = (network.processes, network.micros());
    match part {
        DIVISION => (network.division() as f64, format!("n = {n}")),
        "2" | "4" => (n as f64, format!("w = {w} µs")),
        _ => (w, format!("n = {n}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_as_they_are_written() {
        let network = Network::find("250x40x100000").unwrap();
        assert_eq!(network, Network { processes: 250, rounds: 40, nanos: 100_000 });
        assert_eq!((network.to_string().as_str(), network.messages()), ("250x40x100000", 10_000));
        for subject in [
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
            assert!(matches!(Network::find(subject), Err(Fault::Input(_))), "{subject}");
        }
    }
}
