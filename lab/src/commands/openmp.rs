//! `locksley openmp`: an OpenMP program with locksley-openmp's library in libgomp's place.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli;
use crate::fault::{Fault, Outcome};

const LIBRARY: &str = "liblocksley_gomp.so";

pub(super) fn execute(arguments: &cli::Openmp) -> Outcome<()> {
    let own = std::env::current_exe()
        .map_err(|error| Fault::run(format!("the path of this program is unknown: {error}")))?;
    let library = library(&own).ok_or_else(|| {
        Fault::input(format!(
            "{LIBRARY} is not beside {}: cargo build --release -p locksley-openmp",
            own.display()
        ))
    })?;
    let (program, arguments) = arguments.command.split_first().expect("clap requires a program");
    let mut command = Command::new(program);
    command.args(arguments).env("LD_PRELOAD", preload(library));
    let error = replace_process(command);
    Err(Fault::Program(format!("{} cannot be executed: {error}", Path::new(program).display())))
}

/// The library lies where cargo has put this program, or what it depends on.
fn library(own: &Path) -> Option<PathBuf> {
    let folder = own.parent()?;
    let mut places = [folder.join(LIBRARY), folder.join("deps").join(LIBRARY)].into_iter();
    places.find(|it| it.is_file())
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
