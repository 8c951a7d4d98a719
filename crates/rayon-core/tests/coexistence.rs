//! Programs that use Locksley by its own name, and rayon beside it: they share the global pool, and
//! its number of workers is that of the library that builds it. Each case is a process of its own,
//! since the environment and the global pool are of the whole process.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;
use rayon_core::{ThreadPoolBuilder, current_num_threads};

const CASE: &str = "RAYON_CORE_TEST_CASE";
const VARIABLES: [&str; 3] = ["LOCKSLEY_WORKERS", "RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"];

/// Runs this file's `child` in a process of its own, and returns what it printed.
fn child_says(case: &str, variables: &[(&str, &str)]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child", "--exact", "--nocapture"]).env(CASE, case);
    for variable in VARIABLES {
        child.env_remove(variable);
    }
    child.envs(variables.iter().copied());
    let output = child.output().unwrap();
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// Not a test of its own: what the other tests run in another process.
#[test]
fn child() {
    let thread = || thread::current().id();
    match std::env::var(CASE).as_deref() {
        Ok("locksley first") => {
            println!("workers={}={}", Pool::global().workers(), current_num_threads());
        }
        Ok("rayon first") => {
            println!("workers={}={}", current_num_threads(), Pool::global().workers());
        }
        Ok("a pool of its own") => {
            let pool = ThreadPoolBuilder::new().build();
            println!("workers={:?}", pool.map(|pool| pool.current_num_threads()));
        }
        Ok("locksley alone") => println!("workers={}", Pool::global().workers()),
        Ok("many first") => {
            let ask = || thread::spawn(current_num_threads);
            let all: Vec<_> = (0..8).map(|_| ask()).collect();
            let all = all.into_iter().map(|it| it.join().unwrap());
            let global = Pool::global().workers();
            println!("all {}", all.filter(|&workers| workers == global).count());
        }
        Ok("asked for") => {
            let pool = ThreadPoolBuilder::new().num_threads(7).build().unwrap();
            println!("workers={}", pool.current_num_threads());
        }
        Ok("same threads") => {
            let threads = Pool::global().broadcast(|_| thread());
            assert_eq!(threads, rayon_core::broadcast(|_| thread()));
            // Each is at home in the other's tasks.
            let nested =
                rayon_core::scope(|_| locksley::join(thread, rayon_core::current_num_threads));
            assert!(threads.contains(&nested.0));
            println!("the same {}", threads.len());
        }
        Ok("built by locksley") => {
            Pool::builder().workers(3).build_global().unwrap();
            let again = ThreadPoolBuilder::new().num_threads(4).build_global();
            println!("{} {}", current_num_threads(), again.unwrap_err());
        }
        Ok("built by rayon") => {
            static STARTED: AtomicUsize = AtomicUsize::new(0);
            let use_the_pool = |_| {
                rayon_core::join(|| (), || ());
                STARTED.fetch_add(1, Ordering::Relaxed);
            };
            let builder = ThreadPoolBuilder::new().num_threads(3).start_handler(use_the_pool);
            builder.build_global().unwrap();
            let began = Instant::now();
            while STARTED.load(Ordering::Relaxed) < 3 {
                assert!(began.elapsed() < Duration::from_secs(20));
                thread::yield_now();
            }
            let again = Pool::builder().workers(4).build_global();
            println!("{} {}", Pool::global().workers(), again.unwrap_err());
        }
        Ok("used by locksley") => {
            locksley::join(|| (), || ());
            let late = ThreadPoolBuilder::new().num_threads(4).build_global();
            println!("{}", late.unwrap_err());
        }
        _ => {}
    }
}

#[track_caller]
fn assert_workers(variables: &[(&str, &str)], expected: usize) {
    let says = child_says("rayon first", variables);
    assert!(says.contains(&format!("workers={expected}={expected}\n")), "{says}");
    let says = child_says("a pool of its own", variables);
    assert!(says.contains(&format!("workers=Ok({expected})\n")), "{says}");
    let says = child_says("asked for", variables);
    assert!(says.contains("workers=7\n"), "{says}");
}

#[test]
fn each_variable_counts() {
    for variable in VARIABLES {
        assert_workers(&[(variable, "5")], 5);
    }
}

/// Rayon's variables say nothing about a pool that Locksley builds, although rayon is linked.
#[test]
fn a_pool_of_locksleys_has_the_size_that_locksley_chooses() {
    let workers = |variables: &[(&str, &str)]| {
        let says = child_says("locksley alone", variables);
        let (_, number) = says.split_once("workers=").unwrap();
        number.lines().next().unwrap().parse::<usize>().unwrap()
    };
    let default = workers(&[]);
    let number = (default + 3).to_string();
    assert_eq!(workers(&[("RAYON_NUM_THREADS", &number), ("RAYON_RS_NUM_CPUS", &number)]), default);
    assert_eq!(workers(&[("LOCKSLEY_WORKERS", &number)]), default + 3);
    let says = child_says("locksley first", &[("RAYON_NUM_THREADS", &number)]);
    assert!(says.contains(&format!("workers={default}={default}\n")), "{says}");
}

#[test]
fn threads_that_use_the_global_pool_first_at_once_share_it() {
    let says = child_says("many first", &[("RAYON_NUM_THREADS", "3")]);
    assert!(says.contains("all 8\n"), "{says}");
}

#[test]
fn locksleys_variable_wins_and_then_the_newer_of_rayons() {
    assert_workers(&[("LOCKSLEY_WORKERS", "3"), ("RAYON_NUM_THREADS", "5")], 3);
    assert_workers(&[("RAYON_NUM_THREADS", "5"), ("RAYON_RS_NUM_CPUS", "6")], 5);
}

#[test]
fn a_wrong_value_of_rayons_is_passed_over_as_rayon_does() {
    let processors = locksley::os::Processors::allowed().count();
    for wrong in ["many", "-1", ""] {
        assert_workers(&[("RAYON_NUM_THREADS", wrong)], processors);
        assert_workers(&[("RAYON_NUM_THREADS", wrong), ("RAYON_RS_NUM_CPUS", "4")], 4);
    }
    assert_workers(&[("RAYON_NUM_THREADS", "0"), ("RAYON_RS_NUM_CPUS", "4")], processors);
    assert_workers(&[("RAYON_RS_NUM_CPUS", "0")], processors);
}

#[test]
fn a_wrong_value_of_locksleys_is_an_error() {
    let variables = [("LOCKSLEY_WORKERS", "many"), ("RAYON_NUM_THREADS", "5")];
    let says = child_says("a pool of its own", &variables);
    assert!(says.contains("workers=Err("), "{says}");
    assert!(child_says("rayon first", &variables).contains("LOCKSLEY_WORKERS must be"));
    assert!(
        child_says("asked for", &variables).contains("workers=7\n"),
        "the variable is not read"
    );
}

#[test]
fn there_is_one_global_pool() {
    let says = child_says("same threads", &[("LOCKSLEY_WORKERS", "4")]);
    assert!(says.contains("the same 4\n"), "{says}");
    let says = child_says("built by locksley", &[]);
    assert!(says.contains("3 The global thread pool has already been initialized.\n"), "{says}");
    let says = child_says("built by rayon", &[]);
    assert!(says.contains("3 the global pool exists already\n"), "{says}");
    let says = child_says("used by locksley", &[]);
    assert!(says.contains("The global thread pool has already been initialized.\n"), "{says}");
}
