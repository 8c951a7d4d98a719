//! The promises of rayon-core's documentation that no other test of this package covers.
//! `GUARANTEES.md` has the list of all promises, and names the test of each.

#[path = "guarantees/calls.rs"]
mod calls;
#[path = "guarantees/numbers.rs"]
mod numbers;
#[path = "guarantees/place.rs"]
mod place;
#[path = "guarantees/pools.rs"]
mod pools;
#[cfg(target_os = "linux")]
#[path = "guarantees/system.rs"]
mod system;

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rayon_core::{ThreadPool, ThreadPoolBuilder, current_num_threads, current_thread_index};

const CASE: &str = "RAYON_CORE_TEST_GUARANTEE";

fn builder(threads: usize) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().num_threads(threads)
}

fn pool(threads: usize) -> ThreadPool {
    builder(threads).build().unwrap()
}

/// Fails if `program` does not end within a minute, or panics.
#[track_caller]
fn assert_ends(program: impl FnOnce() + Send + 'static) {
    let (ended, end) = channel();
    let program = thread::spawn(move || {
        program();
        ended.send(()).unwrap();
    });
    match end.recv_timeout(Duration::from_secs(60)) {
        Ok(()) => {}
        Err(RecvTimeoutError::Timeout) => panic!("it has stopped"),
        Err(RecvTimeoutError::Disconnected) => resume_unwind(program.join().unwrap_err()),
    }
}

/// Waits until `is_so` returns true.
fn until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not happen");
        thread::yield_now();
    }
}

/// Keeps the calling thread busy.
fn spin(micros: u64) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_micros(micros) {
        std::hint::spin_loop();
    }
}

/// The number with which `call` panics.
fn panic_of<R>(call: impl FnOnce() -> R) -> Option<u32> {
    let payload = catch_unwind(AssertUnwindSafe(call)).err()?;
    Some(*payload.downcast().unwrap())
}

/// Calls `item` with each number of the range, as a parallel iterator does: in halves.
fn for_each(range: Range<u32>, item: &(impl Fn(u32) + Sync)) {
    let middle = range.start.midpoint(range.end);
    match range.len() {
        0 => {}
        1 => item(range.start),
        _ => {
            let (left, right) = (range.start..middle, middle..range.end);
            rayon_core::join(|| for_each(left, item), || for_each(right, item));
        }
    }
}

/// Runs the case in a process of its own. Returns the output, and whether the process succeeded.
fn child(case: &str) -> (String, bool) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child_process", "--exact", "--nocapture"]).env(CASE, case);
    for variable in ["LOCKSLEY_WORKERS", "RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"] {
        child.env_remove(variable);
    }
    let output = child.output().unwrap();
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (String::from_utf8_lossy(&text).into_owned(), output.status.success())
}

/// Not a test of its own: what the other tests run in another process.
#[test]
fn child_process() {
    let forever = || loop {
        thread::park();
    };
    match std::env::var(CASE).as_deref() {
        Ok("locksley builds the global pool") => {
            locksley::join(|| (), || ());
            place::while_local_is_borrowed(place::call_global_pool);
            println!("all in the pool");
        }
        Ok("a pool is built and used") => {
            let pool = pool(2);
            for _ in 0..20 {
                pool.install(|| spin(5));
                let began = Instant::now();
                // Returns at once if the thread has been unparked.
                thread::park_timeout(Duration::from_millis(5));
                assert!(began.elapsed() >= Duration::from_millis(4), "unparked");
            }
            // Another thread's park is ended by the program alone, whatever the pool does.
            for _ in 0..20 {
                thread::current().unpark();
                drop(self::pool(1));
                pool.install(|| thread::sleep(Duration::from_millis(1)));
                let began = Instant::now();
                thread::park_timeout(Duration::from_secs(10));
                assert!(began.elapsed() < Duration::from_secs(10), "a token was taken");
                let parked = pool.install(|| {
                    drop(self::pool(1));
                    let began = Instant::now();
                    thread::park_timeout(Duration::from_millis(5));
                    began.elapsed()
                });
                assert!(parked >= Duration::from_millis(4), "a worker was unparked");
            }
            println!("no token was left");
        }
        #[cfg(target_os = "linux")]
        Ok("no file can be opened") => system::without_descriptors(),
        Ok("a spawned task panics") => {
            pool(1).spawn(|| panic!("of the task"));
            forever();
        }
        Ok("a spawned task of the global pool panics") => {
            rayon_core::spawn(|| panic!("of the task"));
            forever();
        }
        Ok("a spawned task panics in a global pool that Locksley has built") => {
            assert_eq!(locksley::join(|| 1, || 2), (1, 2));
            rayon_core::spawn_fifo(|| panic!("of the task"));
            forever();
        }
        Ok("a spawned task panics on a pool of Locksley's") => {
            let pool = locksley::Pool::new(1).unwrap();
            pool.install(|_| rayon_core::spawn(|| panic!("of the task")));
            forever();
        }
        Ok("a broadcast task panics on a pool of Locksley's") => {
            let pool = locksley::Pool::new(1).unwrap();
            pool.install(|_| rayon_core::spawn_broadcast(|_| panic!("of the task")));
            forever();
        }
        Ok("a dropped handle's task panics") => {
            drop(locksley::task::spawn(async { panic!("of the task") }));
            pool(1).spawn(|| std::process::exit(0));
            forever();
        }
        Ok("a broadcast task panics") => {
            pool(1).spawn_broadcast(|_| panic!("of the task"));
            forever();
        }
        Ok("the panic handler panics") => {
            let handler = |_| panic!("of the handler");
            let pool = builder(1).panic_handler(handler).build().unwrap();
            pool.spawn(|| panic!("of the task"));
            forever();
        }
        Ok("the start handler panics") => {
            let _pool = builder(1).start_handler(|_| panic!("of the handler")).build().unwrap();
            forever();
        }
        _ => {}
    }
}

#[test]
fn the_list_of_promises_names_tests_that_exist() {
    let tests = [
        ("calls", include_str!("guarantees/calls.rs")),
        ("coexistence", include_str!("coexistence.rs")),
        ("interface", include_str!("interface.rs")),
        ("numbers", include_str!("guarantees/numbers.rs")),
        ("place", include_str!("guarantees/place.rs")),
        ("pools", include_str!("guarantees/pools.rs")),
        ("system", include_str!("guarantees/system.rs")),
        ("waits", include_str!("waits.rs")),
    ];
    let mut named = 0;
    for code in include_str!("../GUARANTEES.md").split('`') {
        let Some((module, name)) = code.split_once("::").filter(|(_, name)| !name.is_empty())
        else {
            continue;
        };
        if let Some((_, text)) = tests.iter().find(|(known, _)| *known == module) {
            assert!(text.contains(&format!("fn {name}()")), "there is no test {code}");
            named += 1;
        }
    }
    assert!(named > 50);
}
