//! What the measurements say: figures of each pair on each runtime, and of programs alone.

use super::metrics::{mean, median, overlap, slowdown, throughput, unfairness, useful, variation};
use super::pairs::{self, Pair, Part};
use super::plan::{self, ABP, Plan};
use super::record::{Record, Run, Sample};
use super::unit::{Job, Unit};

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The pairs, in the order of the plan.
    pub pairs: Vec<PairSummary>,
    /// Programs alone, by what they compute.
    pub solos: Vec<SoloSummary>,
    /// The share of the machine that `loop` makes use of with a thread for each processor: what can be had at most.
    pub most_useful: Option<f64>,
    /// The processors that others used meanwhile: the mean, if it is worth a word.
    pub disturbance: Option<f64>,
}

/// A pair on all runtimes.
#[derive(Debug, Clone)]
pub struct PairSummary {
    /// The pair.
    pub pair: Pair,
    /// By runtime.
    pub runtimes: Vec<(String, Balance)>,
}

/// What became of a pair on a runtime.
#[derive(Debug, Clone, PartialEq)]
pub struct Balance {
    /// Its programs.
    pub programs: Vec<Share>,
    /// The mean of the unfairness of all runs; 1 is a difference of 100 percentage points.
    pub unfairness: f64,
    /// That of the worst run.
    pub worst: f64,
    /// The weighted speedup.
    pub throughput: f64,
    /// The share of all processors' time spent in leaves; none for applications.
    pub useful: Option<f64>,
    /// The least overlap of any run; none for applications, of which only those computations count that overlap.
    pub overlap: Option<f64>,
    /// How many runs there were.
    pub runs: usize,
}

/// What became of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// `Tc/Ts - 1`, the mean.
    pub slowdown: f64,
    /// The coefficient of variation: of the rates of all runs, or of the times of an application's computations.
    pub variation: Option<f64>,
    /// The processors that it had on average.
    pub processors: Option<f64>,
    /// Context switches, each second, or each computation of an application: voluntary, involuntary.
    pub switches: Option<(f64, f64)>,
    /// The same by whom they gave a processor; none where the runtime has no records of them.
    pub split: Option<Split>,
}

/// Context switches by whom they gave a processor, each second, or each computation of an application.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// To a worker that looked for work.
    pub to_hunter: f64,
    /// To another program, although a worker had work or because a hunter yielded.
    pub external: f64,
    /// All other ones: those of threads that are no workers.
    pub other: f64,
}

/// Programs alone that compute the same with as many workers.
#[derive(Debug, Clone)]
pub struct SoloSummary {
    /// What they compute.
    pub job: Job,
    /// With how many workers.
    pub workers: usize,
    /// The rate on each runtime: the median.
    pub rates: Vec<(String, f64)>,
}

/// A figure of several pairs, on one runtime.
#[derive(Debug, Clone, PartialEq)]
pub struct Average {
    /// The runtime.
    pub runtime: String,
    /// Of all runs.
    pub unfairness: f64,
    /// Of all runs.
    pub throughput: f64,
    /// The worst of any pair.
    pub worst: f64,
    /// Of all pairs; none for applications.
    pub useful: Option<f64>,
    /// Of all programs, if known.
    pub variation: Option<f64>,
    /// How many pairs.
    pub pairs: usize,
}

/// What a runtime costs applications that are alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The runtime.
    pub runtime: String,
    /// The time of each application, relative to that on the ABP governor; at least one.
    pub each: Vec<(String, f64)>,
}

/// What nobody notices: an application that is alone may take so much longer than on the ABP governor.
pub const TOLERANCE: f64 = 0.02;

/// Others are worth a warning from this many processors on.
const DISTURBANCE: f64 = 0.1;

