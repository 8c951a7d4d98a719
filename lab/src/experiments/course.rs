//! What experiments with a journal have in common: the header that their measurements stand under, taking up what an
//! earlier run has left, and going through the plan.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::journal::Journal;
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::progress::Progress;
use crate::record::{Document, Versions, files, time};
use crate::report;

/// Measurements under one header belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header<P> {
    /// What was to be measured.
    pub plan: P,
    /// The machine that it was measured on.
    pub machine: Machine,
    /// What was measured.
    pub versions: Versions,
}

impl<P> Header<P> {
    /// The header of what this program measures on this machine.
    pub fn here(plan: P) -> Header<P> {
        Header { plan, machine: Machine::here(), versions: Versions::of_this_build() }
    }
}

impl<P: PartialEq> Header<P> {
    /// Whether a record with these parts is what a run under this header would make.
    pub(super) fn has(&self, plan: &P, machine: &Machine, versions: &Versions) -> bool {
        self.plan == *plan && self.machine == *machine && self.versions == *versions
    }
}

/// Where the results of a run go.
pub(super) struct Destination<'a> {
    /// The record.
    pub(super) json: &'a Path,
    /// The folder of the page.
    pub(super) out: &'a Path,
    /// Whether to measure again what has been measured.
    pub(super) fresh: bool,
}

impl Destination<'_> {
    /// Makes sure, before anything is measured, that the page can be written; says where it will be.
    pub(super) fn page(&self) -> Outcome<PathBuf> {
        let page = report::prepare(self.out)?;
        if files::are_one(&page, self.json) {
            let path = self.json.display();
            return Err(Fault::input(format!("the record and the page would both be {path}")));
        }
        Ok(page)
    }

    /// The record: an earlier one, if it `is` what this run would make, or what `measure` adds to the journal, `composed`
    /// with the time when that began. With it, whether it is an earlier one.
    pub(super) fn record<H, E, R>(
        &self,
        header: &H,
        is: impl Fn(&R) -> bool,
        measure: impl FnOnce(&mut Journal<E>) -> Outcome<()>,
        composed: impl FnOnce(String, Vec<E>) -> R,
    ) -> Outcome<(R, bool)>
    where
        H: Serialize + DeserializeOwned + PartialEq,
        E: Serialize + DeserializeOwned,
        R: Document,
    {
        let earlier: Option<R> = files::prepare(self.json)?;
        if let Some(earlier) = earlier.filter(|earlier| !self.fresh && is(earlier)) {
            return Ok((earlier, true));
        }
        let started = time::now();
        let mut journal = Journal::beside(self.json, header, self.fresh)?;
        measure(&mut journal)?;
        let record = journal.into_record(|entries| {
            let record = composed(started, entries);
            files::write(self.json, &record)?;
            Ok(record)
        })?;
        Ok((record, false))
    }
}

/// Something to measure in each rotation.
pub(super) trait Turn<E> {
    /// What is measured, in words.
    fn name(&self) -> String;
    /// How often at most.
    fn repeats(&self) -> usize;
    /// Whether `entry` is its measurement in this rotation.
    fn has_made(&self, entry: &E, rotation: usize) -> bool;
}

/// Going through a plan: rotation by rotation, so that a run that is stopped has measured everything equally often, and
/// the repetitions of one measurement lie far apart in time.
pub(super) struct Rotations {
    /// The experiment's name.
    pub(super) name: &'static str,
    /// What is said first.
    pub(super) news: Vec<String>,
    /// After how many seconds no further measurement is begun, except to measure each once.
    pub(super) budget_seconds: f64,
}

impl Rotations {
    /// Of a plan that says what a quick run leaves out, if it is one, and how long it may take.
    pub(super) fn of(name: &'static str, subset: Option<String>, budget_seconds: f64) -> Rotations {
        Rotations { name, news: subset.into_iter().collect(), budget_seconds }
    }

    /// Takes all measurements that `journal` does not have yet, until they are complete or the time is over.
    pub(super) fn go<T: Turn<E>, E: Serialize + DeserializeOwned>(
        &self,
        turns: &[T],
        journal: &mut Journal<E>,
        mut take: impl FnMut(&T, usize) -> Outcome<E>,
    ) -> Outcome<()> {
        self.attempt(turns, journal, |turn, rotation| take(turn, rotation).map(Ok)).map(drop)
    }

