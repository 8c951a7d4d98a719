//! The gain of keeping work where its data is: LASSI's study (Weibel, "An Advanced Scheduler for
//! Intervals", 2010), with intervals placed well, badly, randomly and not at all; and misses of
//! simulated caches.

mod ground;
mod multiply;
mod programs;
mod simulation;
mod tasks;
#[cfg(test)]
mod tests;

use std::slice;

use locksley::places::Kind;

use ground::Ground;
use programs::parse;
use tasks::{BEST, IGNORANT, ON_THREADS, PLACEMENTS};

use crate::experiment::prelude::*;

const STRESS: &str = "stress";
const MULTIPLY: &str = "multiply";
const KINDS: [&str; 3] = [STRESS, MULTIPLY, MISSES];

const MS: &str = "ms";
/// Of simulated caches.
const MISSES: &str = "misses";
const HITS: &str = "hits";
const TASKS: &str = "tasks";
/// Tasks that ran in another place than the one that is named, or in which they were spawned.
const OUT_OF_PLACE: &str = "tasks out of place";
/// Workers that the system did not bind to their places.
const UNBOUND: &str = "unbound workers";

/// `locksley locality`
#[derive(Debug, Args)]
pub struct Locality {
    /// Only these: stress, multiply, misses [default: all, or the first two if quick]
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Only these placements, such as best, worst, round-robin, mailboxes [default: all]
    #[arg(long, value_name = "P,..", value_delimiter = ',')]
    placements: Vec<String>,
}

impl Experiment for Locality {
    const NAME: &'static str = "locality";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        self.plan_on(course, &Ground::here()?)
    }

    fn once(cell: &Cell, seed: u64) -> Outcome<Readings> {
        let Cell { subject, runtime, workers, .. } = cell;
        let (program, is_simulated, size) = parse(subject)?;
        let known = if is_simulated { simulation::PLACEMENTS.to_vec() } else { names().to_vec() };
        chosen("placement", slice::from_ref(runtime), &known, &[])?;
        if is_simulated {
            return Ok(simulation::measure((program, size), runtime, *workers, seed));
        }
        programs::measure(&Ground::here()?, (program, size), runtime, *workers, seed)
    }

    fn report(record: &Record) -> Report {
        let about = "Intervals are placed best, worst, randomly and not at all.";
        let simulated = "Two caches of so many bytes, with 16 ways.";
        let sections = [
            ("Placements", about, MS, IGNORANT),
            ("Misses", simulated, MISSES, BEST),
            ("Hits", simulated, HITS, BEST),
        ];
        let sections = sections.map(|(title, about, name, base)| {
            let metric = Metric { name, unit: name, base: Some(base) };
            Section::of_metric(record, title, about, metric, |_, _| true)
        });
        let sections = sections.into_iter().chain([out_of_place(record)]).collect();
        let headline = "The gain of keeping work where its data is".to_owned();
        let unbound = record.samples.iter().filter(|it| it.metric == UNBOUND).map(|it| it.value);
        let unbound = unbound.fold(0.0, f64::max);
        let notes = (unbound > 0.0).then(|| {
            format!("The system did not bind {unbound} workers or threads to their places")
        });
        let notes = notes.into_iter().collect();
        let method = include_str!("locality/method.txt");
        Report { notes, ..Report::new("places", headline, sections, method) }
    }
}

