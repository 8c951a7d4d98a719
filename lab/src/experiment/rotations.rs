//! Taking all measurements of a plan, rotation by rotation: a run that is stopped has measured all
//! cells equally often, and the repetitions of one cell lie far apart in time.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use super::record::{Missing, RecordFile, Sample};
use super::{Cell, Experiment, Readings};
use crate::fault::{Fault, Outcome};
use crate::output::note;
use crate::time;

/// How much of a run may be lost when it is killed.
const UNSAVED: Duration = Duration::from_secs(1);

/// Takes the measurements that the record does not hold yet, until the plan is complete or its time
/// is over.
pub(super) fn measure<E: Experiment>(experiment: &mut E, file: &mut RecordFile) -> Outcome<()> {
    let plan = file.record.plan.clone();
    let cells = &plan.cells;
    let rotations = cells.iter().map(|cell| cell.repeats).max().unwrap_or(0);
    let steps: usize = cells.iter().map(|cell| cell.repeats).sum();
    let mut done = done(file, cells);
    let bar = bar(E::NAME, steps, done.len());
    let tell = |news: &str| {
        let line = format!("{}: {news}", E::NAME);
        match bar.is_hidden() {
            true => note(&line),
            false => bar.println(line),
        }
    };
    let seconds = || bar.elapsed().as_secs_f64();
    for news in &plan.notes {
        tell(news);
    }
    for (runtime, why) in &plan.left_out {
        tell(&format!("without {runtime}: {why}"));
    }
    if !done.is_empty() {
        tell(&format!("{} of {steps} are measured already; going on", done.len()));
    }
    // Where nothing could be measured, all is tried again.
    if done.is_empty() {
        file.record.missing.clear();
    }
    let place = |missing: &Missing| cells.iter().position(|cell| *cell == missing.cell);
    let mut failed: HashSet<usize> = file.record.missing.iter().filter_map(place).collect();
    let mut saved = Instant::now();
    'all: for rotation in 0..rotations {
        let before = done.len();
        for (number, cell) in cells.iter().enumerate() {
            let is_wanted = rotation < cell.repeats && !done.contains(&(number, rotation));
            if !is_wanted || failed.contains(&number) {
                continue;
            }
            if rotation > 0 && seconds() >= plan.budget_seconds {
                tell(&format!("the time is over: {} of {steps} measured", done.len()));
                break 'all;
            }
            // Nothing is drawn while something is measured: the bar has no thread of its own.
            if !bar.is_hidden() {
                bar.set_message(cell.to_string());
            }
            match experiment.measure(&plan, cell, rotation) {
                Ok(readings) => {
                    add(file, cell, rotation, readings);
                    done.insert((number, rotation));
                }
                Err(Fault::Missing(why)) => {
                    tell(&format!("{cell} is missing: {why}"));
                    failed.insert(number);
                    let (cell, repeat) = (cell.clone(), rotation);
                    file.record.missing.push(Missing { cell, repeat, why });
                }
                Err(fault) => {
                    file.save()?;
                    return Err(Fault::run(format!("{cell}: {fault}")));
                }
            }
            bar.inc(1);
            if saved.elapsed() >= UNSAVED {
                file.save()?;
                saved = Instant::now();
            }
        }
        if done.len() > before {
            let (rotation, seconds) = (rotation + 1, seconds());
            tell(&format!("rotation {rotation} of {rotations} done after {seconds:.0} s"));
        }
    }
    if let (true, Some(Missing { cell, why, .. })) = (done.is_empty(), file.record.missing.first())
    {
        return Err(Fault::run(format!("nothing could be measured; {cell}: {why}")));
    }
    file.record.finished = Some(time::now());
    file.save()
}

/// How far a run is: hidden where there is no terminal.
fn bar(name: &'static str, steps: usize, done: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {elapsed} {wide_msg}")
        .expect("a template that is known to be well formed");
    let bar = ProgressBar::new(steps as u64).with_style(style.progress_chars("=> "));
    let bar = bar.with_prefix(name).with_position(done as u64);
    bar.with_finish(ProgressFinish::AndClear)
}

/// The cells and repetitions for which the record has samples.
fn done(file: &RecordFile, cells: &[Cell]) -> HashSet<(usize, usize)> {
    let place = |sample: &Sample| {
        let is_its = |cell: &Cell| cell.is(&sample.subject, &sample.runtime, sample.workers);
        Some((cells.iter().position(is_its)?, sample.repeat))
    };
    file.record.samples.iter().filter_map(place).collect()
}