impl Summary {
    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let plan = &record.header.common.plan;
        let capacity = record.header.common.machine.capacity();
        let alone = Alone::of(record);
        let pairs = plan.pairs.iter().filter_map(|pair| {
            let balance = |runtime: &String| {
                Some((runtime.clone(), balance(record, &alone, pair, runtime, capacity)?))
            };
            let runtimes: Vec<_> = pair.runtimes.iter().filter_map(balance).collect();
            (!runtimes.is_empty()).then(|| PairSummary { pair: pair.clone(), runtimes })
        });
        let seen: Vec<f64> =
            record.samples.iter().filter_map(|sample| sample.disturbance).collect();
        Summary {
            pairs: pairs.collect(),
            most_useful: most_useful(plan, &alone, capacity),
            disturbance: mean(&seen).filter(|&seen| seen > DISTURBANCE),
            solos: alone.into_solos(),
        }
    }

    /// The pairs of a part.
    pub fn part(&self, part: Part) -> impl Iterator<Item = &PairSummary> {
        self.pairs.iter().filter(move |found| found.pair.part == part)
    }

    /// Averages over those of the pairs on which each of these runtimes was measured: whoever is compared is compared on
    /// the same pairs.
    pub fn averages<'a>(
        &self,
        pairs: impl Iterator<Item = &'a PairSummary>,
        runtimes: &[&str],
    ) -> Vec<Average> {
        let has_all = |pair: &&PairSummary| runtimes.iter().all(|name| pair.on(name).is_some());
        let pairs: Vec<&PairSummary> = pairs.filter(has_all).collect();
        let average = |name: &&str| {
            let of = |figure: fn(&Balance) -> f64| {
                let all = pairs.iter().filter_map(|pair| pair.on(name)).map(figure);
                mean(&all.collect::<Vec<f64>>())
            };
            let variations = pairs.iter().filter_map(|pair| pair.on(name));
            let variations = variations.flat_map(|balance| &balance.programs);
            let variations: Vec<f64> = variations.filter_map(|share| share.variation).collect();
            Some(Average {
                runtime: (*name).to_owned(),
                unfairness: of(|balance| balance.unfairness)?,
                throughput: of(|balance| balance.throughput)?,
                worst: pairs
                    .iter()
                    .filter_map(|pair| Some(pair.on(name)?.worst))
                    .fold(0.0, f64::max),
                useful: all_of(pairs.iter().filter_map(|pair| pair.on(name)).map(|it| it.useful)),
                variation: mean(&variations),
                pairs: pairs.len(),
            })
        };
        runtimes.iter().filter_map(average).collect()
    }

    /// The runtimes on which pairs of a part were measured, in the order of the plan, thresholds of the paper's algorithm
    /// left out.
    pub fn runtimes(&self, part: Part) -> Vec<&str> {
        let thresholds = plan::THRESHOLDS.map(plan::at_threshold);
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.part(part).flat_map(|pair| &pair.runtimes) {
            if !names.contains(&name.as_str()) && !thresholds.contains(name) {
                names.push(name);
            }
        }
        names
    }

    /// Averages for each threshold of the paper's algorithm that was measured.
    pub fn thresholds(&self) -> Vec<(u64, Average)> {
        let names: Vec<(u64, String)> =
            plan::THRESHOLDS.iter().map(|&value| (value, plan::at_threshold(value))).collect();
        let is_measured =
            |name: &String| self.part(Part::Applications).any(|pair| pair.on(name).is_some());
        let measured: Vec<_> = names.iter().filter(|(_, name)| is_measured(name)).collect();
        let averages = self.averages(
            self.part(Part::Applications),
            &measured.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(),
        );
        measured.iter().map(|(value, _)| *value).zip(averages).collect()
    }

    /// The coefficient of variation of each application on a runtime, averaged over its co-runs: figure 4 (a).
    pub fn variations(&self, runtime: &str) -> Vec<(String, f64)> {
        let of = |app: &'static str| {
            let found = self.executions(runtime).filter(|(name, ..)| *name == app);
            let all: Vec<f64> = found.map(|(_, _, variation)| variation).collect();
            Some((app.to_owned(), mean(&all)?))
        };
        pairs::names().filter_map(of).collect()
    }

    /// The same for each type of executions: figure 4 (b).
    pub fn variations_by_type(&self, runtime: &str) -> Vec<(usize, f64)> {
        let of = |kind: usize| {
            let found = self.executions(runtime);
            let found = found.filter(|(app, other, _)| pairs::execution_type(app, other) == kind);
            let all: Vec<f64> = found.map(|(_, _, variation)| variation).collect();
            Some((kind, mean(&all)?))
        };
        (1..=4).filter_map(of).collect()
    }

    /// Each application beside each other one on a runtime, and its coefficient of variation.
    fn executions<'a>(
        &'a self,
        runtime: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str, f64)> + 'a {
        self.part(Part::Applications).flat_map(move |found| {
            let programs = &found.pair.programs;
            let shares = found.on(runtime).map_or(&[][..], |balance| &balance.programs);
            let both = shares.iter().enumerate().filter_map(move |(place, share)| {
                let other = programs.get(1 - place.min(1))?;
                Some((programs[place].name.as_str(), other.name.as_str(), share.variation?))
            });
            both.collect::<Vec<_>>()
        })
    }

    /// Of all context switches of a part's programs on a runtime, the shares that went to hunters and to other programs. The
    /// mean of the programs of which that is known.
    pub fn shares_of_switches(&self, part: Part, runtime: &str) -> Option<(f64, f64)> {
        let programs = self.part(part).filter_map(|pair| pair.on(runtime));
        let splits = programs.flat_map(|balance| &balance.programs).filter_map(|share| share.split);
        let shares: Vec<(f64, f64)> = splits.filter_map(|split| split.shares()).collect();
        let of = |one: fn(&(f64, f64)) -> f64| mean(&shares.iter().map(one).collect::<Vec<f64>>());
        of(|share| share.0).zip(of(|share| share.1))
    }

    /// What each runtime costs applications that are alone, relative to the ABP governor (section 5.5 of the paper).
    pub fn costs(&self) -> Vec<Cost> {
        let mut costs: Vec<Cost> = Vec::new();
        for solo in &self.solos {
            let Job::App { app, .. } = &solo.job else { continue };
            let Some(base) = solo.on(ABP) else { continue };
            for (runtime, rate) in &solo.rates {
                let one = (app.clone(), base / rate);
                match costs.iter_mut().find(|cost| cost.runtime == *runtime) {
                    Some(cost) => cost.each.push(one),
                    None => costs.push(Cost { runtime: runtime.clone(), each: vec![one] }),
                }
            }
        }
        costs
    }
}

