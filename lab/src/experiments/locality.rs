//! The gain of keeping work where its data is: LASSI's study (Weibel, "An Advanced Scheduler for
//! Intervals", 2010), with tasks placed well, badly, randomly and not at all; and applications that
//! name no places, with places and without.

mod ground;
mod multiply;
mod programs;
mod tasks;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::slice;

use clap::Args;
use locksley::places::Kind;

use ground::Ground;
use programs::parse;
use tasks::{BEST, IGNORANT, PLACEMENTS};

use crate::apps::{self, App};
use crate::experiment::estimate::median;
use crate::experiment::prepared::{self, Prepared};
use crate::experiment::report::Metric;
use crate::experiment::text::{number, percent};
use crate::experiment::{
    Cell, Course, Experiment, Plan, Readings, Record, Report, Section, Table, plan,
};
use crate::fault::Outcome;

const STRESS: &str = "stress";
const MULTIPLY: &str = "multiply";
/// All applications on the command line.
const APPS: &str = "apps";
const KINDS: [&str; 3] = [STRESS, MULTIPLY, APPS];

/// The runtimes of the applications, without places and with them.
const RUNTIMES: [&str; 2] = ["locksley-undivided", "locksley-places"];

const MS: &str = "ms";
const TASKS: &str = "tasks";
/// Tasks that ran in another place than the one that is named, or in which they were spawned.
const OUT_OF_PLACE: &str = "tasks out of place";
/// Workers that the system did not bind to their places.
const UNBOUND: &str = "unbound workers";

/// `locksley locality`
#[derive(Debug, Args)]
pub struct Locality {
    /// Only these: stress, multiply, apps [default: all, or all but apps if quick]
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Only these placements: best, worst, random, shared-deques, ignorant, undivided [default:
    /// all]
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
        if RUNTIMES.contains(&runtime.as_str()) {
            let seconds = Prepared::new(subject, seed)?.seconds_on(runtime, *workers)?;
            return Ok([(MS.to_owned(), seconds * 1e3)].into());
        }
        let (kind, size) = parse(subject)?;
        plan::chosen("placement", slice::from_ref(runtime), &names(), &[])?;
        programs::measure(&Ground::here()?, (kind, size), runtime, *workers, seed)
    }

    fn report(record: &Record) -> Report {
        let is_placed = |subject: &str| parse(subject).is_ok() || subject.starts_with("sort ");
        let placed = |title, about, name, unit| {
            let metric = Metric { name, unit, base: Some(IGNORANT) };
            Section::of_metric(record, title, about, metric, |subject, _| is_placed(subject))
        };
        let about = "Tasks are placed best, worst, randomly and not at all, by several schedulers.";
        let times = placed("Placements", about, MS, "milliseconds");
        let mut notes = Vec::new();
        let unbound = record.samples.iter().filter(|sample| sample.metric == UNBOUND);
        let unbound = unbound.map(|sample| sample.value).fold(0.0, f64::max);
        if unbound > 0.0 {
            notes.push(format!("The system did not bind {unbound} of the workers to their places"));
        }
        let method = [
            "The programs are those of LASSI's study, each measurement in a process of its own. \
             stress: one array for each place, of which one fits into the least cache of a place \
             and two do not; between third caches, the paper's 8 MB too. multiply: so many rows, by \
             quarters; in records before 2026-11-26, by rows of blocks. The study's sort is the \
             application sorters of the experiment intervals; some records have a sort of tasks.",
            "Each part of the data is filled, before the time begins, by a worker of the place of \
             its tasks, because memory lies next to the processor that writes it first.",
            "Applications have their quick sizes; a ratio is the median of those of each rotation.",
        ];
        let sections = vec![times, out_of_place(record), applications(record)];
        Report { notes, ..Report::new("places", headline(record), sections, &method) }
    }
}

impl Locality {
    fn plan_on(&self, course: &Course, ground: &Ground) -> Outcome<Plan> {
        let quick = course.quick;
        let repeats = course.repeats(if quick { 7 } else { 21 })?;
        let default = if quick { &KINDS[..2] } else { &KINDS[..] };
        let kinds = plan::chosen("kind", &self.kinds, &KINDS, default)?;
        let names = names();
        let placements = plan::chosen("placement", &self.placements, &names, &names)?;
        let mut plan = Plan::of(course, if quick { 48.0 } else { 450.0 }, 120.0);
        let (version, places) = (env!("CARGO_PKG_VERSION"), &ground.places);
        let runtimes = RUNTIMES.into_iter().zip(["one place", "places, of which none is named"]);
        for (name, about) in PLACEMENTS.into_iter().chain(runtimes) {
            plan.compare(name, version, about);
        }
        let sets: Vec<String> = places.sets().iter().map(ToString::to_string).collect();
        let parameters = [
            ("places", format!("{} ({})", sets.join(" | "), places.reason())),
            ("least cache", format!("{} of {} bytes", ground.kind, ground.cache)),
        ];
        plan.parameters.extend(parameters.map(|(name, value)| (name.to_owned(), value)));
        plan.quick_subset("smaller inputs; applications if asked for");
        // A small pool, as most are, on a machine with more processors.
        let all = ground.processors();
        let fewer = [None, None, Some(1)].get(all).copied().unwrap_or(Some(2));
        for workers in [Some(all), fewer].into_iter().flatten() {
            for kind in KINDS.into_iter().filter(|kind| kinds.contains(kind)) {
                // The multiplication takes as long as all else together.
                let is_long = kind == MULTIPLY && !quick;
                let repeats = if is_long { repeats.min(9) } else { repeats };
                for subject in subjects(kind, ground, quick) {
                    let is_measured = |placement: &&str| {
                        let is_with_fewer = kind == STRESS && [BEST, IGNORANT].contains(placement);
                        placements.contains(placement) && (workers == all || is_with_fewer)
                    };
                    let runtimes: Vec<&str> = match kind {
                        APPS => RUNTIMES.to_vec(),
                        _ => names.into_iter().filter(is_measured).collect(),
                    };
                    for runtime in runtimes {
                        plan.add(&subject, runtime, workers, repeats);
                    }
                }
            }
        }
        Ok(plan)
    }
}

