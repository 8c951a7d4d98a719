//! A stack overflow on any thread of a pool ends the process with a message that names the thread.
//! The standard library prints it for the threads that it creates.

#![cfg(target_os = "linux")]

use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;

use locksley::{Pool, Spawn, Worker, WorkerThread};

const CASE: &str = "LOCKSLEY_TEST_OVERFLOW";

/// Uses up the stack.
fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { recurse(depth + 1) + frame[63] }
}

/// Uses up the stack by joins, which nest on the thread that begins them.
fn join_deeply(worker: &Worker, depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    let (deeper, _) = worker.join(|worker| join_deeply(worker, depth + 1), |_| ());
    deeper + frame[63]
}

/// Overflows the stack of the thread that the case names.
fn overflow(case: &str) {
    let overflow = |_: &Worker| _ = black_box(recurse(0));
    match case {
        "locksley-1" => Pool::new(2).unwrap().spawn_with(Spawn::At(1), overflow),
        "painter 0" => {
            let builder = Pool::builder().workers(1).own_threads_only();
            let builder = builder.thread_name(|index| format!("painter {index}"));
            _ = builder.build().unwrap().install(|worker| join_deeply(worker, 0));
        }
        "locksley-0'" => {
            let pool = Pool::new(1).unwrap();
            pool.install(|_| {
                let (end, ended) = channel::<()>();
                locksley::spawn(move || {
                    _ = black_box(recurse(0));
                    drop(end);
                });
                locksley::blocking(|| ended.recv())
            })
            .unwrap_err();
        }
        "of the program" => {
            let spawn = |worker: WorkerThread| {
                thread::Builder::new().name(case.to_owned()).spawn(|| worker.run()).map(drop)
            };
            let pool = Pool::builder().workers(1).build_with(spawn).unwrap();
            pool.install(overflow);
        }
        "borrowed" => {
            let borrowed = thread::Builder::new().name(case.to_owned()).spawn(move || {
                let pool = Pool::builder().workers(2).with_current_thread().build().unwrap();
                pool.install(|worker| join_deeply(worker, 0))
            });
            _ = borrowed.unwrap().join();
        }
        _ => panic!("there is no case {case}"),
    }
}

/// The code that the test runs in another process. Does nothing as a test.
#[test]
fn child() {
    if let Ok(case) = std::env::var(CASE) {
        overflow(&case);
    }
}

#[test]
fn a_stack_overflow_is_named_as_such_with_its_thread() {
    for case in ["locksley-1", "painter 0", "locksley-0'", "of the program", "borrowed"] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["child", "--exact", "--nocapture"]).env(CASE, case);
        let output = child.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        let is_named = |line: &str| {
            line.starts_with(&format!("thread '{case}'"))
                && line.ends_with("has overflowed its stack")
        };
        assert!(text.lines().any(is_named), "{case}: {text}");
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{case}: {text}");
    }
}
