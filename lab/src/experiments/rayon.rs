//! Programs written for rayon, on its own core and on Locksley's: alone, with four workers for each
//! processor, and beside busy threads.
//!
//! The programs are those of `crates/rayon-core/workloads`, which are built twice: one graph of
//! packages has room for only one rayon-core. Each measurement is a process; the two cores take
//! turns.

mod program;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::corun::measure::Extent;

use crate::experiment::prelude::*;
use crate::rounds::busy::LOOP;
use program::{MS, Workload};

const UPSTREAM: &str = "rayon";
const OURS: &str = "locksley";
/// Both cores, in the order of their turns.
const RUNTIMES: [&str; 2] = [UPSTREAM, OURS];

/// The settings. They end the names of subjects.
const ALONE: &str = "alone";
const OVERSUBSCRIBED: &str = "oversubscribed";
const BESIDE: &str = "beside";
const SETTINGS: [&str; 3] = [ALONE, OVERSUBSCRIBED, BESIDE];

/// The workloads of a quick run: uneven joins, even pieces, short loops, and an irregular tree.
const QUICK: [&str; 4] = ["quicksort", "matmul", "life", "tsp"];

/// `locksley rayon`
#[derive(Debug, Default, Args)]
pub struct Rayon {
    /// Only these workloads [default: all; four if quick]
    #[arg(long, value_name = "W,..", value_delimiter = ',')]
    workloads: Vec<String>,
    /// Only in these settings: alone, oversubscribed, beside [default: all]
    #[arg(long, value_name = "SETTING,..", value_delimiter = ',')]
    settings: Vec<String>,
    /// Only on these: rayon, which is its own core; locksley [default: both]
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    runtimes: Vec<String>,
    /// For how long each program computes, in seconds [default: 0.7 alone, 2 beside busy threads;
    /// 0.3 and 1 if quick]
    #[arg(long, value_name = "S", value_parser = crate::experiment::seconds)]
    secs: Option<Duration>,
    /// The folder with the two programs, as they are [default: crates/rayon-core/workloads/bin,
    /// where they are built first]
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// The program that computes `loop`, if it is not this one.
    #[arg(skip)]
    looping: Option<PathBuf>,
}

impl Experiment for Rayon {
    const NAME: &'static str = "rayon";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let quick = course.quick;
        let runtimes = chosen("runtime", &self.runtimes, &RUNTIMES, &RUNTIMES)?;
        let settings = chosen("setting", &self.settings, &SETTINGS, &SETTINGS)?;
        let repeats = course.repeats(if quick { 3 } else { 9 })?;
        if self.programs.is_none() {
            program::build()?;
        }
        let programs = program::find(&self.folder(), &runtimes)?;
        let known = &programs[0].workloads;
        let names: Vec<&str> = known.iter().map(|one| one.name.as_str()).collect();
        let mut default = names.clone();
        default.retain(|name| !quick || QUICK.contains(name));
        let workloads = chosen("workload", &self.workloads, &names, &default)?;
        if workloads.is_empty() {
            return Err(Fault::input("the programs have none of the workloads of a quick run"));
        }
        let mut plan = Plan::of(course, if quick { 50.0 } else { 1500.0 }, 0.0);
        for program in &programs {
            plan.compare(&program.core, &program.version, "rayon on this core");
        }
        for setting in [ALONE, BESIDE] {
            let seconds = self.seconds(quick, setting).to_string();
            plan.parameters.insert(format!("seconds {setting}"), seconds);
        }
        let processors = Machine::here().processors.clamp(1, MOST_WORKERS);
        for Workload { name, size, about } in known {
            if !workloads.contains(&name.as_str()) {
                continue;
            }
            plan.parameters.insert(name.clone(), about.clone());
            for &setting in &settings {
                let workers = match setting {
                    OVERSUBSCRIBED => (4 * processors).min(MOST_WORKERS),
                    _ => processors,
                };
                for runtime in &runtimes {
                    plan.add(&format!("{name} {size}, {setting}"), runtime, workers, repeats);
                }
            }
        }
        plan.quick_subset(&format!("{} only, for less time", workloads.join(", ")));
        Ok(plan)
    }

    /// Whatever fails in a program ends the run.
    fn measure(&mut self, plan: &Plan, cell: &Cell, _repeat: usize) -> Outcome<Readings> {
        let Cell { subject, runtime, workers, .. } = cell;
        let (name, setting) = parts(subject);
        let seconds = self.seconds(plan.quick, setting);
        let mut command = Command::new(self.folder().join(runtime));
        command.args(name.split(' ')).args([workers.to_string(), plan.seed.to_string()]);
        let workload = (format!("{name} on {runtime} with {workers}"), command);
        let busy = || {
            let this = self.looping.clone().map_or_else(child::this_program, Ok)?;
            let mut command = Command::new(this);
            command.args(["rounds", "--gate", "--runtime", LOOP, "--leaf", "5000", "--secs"]);
            command.args([&seconds.to_string(), "--workers", &workers.to_string()]);
            Ok((format!("{LOOP} with {workers}"), command))
        };
        let busy = (setting == BESIDE).then(busy).transpose()?;
        let extent = Extent { seconds, computations: if plan.quick { 3 } else { 5 } };
        program::run(workload, busy, extent)
    }

    fn report(record: &Record) -> Report {
        let (mut sections, mut means) = (Vec::new(), Vec::new());
        for setting in SETTINGS {
            let subjects = subjects(record, setting);
            let Some(&(_, workers)) = subjects.first() else { continue };
            let title = match setting {
                BESIDE => format!("beside {LOOP}, {workers} workers"),
                _ => format!("{setting}, {workers} workers"),
            };
            let (mut ratios, medians) = ratios(record, &subjects);
            if let Some(mean) = mean(medians.iter().map(|ratio| ratio.ln())).map(f64::exp) {
                means.push(format!("{mean:.2} {title}"));
                ratios.row(["geometric mean", &format!("{mean:.3}")]);
            }
            let metric = Metric { name: MS, unit: "ms of a computation", base: None };
            let mut section = Section::of_metric(record, &title, "", metric, |subject, _| {
                parts(subject).1 == setting
            });
            section.tables.insert(0, ratios);
            sections.push(section);
        }
        let finding = match means.is_empty() {
            true => String::new(),
            false => format!(" take this part of their time on Locksley: {}", means.join("; ")),
        };
        let headline = format!("Programs written for rayon{finding}");
        let method = include_str!("rayon/method.txt");
        Report::new("in the place of rayon-core", headline, sections, method)
    }
}

