//! The library is installed, and programs in C and C++ are compiled with it, as users do.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use locksley_sys::skip_test;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// The folder into which the library is installed, once.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed");
        let _ = std::fs::remove_dir_all(&prefix);
        // The libraries lie beside this test, or in the folder above.
        let tests = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let is_there = |folder: &&Path| folder.join("liblocksley_c.a").is_file();
        let built = tests.ancestors().find(is_there).expect("cargo has built the library");
        let mut install = Command::new(Path::new(HERE).join("install"));
        printed(install.args([prefix.as_path(), built]));
        prefix
    })
}

/// Runs a command, which must succeed, and returns what it prints.
#[track_caller]
fn printed(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("the command exists");
    assert!(status.success(), "{command:?}: {status}\n{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// Compiles a program with the options that pkg-config prints. `None`, and a line that says why, if
/// there is no compiler.
#[track_caller]
fn compile(compiler: &str, source: &str, kind: Kind) -> Option<PathBuf> {
    for tool in [compiler, "pkg-config"] {
        if Command::new(tool).arg("--version").output().is_err() {
            skip_test(format_args!("there is no {tool}"));
            return None;
        }
    }
    let mut ask = Command::new("pkg-config");
    ask.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    let options = printed(ask.args(["--cflags", "--libs", "locksley"]).args(kind.of_pkg_config()));
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let name = format!("{test}-{kind:?}");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cc = Command::new(compiler);
    cc.args(["-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread"]);
    cc.args(if compiler == "gcc" { &["-std=c11", "-Wstrict-prototypes"][..] } else { &[] });
    cc.arg(Path::new(HERE).join(source)).arg("-o").arg(&program);
    printed(cc.args(kind.of_compiler()).args(options.split_whitespace()));
    Some(program)
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Shared,
    Static,
}

impl Kind {
    fn of_pkg_config(self) -> &'static [&'static str] {
        if matches!(self, Self::Static) { &["--static"] } else { &[] }
    }

    fn of_compiler(self) -> &'static [&'static str] {
        if matches!(self, Self::Static) { &["-static"] } else { &[] }
    }
}

fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", prefix().join("lib"));
    command.env_remove("LOCKSLEY_WORKERS").env_remove("LOCKSLEY_ASSISTS");
    command
}

#[test]
fn each_function_in_c() {
    for kind in [Kind::Shared, Kind::Static] {
        let Some(program) = compile("gcc", "tests/programs/interface.c", kind) else { return };
        assert_eq!(printed(&mut command(&program)), "ok\n");
    }
}

#[test]
fn the_example() {
    for kind in [Kind::Shared, Kind::Static] {
        let Some(program) = compile("gcc", "examples/sum.c", kind) else { return };
        assert_eq!(printed(&mut command(&program)), "500000.0\n");
    }
}

#[test]
fn cpp() {
    for kind in [Kind::Shared, Kind::Static] {
        let Some(program) = compile("g++", "tests/programs/interface.cpp", kind) else { return };
        assert_eq!(printed(&mut command(&program)), "ok\n");
    }
}

#[test]
fn what_leaves_a_callback_ends_the_process() {
    use std::os::unix::process::ExitStatusExt;

    let Some(program) = compile("g++", "tests/programs/interface.cpp", Kind::Shared) else {
        return;
    };
    for what in ["throw", "exit"] {
        let Output { status, stdout, stderr } = command(&program).arg(what).output().unwrap();
        let said = String::from_utf8_lossy(&stderr);
        assert_eq!(status.signal(), Some(6), "{what}: {status} {said}");
        assert!(said.contains("a callback was left"), "{what}: {said}");
        assert_eq!(stdout, b"");
    }
}

#[test]
fn what_is_installed() {
    let lib = prefix().join("lib");
    let version = env!("CARGO_PKG_VERSION");
    let name = std::fs::canonicalize(lib.join("liblocksley.so")).unwrap();
    assert_eq!(name.file_name().unwrap().to_str().unwrap(), format!("liblocksley.so.{version}"));
    let soname = format!("liblocksley.so.{}", version.rsplit_once('.').unwrap().0);
    assert_eq!(std::fs::canonicalize(lib.join(&soname)).unwrap(), name);
    let Ok(dynamic) = Command::new("readelf").arg("-d").arg(name).output() else {
        return skip_test("there is no readelf");
    };
    let dynamic = String::from_utf8_lossy(&dynamic.stdout).into_owned();
    assert!(dynamic.contains(&format!("Library soname: [{soname}]")), "{dynamic}");
}
