//! Programs side by side, or one alone: each is a process of its own behind a start gate.

use std::process::Command;
use std::time::{Duration, Instant};

use locksley_profile::GrantMeter;
use serde::Deserialize;

use super::figures::{
    COMPUTATIONS, DEVIATION, EXTERNAL, INVOLUNTARY, OVERLAP, PROCESSORS, RATE, TO_THIEVES,
    VOLUNTARY, numbered,
};
use super::metrics::{deviation, mean, overlap, overlapped};
use super::process::Company;
use crate::corunner::repetition::{Line, Repetition};
use crate::corunner::{RoundsLine, Stretch};
use crate::experiment::prelude::*;
use crate::experiment::record::OTHERS;

/// Until a program is ready, it prepares its input and computes the answer once.
const PREPARATION: Duration = Duration::from_secs(120);

/// How much longer than planned programs may take: what was begun is completed, however few
/// processors there are.
const OVERTIME: Duration = Duration::from_secs(180);

/// How long programs run that have to be told to stop.
#[derive(Debug, Clone, Copy)]
pub(in crate::experiments) struct Extent {
    /// At least so many seconds.
    pub(in crate::experiments) seconds: f64,
    /// And so many computations of each that lie beside the other programs.
    pub(in crate::experiments) computations: usize,
}

/// What a program did.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::experiments) struct Run {
    /// Rounds or computations in a second.
    pub(in crate::experiments) rate: f64,
    /// The times of the computations that count, in seconds; none for rounds.
    pub(in crate::experiments) seconds: Vec<f64>,
    /// The computations that it completed; none for rounds.
    completed: usize,
    /// When it ran, and what it used.
    stretch: Stretch,
}

/// Lets these programs begin at the same time. The last `fixed` ones repeat rounds for a fixed
/// time; the others repeat applications until they are told to stop, when those have ended, or else
/// after the `extent`. Returns what each did, and the processors that other programs used.
pub(in crate::experiments) fn side_by_side(
    commands: Vec<(String, Command)>,
    fixed: usize,
    extent: Extent,
) -> Outcome<(Vec<Run>, Option<f64>)> {
    let mut company = Company::start(commands)?;
    company.wait_until_ready(PREPARATION)?;
    let meter = GrantMeter::start();
    company.signal()?;
    let runs = hear(&mut company, fixed, extent)?;
    let granted = meter.finish(Machine::here().capacity().floor().max(1.0) as usize);
    company.finish()?;
    // For the meter of this process, its children are others.
    let used: Option<f64> = runs.iter().map(|run| run.stretch.processor_seconds).sum();
    let others = granted
        .others
        .zip(used)
        .map(|(others, used)| (others.as_secs_f64() - used).max(0.0) / granted.wall.as_secs_f64());
    Ok((runs, others))
}

/// Measures these programs: rounds, or with an `extent` applications.
pub(super) fn run(commands: Vec<(String, Command)>, extent: Option<Extent>) -> Outcome<Readings> {
    let fixed = if extent.is_some() { 0 } else { commands.len() };
    let extent = extent.unwrap_or(Extent { seconds: 0.0, computations: 0 });
    let (runs, others) = side_by_side(commands, fixed, extent)?;
    let mut readings = readings(&runs);
    readings.extend(others.map(|others| (OTHERS.to_owned(), others)));
    Ok(readings)
}

/// The lines of all programs, until each has printed its last one.
fn hear(company: &mut Company, fixed: usize, extent: Extent) -> Outcome<Vec<Run>> {
    let begun = Instant::now();
    let deadline = begun + Duration::from_secs_f64(extent.seconds) + OVERTIME;
    let (all, repeating) = (company.len(), company.len() - fixed);
    let mut done: Vec<Vec<Repetition>> = vec![Vec::new(); all];
    let mut ends: Vec<Option<(f64, Stretch)>> = vec![None; all];
    let mut is_told = repeating == 0;
    while ends.iter().any(Option::is_none) {
        let (number, line) = company.hear(deadline)?;
        match line {
            None if ends[number].is_some() => {}
            None => return Err(company.complaint(number)),
            Some(line) if number >= repeating => {
                let RoundsLine { rounds_per_s, stretch, .. } = parse(&line)?;
                ends[number] = Some((rounds_per_s, stretch));
                // To the others, all of it is one computation.
                done[number] = vec![Repetition { begun: stretch.begun, ended: stretch.ended }];
            }
            Some(line) => match parse(&line)? {
                Line::Computation(repetition) => done[number].push(repetition),
                Line::End(stretch) if is_told => ends[number] = Some((0.0, stretch)),
                Line::End(_) => return Err(Fault::run("it stopped before it was told to")),
            },
        }
        let is_over = match fixed {
            0 => begun.elapsed().as_secs_f64() >= extent.seconds,
            _ => ends[repeating..].iter().all(Option::is_some),
        };
        if !is_told && is_over && (fixed > 0 || have_enough(&done, extent.computations)) {
            (0..repeating).try_for_each(|number| company.tell(number))?;
            is_told = true;
        }
    }
    let counted = overlapped(&done).into_iter().zip(done).zip(ends.into_iter().flatten());
    let run =
        |(number, ((counted, done), (rate, stretch))): (usize, ((Vec<Repetition>, Vec<_>), _))| {
            if number >= repeating {
                return Ok(Run { rate, seconds: Vec::new(), completed: 0, stretch });
            }
            let seconds: Vec<f64> = counted.iter().map(Repetition::seconds).collect();
            let mean = mean(&seconds).filter(|&mean| mean > 0.0).ok_or_else(|| {
                Fault::run(
                    "no computation ran beside the others all the time: give it more (--secs)",
                )
            })?;
            Ok(Run { rate: mean.recip(), seconds, completed: done.len(), stretch })
        };
    counted.enumerate().map(run).collect()
}

