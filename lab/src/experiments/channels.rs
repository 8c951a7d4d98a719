//! What messages, processes and waiting tasks cost: the smallest networks and the smallest things
//! that tasks do, on Locksley and on other runtimes.

mod measurement;
mod networks;
mod on_locksley;
mod on_tokio;
mod runtime;
mod subject;
mod tasks;

use std::path::{Path, PathBuf};

use super::memory;
use crate::experiment::child::command_of_peer;
use crate::experiment::prelude::*;
use measurement::{
    APART, BASE, BEYOND, BYTES, FUTURE, Finding, GO, LOCAL, NS, OURS, measure, suits,
};
use subject::{KINDS, Kind, Subject};

const GO_PROGRAM: &str = "channels-go";

/// `locksley channels`
#[derive(Debug, Default, Args)]
pub struct Channels {
    /// Only these kinds: stream, ring, pipeline, fan-out, fan-in, idle, spawn, ping-pong, waiting
    /// [default: all]
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Only these runtimes [default: locksley, locksley-cur, tokio-current, tokio, and go if it is
    /// there]
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    runtimes: Vec<String>,
    /// The folder with the programs of other runtimes, which peers/build makes
    #[arg(long, value_name = "DIR", default_value = "peers/bin", value_parser = folder_of_peers)]
    peers: PathBuf,
    /// So many messages, hops or idle processes in each measurement [default: as many as take some
    /// tenths of a second]
    #[arg(long, value_name = "N")]
    messages: Option<u64>,
    /// So many tasks or round trips in each measurement [default: the same]
    #[arg(long, value_name = "N")]
    tasks: Option<u64>,
}

impl Experiment for Channels {
    const NAME: &'static str = "channels";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let quick = course.quick;
        let repeats = course.repeats(if quick { 7 } else { 11 })?;
        let mut plan = Plan::of(course, if quick { 48.0 } else { 2580.0 }, 120.0);
        let names = Kind::ALL.map(Kind::name);
        let kinds = chosen("kind", &self.kinds, &names, &names)?;
        let mut names = LOCAL.map(|(name, ..)| name).to_vec();
        names.push(GO);
        let runtimes = chosen("runtime", &self.runtimes, &names, &names)?;
        for (name, version, about) in LOCAL.into_iter().filter(|it| runtimes.contains(&it.0)) {
            plan.compare(name, version, about);
        }
        if runtimes.contains(&GO) {
            let (about, is_required) = ("goroutines and Go's channels", !self.runtimes.is_empty());
            plan.compare_peer(GO, &self.peers.join(GO_PROGRAM), about, is_required)?;
        }
        for (kind, size, workers) in self.sizes(quick) {
            let subject = format!("{} {size}", kind.name());
            Subject::find(&subject)?;
            if kind.is_memory() && !memory::can_be_told() || !kinds.contains(&kind.name()) {
                continue;
            }
            for &workers in workers {
                for runtime in plan.runtimes.clone() {
                    if suits(&runtime.name, kind, workers).is_ok() {
                        plan.add(&subject, &runtime.name, workers, repeats);
                    }
                }
            }
        }
        plan.quick_subset("fewer messages and tasks in each measurement");
        Ok(plan)
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, _repeat: usize) -> Outcome<Readings> {
        if cell.runtime != GO {
            return child::once(Self::NAME, plan, cell);
        }
        let mut command = command_of_peer(&self.peers.join(GO_PROGRAM), cell, plan.seed);
        let finding: Finding = child::finds(&mut command, plan.limit())?;
        finding.readings(Subject::find(&cell.subject)?, plan.seed)
    }

    fn once(cell: &Cell, seed: u64) -> Outcome<Readings> {
        let Cell { subject, runtime, workers, .. } = cell;
        let subject = Subject::find(subject)?;
        let known = LOCAL.map(|(name, ..)| name);
        chosen("runtime", std::slice::from_ref(runtime), &known, &[])?;
        measure(runtime, *workers, subject, seed)?.readings(subject, seed)
    }

