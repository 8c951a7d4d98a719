//! How long threads waited for a processor (`schedstat`: the kernel's document sched-stats), and
//! how long a quota kept them from one.

use std::sync::OnceLock;
use std::time::Duration;

use super::fork::generation;
use super::{file, this_thread};

/// The time for which one thread could have run and did not, readable from any other while that
/// thread lives.
#[derive(Debug)]
pub struct ThreadDelay {
    thread: libc::pid_t,
    /// In a child of the process the thread is not there.
    generation: u32,
    /// What it came to, once the thread has said that it ends.
    at_end: OnceLock<Option<Duration>>,
}

impl ThreadDelay {
    /// That of the calling thread.
    pub fn of_this_thread() -> Self {
        Self { thread: this_thread(), generation: generation(), at_end: OnceLock::new() }
    }

    /// `None` where the kernel does not count, and when the thread has ended without
    /// [`retire`](Self::retire), unless a later thread of this process has the same number.
    pub fn read(&self) -> Option<Duration> {
        self.at_end.get().map_or_else(|| self.read_now(), |&at_end| at_end)
    }

    /// Keeps the value that it has now: the thread is about to end.
    pub fn retire(&self) {
        self.at_end.get_or_init(|| self.read_now());
    }

    fn read_now(&self) -> Option<Duration> {
        if self.generation != generation() {
            return None;
        }
        let mut buffer = [0; 80];
        let text = file::read_of_thread(self.thread, "schedstat", &mut buffer).ok()?;
        waited(std::str::from_utf8(text).ok()?)
    }
}

/// The second of the three numbers: on a processor, waiting for one, times on one. A thread that
/// was never on a processor is one of a kernel that does not count: then all three are 0.
fn waited(schedstat: &str) -> Option<Duration> {
    let mut numbers = schedstat.split_ascii_whitespace().skip(1).map(|it| it.parse().ok());
    let (nanos, times): (u64, u64) = (numbers.next()??, numbers.next()??);
    (times > 0).then(|| Duration::from_nanos(nanos))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(waited("123 456 7\n"), Some(Duration::from_nanos(456)));
        for wrong in ["", "123", "123 x 7", "123 456", "0 0 0\n"] {
            assert_eq!(waited(wrong), None);
        }
    }

    #[test]
    fn it_does_not_shrink() {
        let delay = ThreadDelay::of_this_thread();
        let (before, after) = (delay.read(), delay.read());
        let is_counted = fs::read_to_string("/proc/thread-self/schedstat")
            .is_ok_and(|numbers| numbers.trim() != "0 0 0");
        assert_eq!((before.is_some(), after.is_some()), (is_counted, is_counted));
        assert!(before <= after, "{before:?} {after:?}");
    }

    #[test]
    fn it_is_known_of_a_thread_that_has_said_that_it_ends() {
        let (said, unsaid) = std::thread::spawn(|| {
            let [said, unsaid] = [(); 2].map(|()| ThreadDelay::of_this_thread());
            said.retire();
            (said, unsaid)
        })
        .join()
        .unwrap();
        // The kernel lets go of a thread a little after it was joined.
        let thread = unsaid.thread;
        while fs::exists(format!("/proc/self/task/{thread}")).unwrap() {
            std::thread::yield_now();
        }
        assert_eq!(unsaid.read(), None);
        assert_eq!(said.read().is_some(), ThreadDelay::of_this_thread().read().is_some());
    }
}