impl Cost {
    /// The mean.
    pub fn mean(&self) -> f64 {
        self.each.iter().map(|(_, ratio)| ratio).sum::<f64>() / self.each.len() as f64
    }
}

impl Cost {
    /// The applications that are slower than on the ABP governor by more than anybody tolerates.
    pub fn slow(&self) -> Vec<&str> {
        let slow = self.each.iter().filter(|(_, ratio)| *ratio > 1.0 + TOLERANCE);
        slow.map(|(app, _)| app.as_str()).collect()
    }
}

impl Split {
    /// The shares to hunters and to others; none where there is no switch at all.
    pub fn shares(&self) -> Option<(f64, f64)> {
        let all = self.to_hunter + self.external + self.other;
        (all > 0.0).then(|| (self.to_hunter / all, self.external / all))
    }
}

impl Balance {
    /// The overlap, where it is worth a word: parts of the runs were not side by side.
    pub fn partial_overlap(&self) -> Option<f64> {
        self.overlap.filter(|&overlap| overlap < 0.95)
    }
}

impl PairSummary {
    /// What became of it on a runtime.
    pub fn on(&self, runtime: &str) -> Option<&Balance> {
        self.runtimes.iter().find(|(name, _)| name == runtime).map(|(_, balance)| balance)
    }
}

impl SoloSummary {
    /// The rate on a runtime.
    pub fn on(&self, runtime: &str) -> Option<f64> {
        self.rates.iter().find(|(name, _)| name == runtime).map(|(_, rate)| *rate)
    }
}

/// The rates of programs alone.
struct Alone(Vec<(Unit, f64)>);

impl Alone {
    fn of(record: &Record) -> Alone {
        let mut rates: Vec<(Unit, Vec<f64>)> = Vec::new();
        for sample in &record.samples {
            let ([unit], [run]) = (&sample.units[..], &sample.runs[..]) else { continue };
            match rates.iter_mut().find(|(known, _)| known == unit) {
                Some((_, all)) => all.push(run.rate),
                None => rates.push((unit.clone(), vec![run.rate])),
            }
        }
        let median = |(unit, all): (Unit, Vec<f64>)| Some((unit, median(&all)?));
        Alone(rates.into_iter().filter_map(median).collect())
    }

    fn rate(&self, unit: &Unit) -> Option<f64> {
        self.0.iter().find(|(known, _)| known == unit).map(|(_, rate)| *rate)
    }

    /// The best rate among the runtimes that are compared, for what `unit` computes: the baseline of throughput.
    fn best(&self, unit: &Unit) -> Option<f64> {
        let alike = |known: &Unit| {
            known.job == unit.job
                && known.workers == unit.workers
                && known.is_busy() == unit.is_busy()
        };
        let rates = self.0.iter().filter(|(known, _)| alike(known)).map(|(_, rate)| *rate);
        rates.reduce(f64::max)
    }

    /// How many seconds a leaf of so many steps takes on a thread of its own.
    fn leaf(&self, steps: u64) -> Option<f64> {
        self.rate(&Unit::busy(steps, 1)).map(|rate| 1.0 / rate)
    }

    fn into_solos(self) -> Vec<SoloSummary> {
        let mut solos: Vec<SoloSummary> = Vec::new();
        for (unit, rate) in self.0 {
            let Unit { job, runtime, workers } = unit;
            match solos.iter_mut().find(|solo| solo.job == job && solo.workers == workers) {
                Some(solo) => solo.rates.push((runtime, rate)),
                None => solos.push(SoloSummary { job, workers, rates: vec![(runtime, rate)] }),
            }
        }
        solos
    }
}

/// What `loop` makes of the machine alone, with a thread for each processor.
fn most_useful(plan: &Plan, alone: &Alone, capacity: f64) -> Option<f64> {
    let programs = plan.pairs.iter().flat_map(|pair| &pair.programs);
    let busy = programs.filter(|program| program.workers as f64 >= capacity).find_map(|program| {
        let leaf = program.job.round()?.leaf;
        let unit = Unit::busy(leaf, program.workers);
        Some((alone.rate(&unit)?, alone.leaf(leaf)?))
    });
    busy.map(|busy| useful([busy], capacity))
}

