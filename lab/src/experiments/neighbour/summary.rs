//! Percentiles of what was measured.

use super::histogram::Histogram;
use super::record::{Beside, Record, Sample};

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The sleeper alone.
    pub alone: Option<Latency>,
    /// The processors that others used while it was alone: the mean, if it is worth a word.
    pub disturbance: Option<f64>,
    /// Each computation with each number of workers, in the order of the plan.
    pub groups: Vec<Group>,
}

/// The runtimes beside the sleeper that computed the same with as many workers.
#[derive(Debug, Clone)]
pub struct Group {
    /// The shape of the computation, by name.
    pub shape: String,
    /// What it is there to show.
    pub shows: String,
    /// The number of workers.
    pub workers: usize,
    /// The sleeper beside each runtime.
    pub runtimes: Vec<(String, Latency)>,
}

/// What the sleeper noted, all measurements of one kind together.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency {
    /// How late it woke.
    pub late: Quantiles,
    /// How long its work took then.
    pub work: Quantiles,
    /// The 99th percentile of its lateness in the best and in the worst measurement.
    pub spread: (f64, f64),
    /// What the other computed meanwhile, in rounds a second: the median.
    pub rounds_per_second: Option<f64>,
    /// How many measurements there were.
    pub measurements: usize,
}

/// Times, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantiles {
    /// The median.
    pub half: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th.
    pub p99: f64,
    /// The 99.9th, where there are enough times to speak of it.
    pub p999: Option<f64>,
    /// The longest.
    pub most: f64,
    /// How many there are.
    pub number: u64,
}

impl Quantiles {
    /// The times beyond a percentile should be more than one.
    const ENOUGH_FOR_P999: u64 = 2000;

    fn of(times: &Histogram) -> Quantiles {
        let number = times.number();
        Quantiles {
            half: times.quantile(0.5),
            p90: times.quantile(0.9),
            p99: times.quantile(0.99),
            p999: (number >= Self::ENOUGH_FOR_P999).then(|| times.quantile(0.999)),
            most: times.most(),
            number,
        }
    }
}

impl Latency {
    fn of(samples: &[&Sample]) -> Option<Latency> {
        let (mut late, mut work) = (Histogram::default(), Histogram::default());
        for sample in samples {
            late.merge(&sample.late);
            work.merge(&sample.work);
        }
        let mut tails: Vec<f64> = samples.iter().map(|sample| sample.late.quantile(0.99)).collect();
        tails.sort_by(f64::total_cmp);
        let mut rates: Vec<f64> =
            samples.iter().filter_map(|sample| sample.rounds_per_second).collect();
        rates.sort_by(f64::total_cmp);
        let middle = |rates: &[f64]| (rates[(rates.len() - 1) / 2] + rates[rates.len() / 2]) / 2.0;
        Some(Latency {
            late: Quantiles::of(&late),
            work: Quantiles::of(&work),
            spread: (*tails.first()?, *tails.last()?),
            rounds_per_second: (!rates.is_empty()).then(|| middle(&rates)),
            measurements: samples.len(),
        })
    }
}

impl Summary {
    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let latency = |beside: Option<Beside>| {
            let samples = record.samples.iter().filter(|sample| sample.beside == beside);
            Latency::of(&samples.collect::<Vec<_>>())
        };
        let mut groups = Vec::new();
        for shape in &record.plan.shapes {
            for &workers in &record.plan.workers {
                let runtimes: Vec<_> = record
                    .plan
                    .runtimes
                    .iter()
                    .filter_map(|runtime| {
                        let (runtime, shape) = (runtime.clone(), shape.name.clone());
                        let beside = Beside { runtime: runtime.clone(), shape, workers };
                        Some((runtime, latency(Some(beside))?))
                    })
                    .collect();
                if !runtimes.is_empty() {
                    let (shape, shows) = (shape.name.clone(), shape.shows.clone());
                    groups.push(Group { shape, shows, workers, runtimes });
                }
            }
        }
        Summary { alone: latency(None), disturbance: disturbance(record), groups }
    }

    /// How late the sleeper wakes beside `runtime`, at worst: the group where its 99th percentile is highest.
    pub fn worst(&self, runtime: &str) -> Option<(&Group, &Latency)> {
        let all = self.groups.iter().flat_map(|group| {
            let found = group.runtimes.iter().filter(|(name, _)| name == runtime);
            found.map(move |(_, latency)| (group, latency))
        });
        all.max_by(|(_, a), (_, b)| a.late.p99.total_cmp(&b.late.p99))
    }
}

/// Others are worth a warning from this many processors on; the sleeper's own work is 0.02 of one.
const DISTURBANCE: f64 = 0.1;

fn disturbance(record: &Record) -> Option<f64> {
    let seen: Vec<f64> = record.samples.iter().filter_map(|sample| sample.disturbance).collect();
    let mean = seen.iter().sum::<f64>() / seen.len().max(1) as f64;
    (mean > DISTURBANCE).then_some(mean)
}
