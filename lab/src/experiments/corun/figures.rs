//! What a record says of programs side by side.

use std::collections::BTreeMap;

use super::metrics::{mean, slowdown, throughput, unfairness, useful, variation};
use super::pairs::{self, Pair, Part};
use crate::experiment::prelude::*;
use crate::rounds::busy::LOOP;

/// Rounds, leaves of busy threads, or computations of an application, in a second.
pub const RATE: &str = "rate";
/// The computations of an application that count.
pub const COMPUTATIONS: &str = "computations";
/// The deviation of their times, in seconds.
pub const DEVIATION: &str = "deviation";
/// The processors that a program had on average.
pub const PROCESSORS: &str = "processors";
/// Context switches because a thread waited.
pub const VOLUNTARY: &str = "voluntary switches";
/// Context switches because the kernel preferred another thread, or one yielded.
pub const INVOLUNTARY: &str = "involuntary switches";
/// Those that gave the processor to a worker that searched for work.
pub const TO_THIEVES: &str = "switches to thieves";
/// Those that gave it to another program.
pub const EXTERNAL: &str = "external switches";
/// The part of the time that all programs share.
pub const OVERLAP: &str = "overlap";

/// The paper's baseline, its Algorithm 1.
pub const ABP: &str = "classic-abp";
/// The paper's own Algorithm 2. With a number behind it: with that SleepThreshold.
pub const BWS: &str = "classic-bws";
/// What was compared with in the place of [`ABP`] in older records, the newest ones first.
pub const FORMER_ABP: [&str; 2] = ["locksley-abp-exact", "locksley-abp"];
/// As [`FORMER_ABP`], for [`BWS`].
pub const FORMER_BWS: &str = "locksley-bws";
/// A pool with this in its name goes without an assist of the kernel.
pub const WITHOUT: &str = "locksley-no-";

/// The metric of the program with this number, from 0.
pub fn numbered(metric: &str, place: usize) -> String {
    format!("{metric} of {}", place + 1)
}

/// A pair on all runtimes.
#[derive(Debug, Clone)]
pub struct Found {
    /// The pair.
    pub pair: Pair,
    /// By runtime.
    pub runtimes: Vec<(String, Balance)>,
}

/// What became of a pair on a runtime; or the average of several pairs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Balance {
    /// The mean unfairness of all runs; 1 is a difference of 100 percentage points.
    pub unfairness: f64,
    /// That of the worst run.
    pub worst: f64,
    /// The weighted speedup.
    pub throughput: f64,
    /// The share of all processors' time spent in leaves; `None` for applications.
    pub useful: Option<f64>,
    /// The mean variation of the programs.
    pub variation: Option<f64>,
    /// The least overlap of any run; `None` for applications.
    pub overlap: Option<f64>,
    /// The programs of one pair.
    pub programs: Vec<Share>,
}

/// What became of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// `Tc/Ts - 1`, the mean.
    pub slowdown: f64,
    /// The coefficient of variation: of the rates of all runs, or of the times of an application's
    /// computations.
    pub variation: Option<f64>,
    /// The processors that it had on average.
    pub processors: Option<f64>,
    /// Context switches, voluntary and involuntary, in a second or in a computation.
    pub switches: Option<(f64, f64)>,
    /// The same: to thieves, to other programs, and those of threads that are no workers.
    pub split: Option<[f64; 3]>,
}

impl Found {
    /// What became of it on a runtime.
    pub fn on(&self, runtime: &str) -> Option<&Balance> {
        self.runtimes.iter().find(|(name, _)| name == runtime).map(|(_, balance)| balance)
    }
}

/// All pairs that were measured.
pub fn found(record: &Record) -> Vec<Found> {
    let pairs = pairs::all(record.machine.processors, pairs::Size::of(&record.plan)).into_iter();
    let without_samples = Record { samples: Vec::new(), ..record.clone() };
    let found = pairs.filter(|pair| pair.part != Part::Solo).map(|pair| {
        let is_its = |name: &str| pair.programs.iter().any(|program| program.name == name);
        let is_needed = |name: &str| name == pair.name || name.starts_with("leaf ") || is_its(name);
        let samples = record.samples.iter().filter(|sample| is_needed(&sample.subject));
        let of_pair = Record { samples: samples.cloned().collect(), ..without_samples.clone() };
        let on = |name: &str| Some((name.to_owned(), balance(&of_pair, &pair, name)?));
        let runtimes = of_pair.runtimes().into_iter().filter_map(on).collect();
        Found { pair, runtimes }
    });
    found.filter(|found| !found.runtimes.is_empty()).collect()
}

