//! Processor time of threads and of the process (`man 2 clock_gettime`).

use std::time::Duration;

use super::affinity::on_a_throwaway_thread;
use super::last_error;

/// The processor time of one thread, readable from any other while that thread lives.
#[derive(Debug)]
pub struct ThreadClock(Option<libc::clockid_t>);

impl ThreadClock {
    /// That of the calling thread.
    pub fn of_this_thread() -> Self {
        let mut clock = libc::CLOCK_THREAD_CPUTIME_ID;
        // SAFETY: no memory is involved.
        let this_thread = unsafe { libc::pthread_self() };
        // SAFETY: the calling thread exists; one clock number is written, to where there is room.
        let answer = unsafe { libc::pthread_getcpuclockid(this_thread, &raw mut clock) };
        Self((answer == 0).then_some(clock))
    }

    /// `None` when the thread has ended.
    pub fn read(&self) -> Option<Duration> {
        read(self.0?)
    }
}

/// The processor time of all threads of this process, ended ones included.
pub fn process_time() -> Option<Duration> {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// A clock that is the same in all processes of a time namespace.
pub(crate) fn monotonic_time() -> Duration {
    read(libc::CLOCK_MONOTONIC).unwrap_or_default()
}

fn read(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one `timespec`, for which there is room.
    let answer = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (answer == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

pub(crate) fn probe() -> Result<(), String> {
    let clock = ThreadClock::of_this_thread();
    on_a_throwaway_thread(move || clock.read().map(drop).ok_or_else(last_error))
}
