//! Turnkey: whether a pool that chooses its number of workers does as well as with the best number
//! that could have been given. Alone, beside a program that takes processors away, under quotas.
//!
//! Each measurement is a process with an input of its own. All numbers of workers of an application
//! take turns, next to each other in time.

mod contest;
#[cfg(test)]
mod tests;

use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;

use super::corun::process::Company;
use crate::apps;
use crate::control_group::Group;
use crate::experiment::prelude::*;
use crate::experiment::prepared::Prepared;
use crate::random::Random;
use crate::runtimes::{self, Crew};
use crate::usage::Usage;

/// At most so many times as long as with the best number of workers.
const TARGET: f64 = 1.03;

const LOCKSLEY: &str = "locksley";
/// The number of workers of the pool that chooses it, in records.
const CHOSEN: usize = 0;
/// The name of that pool for `locksley once`.
const TURNKEY: &str = "turnkey";

/// The numbers of workers that could be given; a quick run has the first ones.
const WORKERS: [usize; 4] = [1, 2, 4, 8];

/// Some milliseconds each: a period of the kernel's has several computations.
const APPS: [&str; 7] = [
    "heat 1024x512x30",
    "msort 300K",
    "mm 256",
    "lu 512",
    "barnes 1024x1",
    "ray 4,64x64",
    "knary 8,4,1",
];
const QUICK_APPS: [&str; 3] = ["heat 1024x512x20", "msort 300K", "knary 8,4,1"];

/// For how long a pool computes before it is timed: under a quota, it has found that then.
const WARM_UP: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(200)];
/// For how long the cycler runs before anything is timed.
const HEAD_START: Duration = Duration::from_millis(50);

/// How a quota was kept: metrics and their units.
const KEPT: [(&str, &str); 4] = [
    ("used up per s", "periods in a second of which the quota was used up"),
    ("share of periods", "the share of the periods of which it was used up"),
    ("stopped", "processors that were stopped"),
    ("worked", "processors that were used"),
];

/// `locksley turnkey`
#[derive(Debug, Default, Args)]
pub struct Turnkey {
    /// Under quotas, instead of without them
    #[arg(long)]
    quotas: bool,
}

impl Experiment for Turnkey {
    const NAME: &'static str = "turnkey";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        if self.quotas {
            let why = |why| Fault::input(format!("this needs control groups: {why}"));
            Group::probe().map_err(why)?;
        }
        self.plan_of_all(course)
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, repeat: usize) -> Outcome<Readings> {
        let runtime = if cell.workers == CHOSEN { TURNKEY } else { &cell.runtime };
        // Repetitions differ in their input, and in what the cycler does.
        let seed = Random::new(plan.seed).ahead(repeat as u64).next_u64();
        let (runtime, workers) = (runtime.to_owned(), cell.workers.max(1));
        let plan = Plan { seed, ..plan.clone() };
        child::once(Self::NAME, &plan, &Cell { runtime, workers, ..cell.clone() })
    }

    fn once(cell: &Cell, seed: u64) -> Outcome<Readings> {
        let (app, setting) = parse(&cell.subject)?;
        let mut prepared = Prepared::new(app, seed)?;
        let group = match setting {
            Setting::Under(hundredths) => Some(Group::with_quota(hundredths, "app")),
            Setting::Alone | Setting::Beside => None,
        };
        let group = group.transpose().map_err(Fault::Run)?;
        let crew = match cell.runtime.as_str() {
            TURNKEY => Crew::Locksley(Pool::builder().build().map_err(Fault::run)?),
            runtime => runtimes::find(runtime)?.start(cell.workers)?,
        };
        let _cycler = (setting == Setting::Beside).then(|| cycler(seed)).transpose()?;
        let mut compute = || prepared.seconds(&crew);
        repeat(&mut compute, WARM_UP[usize::from(group.is_some())], group.as_ref())?;
        let mut timed = || repeat(&mut compute, setting.time(), group.as_ref());
        let (times, kept) = match &group {
            Some(group) => watch(group, timed)?,
            None => (timed()?, Readings::new()),
        };
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let mut readings = named([(SECONDS, mean), ("computations", times.len() as f64)]);
        readings.extend(kept);
        Ok(readings)
    }

    fn report(record: &Record) -> Report {
        let names = record.plan.cells.iter().map(|cell| &cell.subject[..]).dedup();
        let names: Vec<&str> = names.filter(|name| parse(name).is_ok()).collect();
        let settings = [Setting::Alone, Setting::Beside, Setting::Under(100), Setting::Under(150)];
        let (mut sections, mut findings) = (Vec::new(), Vec::new());
        for setting in settings {
            let is_its = |name: &&&str| parse(name).is_ok_and(|parsed| parsed.1 == setting);
            let names: Vec<&str> = names.iter().filter(is_its).copied().collect();
            let (section, [met, missed, undecided]) = compare(record, setting.words(), &names);
            sections.push(section);
            if met + missed + undecided > 0 {
                let words = format!("{met} met, {missed} missed, {undecided} not decided");
                findings.push(format!("{}: {words}", setting.words()));
            }
        }
        sections.extend(KEPT.map(|(name, unit)| {
            let metric = Metric { name, unit, base: None };
            Section::of_metric(record, "How a quota was kept", "", metric, |_, _| true)
        }));
        let headline = match findings.is_empty() {
            true => "Pools that choose their number of workers".to_owned(),
            false => format!(
                "Within {:.0} % of the best number of workers, with none given: {}",
                100.0 * (TARGET - 1.0),
                findings.join("; ")
            ),
        };
        Report::new(Self::NAME, headline, sections, include_str!("turnkey/method.txt"))
    }
}

