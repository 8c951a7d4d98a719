//! Pools whose process is forbidden `membarrier` while they run, by a filter of system calls for
//! all its threads, as a sandbox sets one. Linux only.
//!
//! Each case runs in a child process, because the filter stays.

#![cfg(all(target_os = "linux", not(locksley_portable)))]

use std::hint::spin_loop;
use std::io::Error;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use locksley::os::Assists;
use locksley::{Pool, Worker};
use locksley_sys::os::heavy_barrier;

const CASE: &str = "LOCKSLEY_TEST_CASE";

/// Has each of these system calls of each thread fail with `EPERM`, for ever.
fn forbid(calls: &[libc::c_long]) -> Result<(), Error> {
    let load_number = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let skip_if_not = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let step = |code, jf, k| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let mut steps = vec![step(load_number, 0, 0)];
    for &call in calls {
        steps.push(step(skip_if_not, 1, call as u32));
        steps.push(step(libc::BPF_RET, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    }
    steps.push(step(libc::BPF_RET, 0, libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: no memory is involved.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    let (set, all_threads) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_TSYNC);
    // SAFETY: the kernel reads the program and its steps, which are there.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, set, all_threads, &raw const program) };
    if answer == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// A round for each `between`. With the second worker busy, forks until this worker's deque is
/// closed. Then has the second worker search, beside a first half that calls `between` until the
/// second half has run. In the first round forbids the `calls` before that; a barrier has failed
/// before the second one.
fn fork_beside_a_thief(calls: &[libc::c_long], rounds: &[&(dyn Fn(&Worker) + Sync)]) {
    let pool = Pool::builder().workers(2).assists(Assists::ALL).build().unwrap();
    let wait = |flag: &AtomicBool, between: &dyn Fn()| {
        let until = Instant::now() + Duration::from_secs(20);
        while !flag.load(Ordering::Acquire) {
            assert!(Instant::now() < until, "no worker has come");
            between();
        }
    };
    for (round, between) in rounds.iter().enumerate() {
        let _ = heavy_barrier();
        let [is_busy, may_search, has_run] = [const { AtomicBool::new(false) }; 3];
        pool.install(|worker| {
            locksley::in_place_scope(|scope| {
                scope.spawn(|_| {
                    is_busy.store(true, Ordering::Release);
                    wait(&may_search, &std::thread::yield_now);
                });
                wait(&is_busy, &std::thread::yield_now);
                for _ in 0..10_000 {
                    worker.join(|_| (), |_| ());
                }
                match if round == 0 { forbid(calls) } else { Ok(()) } {
                    Ok(()) => println!("forbidden"),
                    Err(why) => println!("not tried: {why}"),
                }
                let first = |worker: &Worker| {
                    may_search.store(true, Ordering::Release);
                    wait(&has_run, &|| between(worker));
                };
                worker.join(first, |_| has_run.store(true, Ordering::Release));
            });
        });
    }
    println!("done");
}

/// The code that the other tests run in another process. Does nothing as a test.
#[test]
fn child() {
    let spin = |_: &Worker| spin_loop();
    match std::env::var(CASE).as_deref() {
        Ok("membarrier") => fork_beside_a_thief(&[libc::SYS_membarrier], &[&spin]),
        Ok("affinity") => {
            // Without affinity, a new thread may run on the owner's processor by chance.
            let affinity = [libc::SYS_sched_setaffinity, libc::SYS_clone, libc::SYS_clone3];
            let calls = [&[libc::SYS_membarrier][..], &affinity].concat();
            fork_beside_a_thief(&calls, &[&|worker| _ = worker.join(|_| (), |_| ()), &spin]);
        }
        _ => {}
    }
}

fn is_done_in_a_child(case: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(["child", "--exact", "--nocapture"]).env(CASE, case).output().unwrap();
    let text =
        String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned();
    if text.contains("not tried") {
        locksley_sys::skip_test(text.trim());
    }
    assert!(output.status.success() && text.contains("done"), "{text}");
}

/// Law 2: the half is reachable, although its deque is closed and no thief can make a barrier.
#[test]
fn without_membarrier_a_thief_takes_a_half_from_a_closed_deque() {
    is_done_in_a_child("membarrier");
}

/// The thief cannot run on the owner's processor either. The owner's next push opens its deque, and
/// no deque is closed after that.
#[test]
fn without_affinity_too_the_next_fork_gives_the_half_away() {
    is_done_in_a_child("affinity");
}
