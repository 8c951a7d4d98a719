//! Programs that the C compiler makes with `-fopenmp` do the same with this library preloaded.
#![cfg(target_os = "linux")]

mod support;

use std::process::{Command, Output};

use locksley_sys::skip_test;

use support::{Program, assert_same_output, complained, library, printed, run};

#[track_caller]
fn assert_same(name: &str, variables: &[(&str, &str)]) {
    let Some(program) = Program::new(name) else { return };
    let expected = run(&mut program.command(), variables);
    let same = |command: &mut Command, more: &[(&str, &str)]| {
        let found = program.run_as(command, &[variables, more].concat());
        assert_same_output(&found, &expected);
    };
    same(&mut program.command(), &[]);
    same(&mut program.command(), &[("OMP_WAIT_POLICY", "passive")]);
    let mut on_one = Command::new("taskset");
    on_one.args(["-c", "0"]).arg(program.path());
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

#[test]
fn the_first_line_says_what_is_granted_and_which_library_is_replaced() {
    let Some(program) = Program::new("regions.c") else { return };
    let said = |variables: &[(&str, &str)]| complained(&program.run(&[], variables));
    let granted = locksley_sys::os::Processors::allowed().count();
    let all = locksley_sys::os::online_processors().unwrap();
    let line = format!(
        "locksley-openmp: {granted} of {all} processors granted; \
         takes the place of libgomp.so.1\n"
    );
    assert_eq!(said(&[("LOCKSLEY_VERBOSE", "1")]), line);
    assert_eq!([said(&[]), said(&[("LOCKSLEY_VERBOSE", "0")])], ["", ""]);
}

#[test]
fn edges() {
    for variable in
        [("OMP_SCHEDULE", "static,1"), ("OMP_CANCELLATION", "true"), ("OMP_MAX_TASK_PRIORITY", "9")]
    {
        // On one processor, too.
        let insisted = [("OMP_NUM_THREADS", "2"), ("OMP_DYNAMIC", "false")];
        assert_same("edges.c", &[insisted[0], insisted[1], variable]);
    }
}

#[test]
fn a_thread_exits_the_program_after_a_region_of_its_own() {
    assert_same("exit.c", &[]);
}

/// libgomp waits at once for the end of such tasks, so it hangs.
#[test]
fn tasks_outside_of_regions_wait_for_events() {
    let Some(program) = Program::new("outside.c") else { return };
    let output = program.run(&[], &[]);
    assert_eq!(
        printed(&output),
        "a task that need not wait has ended: 1\n\
         a task with an event has begun: 1\n\
         sum: 30\n"
    );
}

/// `taskyield` of libgomp does nothing, so the program hangs.
#[test]
fn a_waiting_task_finds_its_child_behind_tasks_that_it_may_not_execute() {
    let Some(program) = Program::new("behind.c") else { return };
    assert_eq!(printed(&program.run(&[], &[])), "20 others, and the child: 1\n");
}

#[test]
fn tasks_take_little_memory_however_many_are_created() {
    let Some(program) = Program::new("memory.c") else { return };
    let output = program.run(&[], &[]);
    let said = printed(&output);
    let mebibytes = said.strip_prefix("1600000 tasks, ").and_then(|it| it.strip_suffix(" MiB\n"));
    assert!(mebibytes.and_then(|it| it.parse::<u32>().ok()).is_some_and(|it| it < 32), "{said}");
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
        assert_same_output(&program.run(&[], &variables), &expected);
    }
}

/// As gcc compiles the program, libgomp is the oracle.
#[test]
fn programs_of_clang_need_no_other_library() {
    assert_same_by("clang", "clang.c");
    assert_same_by("clang", "clang-more.c");
    assert_same_by("clang -fnoopenmp-use-tls", "clang-more.c");
}

#[track_caller]
fn assert_same_by(compiler: &str, name: &str) {
    let programs = (Program::new(name), Program::with_library(compiler, name, &[]));
    let (Some(oracle), Some(program)) = programs else { return };
    let expected = run(&mut oracle.command(), &[]);
    for variables in [[("OMP_SCHEDULE", "guided,3")], [("OMP_SCHEDULE", "static")]] {
        let output = run(&mut program.command(), &variables);
        assert!(output.status.success(), "{}", complained(&output));
        let said = [&output, &expected].map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
        assert_eq!(said[0], said[1]);
    }
}