impl Locality {
    fn plan_on(&self, course: &Course, ground: &Ground) -> Outcome<Plan> {
        let quick = course.quick;
        let repeats = course.repeats(if quick { 7 } else { 21 })?;
        let default = &KINDS[..if quick { 2 } else { 3 }];
        let kinds = chosen("kind", &self.kinds, &KINDS, default)?;
        let names = names();
        let placements = chosen("placement", &self.placements, &names, &names)?;
        let mut plan = Plan::of(course, if quick { 48.0 } else { 900.0 }, 120.0);
        let (version, places) = (env!("CARGO_PKG_VERSION"), &ground.places);
        for (name, about) in PLACEMENTS {
            plan.compare(name, version, about);
        }
        let sets: Vec<String> = places.sets().iter().map(ToString::to_string).collect();
        let parameters = [
            ("places", format!("{} ({})", sets.join(" | "), places.reason())),
            ("least cache", format!("{} of {} bytes", ground.kind, ground.cache)),
        ];
        plan.parameters.extend(parameters.map(|(name, value)| (name.to_owned(), value)));
        plan.quick_subset("fewer readings and smaller matrices; misses if asked for");
        let all = ground.processors();
        if kinds.contains(&MISSES) {
            // The study's caches with four cores each, and this machine's, if they are small.
            let own = (ground.cache as usize).min(simulation::MOST_BYTES);
            for (bytes, workers) in [(8 << 20, 8), (own, all)] {
                for program in [STRESS, MULTIPLY] {
                    let subject = format!("{}{program} {bytes}", simulation::PREFIX);
                    let is_chosen = |it: &&str| placements.contains(it);
                    for placement in simulation::PLACEMENTS.into_iter().filter(is_chosen) {
                        plan.add_once(&subject, placement, workers, 1);
                    }
                }
            }
        }
        // A small pool, as most are, on a machine with more processors.
        let fewer = [None, None, Some(1)].get(all).copied().unwrap_or(Some(2));
        for workers in [Some(all), fewer].into_iter().flatten() {
            for kind in [STRESS, MULTIPLY].into_iter().filter(|kind| kinds.contains(kind)) {
                // The multiplication takes as long as all else together.
                let is_long = kind == MULTIPLY && !quick;
                let repeats = if is_long { repeats.min(9) } else { repeats };
                // The study's matrices are for intervals alone.
                let without = if kind == MULTIPLY { &ON_THREADS[..] } else { &[] };
                for subject in subjects(kind, ground, quick) {
                    let is_chosen = |it: &&str| placements.contains(it) && !without.contains(it);
                    for runtime in names.into_iter().filter(is_chosen) {
                        let is_with_fewer = kind == STRESS && [BEST, IGNORANT].contains(&runtime);
                        if workers == all || is_with_fewer {
                            plan.add(&subject, runtime, workers, repeats);
                        }
                    }
                }
            }
        }
        Ok(plan)
    }
}

/// The kind with what [`parse`] reads: sizes of the paper or smaller, and its readings or fewer.
fn subjects(kind: &str, ground: &Ground, quick: bool) -> Vec<String> {
    let sizes = match kind {
        // One array of a place fits into its cache, and two do not. The paper's have 8 MB.
        STRESS => {
            let (fits, of_paper) = (ground.cache / 10 * 9, 8 << 20);
            let is_of_paper = ground.kind == Kind::L3 && fits.abs_diff(of_paper) > fits / 10;
            let both = is_of_paper.then_some(of_paper).into_iter().chain([fits]);
            both.take(if quick { 1 } else { 2 }).collect()
        }
        _ => vec![if quick { 768 } else { 2048 }],
    };
    let readings = match kind {
        STRESS if quick => "x10",
        STRESS => "x100",
        _ => "",
    };
    sizes.into_iter().map(|size| format!("{kind} {size}{readings}")).collect()
}

/// The share of tasks that ran out of place.
fn out_of_place(record: &Record) -> Section {
    let mut table = Table::new("tasks that ran out of place", ["", "placement", "share"]);
    for (subject, workers) in record.groups(OUT_OF_PLACE) {
        for placement in record.runtimes() {
            let sum = |metric| record.values(subject, placement, workers, metric).iter().sum();
            let (out, all): (f64, f64) = (sum(OUT_OF_PLACE), sum(TASKS));
            if all > 0.0 {
                let group = format!("{subject}, P = {workers}");
                table.row([&group, placement, &percent(out / all)]);
            }
        }
    }
    let about = "With mailboxes, a task that another worker ran. In records before 2026-11-29, \
                 each of these tasks was two intervals, and both count.";
    Section::new("Out of place", about, [table])
}

fn names() -> [&'static str; PLACEMENTS.len()] {
    PLACEMENTS.map(|placement| placement.0)
}