/// What is computed of a kind: `KIND SIZE`; the sizes are the paper's, or smaller. Or the
/// applications with their sizes.
fn subjects(kind: &str, ground: &Ground, quick: bool) -> Vec<String> {
    let sizes = match kind {
        APPS => {
            let name = |app: &&App| prepared::name(app.name, app.quick_size);
            return apps::ALL.iter().map(name).collect();
        }
        // One array of a place fits into its cache, and two do not. The paper's have 8 MB.
        STRESS => {
            let (fits, of_paper) = (ground.cache / 10 * 9, 8 << 20);
            let is_of_paper = ground.kind == Kind::L3 && fits.abs_diff(of_paper) > fits / 10;
            let both = is_of_paper.then_some(of_paper).into_iter().chain([fits]);
            both.take(if quick { 1 } else { 2 }).collect()
        }
        _ => vec![if quick { 768 } else { 2048 }],
    };
    sizes.into_iter().map(|size| format!("{kind} {size}")).collect()
}

/// How much faster the best placement is than none. Of several sizes the last one counts: that of
/// the caches.
fn headline(record: &Record) -> String {
    let groups = record.groups(MS);
    let most = groups.iter().map(|group| group.1).max().unwrap_or(0);
    let gain = |kind: &&str| {
        let is_it = |(subject, workers): &&(&str, usize)| {
            *workers == most && parse(subject).is_ok_and(|parsed| parsed.0 == *kind)
        };
        let subject = groups.iter().rfind(is_it)?.0;
        let [ignorant, best] = [IGNORANT, BEST].map(|it| record.median(subject, it, most, MS));
        Some(format!("{kind} {:.2}", ignorant? / best?))
    };
    let gains: Vec<String> = KINDS[..2].iter().filter_map(gain).collect();
    match gains.join(", ") {
        none if none.is_empty() => "The gain of keeping work where its data is".to_owned(),
        gains => format!("Time without a place over that with the best placement: {gains}"),
    }
}

/// The share of tasks that ran out of place.
fn out_of_place(record: &Record) -> Section {
    let mut table = Table::new("tasks that ran out of place", &["", "placement", "share"]);
    for (subject, workers) in record.groups(OUT_OF_PLACE) {
        for placement in record.runtimes() {
            let all =
                |metric| record.values(subject, placement, workers, metric).iter().sum::<f64>();
            let tasks = all(TASKS);
            if tasks > 0.0 {
                let share = percent(all(OUT_OF_PLACE) / tasks);
                table.row([format!("{subject}, P = {workers}"), placement.to_owned(), share]);
            }
        }
    }
    Section::new("Out of place", "", Vec::new(), vec![table])
}

/// The applications, with places and without.
fn applications(record: &Record) -> Section {
    let columns = ["", "P", "without places", "with places", "ratio"];
    let mut table = Table::new("applications: milliseconds", &columns);
    let mut logarithms: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    let [without, with] = RUNTIMES;
    for (subject, workers) in record.groups(MS) {
        let mut ratios = record.ratios(subject, [with, without], workers, MS);
        let Some(ratio) = median(&mut ratios) else { continue };
        let time = |runtime| number(record.median(subject, runtime, workers, MS).unwrap_or(0.0));
        let (name, shown) = (subject.to_owned(), format!("{ratio:.3}"));
        table.row([name, workers.to_string(), time(without), time(with), shown]);
        logarithms.entry(workers).or_default().push(ratio.ln());
    }
    for (workers, all) in logarithms.iter().rev() {
        let mean = (all.iter().sum::<f64>() / all.len() as f64).exp();
        let cells = ["geometric mean", &workers.to_string(), "", "", &format!("{mean:.3}")];
        table.row(cells.map(str::to_owned));
    }
    Section::new("Applications", "", Vec::new(), vec![table])
}

fn names() -> [&'static str; PLACEMENTS.len()] {
    PLACEMENTS.map(|placement| placement.0)
}
