//! PA beside a cycler, measured in two ways: by the system's account of what other processes used,
//! and by the papers' method, the machine less what the cycler has counted.

use crate::experiment::prelude::*;
use std::fmt;

/// A cycler without end: see [`Cycler`](crate::cycler::Cycler).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beside {
    /// p: its workers.
    pub workers: usize,
    /// w: the most increments of a worker that was released.
    pub most: u64,
}

/// A program beside a cycler, over all repetitions of a measurement.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shared {
    /// The mean time of a computation, in seconds.
    pub seconds: f64,
    /// PA.
    pub processors: f64,
    /// PA of each repetition by the system's account, and by the papers' method.
    pub both: Vec<(f64, f64)>,
}

impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycler({}, {})", self.workers, self.most)
    }
}

impl Beside {
    /// The name of the runtime under which programs beside it are recorded.
    pub(super) fn runtime(self) -> String {
        format!("{BESIDE}{self}")
    }

    /// The cycler that the name of a runtime tells of.
    pub(super) fn of(runtime: &str) -> Option<Beside> {
        let numbers = runtime.strip_prefix(BESIDE)?.strip_prefix("cycler(")?.strip_suffix(')')?;
        let (workers, most) = numbers.split_once(", ")?;
        Some(Beside { workers: workers.parse().ok()?, most: most.parse().ok()? })
    }
}

const BESIDE: &str = "locksley beside ";

/// What a cycler that had so many processors leaves to so many workers.
fn left(record: &Record, workers: usize, cycler: f64) -> f64 {
    // The kernel runs every thread a little.
    let left = (record.machine.processors as f64 - cycler).max(0.01);
    left.min(record.machine.granted(workers))
}

/// What was measured of a program beside a cycler, which counts `rate` increments a second on a
/// processor of its own. PA is an average over time, so long repetitions count more.
pub(super) fn shared(
    record: &Record,
    subject: &str,
    runtime: &str,
    workers: usize,
    rate: Option<f64>,
) -> Option<Shared> {
    let values = |metric| record.values(subject, runtime, workers, metric);
    let (seconds, computations, wall) = (values("seconds"), values("computations"), values("wall"));
    let (increments, granted) = (values("increments"), values("granted"));
    let number = wall.len();
    if number == 0 || [&seconds, &computations, &increments].iter().any(|it| it.len() != number) {
        return None;
    }
    let counted =
        |place: usize| Some(left(record, workers, increments[place] / wall[place] / rate?));
    // Where the system does not tell what others used, the papers' method is all there is.
    let is_told = granted.len() == number;
    let mut processor_seconds = 0.0;
    for place in 0..number {
        let processors = if is_told { granted[place] } else { counted(place)? };
        processor_seconds += processors * wall[place];
    }
    let both = |place: usize| Some((*granted.get(place)?, counted(place)?));
    Some(Shared {
        seconds: seconds.iter().sum::<f64>() / computations.iter().sum::<f64>(),
        processors: processor_seconds / wall.iter().sum::<f64>(),
        both: if is_told { (0..number).filter_map(both).collect() } else { Vec::new() },
    })
}

/// How far the two ways are from each other: the mean of what the papers' method has more, the mean
/// of the distances, and the largest.
pub(super) fn difference(both: &[(f64, f64)]) -> Option<[f64; 3]> {
    let differences = || both.iter().map(|(by_system, counted)| counted - by_system);
    let mean = |sum: f64| sum / both.len() as f64;
    (!both.is_empty()).then(|| {
        let distances = || differences().map(f64::abs);
        [mean(differences().sum()), mean(distances().sum()), distances().fold(0.0, f64::max)]
    })
}

/// A row of the comparison: PA by the system, and the differences.
pub(super) fn row(name: &str, both: &[(f64, f64)]) -> Option<Vec<String>> {
    let [mean, distance, most] = difference(both)?;
    let all = || both.iter().map(|both| both.0);
    let range = format!(
        "{} to {}",
        number(all().fold(f64::INFINITY, f64::min)),
        number(all().fold(0.0, f64::max))
    );
    let numbers = [mean, distance, most].map(|number| format!("{number:.3}"));
    Some([name.to_owned(), both.len().to_string(), range].into_iter().chain(numbers).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Plan, record::Sample};

    fn record(readings: &[(&str, [f64; 2])]) -> Record {
        let mut record = Record::new("model", Plan::default());
        (record.machine.processors, record.machine.quota) = (2, None);
        for (metric, values) in readings {
            for (repeat, value) in values.iter().enumerate() {
                record.samples.push(Sample {
                    experiment: "model".into(),
                    subject: "mm 64".into(),
                    runtime: "locksley beside cycler(1, 100)".into(),
                    workers: 2,
                    repeat,
                    metric: (*metric).to_owned(),
                    value: *value,
                });
            }
        }
        record
    }

    const TIMES: [(&str, [f64; 2]); 3] =
        [("seconds", [1.0, 3.0]), ("computations", [2.0, 2.0]), ("wall", [1.0, 3.0])];

    #[test]
    fn long_repetitions_count_more_and_the_two_ways_are_compared() {
        let told = [("increments", [500.0, 3000.0]), ("granted", [1.5, 0.9])];
        let record = record(&[&TIMES[..], &told].concat());
        let find = |rate| shared(&record, "mm 64", "locksley beside cycler(1, 100)", 2, rate);
        let found = find(Some(1000.0)).unwrap();
        assert_eq!((found.seconds, found.processors), (1.0, (1.5 + 3.0 * 0.9) / 4.0));
        assert_eq!(found.both, [(1.5, 1.5), (0.9, 1.0)]);
        let [mean, distance, most] = difference(&found.both).unwrap();
        assert!([mean - 0.05, distance - 0.05, most - 0.1].iter().all(|it| it.abs() < 1e-9));
        assert!(find(None).unwrap().both.is_empty());
    }

    #[test]
    fn where_the_system_does_not_tell_pa_is_what_the_cycler_left() {
        let record = record(&[&TIMES[..], &[("increments", [500.0, 9000.0])]].concat());
        let find = |rate| shared(&record, "mm 64", "locksley beside cycler(1, 100)", 2, rate);
        assert_eq!(find(Some(1000.0)).unwrap().processors, (1.5 + 3.0 * 0.01) / 4.0);
        assert_eq!(find(None), None);
    }

    #[test]
    fn a_cycler_is_known_by_its_name() {
        let beside = Beside { workers: 2, most: 100 };
        assert_eq!(Beside::of(&beside.runtime()), Some(beside));
        assert_eq!(Beside::of("locksley"), None);
    }
}