impl Rayon {
    /// Builds the programs where they are looked for by default.
    pub(super) fn find_programs() -> Outcome<()> {
        program::build()?;
        program::find(Path::new(program::BUILT), &RUNTIMES).map(drop)
    }

    /// With programs that compute for so long alone.
    pub(super) fn briefly(secs: Duration) -> Rayon {
        Rayon { secs: Some(secs), ..Rayon::default() }
    }

    fn folder(&self) -> PathBuf {
        self.programs.clone().unwrap_or_else(|| PathBuf::from(program::BUILT))
    }

    /// For how long programs compute in a setting.
    fn seconds(&self, quick: bool, setting: &str) -> f64 {
        let [alone, beside] = if quick { [0.3, 1.0] } else { [0.7, 2.0] };
        let default = if setting == BESIDE { beside } else { alone };
        self.secs.map_or(default, |time| time.as_secs_f64())
    }
}

/// The subjects of a setting, each with its number of workers.
fn subjects<'r>(record: &'r Record, setting: &str) -> Vec<(&'r str, usize)> {
    let all = record.groups(MS).into_iter();
    all.filter(|(subject, _)| parts(subject).1 == setting).collect()
}

/// The workload of a subject, with its size; and the setting.
fn parts(subject: &str) -> (&str, &str) {
    subject.split_once(", ").unwrap_or((subject, BESIDE))
}

/// The times on Locksley over those on rayon, as a table, and their medians.
fn ratios(record: &Record, subjects: &[(&str, usize)]) -> (Table, Vec<f64>) {
    let title = "time on Locksley over that on rayon";
    let mut table = Table::new(title, ["", "median", "least", "most"]);
    let mut medians = Vec::new();
    for &(subject, workers) in subjects {
        let mut ratios = record.ratios(subject, [OURS, UPSTREAM], workers, MS);
        let Some(ratio) = median(&ratios) else { continue };
        ratios.sort_by(f64::total_cmp);
        let figures = [ratio, ratios[0], ratios[ratios.len() - 1]].map(|it| format!("{it:.3}"));
        let [middle, least, most] = &figures;
        table.row([parts(subject).0, middle, least, most]);
        medians.push(ratio);
    }
    (table, medians)
}

#[cfg(test)]
mod tests;
