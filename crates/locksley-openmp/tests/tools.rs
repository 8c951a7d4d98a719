//! Tools that look for OpenMP libraries in a process, and set the sizes of teams.
#![cfg(target_os = "linux")]

mod support;

use std::path::Path;
use std::process::Command;

use locksley_sys::skip_test;

use support::{Program, complained, printed, run};

/// A Python with threadpoolctl and joblib, in a folder of its own. Says why there is none.
fn python(folder: &Path) -> Result<Command, String> {
    let does = |command: &mut Command| {
        let output = command.output().map_err(|why| format!("python3: {why}"))?;
        let why = complained(&output);
        output.status.success().then_some(()).ok_or_else(|| {
            format!("python3: {}", why.lines().last().unwrap_or("it cannot make an environment"))
        })
    };
    does(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    let python = folder.join("bin/python");
    let install = ["-m", "pip", "install", "--quiet", "--retries", "1", "threadpoolctl", "joblib"];
    does(Command::new(&python).args(install))?;
    Ok(Command::new(python))
}

#[test]
fn threadpoolctl_and_joblib_find_the_library_and_limit_it() {
    let Some(plugin) = Program::with_options("team.c", &["-shared", "-fPIC"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut python = match python(folder.path()) {
        Ok(python) => python,
        Err(why) => return skip_test(why),
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/tools.py");
    python.arg(script).arg(plugin.path()).env_remove("PYTHONPATH");
    let output = plugin.run_as(&mut python, &[]);
    assert_eq!(
        printed(&output),
        "libraries: 2\n\
         told the size of teams: True\n\
         limit 1 told 1 team of 1\n\
         limit 3 told 3 team of 3\n\
         as before: True True\n\
         libgomp_locksley.so alone: True\n\
         libgomp.so alone: True\n\
         by a controller: 1\n\
         joblib, loky, 1 inner threads: True\n\
         joblib, loky, 2 inner threads: True\n\
         joblib, threads as outside: True\n",
        "{}",
        complained(&output)
    );
}

#[test]
fn names_of_threads_and_settings_and_affinity_tell_the_library() {
    let Some(program) = Program::with_options("life.c", &["-ldl", "-lm"]) else { return };
    let output = run(
        program.command().args(["names", "locksley-omp"]),
        &[("LD_PRELOAD", &program.library()), ("OMP_DISPLAY_ENV", "verbose")],
    );
    assert_eq!(printed(&output), "3\n");
    let version = concat!("  [locksley] version ", env!("CARGO_PKG_VERSION"), "\n");
    assert!(complained(&output).contains(version));
    let affinity = complained(&program.run(&["affinity"], &[]));
    assert!(affinity.starts_with("locksley: level 0 thread "), "{affinity}");
}
