//! OpenMP programs that are started with `LOCKSLEY_TRACE`.
#![cfg(all(feature = "trace", target_os = "linux"))]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use locksley_sys::skip_test;
use locksley_trace::{Kind, Slice, Timeline, Trace};
use tempfile::TempDir;

/// The library lies beside this test, or in the folder above.
fn library() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let name = "libgomp_locksley.so";
    let places = [folder.join(name), folder.parent().unwrap().join(name)];
    places.into_iter().find(|it| it.is_file()).expect("cargo has built the library")
}

/// A program with a region of four threads, which then sleep until its standard input ends. `None`
/// where no compiler knows OpenMP.
fn program() -> Option<(TempDir, Command)> {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/recorded.c");
    let program = folder.path().join("program");
    let compiled = Command::new("cc").args(["-fopenmp", "-o"]).args([&program, &source]).output();
    if !compiled.is_ok_and(|it| it.status.success()) {
        skip_test("there is no compiler that knows OpenMP");
        return None;
    }
    // `LD_PRELOAD` cannot name a path with a space.
    let link = folder.path().join("library.so");
    std::os::unix::fs::symlink(library(), &link).unwrap();
    let mut program = Command::new(program);
    program.env("LD_PRELOAD", link).env("OMP_DYNAMIC", "false").stdin(Stdio::piped());
    Some((folder, program))
}

/// Reads the recording of a program until its three other threads sleep.
fn read_while_it_runs(file: &Path) -> Trace {
    let began = Instant::now();
    loop {
        let trace = Trace::read(file).unwrap_or_default();
        let last = trace.threads.iter().filter_map(|it| it.records.last());
        if last.filter(|it| it.kind == Kind::Parks).count() == 3 {
            return trace;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "in vain: {trace:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn regions_and_stolen_tasks_are_written_to_a_file() {
    let Some((folder, mut program)) = program() else { return };
    let file = folder.path().join("x.trace");
    let mut program = program.env("LOCKSLEY_TRACE", &file).spawn().unwrap();
    read_while_it_runs(&file);
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
    let trace = Trace::read(&file).unwrap();
    assert!(trace.is_stopped, "the library ends it when the program exits");
    let timeline = Timeline::new(&trace);
    let is_region = |it: &&Slice| timeline.name_of(it) == "parallel region";
    let workers = timeline.tracks.iter().filter(|it| it.worker.is_some());
    let regions: Vec<_> = workers.map(|it| it.slices.iter().filter(is_region).count()).collect();
    assert_eq!(regions, [1; 4]);
    let of = |kind| {
        let records = trace.threads.iter().flat_map(|it| &it.records);
        records.filter(|it| it.kind == kind).count()
    };
    let tasks = [Kind::Steals, Kind::TaskBegins, Kind::TaskEnds].map(of);
    assert_eq!(tasks, [1; 3], "the task's creator waits for another thread");
}

#[test]
fn a_running_program_can_be_looked_at() {
    let Some((folder, mut program)) = program() else { return };
    program.env("LOCKSLEY_TRACE", "live").env("XDG_RUNTIME_DIR", folder.path());
    let mut program = program.spawn().unwrap();
    let file = folder.path().join("locksley").join(format!("{}.trace", program.id()));
    assert!(!read_while_it_runs(&file).is_stopped);
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
    assert!(!file.exists(), "it is removed when the program exits");
}

#[test]
fn a_program_that_cannot_be_recorded_runs() {
    let Some((folder, mut program)) = program() else { return };
    program.env("LOCKSLEY_TRACE", folder.path().join("no/such/folder")).stdin(Stdio::null());
    let output = program.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.starts_with("locksley: LOCKSLEY_TRACE: "), "{told}");
    assert_eq!(told.lines().count(), 1);
}
