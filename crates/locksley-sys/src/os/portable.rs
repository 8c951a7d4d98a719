//! The fallback: the standard library alone, on any system that it supports.

use std::sync::OnceLock;
use std::thread::{self, Thread};
use std::time::Duration;

use super::{Assists, LimitFault, LoggedSwitch, Progress, Quota, RunState};
use crate::primitive::{AtomicU32, Ordering, fence};

/// A word that one thread may block on.
#[derive(Debug, Default)]
pub struct Futex {
    pub word: AtomicU32,
    waiter: OnceLock<Thread>,
}

impl Futex {
    pub fn wait(&self, expected: u32, timeout: Option<Duration>) {
        self.waiter.get_or_init(thread::current);
        // Pairs with the fence in `wake`: either that finds this thread, or the new word is seen.
        fence(Ordering::SeqCst);
        if self.word.load(Ordering::Acquire) == expected {
            timeout.map_or_else(thread::park, thread::park_timeout);
        }
    }

    pub fn wake(&self) {
        fence(Ordering::SeqCst);
        if let Some(thread) = self.waiter.get() {
            thread.unpark();
        }
    }
}

/// What only Linux tells of a thread or a process.
#[derive(Debug)]
pub struct Unknown;

pub type QuotaWatch = Unknown;
pub type ThreadAffinity = Unknown;
pub type ThreadClock = Unknown;
pub type ThreadDelay = Unknown;
pub type ThreadWatch = Unknown;

/// Nothing: new threads keep what they take over.
#[derive(Clone, Debug)]
pub struct ThreadSettings;

impl ThreadSettings {
    pub fn of_this_thread() -> Self {
        Self
    }

    pub fn apply(&self) {}
}

/// Reads nothing: no thread's progress is known here.
#[derive(Debug)]
pub struct ThreadProgress;

impl ThreadProgress {
    pub fn of_this_thread() -> Self {
        Self
    }

    pub fn read(&self) -> Option<Progress> {
        None
    }
}

/// Never made here.
#[derive(Debug)]
pub enum SwitchLog {}

impl SwitchLog {
    pub fn of_this_thread() -> Result<Self, String> {
        Err("not known on this system".to_owned())
    }

    pub fn new_switches(&mut self) -> impl Iterator<Item = LoggedSwitch> + '_ {
        std::iter::empty()
    }

    pub fn has_new(&self) -> bool {
        match *self {}
    }
}

impl Unknown {
    pub fn of_this_process() -> Self {
        Self
    }

    pub fn of_this_thread() -> Self {
        Self
    }

    pub fn with_assists(_assists: Assists) -> Self {
        Self
    }

    pub fn quota(&self) -> (Option<Quota>, Vec<LimitFault>) {
        (None, Vec::new())
    }

    pub fn periods_used_up(&self, _quota: &Quota) -> Option<u64> {
        None
    }

    pub fn count_union<'a>(_threads: impl Iterator<Item = &'a Self>) -> Option<usize> {
        None
    }

    pub fn read(&self) -> Option<Duration> {
        None
    }

    pub fn retire(&self) {}

    pub fn processor(&self) -> Option<usize> {
        None
    }

    pub fn run_state(&self, _here: Option<usize>) -> RunState {
        RunState::Unknown
    }

    pub fn switches(&self) -> Option<u64> {
        None
    }
}

pub use self::never as heavy_barrier;
pub use self::never as heavy_barrier_works;
pub use self::never as move_to_process_affinity;

pub fn never() -> bool {
    false
}

pub use self::bind_this_thread as unbind_this_thread;

pub fn bind_this_thread(_processors: &[usize]) -> bool {
    false
}

pub use self::unknown_number as current_processor;
pub use self::unknown_number as runnable_threads;

pub fn unknown_number() -> Option<usize> {
    None
}

pub use self::unknown_count as involuntary_switches;
pub use self::unknown_count as process_involuntary_switches;

pub fn unknown_count() -> Option<u64> {
    None
}

pub fn online_processors() -> Option<usize> {
    crate::primitive::thread::available_parallelism().ok().map(usize::from)
}

/// Elsewhere than on Linux it is the process's.
pub fn niceness() -> Option<i32> {
    None
}

pub fn set_niceness(_nice: i32) -> bool {
    false
}

pub(super) fn process_affinity() -> Option<Vec<usize>> {
    None
}

pub fn process_time() -> Option<Duration> {
    None
}

pub fn preempt_all() -> bool {
    false
}

pub fn shorten_time_slice(_time_slice: Duration) {}

pub fn stack() -> Option<std::ops::Range<usize>> {
    // Shuttle's threads are large enough.
    cfg!(shuttle).then_some(0..usize::MAX)
}

/// Forks are not noticed here.
pub fn generation() -> u32 {
    0
}

pub fn watch_for_forks(_in_the_child: fn()) {}

pub(super) fn probe(_assist: &str) -> Result<(), String> {
    Err("not in the portable build".to_owned())
}

pub(super) fn seats() -> Option<&'static [super::board::Seat]> {
    None
}

pub(super) fn monotonic_time() -> Duration {
    Duration::ZERO
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_none() {
        assert_eq!(ThreadProgress::of_this_thread().read(), None);
        assert_eq!((involuntary_switches(), process_involuntary_switches()), (None, None));
    }
}
