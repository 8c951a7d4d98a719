//! The sizes of teams: constant while `dyn-var` is false, and following what is granted while it is
//! true.
#![cfg(target_os = "linux")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use locksley_sys::os::{Processors, assists};
use locksley_sys::skip_test;

use support::{Program, assert_same_output, complained, printed, run};

fn processors() -> usize {
    Processors::allowed().count()
}

#[test]
fn all_threads_are_told_the_same_and_get_it() {
    let Some(program) = Program::new("sizes.c") else { return };
    for variables in [
        &[][..],
        &[("OMP_NUM_THREADS", "16")],
        &[("OMP_NUM_THREADS", "16"), ("OMP_DYNAMIC", "false")],
    ] {
        let expected = run(&mut program.command(), variables);
        assert_same_output(&program.run(&[], variables), &expected);
    }
}

#[test]
fn a_size_above_the_processors_is_reduced_unless_it_is_insisted_on() {
    let Some(program) = Program::new("size.c") else { return };
    let said = |variables: &[(&str, &str)]| printed(&program.run(&[], variables));
    let constant = |size: usize| format!("dynamic 0, told {size}, alone {size}, beside {size}\n");
    let more = (processors() + 3).to_string();
    let threads = ("OMP_NUM_THREADS", more.as_str());
    assert_eq!(said(&[]), constant(processors()));
    assert_eq!(said(&[threads]), constant(processors()));
    assert_eq!(said(&[("OMP_NUM_THREADS", "1")]), constant(1));
    let insisted = [threads, ("OMP_DYNAMIC", "False")];
    assert_eq!(said(&insisted), constant(processors() + 3));
    // What a thread is told is the variable alone, as with libgomp.
    let limited = [threads, ("OMP_DYNAMIC", "false"), ("OMP_THREAD_LIMIT", "1")];
    let expected = run(&mut program.command(), &limited);
    assert_same_output(&program.run(&[], &limited), &expected);
}

/// With libgomp, the settings of one team hold in the next.
#[test]
fn a_team_of_a_league_changes_no_setting_of_the_next() {
    let Some(program) = Program::new("teams.c") else { return };
    assert_eq!(printed(&program.run(&[], &[])), "3\n".repeat(4));
}

#[test]
fn the_settings_say_whether_a_size_was_reduced() {
    let Some(program) = Program::new("size.c") else { return };
    let says = |variables: &[(&str, &str)]| {
        let all = [variables, &[("OMP_DISPLAY_ENV", "true")]].concat();
        complained(&program.run(&[], &all)).matches("  [locksley] OMP_NUM_THREADS is").count()
    };
    let more = (processors() + 3).to_string();
    let threads = ("OMP_NUM_THREADS", more.as_str());
    assert_eq!(says(&[threads]), 1);
    assert_eq!(says(&[]), 0);
    assert_eq!(says(&[("OMP_NUM_THREADS", "1")]), 0);
    assert_eq!(says(&[threads, ("OMP_DYNAMIC", "false")]), 0);
    assert_eq!(says(&[threads, ("OMP_DYNAMIC", "true")]), 0);
}

#[test]
fn a_dynamic_team_gets_what_another_one_leaves() {
    let Some(program) = Program::new("size.c") else { return };
    let dynamic = ("OMP_DYNAMIC", "true");
    let (all, some) = (Processors::allowed().ids().len(), processors());
    // The other team leaves one, for the thread that begins a region.
    let line = |told: usize| format!("dynamic 1, told {told}, alone {some}, beside 1\n");
    assert_eq!(printed(&program.run(&[], &[dynamic])), line(all));
    assert_eq!(printed(&program.run(&[], &[dynamic, ("OMP_NUM_THREADS", "300")])), line(300));
}

#[test]
fn a_dynamic_team_gets_its_share_beside_another_program_if_it_is_asked_for() {
    let Some(program) = Program::new("share.c") else { return };
    let board = assists().iter().any(|it| it.name == "board" && it.state.is_ok());
    if !board || processors() < 2 {
        return skip_test("there is one processor, or no board");
    }
    let wrong = complained(&program.run(&["1", "0"], &[("LOCKSLEY_ASSISTS", "boards")]));
    assert!(wrong.contains("Invalid value for environment variable LOCKSLEY_ASSISTS"), "{wrong}");
    let half = (processors() / 2).to_string();
    let dynamic = [("OMP_DYNAMIC", "true")];
    let divides = [dynamic[0], ("LOCKSLEY_ASSISTS", "all,board")];
    // No team has 0 threads: it computes until it is killed.
    let mut other = program.command();
    other.args(["0", "600"]).env("LD_PRELOAD", program.library()).envs(divides);
    let mut other = other.stdout(Stdio::null()).spawn().unwrap();
    let share = program.run(&[&half, "60"], &divides);
    let all = program.run(&[&half, "0.5"], &dynamic);
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!((printed(&share), printed(&all)), ("a share\n".into(), "all\n".into()));
}

/// A control group without tasks, for as long as this lives.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// What a program says whose quota is one processor when it begins, then two if there are as many,
/// and then one again.
#[track_caller]
fn under_a_quota(name: &str, variables: &[(&str, &str)]) -> Option<String> {
    let program = Program::with_library("cc", "quota.c", &[])?;
    let is_version_two = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let (root, file, quotas) = if is_version_two {
        ("/sys/fs/cgroup", "cpu.max", ["100000 100000", "150000 100000"])
    } else {
        ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", ["100000", "150000"])
    };
    let name = format!("locksley-openmp-test-{}-{name}", std::process::id());
    let group = Group(Path::new(root).join(name));
    let quota = group.0.join(file);
    if let Err(why) = std::fs::create_dir(&group.0).and_then(|()| std::fs::metadata(&quota)) {
        skip_test(why);
        return None;
    }
    let script = "echo $3 >$2 && echo $$ >$0/cgroup.procs && exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(&group.0).arg(program.path());
    let output = run(command.arg(quota).args(quotas).arg(two().to_string()), variables);
    assert!(output.status.success(), "{}", complained(&output));
    Some(printed(&output))
}

fn two() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(2)
}

#[test]
fn the_quota_at_the_start_decides_for_good() {
    let Some(said) = under_a_quota("constant", &[]) else { return };
    let line = |count| format!("{count} processors, told 1, 1 threads\n");
    assert_eq!(said, [line(1), line(two()), line(1)].concat());
}

#[test]
fn dynamic_teams_follow_the_quota() {
    let Some(said) = under_a_quota("dynamic", &[("OMP_DYNAMIC", "true")]) else { return };
    let told = Processors::allowed().ids().len();
    let line = |count| format!("{count} processors, told {told}, {count} threads\n");
    assert_eq!(said, [line(1), line(two()), line(1)].concat());
}
