//! OpenMP programs with locksley-openmp's library preloaded.

use locksley_sys::skip_test;

use crate::support::locksley;

/// Whether cargo has built the library, as it does for the whole workspace.
fn has_library() -> bool {
    let output = locksley(&["openmp", "--", "true"]);
    output.status.success() || {
        skip_test(String::from_utf8_lossy(&output.stderr).trim());
        false
    }
}

#[test]
fn a_program_gets_its_arguments_and_the_library() {
    if has_library() {
        let output = locksley(&["openmp", "sh", "-c", "echo \"$0 $LD_PRELOAD\"; exit 3", "-x"]);
        assert_eq!(output.status.code(), Some(3));
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.starts_with("-x ") && said.contains("libgomp_locksley.so"), "{said}");
    }
}

/// The variable of preloaded libraries cannot name a path with a space.
#[test]
#[cfg(target_os = "linux")]
fn a_path_with_a_space_may_lead_to_the_library() {
    use std::os::unix::fs::symlink;
    if !has_library() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("with a space");
    std::fs::create_dir(&there).unwrap();
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_locksley"));
    std::fs::copy(own, there.join("locksley")).unwrap();
    let library = "libgomp_locksley.so";
    let beside = own.with_file_name(library);
    let library_file =
        if beside.is_file() { beside } else { own.parent().unwrap().join("deps").join(library) };
    symlink(library_file, there.join(library)).unwrap();
    let output = std::process::Command::new(there.join("locksley"))
        .args(["openmp", "grep", "-c", library, "/proc/self/maps"])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "it is not loaded: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_missing_program_is_named_and_the_code_is_a_shells() {
    if has_library() {
        let output = locksley(&["openmp", "--", "/no/such/program"]);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(127));
        assert!(complaint.contains("/no/such/program") && complaint.lines().count() == 1);
    }
}

#[test]
fn sizes_follow_what_is_granted_only_if_that_is_asked_for() {
    if has_library() {
        let dynamic = |arguments: &[&str]| {
            let print = ["--", "sh", "-c", "echo \"[$OMP_DYNAMIC]\""];
            let output = locksley(&[&["openmp"], arguments, &print].concat());
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!([dynamic(&[]), dynamic(&["--dynamic"])], ["[]\n", "[true]\n"]);
    }
}

#[test]
fn check_says_how_many_threads_there_are_and_why() {
    if !has_library() {
        return;
    }
    let check = |variables: &[(&str, &str)]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_locksley"));
        command.args(["openmp", "check"]).env_remove("OMP_NUM_THREADS").env_remove("OMP_DYNAMIC");
        let output = command.envs(variables.iter().copied()).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty());
        String::from_utf8(output.stdout).unwrap()
    };
    let granted = locksley_sys::os::Processors::allowed().count();
    let threads = ("OMP_NUM_THREADS", "3000");
    let said = check(&[threads]);
    let line = |count: usize| format!("OMP_NUM_THREADS = '{count}'");
    assert!(said.starts_with("library: /") && said.contains("libgomp_locksley.so"), "{said}");
    assert!(said.contains(&line(granted)), "{said}");
    assert_eq!(said.matches("[locksley] OMP_NUM_THREADS is reduced").count(), 1, "{said}");
    let said = check(&[threads, ("OMP_DYNAMIC", "false")]);
    assert!(said.contains(&line(3000)) && !said.contains("reduced"), "{said}");
    let said = check(&[("OMP_NUM_THREADS", "x")]);
    assert!(said.contains("libgomp: Invalid value for environment variable OMP_NUM_THREADS"));
}

#[test]
fn neither_a_program_nor_a_question_is_an_error() {
    for arguments in [&["openmp"][..], &["openmp", "check", "x"]] {
        let output = locksley(arguments);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 1);
    }
}