/// The rates of all programs in each repetition on a runtime.
pub fn runs(record: &Record, pair: &Pair, runtime: &str) -> BTreeMap<usize, Vec<f64>> {
    let mut runs: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for place in 0..pair.programs.len() {
        let (workers, metric) = (pair.programs[0].workers, numbered(RATE, place));
        for (repeat, rate) in record.by_repetition(&pair.name, runtime, workers, &metric) {
            runs.entry(repeat).or_default().push(rate);
        }
    }
    runs.retain(|_, rates| rates.len() == pair.programs.len());
    runs
}

fn balance(record: &Record, pair: &Pair, runtime: &str) -> Option<Balance> {
    let Pair { name, programs, .. } = pair;
    let runs = runs(record, pair, runtime);
    let alone =
        |name: &str, on: &str, workers| record.median(name, on, workers, &numbered(RATE, 0));
    let solo = programs.iter().map(|it| alone(&it.name, it.on(runtime), it.workers));
    let solo: Vec<f64> = solo.collect::<Option<_>>()?;
    // The baseline of throughput: the best runtime alone.
    let best = programs.iter().map(|it| {
        let all = record.runtimes().into_iter().filter_map(|on| alone(&it.name, on, it.workers));
        all.reduce(f64::max)
    });
    let best: Vec<f64> = best.collect::<Option<_>>()?;
    let slowdowns = |rates: &Vec<f64>| -> Vec<f64> {
        solo.iter().zip(rates).map(|(&solo, &rate)| slowdown(solo, rate)).collect()
    };
    let each: Vec<Vec<f64>> = runs.values().map(slowdowns).collect();
    let unfair: Vec<f64> = each.iter().map(|slowdowns| unfairness(slowdowns)).collect();
    let speedup = |rates: &Vec<f64>| throughput(rates.iter().copied().zip(best.iter().copied()));
    let useful_in = |rates: &Vec<f64>| {
        let leaves = programs.iter().zip(rates).map(|(program, rate)| {
            let round = program.round()?;
            let leaf = alone(&format!("leaf {}", round.leaf), LOOP, 1)?;
            Some((rate * round.leaves() as f64, 1.0 / leaf))
        });
        let leaves: Option<Vec<_>> = leaves.collect();
        Some(useful(leaves?, record.machine.capacity()))
    };
    let useful: Option<Vec<f64>> = runs.values().map(useful_in).collect();
    let share = |place: usize| {
        let of = |metric: &str| -> BTreeMap<usize, f64> {
            let (workers, metric) = (programs[0].workers, numbered(metric, place));
            record.by_repetition(name, runtime, workers, &metric).collect()
        };
        let all = |metric| {
            let values = of(metric);
            mean(values.values()).filter(|_| values.len() >= runs.len())
        };
        let [computations, deviations] = [COMPUTATIONS, DEVIATION].map(of);
        let group = |(repeat, rates): (&usize, &Vec<f64>)| match programs[place].round() {
            Some(_) => Some((1.0, rates[place], 0.0)),
            None => {
                Some((*computations.get(repeat)?, 1.0 / rates[place], *deviations.get(repeat)?))
            }
        };
        let groups: Vec<_> = runs.iter().filter_map(group).collect();
        let switches = all(VOLUNTARY).zip(all(INVOLUNTARY));
        let split = switches.zip(all(TO_THIEVES).zip(all(EXTERNAL)));
        let split = split.map(|((waits, taken), (thieves, external))| {
            [thieves, external, (waits + taken - thieves - external).max(0.0)]
        });
        let slowdown = mean(each.iter().map(|slowdowns| slowdowns[place]))?;
        let (variation, processors) = (variation(&groups), all(PROCESSORS));
        Some(Share { slowdown, variation, processors, switches, split })
    };
    let programs: Vec<Share> = (0..programs.len()).map(share).collect::<Option<_>>()?;
    let overlaps = record.values(name, runtime, pair.programs[0].workers, OVERLAP);
    Some(Balance {
        unfairness: mean(&unfair)?,
        worst: unfair.iter().copied().reduce(f64::max)?,
        throughput: mean(runs.values().map(speedup))?,
        useful: useful.and_then(|useful| mean(&useful)),
        variation: mean(programs.iter().filter_map(|it| it.variation)),
        overlap: overlaps.into_iter().reduce(f64::min),
        programs,
    })
}