    fn report(record: &Record) -> Report {
        let sections = KINDS.map(|kind| section(record, kind));
        let title = "messages, processes and waiting tasks";
        Report::new(title, headline(record), sections.to_vec(), include_str!("channels/method.txt"))
    }
}

impl Channels {
    /// With the programs of other runtimes in this folder.
    pub(super) fn beside(peers: &Path) -> Channels {
        Channels { peers: peers.to_owned(), ..Channels::default() }
    }

    /// What is measured: how much of it, and with how many workers.
    fn sizes(&self, quick: bool) -> [(Kind, String, &'static [usize]); 10] {
        let chosen = |asked: Option<u64>, [small, full]: [u64; 2]| {
            asked.unwrap_or(if quick { small } else { full }).to_string()
        };
        let turns =
            |each: u64| self.messages.map(|all| if all > 0 { (all / each).max(1) } else { 0 });
        [
            (Kind::Stream, chosen(self.messages, [1_000_000, 5_000_000]), &[1, 2]),
            (Kind::Ring, format!("1000x{}", chosen(turns(1000), [300, 2000])), &[1, 2]),
            (
                Kind::Pipeline,
                format!("10x{}", chosen(self.messages, [100_000, 1_000_000])),
                &[1, 2],
            ),
            (Kind::FanOut, chosen(turns(100), [2000, 20_000]), &[1, 2]),
            (Kind::FanIn, chosen(turns(100), [2000, 20_000]), &[1, 2]),
            (Kind::Idle, chosen(self.messages, [250_000, 1_000_000]), &[1]),
            (Kind::Spawn, chosen(self.tasks, [100_000, 1_000_000]), &[1, 2]),
            (Kind::PingPong, chosen(self.tasks, [100_000, 1_000_000]), &[1]),
            // Two workers may have to wake each other each time.
            (Kind::PingPong, chosen(self.tasks, [50_000, 500_000]), &[2]),
            (Kind::Waiting, chosen(self.tasks, [250_000, 1_000_000]), &[1]),
        ]
    }
}

fn is_of(kind: &str, subject: &str) -> bool {
    subject.split(' ').next() == Some(kind)
}

/// The figures of all kinds with one worker.
fn headline(record: &Record) -> String {
    let part = |(name, unit, _): (&str, &str, &str)| {
        let mut groups = [NS, BEYOND]
            .into_iter()
            .flat_map(|metric| record.groups(metric).into_iter().map(move |group| (metric, group)));
        let (metric, (subject, _)) = groups.find(|(_, it)| it.1 == 1 && is_of(name, it.0))?;
        let median = |runtime| record.median(subject, runtime, 1, metric).map(number);
        let ours = median(OURS)?;
        let base = median(BASE).map_or(String::new(), |base| format!(" (tokio {base})"));
        let beyond = if metric == BEYOND { " beyond its future" } else { "" };
        Some(format!("{name} {ours} {unit}{beyond}{base}"))
    };
    match KINDS.into_iter().filter_map(part).join(", ") {
        parts if parts.is_empty() => "What messages, processes and waiting tasks cost".to_owned(),
        parts => format!("With one worker: {parts}"),
    }
}

/// The figures of a kind.
fn section(record: &Record, (name, unit, about): (&str, &str, &str)) -> Section {
    let of = |metric, unit, base| {
        let metric = Metric { name: metric, unit, base };
        Section::of_metric(record, name, about, metric, |subject, _| is_of(name, subject))
    };
    let mut section = of(NS, unit, Some(BASE));
    let more = [
        (BEYOND, "bytes of each beyond its future and its message", Some(BASE)),
        (BYTES, "bytes of each", Some(BASE)),
        (FUTURE, "bytes of the future", None),
        (APART, "share apart", None),
    ];
    for (metric, unit, base) in more {
        section.tables.extend(of(metric, unit, base).tables);
    }
    section
}

#[cfg(test)]
mod tests;
