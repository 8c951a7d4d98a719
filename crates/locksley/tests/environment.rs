//! `LOCKSLEY_WORKERS`, `LOCKSLEY_ASSISTS`, and the global pool. Each case runs in a child process,
//! since all three belong to the whole process.

use std::process::{Command, Output};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use locksley::{BuildError, Pool};

const CASE: &str = "LOCKSLEY_TEST_CASE";

/// Runs this file's `child` in another process.
fn run_child(case: &str, workers: Option<&str>) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child", "--exact", "--nocapture"]).env(CASE, case).env_remove("LOCKSLEY_WORKERS");
    if let Some(workers) = workers {
        child.env("LOCKSLEY_WORKERS", workers);
    }
    child.output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// The code that the other tests run in another process. Does nothing as a test.
#[test]
fn child() {
    match std::env::var(CASE).as_deref() {
        Ok("count") => println!("workers={}", Pool::global().workers()),
        Ok("size") => println!("size={} of {}", Pool::global().size(), Pool::global().workers()),
        Ok("join") => {
            assert_eq!(locksley::join(|| 1, || 2), (1, 2));
            println!("joined");
        }
        Ok("build") => match Pool::builder().build() {
            Ok(pool) => println!("workers={}", pool.workers()),
            Err(error) => println!("error={error:?}"),
        },
        Ok("global twice") => {
            Pool::builder().workers(3).build_global().unwrap();
            let again = Pool::builder().workers(4).build_global();
            assert!(matches!(again, Err(BuildError::GlobalPoolExists)));
            println!("workers={}", Pool::global().workers());
        }
        Ok("global in its own hook") => {
            let build_it = |_| drop(Pool::builder().build_global());
            let error = Pool::builder().workers(2).on_start(build_it).build_global().unwrap_err();
            assert!(matches!(error, BuildError::Hook { .. }));
            let use_it = |_| assert_eq!(locksley::join(|| 1, || 2), (1, 2));
            let error = Pool::builder().workers(2).on_start(use_it).build_global().unwrap_err();
            assert!(matches!(error, BuildError::Hook { .. }));
            println!(
                "refused: {error}; workers={}",
                Pool::builder().workers(2).build().unwrap().workers()
            );
        }
        Ok("global in another hook") => {
            let (begun, used) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
            let (at, by) = (Arc::clone(&begun), Arc::clone(&used));
            let use_global = move |_| {
                by.wait();
                assert_eq!(locksley::join(|| 1, || 2), (1, 2));
            };
            let be_slow = move |_| {
                at.wait();
                used.wait();
                thread::sleep(Duration::from_millis(50)); // meanwhile the other hook asks for it
            };
            thread::scope(|threads| {
                threads.spawn(|| {
                    Pool::builder().workers(1).on_start(be_slow).build_global().unwrap();
                });
                begun.wait();
                Pool::builder().workers(1).on_start(use_global).build().unwrap();
            });
            println!("both are built");
        }
        Ok("detached panic") => {
            let pool = Pool::new(1).unwrap();
            pool.spawn(|_| panic!("a detached panic"));
            drop(pool);
            println!("still there");
        }
        #[cfg(all(target_os = "linux", not(locksley_portable)))]
        Ok("a deadline in a child, without a pool") => {
            let deadline = || {
                let token = locksley::Cancellation::new();
                token.cancel_after(std::time::Duration::from_millis(1)).unwrap();
                locksley::block_on(token.cancelled());
            };
            deadline();
            // SAFETY: the child uses what the C library keeps valid there.
            let child = unsafe { libc::fork() };
            deadline();
            if child == 0 {
                println!("in the child");
                std::process::exit(0);
            }
            // SAFETY: no status is written.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        }
        Ok("panic of the handler") => {
            let builder = Pool::builder().workers(1);
            let pool = builder.panic_handler(|_| panic!("of the handler")).build().unwrap();
            pool.spawn(|_| panic!("a detached panic"));
            drop(pool);
            println!("still there");
        }
        Ok("idle policy panic") => {
            use locksley::idle::{IdleContext, IdlePolicy, Move, Thief};
            #[derive(Debug)]
            struct Broken;
            impl IdlePolicy for Broken {
                fn name(&self) -> &'static str {
                    "broken"
                }
                fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
                    Box::new(Broken)
                }
            }
            impl Thief for Broken {
                fn next(&mut self, _context: &IdleContext<'_>) -> Move {
                    panic!("no idea")
                }
            }
            let pool = Pool::builder().workers(1).idle_policy(Broken).build().unwrap();
            pool.install(|_| ());
            println!("still there");
        }
        _ => {}
    }
}