/// The pairs of a part, on the runtimes that are compared there.
pub fn part(found: &[Found], part: Part) -> Vec<Found> {
    let of_assists = part == Part::Assists;
    let stands_in = if of_assists { Part::Targets } else { part };
    let of_part = found.iter().filter(|found| found.pair.part == stands_in);
    let of_part = of_part.cloned().map(|mut found| {
        found.runtimes.retain(|(name, _)| {
            name.starts_with(WITHOUT) == of_assists || (of_assists && name == "locksley")
        });
        found
    });
    let is_shown = |found: &Found| {
        let mut names = found.runtimes.iter().map(|(name, _)| name);
        names.any(|name| !of_assists || name.starts_with(WITHOUT))
    };
    of_part.filter(is_shown).collect()
}

/// The runtimes on which each of these pairs was measured.
pub fn common_runtimes(found: &[Found]) -> Vec<&str> {
    let mut names = runtimes(found);
    names.retain(|name| found.iter().all(|found| found.on(name).is_some()));
    names
}

/// The runtimes on which these pairs were measured.
pub fn runtimes(found: &[Found]) -> Vec<&str> {
    found.iter().flat_map(|found| &found.runtimes).map(|it| it.0.as_str()).unique().collect()
}

/// The value of SleepThreshold that a runtime is named after.
pub fn threshold(runtime: &str) -> Option<u64> {
    let of = |name: &str| runtime.strip_prefix(name)?.strip_prefix('-')?.parse().ok();
    of(BWS).or_else(|| of(FORMER_BWS))
}

/// Averages over those of the pairs on which each of these runtimes was measured: by runtime, and
/// how many pairs these are.
pub fn averages(found: &[Found], runtimes: &[&str]) -> (Vec<(String, Balance)>, usize) {
    let has_all = |found: &&Found| runtimes.iter().all(|name| found.on(name).is_some());
    let pairs: Vec<&Found> = found.iter().filter(has_all).collect();
    let average = |name: &&str| {
        let all: Vec<&Balance> = pairs.iter().filter_map(|found| found.on(name)).collect();
        let of = |figure: fn(&Balance) -> f64| mean(all.iter().map(|it| figure(it)));
        let useful: Option<Vec<f64>> = all.iter().map(|balance| balance.useful).collect();
        let programs = all.iter().flat_map(|balance| &balance.programs);
        let average = Balance {
            unfairness: of(|balance| balance.unfairness)?,
            worst: all.iter().map(|balance| balance.worst).fold(0.0, f64::max),
            throughput: of(|balance| balance.throughput)?,
            useful: useful.and_then(|useful| mean(&useful)),
            variation: mean(programs.filter_map(|share| share.variation)),
            ..Balance::default()
        };
        Some(((*name).to_owned(), average))
    };
    (runtimes.iter().filter_map(average).collect(), pairs.len())
}

/// Of all context switches of the pairs' programs on a runtime, the shares of each kind: the mean
/// of the programs of which that is known.
pub fn shares_of_switches(found: &[Found], runtime: &str) -> Option<[f64; 3]> {
    let balances = found.iter().filter_map(|found| found.on(runtime));
    let splits = balances.flat_map(|balance| &balance.programs).filter_map(|share| share.split);
    let switching = splits.filter(|split| split.iter().sum::<f64>() > 0.0);
    let shares: Vec<_> = switching.map(|it| it.map(|one| one / it.iter().sum::<f64>())).collect();
    let of = |kind: usize| mean(shares.iter().map(|share| share[kind]));
    Some([of(0)?, of(1)?, of(2)?])
}

/// The mean coefficient of variation, on a runtime, of each application beside another one of which
/// `is_it` is true.
pub fn mean_variation(
    found: &[Found],
    runtime: &str,
    is_it: &dyn Fn(&str, &str) -> bool,
) -> Option<f64> {
    let mut all = Vec::new();
    for Found { pair, runtimes } in found {
        let balances = runtimes.iter().filter(|(name, _)| name == runtime);
        for (place, share) in balances.flat_map(|(_, balance)| balance.programs.iter().enumerate())
        {
            if is_it(&pair.programs[place].name, &pair.programs[1 - place].name) {
                all.extend(share.variation);
            }
        }
    }
    mean(&all)
}
