//! `locksley top` beside a program that records.

use std::path::Path;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{assert_refused, command};

/// A program that records in a folder of its own, until this is dropped.
struct Recorded {
    folder: TempDir,
    program: Child,
}

impl Recorded {
    fn start() -> Recorded {
        let folder = tempfile::tempdir().unwrap();
        let mut program = command(&["rounds", "--secs", "600", "--workers", "2"]);
        program.env("XDG_RUNTIME_DIR", folder.path()).env("LOCKSLEY_TRACE", "live");
        let program = program.stdout(std::process::Stdio::null()).spawn().unwrap();
        let recorded = Recorded { folder, program };
        let began = Instant::now();
        while !top(recorded.folder.path(), &["--once"]).status.success() {
            assert!(began.elapsed() < Duration::from_secs(30), "nothing was recorded");
            std::thread::sleep(Duration::from_millis(10));
        }
        recorded
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn top(folder: &Path, arguments: &[&str]) -> Output {
    let mut top = command(&[&["top"], arguments].concat());
    top.env("XDG_RUNTIME_DIR", folder).output().unwrap()
}

#[test]
fn a_running_program_is_sampled() {
    let recorded = Recorded::start();
    let process = recorded.program.id().to_string();
    let began = Instant::now();
    // Both workers have recorded something.
    let sample = loop {
        let output = top(recorded.folder.path(), &[&process, "--once", "--json"]);
        assert!(output.status.success(), "{output:?}");
        let sample: Value = serde_json::from_slice(&output.stdout).unwrap();
        let workers = sample["workers"].as_array().unwrap();
        if ["locksley-0", "locksley-1"].iter().all(|it| workers.iter().any(|w| w["name"] == *it)) {
            break sample;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{sample}");
    };
    assert_eq!(sample["process"].to_string(), process);
    assert!(top(recorded.folder.path(), &["1", "--once"]).status.code() == Some(2));
    // Two of them: which?
    let other = format!("{}.trace", std::process::id());
    std::fs::write(recorded.folder.path().join("locksley").join(other), "lies").unwrap();
    assert_refused(&top(recorded.folder.path(), &["--once"]), "which process of");
    let own = std::process::id().to_string();
    assert_refused(&top(recorded.folder.path(), &[&own, "--once"]), "is no recording");
    assert_refused(&top(recorded.folder.path(), &[&process]), "no terminal");
}

#[test]
fn a_process_that_does_not_record_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_refused(&top(folder.path(), &["--once"]), "no process has a live recording");
    assert_refused(&top(folder.path(), &["1", "--once"]), "LOCKSLEY_TRACE=live");
    assert_refused(&top(folder.path(), &["x"]), "invalid value");
}

#[test]
fn the_next_program_removes_what_a_killed_one_left() {
    let mut recorded = Recorded::start();
    let folder = recorded.folder.path().join("locksley");
    let left = folder.join(format!("{}.trace", recorded.program.id()));
    recorded.program.kill().unwrap();
    recorded.program.wait().unwrap();
    assert!(left.exists());
    assert_refused(&top(recorded.folder.path(), &["--once"]), "no process has a live recording");
    let mut next = command(&["run", "msort", "--size", "1000", "--workers", "1"]);
    next.env("XDG_RUNTIME_DIR", recorded.folder.path()).env("LOCKSLEY_TRACE", "live");
    assert!(next.output().unwrap().status.success());
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0, "its own is removed at its end");
}

fn stdout_of_trace(file: &Path) -> String {
    let output = command(&["trace", file.to_str().unwrap()]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Another user's program is none that can be looked at.
#[test]
fn a_process_of_another_user_is_refused() {
    let recorded = Recorded::start();
    let program = env!("CARGO_BIN_EXE_locksley");
    let as_other_user = |arguments: &[&str]| {
        let mut other = Command::new("setpriv");
        other.args(["--reuid", "65534", "--clear-groups"]).args(arguments);
        other.env("XDG_RUNTIME_DIR", recorded.folder.path()).output()
    };
    if !as_other_user(&[program, "--version"]).is_ok_and(|it| it.status.success()) {
        return locksley_sys::skip_test("programs cannot be run as another user here");
    }
    let process = recorded.program.id().to_string();
    let refused = as_other_user(&[program, "top", &process, "--once"]).unwrap();
    assert_refused(&refused, "has no live recording");
}

/// In a real terminal, if there is one to be had.
#[test]
fn a_terminal_shows_the_workers() {
    let recorded = Recorded::start();
    let socket = recorded.folder.path().join("tmux");
    let tmux = |arguments: &[&str]| {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&socket).args(arguments).output()
    };
    let program = env!("CARGO_BIN_EXE_locksley");
    let folder = recorded.folder.path().display();
    let top_of_it = format!("XDG_RUNTIME_DIR={folder} '{program}' top {}", recorded.program.id());
    let shown = format!(
        "{top_of_it}; echo ended with $?; read go; {top_of_it}; echo then with $?; sleep 60"
    );
    let started = tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "20", &shown]);
    if !started.is_ok_and(|it| it.status.success()) {
        return locksley_sys::skip_test("tmux does not start");
    }
    let wait_for = |text: &str| {
        let began = Instant::now();
        loop {
            let screen = tmux(&["capture-pane", "-p"]).unwrap().stdout;
            let screen = String::from_utf8_lossy(&screen).into_owned();
            if screen.contains(text) {
                return screen;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "no '{text}' in:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait_for("locksley-1");
    // Keys change a size that is known. It is written some moments after the pool is made.
    let screen = wait_for("size of pool 0, 2 ");
    assert!(screen.contains("q: quit") && screen.contains("busy"), "{screen}");
    tmux(&["send-keys", "-"]).unwrap();
    wait_for("size of pool 0, 1 ");
    let allows_one = || {
        let output = top(recorded.folder.path(), &["--once", "--json"]);
        let sample: Value = serde_json::from_slice(&output.stdout).unwrap();
        sample["sizes"]["0"] == 1
    };
    let began = Instant::now();
    while !allows_one() {
        assert!(began.elapsed() < Duration::from_secs(30), "the pool has its old size");
    }
    tmux(&["send-keys", "t"]).unwrap();
    wait_for("traces to");
    tmux(&["send-keys", "t"]).unwrap();
    wait_for("traced to");
    let trace = format!("{}-1.trace", recorded.program.id());
    let trace = recorded.folder.path().join("locksley").join(trace);
    while !stdout_of_trace(&trace).starts_with("locksley (process ") {
        assert!(began.elapsed() < Duration::from_secs(30), "no trace");
    }
    tmux(&["send-keys", "q"]).unwrap();
    wait_for("ended with 0");
    tmux(&["send-keys", "Enter"]).unwrap();
    wait_for("q: quit");
    // The program maps the old file.
    let lies = recorded.folder.path().join("lies");
    std::fs::write(&lies, "lies").unwrap();
    let live = format!("{}.trace", recorded.program.id());
    std::fs::rename(lies, trace.with_file_name(live)).unwrap();
    wait_for("then with 1");
    tmux(&["kill-server"]).unwrap();
}
