//! `LOCKSLEY_WORKERS`, `LOCKSLEY_ASSISTS`, and the global pool. Each case is a process of its own, since both are of the whole process.

use std::process::{Command, Output};

use locksley::{BuildError, Pool};

const CASE: &str = "LOCKSLEY_TEST_CASE";

/// Runs this file's `child` in a process of its own.
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

/// Not a test of its own: what the other tests run in another process.
#[test]
fn child() {
    match std::env::var(CASE).as_deref() {
        Ok("count") => println!("workers={}", Pool::global().workers()),
        Ok("size") => println!("size={} of {}", Pool::global().size(), Pool::global().workers()),
        Ok("meter") => {
            assert_eq!(locksley::join(|| 1, || 2), (1, 2));
            let pool = Pool::builder().workers(1).build().unwrap();
            pool.run(|w| w.join(|w| w.join(|_| (), |_| ()), |_| ()));
            let forks = pool.report().map(|report| report.forks);
            println!("forks={forks:?}");
        }
        #[cfg(target_os = "linux")]
        Ok("meter and fork") => {
            assert_eq!(locksley::join(|| 1, || 2), (1, 2));
            let own = Pool::builder().workers(1).build().unwrap();
            own.run(|w| w.join(|_| (), |_| ()));
            // SAFETY: the child does nothing but end, as any process does.
            let child = unsafe { libc::fork() };
            if child == 0 {
                drop(own);
                std::process::exit(0);
            }
            let mut status = 0;
            // SAFETY: the child is ours, and a status is written to where there is room.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0);
            eprintln!("the child has ended");
        }
        Ok("meter and exit") => {
            locksley::join(
                || {
                    assert_eq!(locksley::join(|| 1, || 2), (1, 2));
                    std::process::exit(0);
                },
                || (),
            );
        }
        #[cfg(all(target_os = "linux", not(locksley_portable)))]
        Ok("meter and keep the lock") => {
            // Instead of waiting for ever.
            // SAFETY: no memory is involved.
            unsafe { libc::alarm(300) };
            assert_eq!(locksley::join(|| 1, || 2), (1, 2));
            let (has_it, is_locked) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                let _lock = std::io::stderr().lock();
                has_it.send(()).unwrap();
                loop {
                    std::thread::park();
                }
            });
            is_locked.recv().unwrap();
        }
        Ok("meter and drop within") => {
            // Dropped by a worker when that ends, which is after the pool has.
            struct Ends(#[expect(dead_code)] std::sync::mpsc::Sender<()>);
            let (sender, ended) = std::sync::mpsc::channel();
            let sender = std::sync::Mutex::new(sender);
            let data = move |_| Ends(sender.lock().unwrap().clone());
            let pool = Pool::builder().workers(2).worker_data(data).build().unwrap();
            let pool = std::sync::Arc::new(std::sync::Mutex::new(Some(pool)));
            let its = std::sync::Arc::clone(&pool);
            pool.lock().unwrap().as_ref().unwrap().spawn(move |worker| {
                drop(its.lock().unwrap().take());
                for _ in 0..7 {
                    worker.join(|_| (), |_| ());
                }
            });
            while ended.recv().is_ok() {}
        }
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
        Ok("detached panic") => {
            let pool = Pool::new(1).unwrap();
            pool.spawn(|_| panic!("nobody waits for me"));
            drop(pool);
            println!("still there");
        }
        Ok("governor panic") => {
            use locksley::hunt::{Governor, Hunter, Move, Prospect};
            #[derive(Debug)]
            struct Broken;
            impl Governor for Broken {
                fn name(&self) -> &'static str {
                    "broken"
                }
                fn hunter(&self, _worker: usize, _workers: usize) -> Box<dyn Hunter> {
                    Box::new(Broken)
                }
            }
            impl Hunter for Broken {
                fn next(&mut self, _prospect: &Prospect<'_>) -> Move {
                    panic!("no idea")
                }
            }
            let pool = Pool::builder().workers(1).governor(Broken).build().unwrap();
            pool.run(|_| ());
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
fn without_it_as_many_as_processors_are_allowed() {
    let says = text(&run_child("size", None));
    let numbers = says.lines().find_map(|line| line.strip_prefix("size=")?.split_once(" of "));
    let (size, workers) = numbers.unwrap_or_else(|| panic!("{says}"));
    assert_eq!(size, locksley::os::Processors::allowed().count_up().to_string());
    assert!(workers.parse::<usize>().unwrap() >= size.parse().unwrap());
}

#[test]
fn a_wrong_value_is_an_error_or_a_clear_panic() {
    for wrong in ["0", "many", "-3", "1.5", ""] {
        let built = text(&run_child("build", Some(wrong)));
        assert!(built.contains(&format!("error=Environment {{ value: {wrong:?} }}")), "{built}");
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
    for right in ["all", "none", "moves,run-state"] {
        assert!(build(right).contains("workers=2"), "{}", build(right));
    }
    for wrong in ["", "telepathy", "moves;run-state"] {
        let built = build(wrong);
        assert!(built.contains(&format!("error=Assists(UnknownAssist({wrong:?}))")), "{built}");
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
    assert!(text(&output).contains("while that is being built; workers=2"), "{}", text(&output));
}

/// Where standard error cannot be written to, a message must not turn into a panic that is taken for the task's.
#[cfg(target_os = "linux")]
#[test]
fn the_process_ends_even_if_it_cannot_say_why() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child", "--exact", "--nocapture"]).env(CASE, "detached panic").stderr(full);
    let output = child.output().unwrap();
    assert!(!output.status.success());
    assert!(!text(&output).contains("still there"), "{}", text(&output));
}

#[test]
fn a_detached_panic_without_a_handler_ends_the_process() {
    let output = run_child("detached panic", None);
    assert!(!output.status.success());
    assert!(text(&output).contains("nobody waits for me"));
    assert!(!text(&output).contains("still there"));
}

#[test]
fn a_governor_that_panics_while_hunting_ends_the_process() {
    let output = run_child("governor panic", None);
    assert!(!output.status.success());
    assert!(text(&output).contains("a governor panicked"), "{}", text(&output));
}

#[test]
fn the_meter_is_asked_for_and_speaks_at_the_end() {
    let run = |meter: Option<&str>| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["child", "--exact", "--nocapture"]).env(CASE, "meter");
        match meter {
            Some(value) => child.env("LOCKSLEY_METER", value),
            None => child.env_remove("LOCKSLEY_METER"),
        };
        child.output().unwrap()
    };
    for off in [None, Some("0")] {
        let text = text(&run(off));
        assert!(text.contains("forks=None") && !text.contains("critical path"), "{text}");
    }
    let output = run(Some("1"));
    assert!(text(&output).contains("forks=Some(2)"), "{}", text(&output));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // The pool's own when it is dropped; and the global one's when the process ends, where that can be learnt.
    let reports = said.matches("critical path T").count();
    let is_told = cfg!(all(target_os = "linux", not(locksley_portable)));
    assert!(said.contains("forks: 2") && reports == if is_told { 2 } else { 1 }, "{said}");
    assert!(!is_told || said.contains("forks: 1"), "{said}");

    let output = run(Some("loud"));
    assert!(!output.status.success());
    assert!(text(&output).contains("LOCKSLEY_METER must be 0 or 1"), "{}", text(&output));
}