fn add(file: &mut RecordFile, cell: &Cell, repeat: usize, readings: Readings) {
    let record = &mut file.record;
    for (metric, value) in readings {
        record.samples.push(Sample {
            experiment: record.experiment.clone(),
            subject: cell.subject.clone(),
            runtime: cell.runtime.clone(),
            workers: cell.workers,
            repeat,
            metric,
            value,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{self, Record};
    use super::super::{Course, Plan, Report};
    use super::*;

    /// An experiment that answers as it is told.
    #[derive(clap::Args)]
    struct Told {
        #[arg(skip)]
        taken: Vec<(String, usize)>,
        #[arg(skip)]
        fails: Option<(&'static str, usize)>,
        #[arg(skip)]
        is_wrong: Option<(&'static str, usize)>,
    }

    impl Experiment for Told {
        const NAME: &'static str = "told";

        fn plan(&self, _: &Course) -> Outcome<Plan> {
            unreachable!("the tests have their own plans")
        }

        fn measure(&mut self, _: &Plan, cell: &Cell, repeat: usize) -> Outcome<Readings> {
            let this = Some((cell.subject.as_str(), repeat));
            if self.is_wrong == this {
                return Err(Fault::run("wrong"));
            }
            self.taken.push((cell.subject.clone(), repeat));
            if self.fails == this {
                return Err(Fault::Missing("because".to_owned()));
            }
            Ok([("ns".to_owned(), 1.0)].into())
        }

        fn report(_: &Record) -> Report {
            Report::default()
        }
    }

    fn told() -> Told {
        Told { taken: Vec::new(), fails: None, is_wrong: None }
    }

    fn plan(repeats: &[(&str, usize)], budget_seconds: f64) -> Plan {
        let mut plan = Plan { budget_seconds, ..Plan::default() };
        for (subject, repeats) in repeats {
            plan.add(subject, "r", 1, *repeats);
        }
        plan
    }

    fn run(experiment: &mut Told, plan: Plan, folder: &std::path::Path) -> Outcome<Record> {
        let mut file = record::open(&folder.join("r.json"), "told", plan, &Course::default())?;
        measure(experiment, &mut file).map(|()| file.record)
    }

    fn taken(experiment: &Told) -> Vec<(&str, usize)> {
        experiment.taken.iter().map(|(subject, repeat)| (subject.as_str(), *repeat)).collect()
    }

    #[test]
    fn cells_alternate_as_often_as_each_wants() {
        let (folder, mut told) = (tempfile::tempdir().unwrap(), told());
        let plan = plan(&[("a", 2), ("b", 1), ("c", 3)], 1e9);
        let record = run(&mut told, plan, folder.path()).unwrap();
        let order = [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("c", 1), ("c", 2)];
        assert_eq!(taken(&told), order);
        assert!(record.finished.is_some() && record.samples.len() == order.len());
    }

    #[test]
    fn a_run_that_was_stopped_goes_on() {
        let (folder, mut first) = (tempfile::tempdir().unwrap(), told());
        first.is_wrong = Some(("b", 1));
        let plan = plan(&[("a", 2), ("b", 2)], 1e9);
        let stopped = run(&mut first, plan.clone(), folder.path()).unwrap_err();
        assert_eq!(stopped, Fault::run("b on r, P = 1: wrong"));
        let mut second = told();
        let record = run(&mut second, plan, folder.path()).unwrap();
        assert_eq!(taken(&second), [("b", 1)]);
        assert_eq!(record.samples.len(), 4);
    }

    #[test]
    fn a_cell_that_has_failed_is_not_tried_again_and_the_others_go_on() {
        let (folder, mut told) = (tempfile::tempdir().unwrap(), told());
        told.fails = Some(("b", 1));
        let record = run(&mut told, plan(&[("a", 3), ("b", 3)], 1e9), folder.path()).unwrap();
        assert_eq!(taken(&told), [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2)]);
        let [missing] = &record.missing[..] else { panic!("one is missing") };
        assert_eq!((missing.cell.subject.as_str(), missing.repeat), ("b", 1));
        assert_eq!(missing.why, "because");
    }

    #[test]
    fn a_cell_that_has_failed_is_not_tried_again_when_the_run_goes_on() {
        let (folder, mut first) = (tempfile::tempdir().unwrap(), told());
        (first.fails, first.is_wrong) = (Some(("b", 0)), Some(("a", 1)));
        let plan = plan(&[("a", 2), ("b", 2)], 1e9);
        run(&mut first, plan.clone(), folder.path()).unwrap_err();
        let mut second = told();
        let record = run(&mut second, plan, folder.path()).unwrap();
        assert_eq!(taken(&second), [("a", 1)]);
        assert_eq!(record.missing.len(), 1);
    }

    #[test]
    fn a_run_in_which_all_fails_has_failed() {
        let (folder, mut told) = (tempfile::tempdir().unwrap(), told());
        told.fails = Some(("a", 0));
        let Err(Fault::Run(why)) = run(&mut told, plan(&[("a", 2)], 1e9), folder.path()) else {
            panic!("nothing was measured")
        };
        assert!(why.contains("nothing could be measured; a on r, P = 1: because"), "{why}");
    }

    #[test]
    fn without_time_each_is_measured_once() {
        let (folder, mut told) = (tempfile::tempdir().unwrap(), told());
        run(&mut told, plan(&[("a", 5), ("b", 5)], 0.0), folder.path()).unwrap();
        assert_eq!(taken(&told), [("a", 0), ("b", 0)]);
    }
}