fn balance(
    record: &Record,
    alone: &Alone,
    pair: &Pair,
    runtime: &str,
    capacity: f64,
) -> Option<Balance> {
    let units = pair.units(runtime);
    let samples: Vec<&Sample> =
        record.samples.iter().filter(|sample| sample.units == units).collect();
    let solo: Vec<f64> = units.iter().map(|unit| alone.rate(unit)).collect::<Option<_>>()?;
    let best: Vec<f64> = units.iter().map(|unit| alone.best(unit)).collect::<Option<_>>()?;
    let slowdowns = |sample: &&Sample| -> Vec<f64> {
        let both = solo.iter().zip(&sample.runs);
        both.map(|(&solo, run)| slowdown(solo, run.rate)).collect()
    };
    let each: Vec<Vec<f64>> = samples.iter().map(slowdowns).collect();
    let unfair: Vec<f64> = each.iter().map(|slowdowns| unfairness(slowdowns)).collect();
    let speedups: Vec<f64> = samples
        .iter()
        .map(|sample| throughput(sample.runs.iter().map(|run| run.rate).zip(best.iter().copied())))
        .collect();
    let leaves: Option<Vec<f64>> =
        samples.iter().map(|sample| useful_in(sample, alone, capacity)).collect();
    let are_rounds = units.iter().all(|unit| unit.job.round().is_some());
    let overlaps = samples.iter().filter(|_| are_rounds).map(|sample| overlap(&times(sample)));
    let programs = (0..units.len()).map(|place| {
        let runs: Vec<&Run> = samples.iter().filter_map(|sample| sample.runs.get(place)).collect();
        let slowdowns: Vec<f64> = each.iter().map(|slowdowns| slowdowns[place]).collect();
        share(&runs, &slowdowns)
    });
    Some(Balance {
        programs: programs.collect::<Option<_>>()?,
        unfairness: mean(&unfair)?,
        worst: unfair.iter().copied().reduce(f64::max)?,
        throughput: mean(&speedups)?,
        useful: leaves.and_then(|leaves| mean(&leaves)),
        overlap: overlaps.reduce(f64::min),
        runs: samples.len(),
    })
}

/// The mean, if all are known.
fn all_of(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    mean(&values.collect::<Option<Vec<f64>>>()?)
}

fn times(sample: &Sample) -> Vec<(u64, u64)> {
    sample.runs.iter().map(|run| (run.stretch.begun, run.stretch.ended)).collect()
}

/// The share of the machine that went into leaves; none where something else was computed.
fn useful_in(sample: &Sample, alone: &Alone, capacity: f64) -> Option<f64> {
    let leaves = sample.units.iter().zip(&sample.runs).map(|(unit, run)| {
        let round = unit.job.round()?;
        Some((run.rate * round.leaves() as f64, alone.leaf(round.leaf)?))
    });
    Some(useful(leaves.collect::<Option<Vec<_>>>()?, capacity))
}

fn share(runs: &[&Run], slowdowns: &[f64]) -> Option<Share> {
    let computations: Vec<f64> = runs.iter().flat_map(|run| run.seconds.iter().copied()).collect();
    let rates: Vec<f64> = runs.iter().map(|run| run.rate).collect();
    let all = |part: fn(&Run) -> Option<f64>| {
        mean(&runs.iter().map(|run| part(run)).collect::<Option<Vec<f64>>>()?)
    };
    // Each second; each computation where there are any.
    let each = |run: &Run, number: u64| match run.seconds.is_empty() {
        true => number as f64 / run.stretch.seconds(),
        false => number as f64 / run.completed as f64,
    };
    let switches = |part: fn(&Run) -> Option<u64>| {
        let numbers = runs.iter().map(|run| part(run).map(|number| each(run, number)));
        mean(&numbers.collect::<Option<Vec<f64>>>()?)
    };
    let voluntary = switches(|run| run.stretch.voluntary);
    let both = voluntary.zip(switches(|run| run.stretch.involuntary));
    let known = switches(|run| run.stretch.to_hunter).zip(switches(|run| run.stretch.external));
    let split = both.zip(known).map(|((waits, taken), (to_hunter, external))| Split {
        to_hunter,
        external,
        other: (waits + taken - to_hunter - external).max(0.0),
    });
    Some(Share {
        slowdown: mean(slowdowns)?,
        variation: variation(if computations.is_empty() { &rates } else { &computations }),
        processors: all(|run| Some(run.stretch.processor_seconds? / run.stretch.seconds())),
        switches: both,
        split,
    })
}
