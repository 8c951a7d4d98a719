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
        assert!(said.starts_with("-x ") && said.contains("liblocksley_gomp.so"), "{said}");
    }
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
