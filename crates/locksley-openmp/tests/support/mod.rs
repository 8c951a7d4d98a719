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
        Self::compile("cc", name, options).filter(|it| it.link(&[&["-fopenmp"], options].concat()))
    }

    /// The same, but the program is linked with this library instead.
    #[track_caller]
    pub(crate) fn with_library(compiler: &str, name: &str, options: &[&str]) -> Option<Self> {
        let program = Self::compile(compiler, name, options)?;
        let (library, path) = (program.library(), format!("-Wl,-rpath,{}", program.folder()));
        program.link(&[&[library.as_str(), &path], options].concat()).then_some(program)
    }

    #[track_caller]
    fn compile(compiler: &str, name: &str, options: &[&str]) -> Option<Self> {
        let program = Self(tempfile::tempdir().unwrap());
        symlink(library(), program.library()).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
        let mut words = compiler.split(' ');
        let mut compiler = Command::new(words.next().unwrap());
        compiler.args(words).args(["-O1", "-g", "-fopenmp", "-c", "-o"]);
        compiler.arg(program.0.path().join("object.o")).args(options).arg(source);
        succeeds(&mut compiler).then_some(program)
    }

    #[track_caller]
    fn link(&self, options: &[&str]) -> bool {
        let mut compiler = Command::new("cc");
        compiler.arg("-o").arg(self.0.path().join("program")).arg(self.0.path().join("object.o"));
        succeeds(compiler.args(options).arg("-lpthread"))
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
