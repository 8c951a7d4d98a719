//! Programs that the C compiler makes with `-fopenmp` do the same with this library preloaded.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use locksley_sys::skip_test;

/// The library lies beside this test, or in the folder above.
fn library() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let name = "liblocksley_gomp.so";
    let places = [folder.join(name), folder.parent().unwrap().join(name)];
    places.into_iter().find(|it| it.is_file()).expect("cargo has built the library")
}

/// A link to the library: `LD_PRELOAD` cannot name a path with a space.
struct Link(tempfile::TempDir);

impl Link {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(library(), folder.path().join("library.so")).unwrap();
        Self(folder)
    }

    fn path(&self) -> String {
        self.0.path().join("library.so").to_str().unwrap().to_owned()
    }
}

/// A program of `tests/programs`, in a folder of its own.
struct Program(tempfile::TempDir);

impl Program {
    /// Compiles a program, which is linked with libgomp. `None` where no compiler knows OpenMP.
    #[track_caller]
    fn new(name: &str) -> Option<Self> {
        Self::compile("cc", name).filter(|it| it.link(&["-fopenmp"]))
    }

    /// The same, but the program is linked with this library instead.
    #[track_caller]
    fn with_library(compiler: &str, name: &str) -> Option<Self> {
        let library = library();
        let folder = library.parent().unwrap().to_str().unwrap();
        let path = format!("-Wl,-rpath,{folder}");
        Self::compile(compiler, name).filter(|it| it.link(&[library.to_str().unwrap(), &path]))
    }

    #[track_caller]
    fn compile(compiler: &str, name: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
        let mut compiler = Command::new(compiler);
        compiler.args(["-O1", "-fopenmp", "-c", "-o"]).arg(folder.path().join("object.o"));
        succeeds(compiler.arg(source)).then_some(Self(folder))
    }

    #[track_caller]
    fn link(&self, options: &[&str]) -> bool {
        let mut compiler = Command::new("cc");
        compiler.arg("-o").arg(self.0.path().join("program")).arg(self.0.path().join("object.o"));
        succeeds(compiler.args(options))
    }

    fn command(&self) -> Command {
        Command::new(self.0.path().join("program"))
    }
}

/// Says why the test is skipped if the compiler is missing or fails.
#[track_caller]
fn succeeds(compiler: &mut Command) -> bool {
    match compiler.output() {
        Ok(output) if output.status.success() => return true,
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            skip_test(errors.lines().next().unwrap_or("the compiler fails"));
        }
        Err(error) => skip_test(format!("{}: {error}", compiler.get_program().to_string_lossy())),
    }
    false
}

/// Runs a command in an environment without OMP_* variables but these.
fn run(command: &mut Command, variables: &[(&str, &str)]) -> Output {
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("OMP_")) {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied()).output().unwrap()
}

