//! The sections of the report: figures of the paper, and the pairs of rounds.

use super::effects::effect;
use super::figures::{
    self, ABP, BWS, Balance, FORMER_ABP, FORMER_BWS, Found, RATE, Share, averages, common_runtimes,
    mean_variation, numbered, runtimes, shares_of_switches, threshold,
};
use super::metrics::mean;
use super::pairs::{self, APPS, GROUPS, Part};
use crate::experiment::prelude::*;
use crate::rounds::busy::LOOP;

/// An application that is alone may take so much longer than on the baseline.
const TOLERANCE: f64 = 0.02;

type Averages = (Vec<(String, Balance)>, usize);

fn points(share: f64) -> String {
    // No sign where it is rounded to 0.
    format!("{:.0}", (100.0 * share).round() + 0.0)
}

fn two_digits(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.2}"))
}

/// In percent, with a digit after the point.
fn percent(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{:.1}", 100.0 * value))
}

/// A count with a digit after the point, unless that is 0.
fn tenths(count: f64) -> String {
    ((10.0 * count).round() / 10.0).to_string()
}

/// The pairs of a part, the averages over them, and their context switches.
pub(super) fn of_part(found: &[Found], part: Part, [title, about]: [&str; 2]) -> Section {
    let of_part = figures::part(found, part);
    let mut names = runtimes(&of_part);
    names.retain(|name| threshold(name).is_none());
    let head = ["", "to thieves", "to other programs", "of threads that are no workers"];
    let mut switches = Table::new("shares of context switches, %", head);
    for name in &names {
        if let Some(split) = shares_of_switches(&of_part, name) {
            switches.row([(*name).to_owned()].into_iter().chain(split.map(points)));
        }
    }
    let common = common_runtimes(&of_part);
    names.retain(|name| common.contains(name));
    let (charts, means) = averaged(&[("all", averages(&of_part, &names))]);
    Section::new(title, about, [table(&of_part), means, switches]).with_charts(charts)
}

/// Charts and a table of averages.
fn averaged(groups: &[(&str, Averages)]) -> (Vec<Chart>, Table) {
    let head = ["", "runtime", "unfairness", "worst", "useful", "speedup", "variation, %", "pairs"];
    let (mut charts, mut table) = (Vec::new(), Table::new("averages over pairs", head));
    for (group, (means, pairs)) in groups.iter().filter(|(_, (means, _))| !means.is_empty()) {
        let mut bars = |unit: &str, value: fn(&Balance) -> f64| {
            let bars = means.iter().map(|(name, it)| (name.clone(), value(it))).collect();
            charts.push(Chart::bars(*group, unit, bars));
        };
        bars("mean unfairness, points", |it| 100.0 * it.unfairness);
        bars("weighted speedup", |it| it.throughput);
        let mut group = (*group).to_owned();
        for (runtime, it) in means {
            let head = [std::mem::take(&mut group), runtime.clone()];
            let tail = [percent(it.variation), pairs.to_string()];
            table.row(head.into_iter().chain(of_both(it)).chain(tail));
        }
    }
    (charts, table)
}

/// Unfairness, the worst, useful, speedup.
fn of_both(it: &Balance) -> [String; 4] {
    let speedup = format!("{:.2}", it.throughput);
    [points(it.unfairness), points(it.worst), two_digits(it.useful), speedup]
}

fn table(found: &[Found]) -> Table {
    let head = "pair,runtime,slowdowns %,unfairness,worst,useful,speedup,variation %,processors,\
                switches,to thieves + others + rest,";
    let title = "each pair: unfairness in points; switches a second, or a computation";
    let mut table = Table::new(title, head.split(','));
    for Found { pair, runtimes } in found {
        let (mut name, mut remark) = (pair.name.clone(), pair.shows.to_owned());
        for (runtime, it) in runtimes.iter().filter(|(name, _)| threshold(name).is_none()) {
            let each = |figure: &dyn Fn(&Share) -> Option<String>| {
                it.programs.iter().map(|share| figure(share).unwrap_or("-".to_owned())).join(" / ")
            };
            if let Some(overlap) = it.overlap.filter(|&overlap| overlap < 0.95) {
                remark += &format!("; overlap only {overlap:.2}");
            }
            let head =
                [std::mem::take(&mut name), runtime.clone(), each(&|it| Some(points(it.slowdown)))];
            table.row(head.into_iter().chain(of_both(it)).chain([
                each(&|it| it.variation.map(points)),
                each(&|it| it.processors.map(|processors| format!("{processors:.2}"))),
                each(&|it| {
                    it.switches.map(|(waits, taken)| [waits, taken].map(tenths).join(" + "))
                }),
                each(&|it| it.split.map(|split| split.map(tenths).join(" + "))),
                std::mem::take(&mut remark),
            ]));
        }
    }
    table
}

