//! A word to block on (`man 2 futex`).

use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

use crate::primitive::AtomicU32;

/// A word that one thread may block on.
#[derive(Debug, Default)]
pub struct Futex {
    /// The word, for atomic operations.
    pub word: AtomicU32,
}

impl Futex {
    /// Blocks while the word is `expected`, until woken, or for about `timeout`. May return
    /// spuriously.
    pub fn wait(&self, expected: u32, timeout: Option<Duration>) {
        #[cfg(all(feature = "stepped", debug_assertions, not(loom)))]
        crate::primitive::stepped::step();
        let _ = wait(self.word.as_ptr(), expected, timeout);
    }

    /// Wakes the thread that waits, if there is one. The caller has changed the word before.
    pub fn wake(&self) {
        #[cfg(all(feature = "stepped", debug_assertions, not(loom)))]
        crate::primitive::stepped::step();
        let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the kernel uses the word's address as a name and does not touch what lies there.
        unsafe { libc::syscall(libc::SYS_futex, self.word.as_ptr(), operation, 1) };
    }
}

fn wait(word: *mut u32, expected: u32, timeout: Option<Duration>) -> libc::c_long {
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let time = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos() as libc::c_long,
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the word is an aligned `u32` that outlives the call, since its owner waits here; the
    // kernel only reads it, and the time if there is one.
    unsafe { libc::syscall(libc::SYS_futex, word, operation, expected, time) }
}

pub(crate) fn probe() -> Result<(), String> {
    static PROBE: OnceLock<Result<(), String>> = OnceLock::new();
    let probe = || {
        let word = std::sync::atomic::AtomicU32::new(0);
        // The word is not 1, so a kernel that knows the call says at once that it would have to
        // wait.
        let answer = wait(word.as_ptr(), 1, None);
        let error = std::io::Error::last_os_error();
        match (answer, error.raw_os_error()) {
            (-1, Some(libc::EAGAIN)) => Ok(()),
            _ => Err(error.to_string()),
        }
    };
    PROBE.get_or_init(probe).clone()
}
