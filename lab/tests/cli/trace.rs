//! `locksley trace`, and recordings of `locksley run`.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::{assert_refused, command, locksley, stdout_of};

const RUN: [&str; 6] = ["run", "msort", "--size", "200000", "--workers", "2"];

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Records a run into a file of a new folder.
fn recorded() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.trace");
    let output = command(&RUN).env("LOCKSLEY_TRACE", &file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    (folder, file)
}

#[test]
fn a_run_is_recorded_and_shown() {
    let (folder, file) = recorded();
    let summary = stdout_of(&["trace", text(&file)]);
    assert!(summary.starts_with("locksley (process "), "{summary}");
    assert!(summary.lines().any(|line| line.starts_with("locksley-0 ")), "{summary}");
    let [html, perfetto] = ["page.html", "run.pftrace"].map(|name| folder.path().join(name));
    let shown = ["trace", text(&file), "--html", text(&html), "--perfetto", text(&perfetto)];
    assert_eq!(stdout_of(&shown), "");
    assert!(fs::read_to_string(&html).unwrap().contains("locksley-1"));
    let bytes = fs::read(&perfetto).unwrap();
    assert!(bytes.windows(10).any(|it| it == b"locksley-1"));
    let with_summary = [&shown[..], &["--summary"]].concat();
    assert_eq!(stdout_of(&with_summary), summary);
}

#[test]
fn the_name_of_a_recording_may_have_the_number_of_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = command(&RUN);
    let run = run.env("LOCKSLEY_TRACE", folder.path().join("%p.trace")).spawn().unwrap();
    let file = folder.path().join(format!("{}.trace", run.id()));
    assert!(run.wait_with_output().unwrap().status.success());
    assert!(file.is_file());
}

#[test]
fn what_is_no_recording_is_refused() {
    let (folder, file) = recorded();
    let page = folder.path().join("page.html");
    let read = |path: &Path| locksley(&["trace", text(path), "--html", text(&page)]);
    assert_refused(&read(&folder.path().join("none")), "No such file");
    assert_refused(&read(folder.path()), "directory");
    let other = folder.path().join("text");
    fs::write(&other, "text").unwrap();
    assert_refused(&read(&other), "is no recording");
    let mut bytes = fs::read(&file).unwrap();
    bytes[8] = 77;
    fs::write(&other, bytes).unwrap();
    assert_refused(&read(&other), "version 77");
    assert!(!page.exists());
}

#[test]
fn what_cannot_be_written_is_refused() {
    let (folder, file) = recorded();
    let nowhere = folder.path().join("no/such/folder");
    for option in ["--html", "--perfetto"] {
        let output = locksley(&["trace", text(&file), option, text(&nowhere)]);
        assert_refused(&output, "cannot write");
        let full = locksley(&["trace", text(&file), option, "/dev/full"]);
        let complaint = String::from_utf8_lossy(&full.stderr);
        assert_eq!(full.status.code(), Some(1), "a fault of the run: {complaint}");
        assert!(complaint.contains("No space left") && complaint.lines().count() == 1);
        assert_refused(&locksley(&["trace", text(&file), option, text(&file)]), "itself");
    }
    let page = folder.path().join("page");
    let both = ["trace", text(&file), "--html", text(&page), "--perfetto", text(&page)];
    assert_refused(&locksley(&both), "twice");
    let device = folder.path().join("device");
    std::os::unix::fs::symlink("/dev/full", &device).unwrap();
    for (file, why) in [(&nowhere, "No such file"), (&device, "is no ordinary file")] {
        let output = command(&RUN).env("LOCKSLEY_TRACE", file).output().unwrap();
        assert_refused(&output, why);
        assert!(output.stdout.is_empty());
    }
    assert!(device.is_symlink(), "it is not replaced");
}

/// A control group with half a processor, if one can be made. Dropping it removes it.
struct HalfProcessor(PathBuf);

impl HalfProcessor {
    fn new() -> std::io::Result<Self> {
        let name = format!("locksley-trace-test-{}", std::process::id());
        let is_version_two = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
        let root = if is_version_two { "/sys/fs/cgroup" } else { "/sys/fs/cgroup/cpu" };
        let group = Self(Path::new(root).join(name));
        fs::create_dir(&group.0)?;
        let (file, quota) = if is_version_two {
            ("cpu.max", "50000 100000")
        } else {
            ("cpu.cfs_quota_us", "50000")
        };
        fs::write(group.0.join(file), quota)?;
        Ok(group)
    }
}

impl Drop for HalfProcessor {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_quota_that_stops_the_program_is_recorded() {
    let group = match HalfProcessor::new() {
        Ok(group) => group,
        Err(why) => return locksley_sys::skip_test(why),
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.trace");
    let script = format!(
        "echo $$ >{}/cgroup.procs && exec {} rounds --secs 1 --workers 2",
        text(&group.0),
        env!("CARGO_BIN_EXE_locksley")
    );
    let run = Command::new("sh").args(["-c", &script]).env("LOCKSLEY_TRACE", &file).output();
    let run = run.unwrap();
    if !run.status.success() {
        return locksley_sys::skip_test(String::from_utf8_lossy(&run.stderr));
    }
    // Beside many other programs, it may get less than its quota.
    let statistics = fs::read_to_string(group.0.join("cpu.stat")).unwrap();
    if statistics.contains("nr_throttled 0\n") {
        return locksley_sys::skip_test("the quota has not stopped the program");
    }
    assert!(stdout_of(&["trace", text(&file)]).contains("stopped by a quota for"));
}

/// A recording that does not fit on the disk.
#[test]
fn a_full_disk_does_not_harm_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let on_a_disk_of = |size: &str| {
        let script = format!(
            "mount -t tmpfs -o size={size} none {0} && LOCKSLEY_TRACE={0}/x.trace '{1}' {2}; rc=$?
             '{1}' trace {0}/x.trace >&2; exit $rc",
            text(folder.path()),
            env!("CARGO_BIN_EXE_locksley"),
            RUN.join(" ")
        );
        let unshare = ["--user", "--map-root-user", "--mount", "sh", "-c", &script];
        Command::new("unshare").args(unshare).output()
    };
    let probe = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
        .arg(format!("mount -t tmpfs none {}", text(folder.path())))
        .output();
    if !probe.is_ok_and(|it| it.status.success()) {
        return locksley_sys::skip_test("file systems cannot be mounted here");
    }
    // No room for the header, and none for a ring.
    let output = on_a_disk_of("16k").unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"), "{output:?}");
    let output = on_a_disk_of("2m").unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("the answer is correct"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("threads not recorded"), "{output:?}");
}

#[test]
fn a_killed_program_leaves_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("killed.trace");
    let arguments = ["rounds", "--secs", "60", "--workers", "2"];
    let mut program = command(&arguments).env("LOCKSLEY_TRACE", &file).spawn().unwrap();
    let began = Instant::now();
    // It can be read while it is written.
    while !locksley(&["trace", text(&file)]).stdout.starts_with(b"locksley (process ") {
        assert!(began.elapsed() < Duration::from_secs(30), "nothing was recorded");
        std::thread::sleep(Duration::from_millis(10));
    }
    program.kill().unwrap();
    assert_eq!(program.wait().unwrap().signal(), Some(9));
    assert!(stdout_of(&["trace", text(&file)]).contains("the program was killed"));
}
