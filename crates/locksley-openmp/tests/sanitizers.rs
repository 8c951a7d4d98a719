//! Programs that are compiled with a sanitizer and linked with this library.
#![cfg(target_os = "linux")]

mod support;

use std::process::Output;

use locksley_sys::skip_test;

use support::{Program, complained, printed, run};

/// Writes behind an array, if a team is larger than the program was told, are seen.
#[test]
fn no_thread_writes_behind_what_was_allocated_for_its_team() {
    let sanitizer = ["-fsanitize=address"];
    let Some(program) = Program::with_library("cc", "sizes.c", &sanitizer) else { return };
    for variables in [&[][..], &[("OMP_NUM_THREADS", "7"), ("OMP_DYNAMIC", "false")]] {
        let output = run(&mut program.command(), variables);
        if complained(&output).contains("LeakSanitizer has encountered a fatal error") {
            return skip_test("LeakSanitizer does not run here");
        }
        assert!(output.status.success(), "{}", complained(&output));
        assert_eq!(printed(&output), "dynamic: 0\nwrong sizes: 0, lost parts: 0\n");
    }
}

/// The library itself is not instrumented.
const TSAN: (&str, &str) = ("TSAN_OPTIONS", "ignore_noninstrumented_modules=1:exitcode=66");

/// Runs a program of these arguments under the race detector, which fails now and then to find a
/// place for its memory. `None` if it does so again and again.
#[track_caller]
fn detect(program: &Program, arguments: &[&str], variables: &[(&str, &str)]) -> Option<Output> {
    let variables = [variables, &[TSAN]].concat();
    let outputs = (0..10).map(|_| run(program.command().args(arguments), &variables));
    let ran = |it: &Output| !complained(it).contains("FATAL: ThreadSanitizer");
    let output = { outputs }.find(ran);
    if output.is_none() {
        skip_test("ThreadSanitizer does not run here");
    }
    output
}

#[test]
fn what_is_synchronized_does_not_seem_to_race() {
    let Some(program) = with_race_detector("races.c") else { return };
    for policy in ["active", "passive"] {
        let variables = [("OMP_WAIT_POLICY", policy)];
        let Some(output) = detect(&program, &[], &variables) else { return };
        assert!(output.status.success(), "{}", complained(&output));
        assert_eq!(printed(&output), "done\n");
    }
}

#[test]
fn what_is_not_synchronized_races() {
    let Some(program) = with_race_detector("races.c") else { return };
    for left_out in ["barrier", "lock", "taskwait"] {
        let Some(output) = detect(&program, &[left_out], &[]) else { return };
        assert_eq!(output.status.code(), Some(66), "{left_out}: {}", complained(&output));
    }
}

#[test]
fn regions_of_several_threads_do_not_seem_to_race() {
    let Some(program) = with_race_detector("sizes.c") else { return };
    let Some(output) = detect(&program, &[], &[]) else { return };
    assert!(output.status.success(), "{}", complained(&output));
    assert_eq!(printed(&output), "dynamic: 0\nwrong sizes: 0, lost parts: 0\n");
}

#[track_caller]
fn with_race_detector(name: &str) -> Option<Program> {
    Program::with_library("cc", name, &["-fsanitize=thread"])
}
