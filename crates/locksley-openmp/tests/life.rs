//! Events in the life of a process and its threads, beside libgomp. The README has a table of them.
#![cfg(target_os = "linux")]

mod support;

use locksley_sys::skip_test;

use support::{Program, assert_same_output, complained, library, printed, run};

/// The code by which the program says that this machine does not let it prepare a case.
const IMPOSSIBLE: i32 = 77;

fn program() -> Option<Program> {
    Program::with_options("life.c", &["-ldl", "-lm"])
}

/// The case ends as with libgomp.
#[track_caller]
fn assert_as_libgomp(arguments: &[&str]) {
    assert_as_libgomp_with(arguments, &[]);
}

#[track_caller]
fn assert_as_libgomp_with(arguments: &[&str], variables: &[(&str, &str)]) {
    let Some(program) = program() else { return };
    let expected = run(program.command().args(arguments), variables);
    if expected.status.code() == Some(IMPOSSIBLE) {
        return skip_test("the system does not allow it");
    }
    assert!(expected.status.code().is_some(), "libgomp: {}", complained(&expected));
    assert_same_output(&program.run(arguments, variables), &expected);
}

/// The case, in which libgomp hangs or ends, prints these lines, and `complaint` on standard error.
#[track_caller]
fn assert_complains(case: &str, lines: &str, complaint: &str) {
    let Some(program) = program() else { return };
    let output = program.run(&[case], &[]);
    if output.status.code() == Some(IMPOSSIBLE) {
        return skip_test("the system does not allow it");
    }
    assert_eq!((printed(&output).as_str(), output.status.code()), (lines, Some(0)), "{case}");
    assert_eq!(complained(&output), complaint, "{case}");
}

#[test]
fn a_constructor_begins_a_region_before_main() {
    assert_as_libgomp(&["constructor"]);
}

#[test]
fn destructors_of_thread_specific_data_begin_regions_and_leave_no_threads() {
    assert_as_libgomp(&["destructors"]);
}

#[test]
fn the_process_ends_with_the_last_thread_of_the_program() {
    assert_as_libgomp(&["main-ends"]);
    assert_as_libgomp(&["main-ends-without"]);
    assert_as_libgomp(&["others-use-it"]);
    assert_as_libgomp(&["handler-after-main"]);
}

#[test]
fn exit_handlers_begin_regions() {
    assert_as_libgomp(&["exit-handler"]);
    assert_as_libgomp(&["quick-exit"]);
}

#[test]
fn the_library_is_opened_and_closed_as_often_as_the_program_likes() {
    let Some(program) = program() else { return };
    let library = library();
    let arguments = ["libraries", library.to_str().unwrap()];
    for variables in [&[][..], &[("LD_PRELOAD", program.library().as_str())]] {
        let output = run(program.command().args(arguments), variables);
        let line = "threads by the library: 9\n";
        assert_eq!((printed(&output), output.status.code()), (line.repeat(3), Some(0)));
    }
}

#[test]
fn members_start_other_programs() {
    assert_as_libgomp(&["children"]);
}

#[test]
fn a_child_forked_within_a_region_computes_and_says_so_if_it_waits_for_the_other_threads() {
    assert_as_libgomp(&["child-computes"]);
    assert_as_libgomp(&["child-executes-tasks"]);
    assert_as_libgomp(&["child-locks"]);
    let line =
        "\nlibgomp: A child forked within a parallel region waits for threads that it lacks\n";
    for case in ["child-waits", "child-ends-region", "child-in-order"] {
        assert_complains(case, "1\n1\n", &line.repeat(2));
    }
}

#[test]
fn a_child_that_leaves_a_nested_region_begins_others() {
    let Some(program) = program() else { return };
    let output = program.run(&["child-nested"], &[("OMP_THREAD_LIMIT", "3")]);
    assert_eq!((printed(&output).as_str(), output.status.code()), ("0\n", Some(0)));
}

#[test]
fn signals_interrupt_waits_and_change_no_result() {
    assert_as_libgomp(&["signals"]);
    assert_as_libgomp(&["signals-restart"]);
}

#[test]
fn cancelled_threads_finish_their_regions_and_leave_no_threads() {
    assert_as_libgomp(&["cancel"]);
    assert_as_libgomp(&["cancel-first"]);
}

#[test]
fn stacks_are_the_c_librarys_and_small_ones_are_enough() {
    assert_as_libgomp(&["stack"]);
    assert_as_libgomp(&["stack-lowered"]);
    assert_as_libgomp(&["stack-default"]);
}

/// As libgomp, which the plugin would bring, reads it.
#[test]
fn what_a_program_sets_before_it_opens_a_plugin_counts() {
    let Some(host) = Program::with_options("host.c", &["-Wl,--as-needed"]) else { return };
    let Some(plugin) = Program::with_options("team.c", &["-shared", "-fPIC"]) else { return };
    let variables = [("OMP_NUM_THREADS", "2"), ("OMP_DYNAMIC", "false")];
    let output = host.run(&[plugin.path().to_str().unwrap()], &variables);
    assert_eq!(printed(&output), "1\n");
    // libgomp, which the plugin brings, prints its settings, too.
    let said = complained(&output);
    assert!(said.contains("[locksley] version") && !said.contains("OMP_NUM_THREADS = '2'"));
    // A program without OpenMP is told nothing.
    let output = host.run(&[], &[("OMP_DISPLAY_ENV", "true"), ("OMP_NUM_THREADS", "x")]);
    assert_eq!((complained(&output).as_str(), output.status.code()), ("", Some(1)));
}

#[test]
fn a_plugin_begins_a_region_while_it_is_opened() {
    let Some(plugin) = Program::with_options("team.c", &["-shared", "-fPIC"]) else { return };
    let path = plugin.path();
    assert_as_libgomp(&["plugin", path.to_str().unwrap()]);
}

#[test]
fn children_compute_that_are_forked_beside_regions() {
    assert_complains("fork-beside", "failed children: 0\n", "");
}

#[test]
fn refused_threads_make_the_team_smaller_and_are_told_once() {
    let line = "\nlibgomp: Thread creation failed: Resource temporarily unavailable\n";
    assert_complains("refused", "a team of 16 has fewer: 1, all took part: 1\n", line);
}

#[test]
fn no_descriptors_are_needed_or_kept() {
    assert_as_libgomp(&["descriptors"]);
}

#[test]
fn attributes_of_the_programs_threads_stay_the_same() {
    assert_as_libgomp(&["attributes"]);
}

#[test]
fn teams_take_over_the_attributes_of_the_thread_that_begins_them() {
    assert_as_libgomp(&["taken-over"]);
    assert_as_libgomp(&["taken-over-inside"]);
    // Their affinity is that of their places.
    assert_as_libgomp_with(&["taken-over"], &[("OMP_PLACES", "threads")]);
}

#[test]
fn refused_system_calls_are_done_without() {
    assert_as_libgomp(&["seccomp"]);
}

#[test]
fn a_process_without_proc_computes() {
    assert_as_libgomp(&["no-proc"]);
}