    /// The same, where a measurement may fail without the run: then its turn has failed, and is not tried again. Returns what has.
    /// That nothing could be measured at all is a fault.
    pub(super) fn attempt<T: Turn<E>, E: Serialize + DeserializeOwned>(
        &self,
        turns: &[T],
        journal: &mut Journal<E>,
        mut take: impl FnMut(&T, usize) -> Outcome<Result<E, String>>,
    ) -> Outcome<Vec<Failure>> {
        let mut failures: Vec<Failure> = Vec::new();
        let steps: usize = turns.iter().map(Turn::repeats).sum();
        let rotations = turns.iter().map(Turn::repeats).max().unwrap_or(0);
        let progress = Progress::start(self.name, steps, journal.entries().len());
        for news in &self.news {
            progress.news(news);
        }
        if !journal.entries().is_empty() {
            let measured = journal.entries().len();
            progress.news(&format!("{measured} of {steps} are measured already; going on"));
        }
        let mut estimate = Estimate::of(turns);
        for rotation in 0..rotations {
            let before = journal.entries().len();
            for (number, turn) in turns.iter().enumerate() {
                if rotation >= turn.repeats() || failures.iter().any(|failed| failed.turn == number)
                {
                    continue;
                }
                if journal.entries().iter().any(|entry| turn.has_made(entry, rotation)) {
                    continue;
                }
                // Everything is measured once, whatever the time.
                if rotation > 0 && progress.seconds() >= self.budget_seconds {
                    let measured = journal.entries().len();
                    progress.news(&format!("the time is over: {measured} of {steps} measured"));
                    return unless_all_failed(turns, journal, failures);
                }
                progress.next(|| turn.name());
                let begun = Instant::now();
                let taken = take(turn, rotation)
                    .map_err(|fault| Fault::run(format!("{}: {fault}", turn.name())))?;
                match taken {
                    Ok(entry) => {
                        journal.add(entry)?;
                        estimate.learn(number, begun.elapsed().as_secs_f64());
                    }
                    Err(why) => {
                        progress.news(&format!("{} is missing: {why}", turn.name()));
                        failures.push(Failure { turn: number, rotation, why });
                        estimate.learn(number, 0.0);
                    }
                }
                progress.step();
            }
            if journal.entries().len() > before {
                let (done, seconds) = (rotation + 1, progress.seconds());
                let mut news = format!("rotation {done} of {rotations} done after {seconds:.0} s");
                if done < rotations {
                    let all = seconds + estimate.rest(turns, done, journal.entries());
                    let all = all.min(self.budget_seconds.max(seconds));
                    news += &format!("; all will take about {all:.0} s");
                }
                progress.news(&news);
            }
        }
        unless_all_failed(turns, journal, failures)
    }
}

/// A turn that has failed, and is not tried again.
pub(super) struct Failure {
    /// Its place among all.
    pub(super) turn: usize,
    /// In which rotation.
    pub(super) rotation: usize,
    /// Why.
    pub(super) why: String,
}

/// What has failed, if anything has not.
fn unless_all_failed<T: Turn<E>, E: Serialize + DeserializeOwned>(
    turns: &[T],
    journal: &Journal<E>,
    failures: Vec<Failure>,
) -> Outcome<Vec<Failure>> {
    match failures.first() {
        Some(Failure { turn, why, .. }) if journal.entries().is_empty() => {
            let name = turns[*turn].name();
            Err(Fault::run(format!("nothing could be measured; {name}: {why}")))
        }
        _ => Ok(failures),
    }
}

/// How long the turns took that have been measured in this run.
struct Estimate {
    /// By turn, in seconds; none where an earlier run has measured it.
    last: Vec<Option<f64>>,
}

impl Estimate {
    fn of<T>(turns: &[T]) -> Estimate {
        Estimate { last: vec![None; turns.len()] }
    }

    fn learn(&mut self, turn: usize, seconds: f64) {
        self.last[turn] = Some(seconds);
    }

