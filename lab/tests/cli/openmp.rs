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
