//! A word to block on (`man 2 futex`).

use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

use crate::primitive::AtomicU32;

/// A word that one thread may block on.
#[derive(Debug)]
pub struct Futex(AtomicU32);

impl Futex {
    /// A word with this value.
    #[must_use]
    pub fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }

    /// The word, for atomic operations.
    #[inline]
    pub fn word(&self) -> &AtomicU32 {
        &self.0
    }

    /// Blocks while the word is `expected`, until woken; may return for no reason.
    pub fn wait(&self, expected: u32) {
        #[cfg(all(feature = "stepped", debug_assertions, not(loom)))]
        crate::primitive::stepped::step();
        let _ = wait(self.0.as_ptr(), expected, None);
    }

    /// As [`wait`](Self::wait), but not for much longer than `most`.
    pub fn wait_at_most(&self, expected: u32, most: Duration) {
        #[cfg(all(feature = "stepped", debug_assertions, not(loom)))]
        crate::primitive::stepped::step();
        let _ = wait(self.0.as_ptr(), expected, Some(most));
    }

    /// Wakes the thread that waits, if there is one. The caller has changed the word before.
    pub fn wake(&self) {
        #[cfg(all(feature = "stepped", debug_assertions, not(loom)))]
        crate::primitive::stepped::step();
        wake(self.0.as_ptr());
    }
}

fn wait(word: *mut u32, expected: u32, most: Option<Duration>) -> libc::c_long {
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: all bits 0 is a time.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    let time = match most {
        None => ptr::null(),
        Some(most) => {
            time.tv_sec = most.as_secs().try_into().unwrap_or(libc::time_t::MAX);
            time.tv_nsec = most.subsec_nanos() as libc::c_long;
            &raw const time
        }
    };
    // SAFETY: the word is an aligned `u32` that outlives the call, since its owner waits here; the
    // kernel only reads it, and the time if there is one.
    unsafe { libc::syscall(libc::SYS_futex, word, operation, expected, time) }
}

fn wake(word: *mut u32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel uses the word's address as a name and does not touch what lies there.
    unsafe { libc::syscall(libc::SYS_futex, word, operation, 1) };
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
