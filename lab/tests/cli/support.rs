//! Running the binary.

use std::process::{Command, Output, Stdio};

/// The command `locksley`, with these arguments and nothing on stdin.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_locksley"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// What `locksley` says to these arguments.
pub(crate) fn locksley(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary can be run")
}

/// What it printed, having succeeded without a complaint.
pub(crate) fn stdout_of(arguments: &[&str]) -> String {
    let output = locksley(arguments);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "{arguments:?}: {complaint}");
    String::from_utf8(output.stdout).expect("text")
}

/// Asserts that a command was refused, in one line that has the `expected` words.
#[track_caller]
pub(crate) fn assert_refused(output: &Output, expected: &str) {
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    assert!(complaint.contains(expected), "{complaint}");
}

/// Writes an executable file. Another process does: one that is open for writing here, for a
/// process that another test starts just then as well, could not be run.
#[cfg(unix)]
pub(crate) fn script(path: &std::path::Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    use std::io::Write;

    let mut writer = Command::new("sh");
    writer.args(["-c", r#"cat >"$0" && chmod +x "$0""#]).arg(path).stdin(Stdio::piped());
    let mut writer = writer.spawn().unwrap();
    writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}