/// Runs a command with the library preloaded. It must do what `expected` did with libgomp.
#[track_caller]
fn assert_as(expected: &Output, command: &mut Command, variables: &[(&str, &str)]) {
    let link = Link::new();
    let output = run(command, &[variables, &[("LD_PRELOAD", &link.path())]].concat());
    assert_eq!(
        (output.status, String::from_utf8_lossy(&output.stdout)),
        (expected.status, String::from_utf8_lossy(&expected.stdout)),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[track_caller]
fn assert_same(name: &str, variables: &[(&str, &str)]) {
    let Some(program) = Program::new(name) else { return };
    let expected = run(&mut program.command(), variables);
    let same = |command: &mut Command, more: &[(&str, &str)]| {
        assert_as(&expected, command, &[variables, more].concat());
    };
    same(&mut program.command(), &[]);
    same(&mut program.command(), &[("OMP_WAIT_POLICY", "passive")]);
    let mut on_one = Command::new("taskset");
    on_one.args(["-c", "0"]).arg(program.0.path().join("program"));
    if Command::new("taskset").arg("-c").args(["0", "true"]).status().is_ok_and(|it| it.success()) {
        same(&mut on_one, &[]);
    }
}

#[test]
fn regions() {
    assert_same("regions.c", &[("OMP_NUM_THREADS", "16")]);
}

#[test]
fn loops() {
    assert_same("loops.c", &[]);
}

#[test]
fn tasks() {
    assert_same("tasks.c", &[]);
}

/// The member of a team of one sleeps until another thread fulfills an event.
#[test]
fn an_event_is_fulfilled_by_another_thread() {
    assert_same("events.c", &[("OMP_NUM_THREADS", "1")]);
}

#[test]
fn synchronization() {
    assert_same("synchronization.c", &[]);
}

#[test]
fn cancellation() {
    assert_same("synchronization.c", &[("OMP_CANCELLATION", "true")]);
}

#[test]
fn threads_are_bound_to_the_places_that_libgomp_chooses() {
    let Some(program) = Program::new("places.c") else { return };
    for variables in [
        [("OMP_PROC_BIND", "close"), ("OMP_PLACES", "threads")],
        [("OMP_PROC_BIND", "spread,primary"), ("OMP_PLACES", "cores")],
        [("OMP_PROC_BIND", "false"), ("OMP_PLACES", "threads")],
        [("OMP_PROC_BIND", "true"), ("GOMP_CPU_AFFINITY", "x")],
    ] {
        let expected = run(&mut program.command(), &variables);
        assert_as(&expected, &mut program.command(), &variables);
    }
}

/// As gcc compiles the program, libgomp is the oracle.
#[cfg(target_arch = "x86_64")]
#[test]
fn programs_of_clang_need_no_other_library() {
    let oracle = Program::new("clang.c");
    let (Some(oracle), Some(program)) = (oracle, Program::with_library("clang", "clang.c")) else {
        return;
    };
    let expected = run(&mut oracle.command(), &[]);
    for variables in [[("OMP_SCHEDULE", "guided,3")], [("OMP_SCHEDULE", "static")]] {
        let output = run(&mut program.command(), &variables);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = [&output, &expected].map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
        assert_eq!(said[0], said[1]);
    }
}

/// libgomp hangs in such a child, so there is nothing to compare with.
#[test]
fn children_of_a_fork_may_begin_regions() {
    let Some(program) = Program::new("fork.c") else { return };
    let output = run(&mut program.command(), &[("LD_PRELOAD", &Link::new().path())]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "fork: 0 wrong\n");
}

#[test]
fn the_library_stands_in_for_libgomp_and_tells_wrong_settings() {
    let Some(program) = Program::with_library("cc", "wait.c") else { return };
    let variables = [
        ("OMP_NUM_THREADS", "none"),
        ("OMP_SCHEDULE", "static,x"),
        ("OMP_DISPLAY_ENV", "true"),
        ("OMP_THREAD_LIMIT", "7"),
        ("OMP_PLACES", "{0"),
        ("GOMP_CPU_AFFINITY", "1-0"),
        ("OMP_PROC_BIND", "spread"),
    ];
    let output = run(&mut program.command(), &variables);
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    for words in [
        "libgomp: Invalid value for environment variable OMP_NUM_THREADS\n",
        "libgomp: Invalid value for chunk size in environment variable OMP_SCHEDULE\n",
        "libgomp: Invalid value for environment variable OMP_PLACES\n",
        "libgomp: Invalid value for environment variable GOMP_CPU_AFFINITY\n",
        "  OMP_PROC_BIND = 'SPREAD'\n",
        "  OMP_THREAD_LIMIT = '7'\n",
        "OPENMP DISPLAY ENVIRONMENT END",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

/// A control group without tasks, for as long as this lives.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn teams_follow_a_quota_while_the_program_runs() {
    let Some(program) = Program::with_library("cc", "quota.c") else { return };
    let is_version_two = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let (root, file, quotas) = if is_version_two {
        ("/sys/fs/cgroup", "cpu.max", ["100000 100000", "150000 100000"])
    } else {
        ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", ["100000", "150000"])
    };
    let name = format!("locksley-openmp-test-{}", std::process::id());
    let group = Group(Path::new(root).join(name));
    let quota = group.0.join(file);
    if let Err(why) = std::fs::create_dir(&group.0).and_then(|()| std::fs::metadata(&quota)) {
        return skip_test(why);
    }
    let script = "echo $$ >$0/cgroup.procs && exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(&group.0).arg(program.0.path().join("program"));
    let output = run(command.arg(quota).args(quotas), &[]);
    let two = std::thread::available_parallelism().map_or(1, usize::from).min(2);
    let line = |count| format!("{count} processors, teams of at most as many, 3 if asked\n");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        [line(1), line(two)].concat(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn threads_between_regions_use_no_processor_time() {
    let Some(program) = Program::new("wait.c") else { return };
    let output = run(&mut program.command(), &[("LD_PRELOAD", &Link::new().path())]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let milliseconds: u64 = said.trim().parse().expect("the program says a number");
    assert!(milliseconds < 100, "in half a second: {milliseconds} ms");
}
