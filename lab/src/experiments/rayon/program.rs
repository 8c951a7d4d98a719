//! The programs: `crates/rayon-core/workloads`, built on either core, and this one for `loop`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use crate::experiment::prelude::*;
use crate::experiment::record::OTHERS;
use crate::experiments::corun::measure::{Extent, side_by_side};
use crate::files;
use crate::output::note;

/// The script that makes the programs, seen from Locksley's root folder, and where it leaves them.
const BUILD: &str = "crates/rayon-core/workloads/build";
pub(super) const BUILT: &str = "crates/rayon-core/workloads/bin";

/// The metric: the time of a computation in milliseconds.
pub(super) const MS: &str = "ms";

const BUILD_TIME: Duration = Duration::from_secs(1800);
/// Until a program has printed what it is.
const INTRODUCTION: Duration = Duration::from_secs(20);
/// What a program prints of itself.
#[derive(Debug, Deserialize)]
pub(super) struct Program {
    pub(super) version: String,
    pub(super) core: String,
    pub(super) workloads: Vec<Workload>,
}

#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Workload {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) about: String,
}

/// Makes the programs, or finds that they are made.
pub(super) fn build() -> Outcome<()> {
    if !Path::new(BUILD).is_file() {
        return Err(Fault::input(format!(
            "{BUILD} is not there: start this in Locksley's root folder, or name a folder with \
             the programs (--programs)"
        )));
    }
    note(&format!("{BUILD} builds the programs for rayon; the first time takes a minute"));
    let built = child::run(&mut Command::new(BUILD), BUILD_TIME);
    built.map(drop).map_err(|why| Fault::run(format!("{BUILD} failed: {why}")))
}

/// The programs of `runtimes` in `folder`, each called like its runtime. They must be what they are
/// called, and have the same workloads.
pub(super) fn find(folder: &Path, runtimes: &[&str]) -> Outcome<Vec<Program>> {
    let mut programs: Vec<Program> = Vec::new();
    for &runtime in runtimes {
        let file = folder.join(runtime);
        let fault = |why: String| Fault::input(format!("{}: {why}", file.display()));
        if !file.is_file() {
            return Err(fault(format!("it is not there: {BUILD} makes it")));
        }
        let mut version = Command::new(&file);
        let mut found: Program = child::finds(version.arg("version"), INTRODUCTION)
            .map_err(|why| fault(why.to_string()))?;
        if found.core != runtime {
            return Err(fault(format!("it runs on the core of {}, not {runtime}", found.core)));
        }
        if programs.iter().any(|other| other.workloads != found.workloads) {
            return Err(fault("its workloads are not those of the other program".to_owned()));
        }
        found.version += &format!(" ({})", files::digest_of(&file));
        programs.push(found);
    }
    Ok(programs)
}

/// Runs a workload, beside `busy` threads if there are some. Alone, it computes for so long and so
/// often at least; beside them as long as they run.
pub(super) fn run(
    workload: (String, Command),
    busy: Option<(String, Command)>,
    extent: Extent,
) -> Outcome<Readings> {
    let fixed = usize::from(busy.is_some());
    let commands = [workload].into_iter().chain(busy).collect();
    let (runs, others) = side_by_side(commands, fixed, extent)?;
    let others = others.map(|others| (OTHERS.to_owned(), others));
    Ok([(MS.to_owned(), 1e3 / runs[0].rate)].into_iter().chain(others).collect())
}
