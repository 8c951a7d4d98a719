//! What OpenMP's constructs cost on each library that has libgomp's interface: alone, with more
//! threads than processors, and beside busy threads.
//!
//! One program is compiled when the experiment begins, and runs on all of them.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::experiment::child::Answer;
use crate::experiment::prelude::*;
use crate::machine;
use crate::rounds::busy;

const SOURCE: &str = include_str!("openmp_bench/overheads.c");
const LOCKSLEY: &str = "libgomp_locksley.so";

/// What is measured; a quick run has the first ones only.
const CONSTRUCTS: [&str; 17] = [
    "parallel",
    "barrier",
    "for",
    "critical",
    "task",
    "dynamic-1",
    "reduction",
    "single",
    "lock",
    "ordered",
    "atomic",
    "task-of-one",
    "taskwait",
    "static",
    "static-1",
    "dynamic-16",
    "guided-1",
];
const QUICK: usize = 6;

const BESIDE: &str = "beside two busy threads";
const BUSY_THREADS: usize = 2;
/// So many threads for each processor are more than enough.
const OVERSUBSCRIBED: usize = 8;

const NS: &str = "ns";
const BASE: &str = "libgomp";

/// A library: its name, what it is, what is preloaded, and the variable with which it runs.
type Library = (&'static str, &'static str, &'static str, Option<(&'static str, &'static str)>);

/// What is loaded without a preload.
const LIBGOMP: &str = "libgomp.so.1";
const PASSIVE: Option<(&str, &str)> = Some(("OMP_WAIT_POLICY", "passive"));
const FIXED: Option<(&str, &str)> = Some(("OMP_DYNAMIC", "false"));

static LIBRARIES: [Library; 5] = [
    (BASE, "the compiler's own library", LIBGOMP, None),
    ("libgomp-passive", "the compiler's, OMP_WAIT_POLICY=passive", LIBGOMP, PASSIVE),
    ("libomp", "LLVM's, which has libgomp's interface, too", "libomp.so.5", None),
    ("locksley-openmp", "team sizes follow what the machine grants", LOCKSLEY, None),
    ("locksley-openmp-fixed", "OMP_DYNAMIC=false: sizes as asked", LOCKSLEY, FIXED),
];

/// `locksley openmp-bench`
#[derive(Debug, Args)]
pub struct OpenmpBench {
    /// Only these constructs [default: all]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    constructs: Vec<String>,
    /// The C compiler
    #[arg(long, value_name = "PROGRAM", default_value = "cc")]
    cc: PathBuf,
    #[arg(skip)]
    program: OnceCell<TempDir>,
}

impl Experiment for OpenmpBench {
    const NAME: &'static str = "openmp-bench";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let quick = course.quick;
        let default = &CONSTRUCTS[..if quick { QUICK } else { CONSTRUCTS.len() }];
        let constructs = chosen("construct", &self.constructs, &CONSTRUCTS, default)?;
        let repeats = course.repeats(if quick { 3 } else { 9 })?;
        let folder = compile(&self.cc)?;
        let _ = self.program.set(folder);
        let mut plan = Plan::of(course, if quick { 50.0 } else { 900.0 }, 30.0);
        for library @ (name, about, ..) in &LIBRARIES {
            match self.loads(library) {
                Ok(version) => plan.compare(name, &version, about),
                Err(why) => _ = plan.left_out.insert((*name).to_owned(), why.to_string()),
            }
        }
        let processors = machine::processors();
        let settings = [("", processors), ("", OVERSUBSCRIBED * processors), (BESIDE, processors)];
        for (beside, threads) in settings {
            for construct in &constructs {
                let subject = format!("{construct} {beside}");
                for runtime in plan.runtimes.clone() {
                    plan.add(subject.trim_end(), &runtime.name, threads, repeats);
                }
            }
        }
        plan.quick_subset("six constructs");
        Ok(plan)
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, _repeat: usize) -> Outcome<Readings> {
        let library = LIBRARIES.iter().find(|it| it.0 == cell.runtime);
        let library = library.ok_or_else(|| Fault::input(format!("'{cell}' has no library")))?;
        let (construct, beside) = cell.subject.split_once(' ').unwrap_or((&cell.subject, ""));
        let mut command = self.command(library)?;
        command.args([construct, if plan.quick { "0.05" } else { "0.1" }]);
        command.env("OMP_NUM_THREADS", cell.workers.to_string());
        let busy = if beside == BESIDE { BUSY_THREADS } else { 0 };
        busy::beside(busy, || child::finds::<Answer>(&mut command, plan.limit()))?.readings()
    }

    fn report(record: &Record) -> Report {
        let fewest = record.groups(NS).iter().map(|(_, threads)| *threads).min().unwrap_or(0);
        let section = |title: &str, about: &str, is_shown: &dyn Fn(&str, usize) -> bool| {
            let metric = Metric { name: NS, unit: "ns a construct", base: Some(BASE) };
            Section::of_metric(record, title, about, metric, is_shown)
        };
        let is_beside = |subject: &str| subject.ends_with(BESIDE);
        let ours = |subject, threads| record.median(subject, "locksley-openmp", threads, NS);
        let headline = match (ours("parallel", fewest), ours("barrier", fewest)) {
            (Some(region), Some(barrier)) => {
                let [region, barrier] = [region, barrier].map(|ns| number(ns / 1e3));
                format!("Alone, a region takes {region} µs and a barrier {barrier} µs")
            }
            _ => "What OpenMP's constructs cost".to_owned(),
        };
        let about = "Eight threads for each processor.";
        let sections = vec![
            section("Alone", "A thread for each processor.", &|subject, threads| {
                threads == fewest && !is_beside(subject)
            }),
            section("Oversubscribed", about, &|_, threads| threads != fewest),
            section("Beside two busy threads", "They belong to another process.", &|subject, _| {
                is_beside(subject)
            }),
        ];
        Report::new("OpenMP", headline, sections, include_str!("openmp_bench/method.txt"))
    }
}

