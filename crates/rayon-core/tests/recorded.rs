//! Programs that are started with `LOCKSLEY_TRACE`. Each is a process of its own.
#![cfg(all(feature = "trace", target_os = "linux"))]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use locksley_trace::{Kind, Trace};

const IS_CHILD: &str = "RAYON_CORE_TEST_RECORDED";

/// Not a test of its own: the program. It works until its standard input ends.
#[test]
fn child() {
    if std::env::var_os(IS_CHILD).is_none() {
        return;
    }
    let (mut is_over, mut nothing) = (false, Vec::new());
    rayon_core::join(
        || {
            while !is_over {
                is_over = std::io::stdin().read_to_end(&mut nothing).is_ok()
            }
        },
        || rayon_core::spawn(|| ()),
    );
}

/// A folder that is removed when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("locksley-recorded-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn start(variable: &Path, folder: &Folder) -> Child {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program
        .args(["child", "--exact", "--nocapture"])
        .env(IS_CHILD, "1")
        .env("RAYON_NUM_THREADS", "2");
    program.env("LOCKSLEY_TRACE", variable).env("XDG_RUNTIME_DIR", &folder.0);
    program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Reads the recording of a program that runs, once it tells of a task.
fn read_while_it_runs(file: &Path) -> Trace {
    let began = Instant::now();
    loop {
        if let Ok(trace) = Trace::read(file) {
            let mut records = trace.threads.iter().flat_map(|it| &it.records);
            if records.any(|it| it.kind == Kind::TaskBegins) {
                return trace;
            }
        }
        assert!(began.elapsed() < Duration::from_secs(30), "nothing was recorded");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_running_program_can_be_looked_at() {
    let folder = Folder::new("live");
    let mut program = start(Path::new("live"), &folder);
    let file = folder.0.join("locksley").join(format!("{}.trace", program.id()));
    let trace = read_while_it_runs(&file);
    assert!(trace.process == program.id() && !trace.is_stopped);
    let began = Instant::now();
    while Trace::read(&file).unwrap().sizes.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(30), "its pool is not told");
    }
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
    assert!(!file.exists(), "it is removed when the program exits");
}

#[test]
fn a_file_is_written() {
    let folder = Folder::new("file");
    let file = folder.0.join("x.trace");
    let mut program = start(&file, &folder);
    read_while_it_runs(&file);
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
    assert!(Trace::read(&file).unwrap().is_stopped);
}

#[test]
fn a_program_that_cannot_be_recorded_runs() {
    let folder = Folder::new("none");
    let mut program = start(&folder.0.join("no/such/folder"), &folder);
    drop(program.stdin.take());
    let output = program.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.starts_with("locksley: LOCKSLEY_TRACE: "), "{told}");
    assert_eq!(told.lines().count(), 1);
}

#[test]
fn nothing_is_recorded_without_the_variable() {
    let folder = Folder::new("unset");
    let mut program = start(Path::new(""), &folder);
    drop(program.stdin.take());
    assert!(program.wait_with_output().unwrap().stderr.is_empty());
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
}