    /// What those that are missing in the rotations from this one on will take, in seconds: as long as last time, or as
    /// the others on average.
    fn rest<T: Turn<E>, E>(&self, turns: &[T], rotation: usize, entries: &[E]) -> f64 {
        let known: Vec<f64> = self.last.iter().copied().flatten().collect();
        let average = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let time = |(turn, last): (&T, &Option<f64>)| {
            let is_missing =
                |rotation: &usize| !entries.iter().any(|entry| turn.has_made(entry, *rotation));
            let missing = (rotation..turn.repeats()).filter(is_missing).count();
            missing as f64 * last.unwrap_or(average)
        };
        turns.iter().zip(&self.last).map(time).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Letter(char, usize);

    impl Turn<(char, usize)> for Letter {
        fn name(&self) -> String {
            self.0.to_string()
        }

        fn repeats(&self) -> usize {
            self.1
        }

        fn has_made(&self, entry: &(char, usize), rotation: usize) -> bool {
            *entry == (self.0, rotation)
        }
    }

    fn rotations(budget_seconds: f64) -> Rotations {
        Rotations { name: "test", news: Vec::new(), budget_seconds }
    }

    fn journal(folder: &Path) -> Journal<(char, usize)> {
        Journal::beside(&folder.join("record"), &"header".to_owned(), false).unwrap()
    }

    #[test]
    fn turns_alternate_as_often_as_each_wants() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = journal(folder.path());
        let turns = [Letter('a', 2), Letter('b', 1), Letter('c', 3)];
        rotations(1e9).go(&turns, &mut journal, |turn, rotation| Ok((turn.0, rotation))).unwrap();
        let expected = [('a', 0), ('b', 0), ('c', 0), ('a', 1), ('c', 1), ('c', 2)];
        assert_eq!(journal.entries(), &expected[..]);
    }

    #[test]
    fn a_run_that_was_stopped_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let turns = [Letter('a', 2), Letter('b', 2)];
        let fails = |turn: &Letter, rotation| match rotation {
            0 => Ok((turn.0, 0)),
            _ => Err(Fault::run("stopped")),
        };
        let fault = rotations(1e9).go(&turns, &mut journal(folder.path()), fails).unwrap_err();
        assert_eq!(fault, Fault::run("a: stopped"));
        let mut journal = journal(folder.path());
        let mut taken = Vec::new();
        rotations(1e9)
            .go(&turns, &mut journal, |turn, rotation| {
                taken.push((turn.0, rotation));
                Ok((turn.0, rotation))
            })
            .unwrap();
        assert_eq!(taken, [('a', 1), ('b', 1)]);
    }

    #[test]
    fn a_turn_that_has_failed_is_not_tried_again_and_the_others_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = journal(folder.path());
        let turns = [Letter('a', 3), Letter('b', 3)];
        let mut tried = Vec::new();
        let failures = rotations(1e9)
            .attempt(&turns, &mut journal, |turn, rotation| {
                tried.push((turn.0, rotation));
                let fails = turn.0 == 'b' && rotation == 1;
                Ok(if fails { Err("because".to_owned()) } else { Ok((turn.0, rotation)) })
            })
            .unwrap();
        assert_eq!(tried, [('a', 0), ('b', 0), ('a', 1), ('b', 1), ('a', 2)]);
        let [Failure { turn: 1, rotation: 1, why }] = &failures[..] else { panic!("one failed") };
        assert_eq!(why, "because");
        assert_eq!(journal.entries(), &[('a', 0), ('b', 0), ('a', 1), ('a', 2)][..]);
    }

    #[test]
    fn a_run_in_which_all_fails_has_failed() {
        for budget in [0.0, 1e9] {
            let folder = tempfile::tempdir().unwrap();
            let turns = [Letter('a', 2), Letter('b', 2)];
            let fails = |turn: &Letter, _| Ok(Err(format!("{} is lost", turn.0)));
            let ended = rotations(budget).attempt(&turns, &mut journal(folder.path()), fails);
            let Err(Fault::Run(why)) = ended else { panic!("nothing was measured") };
            assert!(why.contains("nothing could be measured; a: a is lost"), "{why}");
        }
    }

    #[test]
    fn what_is_missing_will_take_as_long_as_last_time_or_as_the_others() {
        let turns = [Letter('a', 3), Letter('b', 1), Letter('c', 2)];
        let mut estimate = Estimate::of(&turns);
        let entries = [('a', 0), ('b', 0), ('c', 0), ('c', 1)];
        estimate.learn(0, 2.0);
        // Two more of a.
        assert_eq!(estimate.rest(&turns, 1, &entries), 4.0);
        estimate.learn(1, 6.0);
        // And one of c, of which nobody knows how long it takes.
        assert_eq!(estimate.rest(&turns, 1, &entries[..3]), 4.0 + 4.0);
        assert_eq!(estimate.rest(&turns, 3, &entries), 0.0);
    }

    #[test]
    fn without_time_each_is_measured_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = journal(folder.path());
        let turns = [Letter('a', 5), Letter('b', 5)];
        rotations(0.0).go(&turns, &mut journal, |turn, rotation| Ok((turn.0, rotation))).unwrap();
        assert_eq!(journal.entries(), &[('a', 0), ('b', 0)][..]);
    }
}
