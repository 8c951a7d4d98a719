//! How long threads waited for a processor (`schedstat`: the kernel's document sched-stats), and how long a quota kept them from one.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::fork::generation;
use super::watch::own_switches;

/// The time for which one thread could have run and did not, readable from any other while that thread lives.
#[derive(Debug)]
pub(crate) struct ThreadDelay {
    numbers: Option<Arc<Numbers>>,
    /// What it came to, once the thread has said that it ends.
    at_end: OnceLock<Option<Duration>>,
}

impl ThreadDelay {
    pub(crate) fn of_this_thread() -> Self {
        let numbers = with_own(|own| Arc::clone(&own.numbers));
        Self { numbers, at_end: OnceLock::new() }
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
        let numbers = self.numbers.as_ref()?;
        let open = || File::open(format!("/proc/self/task/{}/schedstat", numbers.thread)).ok();
        if !numbers.are_there() {
            return None;
        }
        match numbers.file.get() {
            Some(file) => told_by(file),
            None => numbers.told_by_new(open()?),
        }
    }
}

/// Where the kernel counts for one thread.
#[derive(Debug)]
struct Numbers {
    thread: libc::pid_t,
    /// In a child of the process the thread is not there, and an open file is still that of the parent's.
    generation: u32,
    /// Stays open once somebody has asked.
    file: OnceLock<File>,
}

impl Numbers {
    fn of_this_thread() -> Self {
        // SAFETY: no memory is involved.
        let thread = unsafe { libc::gettid() };
        Self { thread, generation: generation(), file: OnceLock::new() }
    }

    /// Nobody waits for another one who opens it, too: one of the two stays open. (Only while one of them stores it, an instant later.)
    fn told_by_new(&self, file: File) -> Option<Duration> {
        let told = told_by(&file);
        let _ = self.file.set(file);
        told
    }

    fn are_there(&self) -> bool {
        self.generation == generation()
    }
}

fn told_by(file: &File) -> Option<Duration> {
    // All that there is at once, so another one who reads does not come between two parts of it.
    let mut text = [0; 80];
    let length = file.read_at(&mut text, 0).ok()?;
    waited(std::str::from_utf8(&text[..length]).ok()?)
}

/// What the calling thread knows of its own numbers.
struct Own {
    numbers: Arc<Numbers>,
    /// What they said, and how often the thread had been switched out and in before.
    last: Option<((u64, u64), Option<Duration>)>,
}

thread_local! {
    /// Once somebody has asked for them.
    static OWN: RefCell<Option<Own>> = const { RefCell::new(None) };
}

/// `None` if the calling thread ends.
fn with_own<R>(what: impl FnOnce(&mut Own) -> R) -> Option<R> {
    OWN.try_with(|own| {
        let mut own = own.borrow_mut();
        match &mut *own {
            Some(own) if own.numbers.are_there() => what(own),
            other => {
                let numbers = Arc::new(Numbers::of_this_thread());
                what(other.insert(Own { numbers, last: None }))
            }
        }
    })
    .ok()
}

/// For how long the calling thread could have run and did not: one system call after the first time; or none, where the kernel [records](own_switches) that
/// the thread has had its processor ever since. `None` where the kernel does not count.
pub(crate) fn own_delay() -> Option<Duration> {
    with_own(|own| {
        // Before the numbers are read: a switch that comes in between is new the next time.
        let switches = own_switches();
        match own.last {
            Some((before, delay)) if Some(before) == switches => delay,
            _ => {
                let delay = own.read();
                own.last = switches.map(|switches| (switches, delay));
                delay
            }
        }
    })?
}

impl Own {
    fn read(&self) -> Option<Duration> {
        let open = || File::open("/proc/thread-self/schedstat").ok();
        match self.numbers.file.get() {
            Some(file) => told_by(file),
            None => self.numbers.told_by_new(open()?),
        }
    }
}

/// The second of the three numbers: on a processor, waiting for one, times on one. A thread that was never on a processor is one of a kernel that
/// does not count: then all three are 0.
fn waited(schedstat: &str) -> Option<Duration> {
    let mut numbers = schedstat.split_ascii_whitespace().skip(1).map(|it| it.parse().ok());
    let (nanos, times): (u64, u64) = (numbers.next()??, numbers.next()??);
    (times > 0).then(|| Duration::from_nanos(nanos))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::fs;

    use super::super::watch::ThreadWatch;
    use super::*;
    use crate::os::Assists;

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(waited("123 456 7\n"), Some(Duration::from_nanos(456)));
        for wrong in ["", "123", "123 x 7", "123 456", "0 0 0\n"] {
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

    /// Where it is known how often it was switched out and in, it asks only when that has changed; and it does not matter to what it says.
    #[test]
    fn a_thread_that_is_watched_knows_its_own() {
        let watched = || {
            let (delay, watch) =
                (ThreadDelay::of_this_thread(), ThreadWatch::of_this_thread(Assists::ALL));
            for _ in 0..100 {
                for _ in 0..3 {
                    let (before, own, after) = (delay.read(), own_delay(), delay.read());
                    assert!(before <= own && own <= after, "{before:?} {own:?} {after:?}");
                }
                std::thread::sleep(Duration::from_micros(10));
                std::thread::yield_now();
            }
            assert_eq!(own_switches().is_some(), watch.switches().is_some());
            watch.retire();
            assert_eq!(own_switches(), None);
            assert!(delay.read() <= own_delay());
        };
        std::thread::scope(|scope| drop(scope.spawn(watched)));
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
        // The kernel lets go of a thread a little after whoever joins it has learnt that it ends.
        let thread = unsaid.numbers.as_ref().unwrap().thread;
        while fs::exists(format!("/proc/self/task/{thread}")).unwrap() {
            std::thread::yield_now();
        }
        assert_eq!(unsaid.read(), None);
        assert_eq!(said.read().is_some(), ThreadDelay::of_this_thread().read().is_some());
    }
}