/// What runs in a child of the process is not the parent's, and the child has nothing to say of that.
#[cfg(all(target_os = "linux", not(locksley_portable)))]
#[test]
fn a_forked_child_does_not_speak_for_its_parent() {
    let output = run_metered("meter and fork");
    let said = text(&output);
    assert!(output.status.success() && !said.contains("panicked"), "{said}");
    let (before, after) = said.split_once("the child has ended").expect("it has");
    assert!(!before.contains("critical path"), "{said}");
    assert_eq!(after.matches("critical path T").count(), 2, "{said}");
}

/// A pool that one of its workers drops speaks when all has ended.
#[test]
fn a_pool_that_is_dropped_in_a_task_speaks_at_its_end() {
    let said = text(&run_metered("meter and drop within"));
    assert_eq!(said.matches("critical path T").count(), 1, "{said}");
    assert!(said.contains("forks: 7"), "{said}");
}

/// A task that ends the process has not ended itself, and what it has done is known.
#[cfg(all(target_os = "linux", not(locksley_portable)))]
#[test]
fn a_process_that_ends_in_a_task_speaks_of_it() {
    let said = text(&run_metered("meter and exit"));
    assert_eq!(said.matches("critical path T").count(), 1, "{said}");
    assert!(said.contains("forks: 2") && said.contains("1 task had not ended"), "{said}");
}

/// Somebody has standard error locked, and does not go on.
#[cfg(all(target_os = "linux", not(locksley_portable)))]
#[test]
fn a_process_ends_though_standard_error_is_locked() {
    let output = run_metered("meter and keep the lock");
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("critical path T").count(), 1, "{said}");
}

fn run_metered(case: &str) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child", "--exact", "--nocapture"]).env(CASE, case).env("LOCKSLEY_METER", "1");
    child.env("LOCKSLEY_WORKERS", "2").output().unwrap()
}
