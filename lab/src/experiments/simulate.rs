//! Computations on a virtual multiprocessor: the code that ships, on up to 1,024 processors, in
//! virtual time. Nothing here is measured on the machine that runs it.
//!
//! Each cell is a run of the program `simulator` (`lab/simulator`). Virtual time does not depend on
//! the host, and equal seeds give equal runs: repetitions have different seeds.

mod bws;
mod hood;
mod lassi;
mod nornir;
mod program;
mod report;
mod study;
mod subject;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::path::PathBuf;

use crate::experiment::prelude::*;
use crate::experiment::record::SIMULATED;
use program::Simulator;
use study::{STUDY, Study};
use subject::{KINDS, LOCKSLEY, ROUNDS, START, STATIC, Subject, detailed};

/// What is compared; the simulator may have been built without some.
const RUNTIMES: [(&str, &str); 6] = [
    (LOCKSLEY, "the code of the crates, with its defaults"),
    ("classic-abp", "ABP's scheduler, whose thieves yield"),
    ("classic-bws", "BWS's scheduler, whose thieves sleep"),
    (HOOD, "Hood's scheduler, whose thieves yield and never sleep"),
    (STATIC, "a thread for each processor, with an equal share"),
    ("rayon", "rayon's own code"),
];

/// The numbers of processors; a quick run leaves out the last.
const PROCESSORS: [usize; 6] = [1, 4, 16, 64, 256, 1024];
/// On more, the host takes seconds for each run: a quick run has only coarse trees, and not on
/// [`HOOD`], whose thieves never sleep.
const QUICK_PROCESSORS: usize = 64;
const HOOD: &str = "classic-hood";
/// Numbers of processors that are shared with busy threads.
const SHARED: [usize; 3] = [16, 64, 256];
const BUSY: [u64; 3] = [1, 4, 16];

const STUDIES: [Study; 4] = [hood::STUDY, bws::STUDY, lassi::STUDY, nornir::STUDY];

/// `locksley simulate`
#[derive(Debug, Args)]
pub struct Simulate {
    /// The study of a paper instead, on its runtimes: hood, bws, lassi, nornir
    #[arg(long, value_name = "PAPER", value_parser = STUDIES.map(|study| study.name))]
    #[arg(conflicts_with_all = ["kinds", "processors"])]
    study: Option<String>,
    /// Only these: tree, loop, rounds, producer, storm, callers, idle [default: all]
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Only these runtimes [default: all that the simulator has]
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    runtimes: Vec<String>,
    /// On so many processors [default: 1, 4, 16, 64, 256, and 1024 unless quick]
    #[arg(long, value_name = "P,..", value_delimiter = ',', value_parser = workers)]
    processors: Vec<usize>,
    /// The machine: guest, ice-lake, milan, graviton
    #[arg(long, value_name = "NAME", default_value = "ice-lake")]
    machine: String,
    /// The kernel: linux-6.18, linux-6.12-late, linux-6.6, linux-5, linux-2.6, linux-2.6-compat,
    /// round-robin
    #[arg(long, value_name = "NAME", default_value = "linux-6.18")]
    kernel: String,
    /// The simulator, as it is [default: lab/simulator, which is built first]
    #[arg(long, value_name = "PATH")]
    simulator: Option<PathBuf>,
    #[arg(skip)]
    program: OnceCell<Simulator>,
}

