//! Whether two runtimes differ by more than noise: bootstrap intervals over paired runs.

use std::collections::BTreeMap;

use super::figures::{Found, RATE, numbered, runs};
use super::metrics::{mean, median, slowdown, throughput, unfairness};
use super::pairs::{Pair, Program};
use crate::experiment::prelude::*;
use crate::random::Random;

/// The difference of two runtimes over the pairs on which both were measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The number of pairs.
    pub pairs: usize,
    /// The smallest number of runs of a pair.
    pub runs: usize,
    /// The difference of the mean unfairness.
    pub unfairness: Estimate,
    /// The difference of the mean weighted speedup.
    pub speedup: Estimate,
}

const RESAMPLES: usize = 1000;
/// The bounds of a 95 % interval.
const QUANTILES: [f64; 2] = [0.025, 0.975];
/// Pairs with fewer runs are left out.
const FEWEST_RUNS: usize = 3;

/// One repetition of a pair: the rates of its programs on each runtime, measured in succession.
type Run = [Vec<f64>; 2];

/// `runtimes[0]` minus `runtimes[1]`. Rates alone and runs are resampled with replacement, the same
/// runs for both. Pairs are not resampled: the interval does not cover their choice.
pub fn effect(record: &Record, found: &[Found], runtimes: [&str; 2]) -> Option<Effect> {
    let has_both = |found: &&Found| runtimes.iter().all(|name| found.on(name).is_some());
    let pairs = found.iter().filter(has_both).map(|found| &found.pair);
    let all: Vec<(&Pair, Vec<Run>)> = pairs
        .map(|pair| (pair, both(record, pair, runtimes)))
        .filter(|(_, runs)| runs.len() >= FEWEST_RUNS)
        .collect();
    let mut alone: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for (program, runtime) in all
        .iter()
        .flat_map(|(pair, _)| &pair.programs)
        .flat_map(|program| runtimes.map(|runtime| (program, runtime)))
    {
        let (name, on) = (program.name.as_str(), program.on(runtime));
        let rates = || record.values(name, on, program.workers, &numbered(RATE, 0));
        alone.entry((name, on)).or_insert_with(rates);
    }
    let difference = |draw: &mut dyn FnMut(usize) -> Vec<usize>| -> Option<[f64; 2]> {
        let drawn = alone.iter().map(|(key, rates)| {
            let rates: Vec<f64> = draw(rates.len()).into_iter().map(|at| rates[at]).collect();
            Some((*key, median(&rates)?))
        });
        let alone: BTreeMap<(&str, &str), f64> = drawn.collect::<Option<_>>()?;
        let mut differences = [Vec::new(), Vec::new()];
        for (pair, runs) in &all {
            let drawn = draw(runs.len());
            let figures = [0, 1].map(|side| {
                let on = |program: &Program| alone[&(&*program.name, program.on(runtimes[side]))];
                // The baseline of the speedup is the better runtime's rate alone.
                let best = |program: &Program| {
                    let rates = runtimes.map(|name| alone[&(&*program.name, program.on(name))]);
                    rates[0].max(rates[1])
                };
                let of_run = |&at: &usize| {
                    let each = || pair.programs.iter().zip(runs[at][side].iter().copied());
                    let slowdowns: Vec<f64> =
                        each().map(|(program, rate)| slowdown(on(program), rate)).collect();
                    let speedup = throughput(each().map(|(program, rate)| (rate, best(program))));
                    [unfairness(&slowdowns), speedup]
                };
                let each: Vec<[f64; 2]> = drawn.iter().map(of_run).collect();
                [0, 1].map(|figure| each.iter().map(|it| it[figure]).sum::<f64>())
            });
            let [one, other] = figures;
            for (all, (one, other)) in differences.iter_mut().zip(one.into_iter().zip(other)) {
                all.push((one - other) / drawn.len() as f64);
            }
        }
        Some([mean(&differences[0])?, mean(&differences[1])?])
    };
    let figures = difference(&mut |number| (0..number).collect())?;
    let mut random = Random::new(record.plan.seed);
    let mut again = |number: usize| -> Vec<usize> {
        (0..number).map(|_| (random.next_u64() % number as u64) as usize).collect()
    };
    let resamples: Vec<[f64; 2]> = (0..RESAMPLES).filter_map(|_| difference(&mut again)).collect();
    let estimate = |figure: usize| {
        let mut values: Vec<f64> = resamples.iter().map(|it| it[figure]).collect();
        values.sort_by(f64::total_cmp);
        let [low, high] = QUANTILES.map(|it| values[(it * (values.len() - 1) as f64) as usize]);
        Estimate { figure: figures[figure], low, high }
    };
    let runs = all.iter().map(|(_, runs)| runs.len()).min()?;
    Some(Effect { pairs: all.len(), runs, unfairness: estimate(0), speedup: estimate(1) })
}

/// The repetitions in which a pair was measured on both runtimes.
fn both(record: &Record, pair: &Pair, runtimes: [&str; 2]) -> Vec<Run> {
    let [first, mut second] = runtimes.map(|name| runs(record, pair, name));
    first.into_iter().filter_map(|(repeat, rates)| Some([rates, second.remove(&repeat)?])).collect()
}
