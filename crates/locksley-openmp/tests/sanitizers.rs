//! Programs that are compiled with a sanitizer and linked with this library.
#![cfg(target_os = "linux")]

mod support;

use support::{Program, complained, printed, run};

/// Writes behind an array, if a team is larger than the program was told, are seen.
#[test]
fn no_thread_writes_behind_what_was_allocated_for_its_team() {
    let sanitizer = ["-fsanitize=address"];
    let Some(program) = Program::with_library("cc", "sizes.c", &sanitizer) else { return };
    for variables in [&[][..], &[("OMP_NUM_THREADS", "7"), ("OMP_DYNAMIC", "false")]] {
        let output = run(&mut program.command(), variables);
        assert!(output.status.success(), "{}", complained(&output));
        assert_eq!(printed(&output), "dynamic: 0\nwrong sizes: 0, lost parts: 0\n");
    }
}

/// The library itself is not instrumented.
const TSAN: (&str, &str) = ("TSAN_OPTIONS", "ignore_noninstrumented_modules=1:exitcode=66");

fn with_race_detector(name: &str) -> Option<Program> {
    let program = Program::with_library("cc", name, &["-fsanitize=thread"])?;
    let output = run(program.command().arg("x"), &[TSAN]);
    if complained(&output).contains("FATAL: ThreadSanitizer") {
        locksley_sys::skip_test("ThreadSanitizer does not run here");
        return None;
    }
    Some(program)
}

#[test]
fn what_is_synchronized_does_not_seem_to_race() {
    let Some(program) = with_race_detector("races.c") else { return };
    for policy in ["active", "passive"] {
        let output = run(&mut program.command(), &[TSAN, ("OMP_WAIT_POLICY", policy)]);
        assert!(output.status.success(), "{}", complained(&output));
        assert_eq!(printed(&output), "done\n");
    }
}

#[test]
fn what_is_not_synchronized_races() {
    let Some(program) = with_race_detector("races.c") else { return };
    for left_out in ["barrier", "lock", "taskwait"] {
        let output = run(program.command().arg(left_out), &[TSAN]);
        assert_eq!(output.status.code(), Some(66), "{left_out}: {}", complained(&output));
    }
}

#[test]
fn regions_of_several_threads_do_not_seem_to_race() {
    let Some(program) = with_race_detector("sizes.c") else { return };
    let output = run(&mut program.command(), &[TSAN]);
    assert!(output.status.success(), "{}", complained(&output));
    assert_eq!(printed(&output), "dynamic: 0\nwrong sizes: 0, lost parts: 0\n");
}
