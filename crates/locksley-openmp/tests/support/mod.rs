//! Programs that the C compiler makes, on libgomp and on this library.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use locksley_sys::skip_test;

/// The library lies beside this test, or in the folder above.
pub(crate) fn library() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let name = "libgomp_locksley.so";
    let places = [folder.join(name), folder.parent().unwrap().join(name)];
    places.into_iter().find(|it| it.is_file()).expect("cargo has built the library")
}

/// The name that programs look for which are linked with the library.
pub(crate) const SONAME: &str = "libgomp-locksley.so.1";

/// A program of `tests/programs` and a link to the library, in a folder of their own.
/// (`LD_PRELOAD` cannot name a path with a space.)
pub(crate) struct Program(tempfile::TempDir);

impl Program {
    /// Compiles a program, which is linked with libgomp. `None` where no compiler knows OpenMP.
    #[track_caller]
    pub(crate) fn new(name: &str) -> Option<Self> {
        Self::with_options(name, &[])
    }

    #[track_caller]
    pub(crate) fn with_options(name: &str, options: &[&str]) -> Option<Self> {
        let program = Self::prepare("cc", options)?;
        program.compile("cc", name, options, &["-fopenmp"]);
        Some(program)
    }

    /// The same, but the program is linked with this library instead.
    #[track_caller]
    pub(crate) fn with_library(compiler: &str, name: &str, options: &[&str]) -> Option<Self> {
        let program = Self::prepare(compiler, options)?;
        let (library, path) = (program.library(), format!("-Wl,-rpath,{}", program.folder()));
        program.compile(compiler, name, options, &[&library, &path]);
        Some(program)
    }

    /// A folder with a link to the library, for a program that is still to be compiled. `None`, and
    /// a line that says why, if the compiler cannot make an empty program with these options.
    #[track_caller]
    fn prepare(compiler: &str, options: &[&str]) -> Option<Self> {
        let program = Self(tempfile::tempdir().unwrap());
        symlink(library(), program.library()).unwrap();
        let empty = program.0.path().join("empty.c");
        std::fs::write(&empty, "#include <omp.h>\nint main(void) { return 0; }\n").unwrap();
        let made = program
            .cc(compiler, &["-c"], &empty, "object.o", options)
            .and_then(|()| program.cc("cc", &[], "object.o", "program", options));
        made.map_err(skip_test).ok().map(|()| program)
    }

    #[track_caller]
    fn compile(&self, compiler: &str, name: &str, options: &[&str], libraries: &[&str]) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
        self.cc(compiler, &["-O1", "-g", "-c"], source, "object.o", options).unwrap();
        let libraries = [libraries, options, &["-lpthread"]].concat();
        self.cc("cc", &[], "object.o", "program", &libraries).unwrap();
    }

    /// Runs a compiler in the folder. Returns what it says if it fails.
    fn cc(
        &self,
        compiler: &str,
        first: &[&str],
        input: impl AsRef<Path>,
        output: &str,
        last: &[&str],
    ) -> Result<(), String> {
        let mut words = compiler.split(' ');
        let mut command = Command::new(words.next().unwrap());
        command.current_dir(&self.0).args(words).args(first);
        if first.contains(&"-c") {
            command.arg("-fopenmp");
        }
        command.arg(input.as_ref()).arg("-o").arg(output).args(last);
        let output = command.output().map_err(|error| format!("{compiler}: {error}"))?;
        output.status.success().then_some(()).ok_or_else(|| complained(&output))
    }

    fn folder(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    /// The path of the link to the library.
    pub(crate) fn library(&self) -> String {
        format!("{}/{SONAME}", self.folder())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("program")
    }

    pub(crate) fn command(&self) -> Command {
        Command::new(self.path())
    }

    /// Runs the program with the library preloaded.
    pub(crate) fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        self.run_as(self.command().args(arguments), variables)
    }

    /// Runs a command, which executes the program, with the library preloaded.
    pub(crate) fn run_as(&self, command: &mut Command, variables: &[(&str, &str)]) -> Output {
        run(command, &[variables, &[("LD_PRELOAD", &self.library())]].concat())
    }
}

/// Runs a command in an environment without OMP_* variables but these.
pub(crate) fn run(command: &mut Command, variables: &[(&str, &str)]) -> Output {
    let is_ours = |name: &[u8]| name.starts_with(b"OMP_") || name.starts_with(b"GOMP_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_ours(name.as_encoded_bytes())) {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied()).output().unwrap()
}

/// What a program has printed.
pub(crate) fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The same on standard error.
pub(crate) fn complained(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// With the library preloaded, `found` must be as `expected`, with libgomp.
#[track_caller]
pub(crate) fn assert_same_output(found: &Output, expected: &Output) {
    assert_eq!(
        (found.status, printed(found)),
        (expected.status, printed(expected)),
        "{}",
        complained(found)
    );
}
