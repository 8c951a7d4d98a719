//! Child processes, and how they end.

use std::io::{PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Serializes the tests: none builds a pool while another one forks.
static ALONE: Mutex<()> = Mutex::new(());

pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With this code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// Killed by the test after a timeout.
    Hung,
}

/// Runs `what` in a forked child. The child exits with the code that it returns, or with 101 if it
/// panics.
pub(crate) fn in_a_child(what: impl FnOnce() -> i32) -> End {
    match fork_and_go_on() {
        0 => exit_with(catch_unwind(AssertUnwindSafe(what)).unwrap_or(101)),
        child => end_of(child),
    }
}

/// Forks and returns in both processes: the child's number in the parent, 0 in the child.
pub(crate) fn fork_and_go_on() -> libc::pid_t {
    // SAFETY: the child uses only what the C library keeps valid in children, and ends without the
    // parent's destructors.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    child
}

/// Ends the process, without destructors.
pub(crate) fn exit_with(code: i32) -> ! {
    // SAFETY: no memory is involved.
    unsafe { libc::_exit(code) }
}

/// Captures a child's standard error.
pub(crate) struct Said(PipeReader, Option<PipeWriter>);

impl Said {
    pub(crate) fn new() -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        Self(reader, Some(writer))
    }

    /// Called in the child.
    pub(crate) fn listens(&self) {
        let writer = self.1.as_ref().expect("the parent has not closed it");
        // SAFETY: both are open files; the second one is nothing but the process's standard error.
        assert_eq!(unsafe { libc::dup2(writer.as_raw_fd(), 2) }, 2);
    }

    /// The whole output of the child, after it has ended.
    pub(crate) fn all(mut self) -> String {
        self.1 = None;
        let mut said = String::new();
        self.0.read_to_string(&mut said).unwrap();
        said
    }
}

/// Waits for a child, and kills it after a timeout.
pub(crate) fn end_of(child: libc::pid_t) -> End {
    let patience = Instant::now() + Duration::from_secs(30);
    loop {
        let mut status = 0;
        // SAFETY: this process has not waited for the child yet; `status` is valid for the write.
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        match ended {
            0 if Instant::now() > patience => {
                // SAFETY: the child has not been waited for, so its number is still its own.
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

#[test]
fn the_harness_reports_how_a_child_ends() {
    let _alone = alone();
    assert_eq!(in_a_child(|| 7), End::Exit(7));
    assert_eq!(in_a_child(|| panic!("in a child")), End::Exit(101));
    assert_eq!(in_a_child(|| std::process::abort()), End::Signal(libc::SIGABRT));
}
