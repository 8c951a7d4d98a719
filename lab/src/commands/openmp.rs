//! `locksley openmp`: an OpenMP program with locksley-openmp's library in libgomp's place.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli;
use crate::experiments::openmp_bench;
use crate::fault::{Fault, Outcome};

pub(super) fn execute(arguments: &cli::Openmp) -> Outcome<()> {
    let library = openmp_bench::gomp()?;
    let (program, arguments) = arguments.command.split_first().expect("clap requires a program");
    let mut command = Command::new(program);
    command.args(arguments).env("LD_PRELOAD", preload(library));
    let error = replace_process(command);
    Err(Fault::Program(format!("{} cannot be executed: {error}", Path::new(program).display())))
}

/// The library, before what is preloaded anyway.
fn preload(library: PathBuf) -> OsString {
    let mut all = library.into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|it| !it.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
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
