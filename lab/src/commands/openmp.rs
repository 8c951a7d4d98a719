//! `locksley openmp`: an OpenMP program with locksley-openmp's library in libgomp's place.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::cli;
use crate::experiments::openmp_bench;
use crate::fault::{Fault, Outcome};

pub(super) fn execute(arguments: &cli::Openmp) -> Outcome<()> {
    let library = openmp_bench::gomp()?;
    let (program, arguments) = arguments.command.split_first().expect("clap requires a program");
    let mut command = Command::new(program);
    command.args(arguments);
    preload(&mut command, &library);
    let error = replace_process(command);
    Err(Fault::Program(format!("{} cannot be executed: {error}", Path::new(program).display())))
}

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
