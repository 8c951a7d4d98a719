//! What is said of a record of the simulator: losses first.

use super::program::{AT, NEIGHBOURS, RUN, STEALS, TRANSFERS, WAKE_UPS};
use super::subject::{
    CALLERS, IDLE, LOCKSLEY, LOOP, PRODUCER, ROUNDS, START, STORM, Subject, TREE, detailed,
};
use crate::experiment::prelude::*;

/// A ratio of times up to this is a draw: other seeds differ as much.
const DRAW: f64 = 1.02;
/// The hottest places of a subject that are shown.
const HOTTEST: usize = 6;
/// The processors of the headline.
const HEADLINE: usize = 64;

/// What is said of a record.
pub(super) fn report(record: &Record) -> Report {
    let names = record.groups(SECONDS).into_iter().map(|group| group.0).unique();
    let subjects = names.filter(|name| *name != START).filter_map(|it| Subject::find(it).ok());
    let figures = Figures { record, subjects: subjects.collect() };
    let compared = figures.compared();
    let losses = compared.iter().filter(|loss| loss.ratio > DRAW);
    let losses = losses.sorted_by(|a, b| b.ratio.total_cmp(&a.ratio)).collect_vec();
    let efficiency = |subject: &Subject| {
        let found = figures.efficiency(subject, LOCKSLEY, HEADLINE)?;
        Some(format!("{} of linear on {HEADLINE} processors ({}); ", three(found), subject.about()))
    };
    let headline = format!(
        "Simulated ({}): {}behind the best other runtime in {} of {} cells",
        record.simulated().unwrap_or("an unknown model"),
        figures.alone(&[TREE]).find_map(efficiency).unwrap_or_default(),
        losses.len(),
        compared.len()
    );
    let sections = vec![
        figures.losses(&losses),
        figures.efficiencies(),
        figures.beside(),
        figures.costs(),
        figures.hottest(),
    ];
    let note = "Simulated: all times are those of a virtual machine, and none was measured. \
                Compare figures within this record.";
    Report {
        pictures: figures.charts(&[TREE]),
        notes: vec![note.to_owned()],
        ..Report::new("simulated processors", headline, sections, include_str!("method.txt"))
    }
}

/// Locksley, and the best other runtime.
struct Compared<'a> {
    subject: &'a Subject,
    workers: usize,
    /// The time of Locksley over that of the other with the same seed.
    ratio: f64,
    other: &'a str,
}

/// What is derived from a record.
struct Figures<'a> {
    record: &'a Record,
    /// What was computed, but for the start.
    subjects: Vec<Subject>,
}