/// What the installed clang may not call yet.
#[test]
fn functions_of_later_compilers_are_there() {
    let Some(program) = Program::with_library("cc", "kmpc.c", &[]) else { return };
    let output = run(&mut program.command(), &[]);
    assert_eq!(
        printed(&output),
        "0 wrong\nregions: 10 11\n2 of 2 threads\n%L %n: 3 0 0\n2000 tasks, 0\n"
    );
    let line = "\nlibgomp: error directive encountered: a warning\n\
                \nlibgomp: fatal error: error directive encountered: an error\n";
    assert_eq!((complained(&output).as_str(), output.status.code()), (line, Some(1)));
}

#[test]
fn reductions_of_arrays_by_clang_that_would_be_wrong_end_the_program_with_a_line() {
    let Some(program) = Program::with_library("clang", "array.c", &[]) else { return };
    for (arguments, what) in [
        (&[][..], "reduction(task, ...) of arrays of unknown length is"),
        (&["x"], "recursive task reductions of arrays are"),
    ] {
        let output = run(program.command().args(arguments), &[]);
        let line = format!("\nlibgomp: clang's {what} not supported\n");
        let said = complained(&output);
        assert_eq!((said, output.status.code()), (line, Some(1)));
    }
}

/// libgomp hangs in such a child, so there is nothing to compare with.
#[test]
fn children_of_a_fork_may_begin_regions() {
    let Some(program) = Program::new("fork.c") else { return };
    let output = program.run(&[], &[]);
    assert_eq!(printed(&output), "fork: 0 wrong\n");
}

/// A program on libgomp, and on this library. `None` unless libgomp is of version 12, with the
/// words that this library uses: later ones say some things in another way.
fn with_either(name: &str) -> Option<[Program; 2]> {
    let found = Command::new("cc").arg("-print-file-name=libgomp.so.1").output();
    let file = found.map_or_else(|_| Vec::new(), |it| it.stdout);
    let libgomp = std::fs::read(String::from_utf8_lossy(&file).trim()).unwrap_or_default();
    let has = |symbols: &[u8]| libgomp.windows(symbols.len()).any(|it| it == symbols);
    if !has(b"GOMP_5.1\0") || has(b"GOMP_5.1.1\0") {
        skip_test("libgomp has another version than 12");
        return None;
    }
    Some([Program::new(name)?, Program::with_library("cc", name, &[])?])
}

/// What a program says, line by line, and its status.
fn said(output: &Output) -> (Vec<String>, Option<i32>) {
    let text = [&output.stdout[..], &output.stderr].concat();
    let lines = String::from_utf8(text).unwrap().lines().map(str::to_owned).collect();
    (lines, output.status.code())
}

