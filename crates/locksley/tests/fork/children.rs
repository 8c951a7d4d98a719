//! Child processes, and how they end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use locksley::{Pool, Worker};

/// Nobody builds a pool while somebody else forks.
static ALONE: Mutex<()> = Mutex::new(());

pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With that code.
    Exit(i32),
    /// By that signal.
    Signal(i32),
    /// It had to be killed.
    Hung,
}

/// Runs `what` in a child of this process, which ends with the code that it returns, or with 101 if it panics.
pub(crate) fn in_a_child(what: impl FnOnce() -> i32) -> End {
    // SAFETY: the child uses what the C library keeps whole in children, and ends without the parent's destructors.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        let code = catch_unwind(AssertUnwindSafe(what)).unwrap_or(101);
        // SAFETY: ends the process.
        unsafe { libc::_exit(code) };
    }
    end_of(child)
}

/// Waits for a child, for some time.
pub(crate) fn end_of(child: libc::pid_t) -> End {
    let patience = Instant::now() + Duration::from_secs(30);
    loop {
        let mut status = 0;
        // SAFETY: the child is ours, and has not been waited for; a status is written to where there is room.
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        match ended {
            0 if Instant::now() > patience => {
                // SAFETY: a child that has not been waited for is there.
                unsafe { libc::kill(child, libc::SIGKILL) };
                // SAFETY: as above.
                unsafe { libc::waitpid(child, &raw mut status, 0) };
                return End::Hung;
            }
            0 => thread::sleep(Duration::from_millis(1)),
            _ if libc::WIFEXITED(status) => return End::Exit(libc::WEXITSTATUS(status)),
            _ => return End::Signal(libc::WTERMSIG(status)),
        }
    }
}

/// Forks and returns in both processes: the child's number in the parent.
pub(crate) fn fork_and_go_on() -> i32 {
    // SAFETY: as in `in_a_child`.
    unsafe { libc::fork() }
}

/// Runs `what` on a worker, which forks when it calls what it is given. In both processes the worker goes on: the child ends with the
/// number that `what` returns there.
pub(crate) fn end_of_a_child_that_goes_on(what: impl Fn(&Worker, &dyn Fn()) -> i32 + Sync) -> End {
    let pool = Pool::new(1).unwrap();
    let child = pool.run(|w| {
        let child = AtomicI32::new(-1);
        let number = what(w, &|| child.store(fork_and_go_on(), Ordering::Release));
        match child.into_inner() {
            // SAFETY: ends the process.
            0 => unsafe { libc::_exit(number) },
            child => child,
        }
    });
    assert!(child > 0);
    end_of(child)
}

#[test]
fn the_harness_sees_how_a_child_ends() {
    let _alone = alone();
    assert_eq!(in_a_child(|| 7), End::Exit(7));
    assert_eq!(in_a_child(|| panic!("in a child")), End::Exit(101));
    assert_eq!(in_a_child(|| std::process::abort()), End::Signal(libc::SIGABRT));
}