impl Figures<'_> {
    fn median(&self, of: &Subject, runtime: &str, workers: usize, metric: &str) -> Option<f64> {
        self.record.median(&of.to_string(), runtime, workers, metric)
    }

    /// The ideal time over that of the runtime: for trees and loops T1/(P·T).
    fn efficiency(&self, of: &Subject, runtime: &str, workers: usize) -> Option<f64> {
        Some(of.ideal(workers) / self.median(of, runtime, workers, SECONDS)?)
    }

    /// A metric without what it has where nothing is computed, with the same seed.
    fn net(&self, of: &Subject, runtime: &str, workers: usize, metric: &str) -> Option<f64> {
        let start = self.record.values(START, runtime, workers, metric);
        let own = self.record.values(&of.to_string(), runtime, workers, metric);
        median(own.iter().zip(start).map(|(own, start)| (own - start).max(0.0)))
    }

    /// The subjects of these kinds without busy threads.
    fn alone<'f>(&'f self, kinds: &'f [&str]) -> impl Iterator<Item = &'f Subject> {
        self.subjects.iter().filter(|it| it.busy == 0 && kinds.contains(&it.kind))
    }

    /// The cells of Locksley that have another runtime beside them.
    fn compared(&self) -> Vec<Compared<'_>> {
        let compare = |subject: &Subject, workers| {
            let time = |runtime: &str| self.median(subject, runtime, workers, SECONDS);
            let others = self.record.runtimes().into_iter();
            let others = others.filter(|it| *it != LOCKSLEY && !subject.is_bound(it));
            let others = others.filter_map(|other| Some((other, time(other)?)));
            let (other, _) = others.min_by(|a, b| a.1.total_cmp(&b.1))?;
            let name = subject.to_string();
            let ratios = self.record.ratios(&name, [LOCKSLEY, other], workers, SECONDS);
            Some((median(ratios)?, other))
        };
        let mut all = Vec::new();
        for subject in self.subjects.iter().filter(|subject| subject.kind != IDLE) {
            for workers in scaling::workers(self.record, &subject.to_string()) {
                if let Some((ratio, other)) = compare(subject, workers) {
                    all.push(Compared { subject, workers, ratio, other });
                }
            }
        }
        all
    }

    fn losses(&self, losses: &[&Compared<'_>]) -> Section {
        let columns = ["", "P", "Locksley", "best other", "", "time over its"];
        let mut table = Table::new("where Locksley is behind: ideal time over time", columns);
        for &&Compared { subject, workers, ratio, other } in losses {
            let efficiency = |runtime| self.efficiency(subject, runtime, workers);
            let [ours, best] =
                [LOCKSLEY, other].map(|it| efficiency(it).map_or_else(String::new, three));
            let [workers, ratio, other] = [workers.to_string(), number(ratio), other.to_owned()];
            table.row([subject.about(), workers, ours, best, other, ratio]);
        }
        let about = format!("More than {} behind the best other runtime.", percent(DRAW - 1.0));
        Section::new("Losses", about, [table])
    }

    /// A chart of the efficiency for each subject.
    fn charts(&self, kinds: &[&str]) -> Vec<Chart> {
        let chart = |subject: &Subject| {
            let efficiency = |runtime: &str, workers| self.efficiency(subject, runtime, workers);
            Chart {
                title: subject.about(),
                across: "P, virtual processors".to_owned(),
                // That of the host says nothing.
                mark: None,
                ..scaling::chart(self.record, &subject.to_string(), "efficiency", efficiency)
            }
        };
        self.alone(kinds).map(chart).collect()
    }

    fn table<'s>(
        &self,
        title: &str,
        subjects: impl IntoIterator<Item = &'s Subject>,
        value: impl Fn(&Subject, &str, usize) -> Option<String>,
    ) -> Table {
        let names = subjects.into_iter().map(Subject::to_string).collect_vec();
        let names = names.iter().map(String::as_str).collect_vec();
        let mut table = scaling::table(self.record, title, &names, |name, runtime, workers| {
            value(&Subject::find(name).ok()?, runtime, workers)
        });
        for name in table.rows.iter_mut().filter_map(|row| row.first_mut()) {
            *name = Subject::find(name).map_or_else(|_| String::new(), |it| it.about());
        }
        table
    }

    fn efficiencies(&self) -> Section {
        let scaled = self.table(
            "efficiency, T1/(P·T)",
            self.alone(&[TREE, LOOP, ROUNDS]),
            |subject, runtime, workers| self.efficiency(subject, runtime, workers).map(three),
        );
        let others = self.table(
            "time over the ideal",
            self.alone(&[PRODUCER, STORM, CALLERS]),
            |subject, runtime, workers| {
                self.efficiency(subject, runtime, workers).map(|it| number(it.recip()))
            },
        );
        let about = "T1 is the time of the work by itself. For rounds and in the second table, the \
                     ideal is that of the work on all processors, serial parts and pauses \
                     included; the start of callers' threads is not in it. The callers of `static` \
                     compute by themselves.";
        let section = Section::new("Efficiency", about, [scaled, others]);
        section.with_charts(self.charts(&[LOOP, ROUNDS]))
    }

    fn beside(&self) -> Section {
        let shared = || self.subjects.iter().filter(|it| it.busy > 0);
        let slowdown = self.table("time over that alone", shared(), |it, runtime, workers| {
            let alone = self.median(&it.beside(0), runtime, workers, SECONDS)?;
            Some(number(self.median(it, runtime, workers, SECONDS)? / alone))
        });
        let left =
            self.table("processors for each busy thread", shared(), |it, runtime, workers| {
                let had = self.median(it, runtime, workers, NEIGHBOURS)?;
                Some(number(had / it.busy.min(workers as u64) as f64))
            });
        let about = "With fair shares, n busy threads on P processors cost the factor \
                     P/(P − n/2), and each has half a processor. The second table is over the \
                     whole run, with the start of the workers.";
        Section::new("Beside busy threads", about, [slowdown, left])
    }

    fn costs(&self) -> Section {
        let columns =
            ["", "runtime", "P", "steals", "wake-ups", "transfers a task", "burnt, % of the work"];
        let mut table = Table::new("what it took", columns);
        let (all, numbers) = (self.record.runtimes(), detailed(&self.record.plan));
        for subject in self.alone(&[TREE, LOOP, ROUNDS, PRODUCER, STORM, CALLERS]) {
            let mut about = subject.about();
            for (&runtime, &workers) in all.iter().cartesian_product(&numbers) {
                let net = |metric| self.net(subject, runtime, workers, metric);
                let Some(run) = net(RUN) else { continue };
                let burnt = 100.0 * (run / subject.work() - 1.0).max(0.0);
                let transfers = net(TRANSFERS).map(|it| it / subject.tasks());
                let steals = self.median(subject, runtime, workers, STEALS);
                let names = [std::mem::take(&mut about), runtime.to_owned(), workers.to_string()];
                let figures = [steals, net(WAKE_UPS), transfers, Some(burnt)].map(known);
                table.row(names.into_iter().chain(figures));
            }
        }
        let title = "processors that an idle pool uses";
        let idle = self.table(title, self.alone(&[IDLE]), |it, runtime, workers| {
            Some(three(self.net(it, runtime, workers, RUN)? / it.ideal(workers)))
        });
        let about = "Counted over the whole run, less what the start of the workers takes. \
                     Wake-ups are of threads that have blocked. Rayon and `static` count no steals.";
        Section::new("What it took", about, [table, idle])
    }

    fn hottest(&self) -> Section {
        let columns = ["", "P", "place", "transfers", "of all"];
        let mut table = Table::new("places whose accesses moved cache lines most", columns);
        let numbers = detailed(&self.record.plan);
        let subjects = self.subjects.iter().filter(|it| it.busy == 0 && it.kind != IDLE);
        for (subject, workers) in subjects.cartesian_product(numbers) {
            let (name, mut about) = (subject.to_string(), subject.about());
            let Some(all) = self.median(subject, LOCKSLEY, workers, TRANSFERS) else { continue };
            let samples = self.record.samples.iter();
            let its = samples.filter(|it| it.subject == name && it.workers == workers);
            let places = its.filter_map(|it| Some((it.metric.strip_prefix(AT)?, it.value)));
            for (place, found) in places.sorted_by(|a, b| b.1.total_cmp(&a.1)).take(HOTTEST) {
                let names = [std::mem::take(&mut about), workers.to_string(), place.to_owned()];
                let share = percent(found / all.max(found));
                table.row(names.into_iter().chain([number(found), share]));
            }
        }
        let about = "Locksley, one seed, over the whole run: the places with the most transfers of \
                     all cache lines.";
        Section::new("Hottest places", about, [table])
    }
}

/// A share with three decimals.
fn three(share: f64) -> String {
    format!("{share:.3}")
}
