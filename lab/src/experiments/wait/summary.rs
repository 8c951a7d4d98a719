//! Medians and ratios of what was measured.

use super::once::{Kind, Subject};
use super::record::{Input, Record};
use crate::experiments::figures::{self, Besides, Figure};

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Each subject with each number of workers, in the order of the plan.
    pub groups: Vec<Group>,
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

impl Summary {
    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let inputs = record.header.plan.inputs.iter();
        Summary { groups: inputs.filter_map(|input| group(record, input)).collect() }
    }

    /// The groups of a kind.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(move |group| group.subject.kind == kind)
    }
}

impl Group {
    /// Subject and number of workers, in words.
    pub fn title(&self) -> String {
        format!("{}, P = {}", self.subject.about(), self.workers)
    }

    /// What is said of the runtimes besides times.
    pub fn besides(&self) -> Besides {
        match self.subject.kind {
            Kind::PingPong => Besides::Apart,
            Kind::Waiting => Besides::Waiting,
            Kind::Spawn | Kind::Fork => Besides::Nothing,
        }
    }

    /// What `runtime` made of the subject.
    pub fn figure(&self, runtime: &str) -> Option<&Figure> {
        figures::figure_of(&self.runtimes, runtime)
    }
}

fn group(record: &Record, input: &Input) -> Option<Group> {
    let subject = input.subject().ok()?;
    let names = record.header.plan.runtimes.iter().map(|runtime| runtime.name.as_str());
    let cells = names.map(|name| input.on(name));
    let runtimes = figures::of(&record.measurements, cells, subject.count(), 0.0);
    (!runtimes.is_empty()).then_some(Group { subject, workers: input.workers, runtimes })
}