impl Experiment for Simulate {
    const NAME: &'static str = "simulate";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let quick = course.quick;
        let repeats = course.repeats(if quick { 3 } else { 5 })?;
        let kinds = chosen("kind", &self.kinds, &KINDS, &KINDS)?;
        let study = STUDIES.iter().find(|it| self.study.as_deref() == Some(it.name));
        let names = study.map_or(&RUNTIMES[..], |study| study.runtimes);
        let names = names.iter().map(|runtime| runtime.0).collect_vec();
        let runtimes = chosen("runtime", &self.runtimes, &names, &names)?;
        let simulator = Simulator::find(self.simulator.as_deref(), &self.machine, &self.kernel)?;
        let (budget, limit) = if quick { (45.0, 20.0) } else { (3300.0, 300.0) };
        let mut plan = Plan::of(course, budget, limit);
        let model = format!("{}, {}", self.machine, self.kernel);
        plan.parameters.insert(SIMULATED.to_owned(), model);
        if let Some(study) = study {
            if quick {
                return Err(Fault::input("a study has no quick form"));
            }
            plan.parameters.insert(STUDY.to_owned(), study.name.to_owned());
            for (name, about) in study.runtimes.iter().filter(|it| runtimes.contains(&it.0)) {
                simulator.check(name)?;
                plan.compare(name, &simulator.version, about);
            }
            let _ = self.program.set(simulator);
            (study.add_cells)(&mut plan, repeats);
            plan.cells.retain(|cell| runtimes.contains(&&*cell.runtime));
            return Ok(plan);
        }
        for (name, about) in RUNTIMES.into_iter().filter(|it| runtimes.contains(&it.0)) {
            match simulator.check(name) {
                Ok(()) => plan.compare(name, &simulator.version, about),
                Err(why) if name == LOCKSLEY || !self.runtimes.is_empty() => return Err(why),
                Err(why) => _ = plan.left_out.insert(name.to_owned(), why.to_string()),
            }
        }
        let _ = self.program.set(simulator);
        let processors = match &*self.processors {
            [] => PROCESSORS[..if quick { 5 } else { 6 }].to_vec(),
            asked => numbers_of_workers(asked.iter().copied()),
        };
        add_cells(&mut plan, &kinds, &processors, repeats);
        plan.quick_subset(&format!(
            "less work, at most {repeats} seeds, busy threads on 16 processors, and only trees of \
             coarse leaves, and not {HOOD}, on more than {QUICK_PROCESSORS}"
        ));
        Ok(plan)
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, repeat: usize) -> Outcome<Readings> {
        let simulator = self.program.get().expect("the plan has found it");
        let with_places = repeat == 0
            && cell.runtime == LOCKSLEY
            && detailed(plan).contains(&cell.workers)
            && Subject::find(&cell.subject)?.busy == 0;
        simulator.measure(plan, cell, plan.seed.wrapping_add(repeat as u64), with_places)
    }

    fn report(record: &Record) -> Report {
        let name = record.plan.parameters.get(STUDY);
        let study = STUDIES.iter().find(|study| name.is_some_and(|name| name == study.name));
        study.map_or_else(|| report::report(record), |study| (study.report)(record))
    }
}

/// Adds what is computed of `kinds`: alone on all numbers of processors, and beside busy threads.
fn add_cells(plan: &mut Plan, kinds: &[&str], processors: &[usize], repeats: usize) {
    let (quick, names) = (plan.quick, plan.runtimes.clone());
    let subjects = subject::all(quick).into_iter().filter(|it| kinds.contains(&it.kind));
    let subjects = subjects.collect_vec();
    let start = Subject::find(START).expect("it is one");
    for &workers in processors {
        let is_large = quick && workers > QUICK_PROCESSORS;
        for subject in subjects.iter().filter(|it| !is_large || it.is_coarse_tree()).chain([&start])
        {
            let is_planned = |name: &str| subject.is_of(name) && !(is_large && name == HOOD);
            for runtime in names.iter().filter(|it| is_planned(&it.name)) {
                plan.add(&subject.to_string(), &runtime.name, workers, repeats);
            }
        }
    }
    let shared = SHARED.into_iter().take(if quick { 1 } else { SHARED.len() });
    let is_shared = |it: &&Subject| it.is_coarse_tree() || it.kind == ROUNDS;
    for workers in shared.filter(|shared| processors.contains(shared)) {
        for (subject, busy) in subjects.iter().filter(is_shared).cartesian_product(BUSY) {
            let subject = subject.beside(busy).to_string();
            names.iter().for_each(|it| plan.add(&subject, &it.name, workers, repeats));
        }
    }
}
