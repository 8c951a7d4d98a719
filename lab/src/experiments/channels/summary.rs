//! Medians and ratios of what was measured, and whether they are what is wanted.

use super::once::{Kind, Subject};
use super::plan::{OURS, WANTED};
use super::record::{Input, Record};
use crate::experiments::figures::{self, Besides, Figure};

/// What the channel of an idle process holds: one number.
const BUFFER: f64 = size_of::<u64>() as f64;

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Each subject with each number of workers, in the order of the plan.
    pub groups: Vec<Group>,
    /// What is wanted of Locksley, and what it comes to.
    pub targets: Vec<Target>,
}

/// What the runtimes made of a subject.
#[derive(Debug, Clone)]
pub struct Group {
    /// The subject.
    pub subject: Subject,
    /// The number of workers.
    pub workers: usize,
    /// Each runtime that was measured.
    pub runtimes: Vec<Figure>,
}

/// Something that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// What, in words, with its unit.
    pub about: String,
    /// What it may be at most.
    pub most: f64,
    /// What it is.
    pub is: f64,
}

impl Summary {
    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let inputs = record.header.plan.inputs.iter();
        let groups: Vec<Group> = inputs.filter_map(|input| group(record, input)).collect();
        let targets = groups.iter().filter_map(target).collect();
        Summary { groups, targets }
    }

    /// The groups of a kind.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(move |group| group.subject.kind == kind)
    }
}

impl Group {
    /// What `runtime` made of the subject.
    pub fn figure(&self, runtime: &str) -> Option<&Figure> {
        figures::figure_of(&self.runtimes, runtime)
    }

    /// Subject and number of workers, in words.
    pub fn title(&self) -> String {
        format!("{}, P = {}", self.subject.about(), self.workers)
    }

    /// What is said of the runtimes besides times.
    pub fn besides(&self) -> Besides {
        match self.subject.kind {
            Kind::Stream => Besides::Apart,
            Kind::Idle => Besides::Waiting,
            Kind::Ring | Kind::Pipeline | Kind::FanOut | Kind::FanIn => Besides::Nothing,
        }
    }
}

impl Target {
    /// Whether it is reached.
    pub fn is_reached(&self) -> bool {
        self.is <= self.most
    }

    /// The same in a word.
    pub fn verdict(&self) -> &'static str {
        if self.is_reached() { "reached" } else { "missed" }
    }
}

fn target(group: &Group) -> Option<Target> {
    let (kind, most) = WANTED.into_iter().find(|(kind, _)| *kind == group.subject.kind)?;
    let figure = group.figure(OURS)?;
    let (is, unit) = match figure.waiting {
        Some(idle) => {
            (idle.beyond, "bytes a process, beyond its future and what its channel holds")
        }
        None => (figure.each.median, group.subject.unit()),
    };
    debug_assert_eq!(kind == Kind::Idle, figure.waiting.is_some());
    Some(Target { about: format!("{}: {unit}", group.title()), most, is })
}

fn group(record: &Record, input: &Input) -> Option<Group> {
    let subject = input.subject().ok()?;
    let names = record.header.plan.runtimes.iter().map(|runtime| runtime.name.as_str());
    let cells = names.map(|name| input.on(name));
    let runtimes = figures::of(&record.measurements, cells, subject.count(), BUFFER);
    (!runtimes.is_empty()).then_some(Group { subject, workers: input.workers, runtimes })
}