#[test]
fn settings_right_and_wrong_are_read_as_libgomp_does() {
    let Some(programs) = with_either("settings.c") else { return };
    let values: &[(&str, &[&str])] = &[
        ("OMP_NUM_THREADS", &["0", "4,x", "-4", "99999999999999999999"]),
        (
            "OMP_SCHEDULE",
            &["static,x", "static 5", "monotonic", " Guided , 7", "auto", "dynamic,0"],
        ),
        ("OMP_DYNAMIC", &["truex"]),
        ("OMP_NESTED", &["true", "x"]),
        ("OMP_CANCELLATION", &["true", "1"]),
        ("OMP_DISPLAY_AFFINITY", &["x"]),
        ("OMP_DISPLAY_ENV", &["truex", "VERBOSE ", "0"]),
        ("OMP_DEFAULT_DEVICE", &["2", "2147483648"]),
        ("OMP_TARGET_OFFLOAD", &["Mandatory", "x"]),
        ("OMP_MAX_TASK_PRIORITY", &["-1"]),
        ("OMP_ALLOCATOR", &["omp_low_lat_mem_alloc", "8"]),
        ("OMP_THREAD_LIMIT", &["2147483648", "7", "0"]),
        ("GOMP_DEBUG", &["x"]),
        ("OMP_NUM_TEAMS", &["3", "0"]),
        ("OMP_TEAMS_THREAD_LIMIT", &["3", "x"]),
        ("OMP_PROC_BIND", &["true,close", "spread , primary", "false"]),
        ("OMP_MAX_ACTIVE_LEVELS", &["256", "x"]),
        (
            "OMP_PLACES",
            &[
                "{0",
                "{70000}",
                "{0:2:-1}",
                "{0},!{0}",
                "!{0}",
                "{0,!1}",
                "{0},{4095}",
                "cores(0)",
                "{0:1:9223372036854775808}",
            ],
        ),
        ("GOMP_CPU_AFFINITY", &["1-0", "0x0", "0,", "+0x0", "0x 0", "0x-0", "-0", "00-0"]),
        ("OMP_WAIT_POLICY", &["active", "x"]),
        ("GOMP_SPINCOUNT", &["5kk", "infinite"]),
        ("OMP_STACKSIZE", &["1k", "x", "3 m"]),
        ("OMP_AFFINITY_FORMAT", &["", "%n"]),
    ];
    let compare = |variables: &[(&str, &str)]| {
        // Their defaults are this library's own.
        let constant =
            [("OMP_DYNAMIC", "false"), ("GOMP_SPINCOUNT", "0"), ("OMP_AFFINITY_FORMAT", "%L")];
        let variables = [&constant[..], variables].concat();
        let mut said = programs.each_ref().map(|it| said(&run(&mut it.command(), &variables)));
        for (lines, _) in &mut said {
            // The size of teams is this library's own matter where places are few.
            let is_own = |line: &str| {
                ["OMP_DYNAMIC", "OMP_NUM_TH", "GOMP_SPIN", "[locksley]"]
                    .iter()
                    .any(|it| line.trim_start().starts_with(it))
            };
            lines.retain(|it| !is_own(it));
        }
        assert_eq!(said[1], said[0], "{variables:?}");
    };
    for (name, values) in values {
        values.iter().for_each(|value| compare(&[(name, value)]));
    }
    compare(&[("OMP_PROC_BIND", "false"), ("OMP_PLACES", "{0},{4095}")]);
    compare(&[("OMP_STACKSIZE", "x"), ("GOMP_STACKSIZE", "2M"), ("OMP_DISPLAY_ENV", "true")]);
    compare(&[("OMP_NESTED", "x"), ("OMP_MAX_ACTIVE_LEVELS", "2")]);
    let all: Vec<_> = values.iter().map(|(name, _)| (*name, "x")).collect();
    compare(&all);
}

#[test]
fn threads_display_their_affinity_as_libgomp_does() {
    let Some(programs) = with_either("affinity.c") else { return };
    let format = ("OMP_AFFINITY_FORMAT", "%L %n/%N %A");
    for variables in [
        [("OMP_DISPLAY_AFFINITY", "true"), format, ("OMP_DYNAMIC", "false")],
        [("OMP_DISPLAY_AFFINITY", "false"), format, ("OMP_DYNAMIC", "false")],
        [("OMP_DISPLAY_AFFINITY", "true"), format, ("OMP_PROC_BIND", "close")],
        [("OMP_DISPLAY_AFFINITY", "true"), format, ("OMP_PLACES", "{0},{0}")],
    ] {
        let [expected, found] = programs.each_ref().map(|it| {
            let mut said = said(&run(&mut it.command(), &variables));
            said.0.sort();
            said
        });
        assert_eq!(found, expected, "{variables:?}");
    }
}

/// The dynamic linker misses the versions of the symbols, says so, and goes on.
#[test]
fn a_copy_of_the_library_stands_in_for_libgomp() {
    let Some(program) = Program::new("settings.c") else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(library(), folder.path().join("libgomp.so.1")).unwrap();
    let path = folder.path().to_str().unwrap();
    let variables = [("LD_LIBRARY_PATH", path), ("OMP_SCHEDULE", "x"), ("OMP_DISPLAY_ENV", "true")];
    let (lines, status) = said(&run(&mut program.command(), &variables));
    assert_eq!(status, Some(0), "{lines:?}");
    for line in [
        "libgomp: Unknown value for environment variable OMP_SCHEDULE",
        "  OMP_DYNAMIC = 'FALSE'",
        concat!("  [locksley] version ", env!("CARGO_PKG_VERSION")),
        "OPENMP DISPLAY ENVIRONMENT END",
    ] {
        assert!(lines.iter().any(|it| it == line), "{lines:?}");
    }
}

#[test]
fn threads_between_regions_use_no_processor_time() {
    let Some(program) = Program::new("wait.c") else { return };
    let output = program.run(&[], &[]);
    let said = printed(&output);
    let milliseconds: u64 = said.trim().parse().expect("the program says a number");
    assert!(milliseconds < 100, "in half a second: {milliseconds} ms");
}