impl Turnkey {
    fn plan_of_all(&self, course: &Course) -> Outcome<Plan> {
        let quick = course.quick;
        let repeats = course.repeats(if quick { 8 } else { 40 })?;
        let apps = if quick { &QUICK_APPS[..] } else { &APPS[..] };
        let workers = &WORKERS[..if quick { 3 } else { 4 }];
        let mut plan = Plan::of(course, if quick { 50.0 } else { 3300.0 }, 120.0);
        plan.compare_runtime(runtimes::find(LOCKSLEY)?);
        let endings = if self.quotas { [" under 100", " under 150"] } else { ["", BESIDE] };
        for ending in endings {
            for app in apps {
                let subject = format!("{app}{ending}");
                for &workers in [CHOSEN].iter().chain(workers) {
                    plan.add(&subject, LOCKSLEY, workers, repeats);
                }
            }
        }
        plan.quick_subset("fewer applications and numbers");
        Ok(plan)
    }
}

/// In which surroundings an application runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    Alone,
    /// Beside a cycler, which takes processors away.
    Beside,
    /// In a control group that may use so many hundredths of a processor.
    Under(u64),
}

const BESIDE: &str = " beside cycler";

/// The application with its size, and the surroundings, that a subject names.
fn parse(subject: &str) -> Outcome<(&str, Setting)> {
    let quota = |text: &str| {
        let hundredths = text.parse().ok().filter(|n| (5..=100_000).contains(n));
        hundredths.ok_or_else(|| Fault::input(format!("'{text}' is not a quota")))
    };
    let (app, setting) = match (subject.strip_suffix(BESIDE), subject.split_once(" under ")) {
        (Some(app), _) => (app, Setting::Beside),
        (None, Some((app, hundredths))) => (app, Setting::Under(quota(hundredths)?)),
        (None, None) => (subject, Setting::Alone),
    };
    let (found, size) = prepared::app_and_size(app)?;
    apps::problem(found, size)?;
    Ok((app, setting))
}

impl Setting {
    fn words(self) -> String {
        match self {
            Setting::Alone => "alone".to_owned(),
            Setting::Beside => "beside a cycler".to_owned(),
            Setting::Under(hundredths) => {
                format!("under a quota of {:.2}", hundredths as f64 / 100.0)
            }
        }
    }

    /// For how long a measurement takes times, at least.
    fn time(self) -> Duration {
        Duration::from_millis(match self {
            Setting::Alone => 100,
            Setting::Beside => 200,
            // Whole periods of the kernel's.
            Setting::Under(_) => 500,
        })
    }
}

/// How long each computation took that began within the time, and at least one. In a group it goes
/// on until a period of the kernel has ended.
fn repeat(
    compute: &mut dyn FnMut() -> Outcome<f64>,
    time: Duration,
    group: Option<&Group>,
) -> Outcome<Vec<f64>> {
    let periods = || group.map(|it| Ok(it.kept()?.periods)).transpose().map_err(Fault::Run);
    let (begun, mut before, mut seconds) = (Instant::now(), periods()?, Vec::new());
    loop {
        seconds.push(compute()?);
        let now = periods()?;
        if begun.elapsed() >= time && (group.is_none() || now != before) {
            return Ok(seconds);
        }
        before = now;
    }
}

