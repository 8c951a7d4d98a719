//! `locksley openmp`: an OpenMP program with locksley-openmp's library in libgomp's place.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use locksley::os::Processors;

use crate::cli;
use crate::experiment::child::this_program;
use crate::experiments::openmp_bench;
use crate::fault::{Fault, Outcome};
use crate::output::say;

pub(super) fn execute(arguments: &cli::Openmp) -> Outcome<()> {
    let library = openmp_bench::gomp()?;
    if let Some(cli::OpenmpQuestion::Check) = arguments.question {
        return check(&library);
    }
    let (program, words) = arguments.command.split_first().expect("clap requires a program");
    let mut command = Command::new(program);
    command.args(words);
    preload(&mut command, &library);
    if arguments.dynamic {
        command.env("OMP_DYNAMIC", "true");
    }
    let error = replace_process(command);
    Err(Fault::Program(format!("{} cannot be executed: {error}", Path::new(program).display())))
}

/// Has the library itself say what it makes of the environment.
fn check(library: &Path) -> Outcome<()> {
    let mut command = Command::new(this_program()?);
    command.arg("--version").env("OMP_DISPLAY_ENV", "true");
    preload(&mut command, library);
    let said = command.output().map_err(Fault::run)?.stderr;
    let said = String::from_utf8_lossy(&said);
    if !said.contains(END) {
        return Err(Fault::run(format!("{} cannot be preloaded", library.display())));
    }
    let processors = Processors::allowed();
    let mut lines = vec![
        format!("library: {}", library.display()),
        format!("processors by affinity: {}", processors.ids().len()),
    ];
    lines.extend(processors.quota().map(|it| format!("processors by quota: {}", it.processors)));
    let is_shown = |line: &&str| SHOWN.iter().any(|it| line.starts_with(it));
    lines.extend(said.lines().map(str::trim_start).filter(is_shown).map(str::to_owned));
    say(&lines.join("\n"))
}

/// The library's last line about its settings.
const END: &str = "OPENMP DISPLAY ENVIRONMENT END";
/// How the lines begin that decide how many threads there are, and complaints.
const SHOWN: [&str; 5] =
    ["libgomp:", "OMP_DYNAMIC", "OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "[lock"];

/// Has the program load the library before what is preloaded anyway.
fn preload(command: &mut Command, library: &Path) {
    let (folder, name) = (library.parent(), library.file_name());
    match (folder, name) {
        // Spaces separate libraries, but not folders.
        (Some(folder), Some(name)) if library.as_os_str().as_encoded_bytes().contains(&b' ') => {
            prepend(command, "LD_PRELOAD", name);
            prepend(command, "LD_LIBRARY_PATH", folder.as_os_str());
        }
        _ => prepend(command, "LD_PRELOAD", library.as_os_str()),
    }
}

fn prepend(command: &mut Command, variable: &str, first: &OsStr) {
    let mut all = first.to_owned();
    if let Some(others) = std::env::var_os(variable).filter(|it| !it.is_empty()) {
        all.push(":");
        all.push(others);
    }
    command.env(variable, all);
}

/// Executes the command in this process. Returns only if that fails.
#[cfg(unix)]
fn replace_process(mut command: Command) -> std::io::Error {
    std::os::unix::process::CommandExt::exec(&mut command)
}

#[cfg(not(unix))]
fn replace_process(_command: Command) -> std::io::Error {
    std::io::ErrorKind::Unsupported.into()
}