/// Whether each program has so many computations that will count, since all programs go on.
fn have_enough(done: &[Vec<Repetition>], least: usize) -> bool {
    let begun = done.iter().map(|all| all.first().map(|one| one.begun));
    let Some(begun) = begun.collect::<Option<Vec<u64>>>().and_then(|all| all.into_iter().max())
    else {
        return false;
    };
    done.iter().all(|all| all.iter().filter(|one| begun <= one.begun).count() >= least)
}

fn parse<T: for<'a> Deserialize<'a>>(line: &str) -> Outcome<T> {
    serde_json::from_str(line)
        .map_err(|error| Fault::run(format!("a process printed '{line}': {error}")))
}

/// The numbers of a measurement. Of a program alone only the rate is of interest.
fn readings(runs: &[Run]) -> Readings {
    let mut readings = Readings::new();
    for (place, Run { rate, seconds, completed, stretch }) in runs.iter().enumerate() {
        // Switches are counted by the second, or by the computation of an application.
        let per = if seconds.is_empty() { stretch.seconds() } else { *completed as f64 };
        let switches = |number: Option<u64>| number.map(|number| number as f64 / per);
        let of_app = |value: f64| (!seconds.is_empty()).then_some(value);
        let all = [
            (RATE, Some(*rate)),
            (COMPUTATIONS, of_app(seconds.len() as f64)),
            (DEVIATION, of_app(deviation(seconds))),
            (PROCESSORS, stretch.processor_seconds.map(|used| used / stretch.seconds())),
            (VOLUNTARY, switches(stretch.voluntary)),
            (INVOLUNTARY, switches(stretch.involuntary)),
            (TO_THIEVES, switches(stretch.to_thief)),
            (EXTERNAL, switches(stretch.external)),
        ];
        let shown = if runs.len() == 1 { &all[..1] } else { &all };
        for (metric, value) in shown {
            readings.extend(value.map(|value| (numbered(metric, place), value)));
        }
    }
    if runs.len() > 1 && runs[0].seconds.is_empty() {
        let times: Vec<_> = runs.iter().map(|it| (it.stretch.begun, it.stretch.ended)).collect();
        readings.insert(OVERLAP.to_owned(), overlap(&times));
    }
    readings
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRETCH: Stretch = Stretch {
        begun: 1_000_000_000,
        ended: 3_000_000_000,
        processor_seconds: Some(1.0),
        voluntary: Some(20),
        involuntary: Some(40),
        to_thief: Some(30),
        external: None,
    };

    fn run(rate: f64, seconds: &[f64]) -> Run {
        Run { rate, seconds: seconds.to_vec(), completed: 4, stretch: STRETCH }
    }

    #[test]
    fn switches_are_counted_by_the_second_or_by_the_computation() {
        let rounds = readings(&[run(9.0, &[]), run(8.0, &[])]);
        assert_eq!((rounds["rate of 1"], rounds["rate of 2"]), (9.0, 8.0));
        assert_eq!((rounds["voluntary switches of 1"], rounds["processors of 2"]), (10.0, 0.5));
        assert_eq!(rounds["overlap"], 1.0);
        assert!(!rounds.contains_key("external switches of 1"), "they are not known");
        let apps = readings(&[run(1.0, &[0.5, 1.5]), run(1.0, &[1.0])]);
        assert_eq!((apps["voluntary switches of 1"], apps["computations of 1"]), (5.0, 2.0));
        assert!((apps["deviation of 1"] - 0.5f64.sqrt()).abs() < 1e-12);
        assert!(!apps.contains_key("overlap"), "only computations that overlap count");
        assert_eq!(readings(&[run(2.0, &[])]), [("rate of 1".to_owned(), 2.0)].into());
    }

    #[test]
    fn only_computations_beside_all_other_programs_are_counted() {
        let of = |times: &[(u64, u64)]| -> Vec<Repetition> {
            times.iter().map(|&(begun, ended)| Repetition { begun, ended }).collect()
        };
        let first = of(&[(0, 10), (10, 20), (20, 30)]);
        assert!(!have_enough(&[first.clone(), Vec::new()], 1), "the other has not ended one");
        assert!(have_enough(&[first.clone(), of(&[(5, 50)])], 1));
        assert!(!have_enough(&[first.clone(), of(&[(5, 50)])], 2));
        let late = of(&[(5, 50), (50, 90)]);
        assert!(!have_enough(&[first, late], 3), "the first one began too early");
    }
}