/// Figures 2 to 6 of the paper beyond the table of pairs.
pub(super) fn of_applications(record: &Record, found: &[Found]) -> Section {
    let mut found = figures::part(found, Part::Applications);
    found.retain(|found| GROUPS.contains(&found.pair.shows));
    let mut all = runtimes(&found);
    let mut swept = all.clone();
    all.retain(|name| threshold(name).is_none());
    swept.retain(|name| threshold(name).is_some());
    let of_group = |shows: &str| -> Vec<Found> {
        found.iter().filter(|found| found.pair.shows == shows).cloned().collect()
    };
    let common = common_runtimes(&found);
    let groups = GROUPS.map(|shows| (shows, averages(&of_group(shows), &common)));
    let alternatives = ("alternatives, figure 5", averages(&found, &all));
    let swept = ("SleepThreshold, figure 6", averages(&found, &swept));
    let groups: Vec<_> = groups.into_iter().chain([alternatives, swept]).collect();
    let (charts, means) = averaged(&groups);
    let columns = [""].iter().chain(&common);
    let mut variations = Table::new("variation of the times, %: figure 4", columns);
    let mut row = |name: String, is_it: &dyn Fn(&str, &str) -> bool| {
        let of = common.iter().map(|runtime| mean_variation(&found, runtime, is_it));
        let of: Vec<Option<f64>> = of.collect();
        if of.iter().any(Option::is_some) {
            variations.row([name].into_iter().chain(of.into_iter().map(percent)));
        }
    };
    for (app, _) in APPS {
        row(app.to_owned(), &|name, _| name == app);
    }
    for kind in 1..=4 {
        row(format!("type {kind}"), &|app, other| pairs::execution_type(app, other) == kind);
    }
    Section::new(
        "Applications: the paper's figures",
        "Averages over the pairs of each group on which all of these runtimes were \
         measured. Types of executions: 1, an application of group 2 beside another; 2, one \
         of group 2 beside one of group 1; 3, one of group 1 beside one of group 2; 4, one \
         of group 1 beside another. The paper finds that 93 % of the context switches go to \
         thieves with ABP and 32 % with BWS.",
        [means, effects(record, &found), variations],
    )
    .with_charts(charts)
}

/// What each runtime has more than the baseline, with intervals; and what two names of one
/// algorithm have, which is noise.
fn effects(record: &Record, found: &[Found]) -> Table {
    let columns = "runtime,minus,unfairness,95 %,speedup,95 %,,pairs,runs of each";
    let title = "differences of paired runs, with bootstrap intervals; unfairness in points";
    let mut table = Table::new(title, columns.split(','));
    let base = baseline(record);
    let twice = [BWS, FORMER_BWS].map(|name| (format!("{name}-64"), name));
    let others = runtimes(found).into_iter().filter(|name| *name != base);
    let others = others.filter(|name| threshold(name).is_none()).map(|name| [name, base]);
    for names in others.chain(twice.iter().map(|(one, other)| [one.as_str(), other])) {
        let Some(it) = effect(record, found, names) else { continue };
        let figures = [(it.unfairness, 100.0, 0), (it.speedup, 1.0, 2)].map(|(it, by, digits)| {
            let text = |value: f64| format!("{:+.digits$}", by * value);
            [text(it.figure), format!("{} to {}", text(it.low), text(it.high))]
        });
        let is_noise = |it: Estimate| it.low <= 0.0 && 0.0 <= it.high;
        let verdict = match [it.unfairness, it.speedup].map(is_noise) {
            [true, true] => "noise",
            [false, true] => "unfairness differs",
            [true, false] => "speedup differs",
            [false, false] => "both differ",
        };
        let counts = [it.pairs, it.runs].map(|count| count.to_string());
        let names = names.map(str::to_owned);
        let cells = names.into_iter().chain(figures.into_iter().flatten());
        table.row(cells.chain([verdict.to_owned()]).chain(counts));
    }
    table
}

/// The runtime that others are compared with: the paper's, or what older records have.
fn baseline(record: &Record) -> &'static str {
    let runtimes = record.runtimes();
    FORMER_ABP.into_iter().find(|name| runtimes.contains(name)).unwrap_or(ABP)
}

/// The time of each application alone on `runtime`, relative to that on the baseline.
pub(super) fn costs(record: &Record, runtime: &str) -> Vec<(&'static str, f64)> {
    let workers = record.machine.processors;
    let ratio = |(app, _)| {
        let rate = |on: &str| record.median(app, on, workers, &numbered(RATE, 0));
        Some((app, rate(baseline(record))? / rate(runtime)?))
    };
    APPS.into_iter().filter_map(ratio).collect()
}

/// Which applications take longer on Locksley than is tolerated.
pub(super) fn slow(record: &Record) -> String {
    let slow = costs(record, "locksley").into_iter().filter(|it| it.1 > 1.0 + TOLERANCE);
    let slow = slow.map(|(app, _)| app).join(", ");
    let slow = if slow.is_empty() { "none" } else { &slow };
    format!("slower on locksley by more than {} %: {slow}", points(TOLERANCE))
}

/// The share of the machine that busy threads make use of: what rounds can reach.
pub(super) fn most_useful(record: &Record) -> Option<f64> {
    let rate = |workers| record.median("leaf 5000", LOOP, workers, &numbered(RATE, 0));
    Some(rate(record.machine.processors)? / rate(1)? / record.machine.capacity())
}

/// Programs alone: the rates of rounds, and section 5.5 of the paper.
pub(super) fn alone(record: &Record) -> Section {
    let rates = Metric { name: &numbered(RATE, 0), unit: "a second, alone", base: None };
    let about = "Rounds, leaves of busy threads, and computations of applications. The paper \
                 (section 5.5) finds that wake-ups by busy workers cost 7 % on average, and global \
                 information 43 %, with 32 workers.";
    let is_alone = |subject: &str, _| !subject.contains('+');
    let mut section = Section::of_metric(record, "Programs alone", about, rates, is_alone);
    section.charts.clear();
    let columns = ["", "mean"].into_iter().chain(APPS.iter().map(|(app, _)| *app));
    let base = baseline(record);
    let title = format!("applications alone: time relative to {base}; {}", slow(record));
    let mut relative = Table::new(&title, columns);
    for runtime in record.runtimes() {
        let costs = costs(record, runtime);
        let Some(mean) = mean(costs.iter().map(|it| it.1)) else { continue };
        let of = |app: &str| two_digits(costs.iter().find(|it| it.0 == app).map(|it| it.1));
        let head = [runtime.to_owned(), two_digits(Some(mean))];
        relative.row(head.into_iter().chain(APPS.map(|(app, _)| of(app))));
    }
    section.tables.push(relative);
    section
}