#[test]
fn the_variable_sets_the_number_of_workers() {
    assert!(text(&run_child("count", Some("5"))).contains("workers=5"));
    assert!(text(&run_child("build", Some(" 6 "))).contains("workers=6"));
}

#[test]
fn without_the_variable_the_size_is_the_number_of_allowed_processors() {
    let says = text(&run_child("size", None));
    // With one processor, the harness does not end its own line before.
    let numbers = says.lines().find_map(|line| line.split_once("size=")?.1.split_once(" of "));
    let (size, workers) = numbers.unwrap_or_else(|| panic!("{says}"));
    assert_eq!(size, locksley::os::Processors::allowed().count().to_string());
    assert!(workers.parse::<usize>().unwrap() >= size.parse().unwrap());
}

#[test]
fn a_wrong_value_is_an_error_or_a_clear_panic() {
    for wrong in ["0", "many", "-3", "1.5"] {
        let built = text(&run_child("build", Some(wrong)));
        assert!(
            built.contains(&format!(
                "error=LOCKSLEY_WORKERS must be a whole number from 1, not {wrong:?}"
            )),
            "{built}"
        );
        let joined = run_child("join", Some(wrong));
        assert!(!joined.status.success());
        assert!(
            text(&joined).contains("LOCKSLEY_WORKERS must be a whole number"),
            "{}",
            text(&joined)
        );
    }
}

#[test]
fn assists_are_those_that_the_variable_names() {
    let build = |assists| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args(["child", "--exact", "--nocapture"])
            .env(CASE, "build")
            .env("LOCKSLEY_WORKERS", "2");
        text(&child.env("LOCKSLEY_ASSISTS", assists).output().unwrap())
    };
    for right in ["all", "none", "membarrier,run-state", ""] {
        assert!(build(right).contains("workers=2"), "{}", build(right));
    }
    for wrong in ["telepathy", "membarrier;run-state"] {
        let built = build(wrong);
        assert!(
            built.contains(&format!("error=LOCKSLEY_ASSISTS: unknown assist '{wrong}'")),
            "{built}"
        );
    }
}

#[test]
fn the_global_pool_is_built_once() {
    let output = run_child("global twice", None);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("workers=3"));
}

#[test]
fn a_hook_of_the_global_pool_that_uses_it_is_an_error() {
    let output = run_child("global in its own hook", None);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("while it is being built; workers=2"), "{}", text(&output));
}

#[test]
fn a_hook_of_another_pool_waits_for_the_global_one() {
    let output = run_child("global in another hook", None);
    assert!(text(&output).contains("both are built"), "{}", text(&output));
}

/// If standard error cannot be written to, the message must not become a panic in place of the
/// task's.
#[cfg(target_os = "linux")]
#[test]
fn the_process_ends_even_if_it_cannot_print_a_message() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child", "--exact", "--nocapture"]).env(CASE, "panic of the handler").stderr(full);
    let output = child.output().unwrap();
    assert!(!output.status.success());
    assert!(!text(&output).contains("still there"), "{}", text(&output));
}

#[test]
fn a_detached_panic_without_a_handler_is_printed_and_ends_the_task_only() {
    let output = run_child("detached panic", None);
    assert!(output.status.success());
    assert!(text(&output).contains("a detached panic"));
    assert!(text(&output).contains("still there"));
}

#[cfg(all(target_os = "linux", not(locksley_portable)))]
#[test]
fn a_child_of_a_process_without_a_pool_has_deadlines() {
    let output = run_child("a deadline in a child, without a pool", None);
    assert!(text(&output).contains("in the child"), "{}", text(&output));
}

#[test]
fn a_panic_of_the_panic_handler_ends_the_process() {
    let output = run_child("panic of the handler", None);
    assert!(!output.status.success());
    assert!(text(&output).contains("the panic handler of a pool panicked"), "{}", text(&output));
    assert!(!text(&output).contains("still there"));
}

#[test]
fn an_idle_policy_that_panics_while_searching_ends_the_process() {
    let output = run_child("idle policy panic", None);
    assert!(!output.status.success());
    assert!(text(&output).contains("an idle policy or a hook panicked"), "{}", text(&output));
}