/// What `run` returns, and how the quota was kept meanwhile.
fn watch<T>(group: &Group, run: impl FnOnce() -> Outcome<T>) -> Outcome<(T, Readings)> {
    let used = || Usage::now().map_or(0.0, |usage| usage.seconds);
    let now = || Ok((Instant::now(), group.kept()?, used()));
    let (begun, before, used_before) = now().map_err(Fault::Run)?;
    let done = run()?;
    let (ended, after, used) = now().map_err(Fault::Run)?;
    let wall = (ended - begun).as_secs_f64();
    let used_up = after.used_up - before.used_up;
    // The kernel counts a period when it ends: in a short time there may have been none.
    let periods = (after.periods - before.periods).max(used_up).max(1);
    let stopped = after.stopped.saturating_sub(before.stopped).as_secs_f64() / wall;
    let (often, share) = (used_up as f64 / wall, used_up as f64 / periods as f64);
    let values = [often, share, stopped, (used - used_before).max(0.0) / wall];
    Ok((done, named(KEPT.map(|it| it.0).into_iter().zip(values))))
}

/// Another process that takes all processors away until this is dropped, for some hundred
/// milliseconds at a time.
fn cycler(seed: u64) -> Outcome<Company> {
    let company = Company::of_cycler(Machine::here().processors, 500, seed)?;
    thread::sleep(HEAD_START);
    Ok(company)
}

/// What turnkey takes for each subject over the best number, and over each number; and how many
/// targets are met, missed and not decided.
fn compare(record: &Record, setting: String, names: &[&str]) -> (Section, [usize; 3]) {
    let is_given = |cell: &&Cell| {
        names.contains(&&*cell.subject) && cell.runtime == LOCKSLEY && cell.workers != CHOSEN
    };
    let given = record.plan.cells.iter().filter(is_given).map(|cell| cell.workers);
    let numbers: Vec<usize> = given.sorted_unstable().dedup().collect();
    let columns = ["", "ms", "over the best P", "95 %", "of", "best P", ""];
    let mut table = Table::new("turnkey over the best number, and over each number", columns);
    table.columns.extend(numbers.iter().map(|workers| format!("P = {workers}")));
    let (mut bests, mut bars, mut verdicts) = (Vec::new(), Vec::new(), [0; 3]);
    let figure = |figure: f64| format!("{figure:.3}");
    for &name in names {
        let over = numbers.iter().map(|&workers| (workers, contest::over(record, name, workers)));
        let over: Vec<_> = over.collect();
        let Some(best) = contest::best(&over) else { continue };
        let Some(found) = contest::estimate(&best.ratios) else { continue };
        let verdict = Verdict::of(found, TARGET);
        verdicts[verdict as usize] += 1;
        let ms = record.median(name, LOCKSLEY, CHOSEN, SECONDS).unwrap_or(0.0) * 1e3;
        let chosen = match best.chosen {
            [one, other] if one == other => one.to_string(),
            [one, other] => format!("{one}, {other}"),
        };
        let each = over.iter().map(|(_, ratios)| {
            contest::estimate(ratios).map_or_else(String::new, |it| figure(it.figure))
        });
        let head = [name.to_owned(), number(ms), figure(found.figure), interval(&found)];
        let rest = [best.ratios.len().to_string(), chosen, verdict.word().to_owned()];
        table.row(head.into_iter().chain(rest).chain(each));
        bars.push((name.to_owned(), found.figure));
        bests.push(best);
    }
    if let Some(mean) = contest::mean(&bests) {
        let name = format!("geometric mean of {}", bests.len());
        table.row([name, String::new(), figure(mean.figure), interval(&mean)]);
    }
    let title = format!("Applications {setting}");
    let chart = Chart::bars(&title, "turnkey over the best number", bars);
    let charts = if table.rows.is_empty() { Vec::new() } else { vec![chart] };
    let about = format!("At most {TARGET} is wanted over the best number.");
    (Section::new(&title, &about, [table]).with_charts(charts), verdicts)
}
