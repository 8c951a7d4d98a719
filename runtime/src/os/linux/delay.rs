//! How long threads waited for a processor (`schedstat`: the kernel's document sched-stats), and how long a quota kept them from one.

use std::cell::OnceCell;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::time::Duration;

/// The time for which one thread could have run and did not, readable from any other while that thread lives.
#[derive(Debug)]
pub(crate) struct ThreadDelay {
    thread: libc::pid_t,
    /// What it came to, once the thread has said that it ends.
    at_end: OnceLock<Option<Duration>>,
}

impl ThreadDelay {
    pub(crate) fn of_this_thread() -> Self {
        // SAFETY: no memory is involved.
        let thread = unsafe { libc::gettid() };
        Self { thread, at_end: OnceLock::new() }
    }

    /// `None` where the kernel does not count, and when the thread has ended without a word.
    pub(crate) fn read(&self) -> Option<Duration> {
        self.at_end.get().map_or_else(|| self.read_now(), |&at_end| at_end)
    }

    /// The thread is about to end.
    pub(crate) fn retire(&self) {
        self.at_end.get_or_init(|| self.read_now());
    }

    fn read_now(&self) -> Option<Duration> {
        waited(&fs::read_to_string(format!("/proc/self/task/{}/schedstat", self.thread)).ok()?)
    }
}

thread_local! {
    /// The calling thread's own numbers, once it has asked for them; nothing where they cannot be had.
    static OWN: OnceCell<Option<File>> = const { OnceCell::new() };
}

/// For how long the calling thread could have run and did not: one system call after the first time. `None` where the kernel does not count.
pub(crate) fn own_delay() -> Option<Duration> {
    let read = |file: &File| {
        let mut text = [0; 80];
        let length = file.read_at(&mut text, 0).ok()?;
        waited(std::str::from_utf8(&text[..length]).ok()?)
    };
    let open = || File::open("/proc/thread-self/schedstat").ok();
    OWN.try_with(|own| own.get_or_init(open).as_ref().and_then(read)).ok()?
}

/// The second of the three numbers: on a processor, waiting for one, times on one.
fn waited(schedstat: &str) -> Option<Duration> {
    let nanos = schedstat.split_ascii_whitespace().nth(1)?;
    nanos.parse().ok().map(Duration::from_nanos)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(waited("123 456 7\n"), Some(Duration::from_nanos(456)));
        for wrong in ["", "123", "123 x 7"] {
            assert_eq!(waited(wrong), None);
        }
    }

    /// As others see it: between two looks of theirs.
    #[test]
    fn a_thread_knows_its_own() {
        let delay = ThreadDelay::of_this_thread();
        for _ in 0..3 {
            let (before, own, after) = (delay.read(), own_delay(), delay.read());
            assert!(before <= own && own <= after, "{before:?} {own:?} {after:?}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn it_does_not_shrink() {
        let delay = ThreadDelay::of_this_thread();
        let (before, after) = (delay.read(), delay.read());
        let is_counted = fs::exists("/proc/self/schedstat").unwrap();
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
        assert_eq!(unsaid.read(), None);
        assert_eq!(said.read().is_some(), ThreadDelay::of_this_thread().read().is_some());
    }
}