impl OpenmpBench {
    fn command(&self, &(_, _, preload, variable): &Library) -> Outcome<Command> {
        let folder = self.program.get().expect("the plan has compiled it");
        let mut command = Command::new(folder.path().join("overheads"));
        command.envs(variable);
        if preload != LIBGOMP {
            command.env("LD_PRELOAD", if preload == LOCKSLEY { gomp()? } else { preload.into() });
        }
        Ok(command)
    }

    /// The file that provides OpenMP, if it is the one that is preloaded.
    fn loads(&self, library: &Library) -> Outcome<String> {
        let mut command = self.command(library)?;
        let file: String = child::finds(command.arg("library"), Duration::from_secs(20))?;
        let wanted = library.2;
        if Path::new(&file).file_name() == Some(wanted.as_ref()) {
            return Ok(file);
        }
        Err(Fault::Missing(format!("the dynamic linker does not find {wanted}")))
    }
}

/// Compiles the program in a folder of its own.
fn compile(compiler: &Path) -> Outcome<TempDir> {
    let unusable = |why: &str| Fault::input(format!("{}: {why}", compiler.display()));
    let folder = tempfile::tempdir().map_err(|error| unusable(&error.to_string()))?;
    let (source, program) = (folder.path().join("overheads.c"), folder.path().join("overheads"));
    std::fs::write(&source, SOURCE).map_err(|error| unusable(&error.to_string()))?;
    let mut command = Command::new(compiler);
    command.args(["-O2", "-fopenmp", "-o"]).args([&program, &source]).arg("-ldl");
    child::run(&mut command, Duration::from_secs(60))
        .map_err(|why| unusable(&format!("it cannot compile OpenMP: {why}")))?;
    Ok(folder)
}

/// `locksley-openmp`'s library, which lies where cargo has put this program, or what it depends on.
///
/// # Errors
///
/// [`Fault::Input`] if it is not there.
fn gomp() -> Outcome<PathBuf> {
    let own = child::this_program()?;
    let folder = own.parent().unwrap_or(Path::new("."));
    let mut places = [folder.join(LOCKSLEY), folder.join("deps").join(LOCKSLEY)].into_iter();
    places.find(|it| it.is_file()).ok_or_else(|| {
        Fault::input(format!(
            "{LOCKSLEY} is not beside {}: cargo build --release -p locksley-openmp",
            own.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_is_missing_or_fails_is_named_in_a_line() {
        for (compiler, why) in [("/no/such/cc", "cannot be started"), ("false", "cannot compile")] {
            let Err(Fault::Input(said)) = compile(Path::new(compiler)) else {
                panic!("there is no such compiler")
            };
            assert!(said.contains(compiler) && said.contains(why), "{said}");
            assert_eq!(said.lines().count(), 1);
        }
    }
}
