//! The fallback: the standard library alone, on any system that it supports.

use std::io;
use std::ops::Range;
use std::sync::OnceLock;
use std::thread::Thread;
use std::time::Duration;

use super::{Assists, LimitFault, Quota, Standing};
use crate::primitive::{AtomicU32, Ordering, fence};

/// A word that one thread may block on.
#[derive(Debug)]
pub struct Futex {
    word: AtomicU32,
    waiter: OnceLock<Thread>,
}

#[cfg_attr(loom, allow(dead_code, reason = "the model has a futex of its own"))]
impl Futex {
    pub fn new(value: u32) -> Self {
        Self { word: AtomicU32::new(value), waiter: OnceLock::new() }
    }

    pub fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// Blocks while the word is `expected`, until woken; may return for no reason.
    pub fn wait(&self, expected: u32) {
        self.waiter.get_or_init(std::thread::current);
        // Pairs with the fence in `wake`: either that finds us, or we see the new word.
        fence(Ordering::SeqCst);
        if self.word.load(Ordering::Acquire) == expected {
            std::thread::park();
        }
    }

    /// As [`wait`](Self::wait), but not for much longer than `most`.
    pub fn wait_at_most(&self, expected: u32, most: Duration) {
        self.waiter.get_or_init(std::thread::current);
        // As in `wait`.
        fence(Ordering::SeqCst);
        if self.word.load(Ordering::Acquire) == expected {
            std::thread::park_timeout(most);
        }
    }

    /// Wakes the thread that waits, if there is one. The caller has changed the word before.
    pub fn wake(&self) {
        fence(Ordering::SeqCst);
        if let Some(thread) = self.waiter.get() {
            thread.unpark();
        }
    }
}

pub(super) fn probe_futex() -> Result<(), String> {
    not_here()
}

#[cfg_attr(loom, allow(dead_code, reason = "the model has a barrier of its own"))]
pub fn heavy_barrier_works() -> bool {
    false
}

#[cfg_attr(loom, allow(dead_code, reason = "the model has a barrier of its own"))]
pub fn heavy_barrier() -> bool {
    false
}

pub(super) fn probe_heavy_barrier() -> Result<(), String> {
    not_here()
}

/// Never made here: priority is not changed where it is not known how to change it back.
#[derive(Debug)]
pub struct LoweredPriority(std::convert::Infallible);

impl LoweredPriority {
    pub fn begin() -> Option<Self> {
        None
    }
}

/// Forks are not noticed here.
pub fn generation() -> u32 {
    0
}

pub fn watch_for_forks(_in_the_child: fn()) {}

pub fn unbind_this_thread(_processors: &[usize]) -> bool {
    false
}

pub fn lowered_priority_works() -> bool {
    false
}

pub(super) fn probe_lowered_priority() -> Result<(), String> {
    not_here()
}

pub(super) fn process_affinity() -> Option<Vec<usize>> {
    None
}

/// Control groups: there are none here.
#[derive(Debug)]
pub(crate) struct Groups;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    pub quota: Option<Quota>,
    pub processors: Option<Vec<usize>>,
    pub faults: Vec<LimitFault>,
}

impl Groups {
    pub(crate) fn of_this_process() -> Self {
        Self
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits::default()
    }
}

/// Their quota: there is none here.
#[derive(Debug)]
pub struct QuotaWatch;

impl QuotaWatch {
    pub fn of_this_process() -> Self {
        Self
    }

    pub fn quota(&mut self) -> (Option<Quota>, Vec<LimitFault>) {
        (None, Vec::new())
    }

    pub fn periods_used_up(&mut self, _quota: &Quota) -> Option<u64> {
        None
    }
}

/// Where a thread may run: not known here.
#[derive(Debug)]
pub struct ThreadAffinity;

impl ThreadAffinity {
    pub fn of_this_thread() -> Self {
        Self
    }
}

#[derive(Debug, Default)]
pub struct Affinities;

impl Affinities {
    pub fn of_any<'a>(
        &mut self,
        _threads: impl ExactSizeIterator<Item = Option<&'a ThreadAffinity>> + Clone,
    ) -> Option<usize> {
        None
    }
}

pub fn online() -> Option<usize> {
    std::thread::available_parallelism().ok().map(usize::from)
}

pub fn move_to_process_affinity() -> bool {
    false
}

pub fn bind_this_thread(_processors: &[usize]) -> bool {
    false
}

/// The size of a page in bytes, on most machines: nobody says it here.
pub(crate) fn page() -> usize {
    4096
}

pub(crate) fn huge_page() -> Option<usize> {
    None
}

pub(crate) unsafe fn ask_for_huge_pages(_range: Range<usize>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) unsafe fn place_memory(
    _range: Range<usize>,
    _in_turn: bool,
    _memories: &[usize],
) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn probe_affinity() -> Result<(), String> {
    not_here()
}

/// The processor time of one thread: not known here.
#[derive(Debug)]
pub struct ThreadClock;

impl ThreadClock {
    pub fn of_this_thread() -> Self {
        Self
    }

    pub fn read(&self) -> Option<Duration> {
        None
    }
}

#[derive(Debug)]
pub struct ThreadDelay;

impl ThreadDelay {
    pub fn of_this_thread() -> Self {
        Self
    }

    pub fn read(&self) -> Option<Duration> {
        None
    }

    pub fn retire(&self) {}
}

pub(super) fn probe_thread_clock() -> Result<(), String> {
    not_here()
}

pub fn process_time() -> Option<Duration> {
    None
}

pub fn move_this_thread(_processor: usize) -> bool {
    false
}

/// Nobody can say where a thread is to be woken.
#[derive(Debug)]
pub struct SleepersMask;

impl SleepersMask {
    pub fn new() -> Self {
        Self
    }

    /// # Safety
    /// None is asked for.
    pub unsafe fn note(&self, _at_least: usize) -> bool {
        false
    }

    /// # Safety
    /// None is asked for.
    pub unsafe fn leave_out(&self, _processor: usize) {}

    /// # Safety
    /// None is asked for.
    pub unsafe fn restore(&self) {}

    /// # Safety
    /// None is asked for.
    pub unsafe fn give_back(&self) {}
}

pub fn current_processor() -> Option<usize> {
    None
}

pub fn moves_threads() -> bool {
    false
}

/// What others may learn of a thread: nothing here.
#[derive(Debug)]
pub struct ThreadWatch;

impl ThreadWatch {
    pub fn of_this_thread(_assists: Assists) -> Self {
        Self
    }

    pub fn processor(&self) -> Option<usize> {
        None
    }

    pub fn standing(&self, _here: Option<usize>) -> Standing {
        Standing::Unknown
    }

    pub fn switches(&self) -> Option<u64> {
        None
    }

    pub fn pull(&self, _here: usize, _was_all: impl FnOnce() -> bool) -> bool {
        false
    }

    pub fn retire(&self) {}
}

pub(super) fn probe_run_state() -> Result<(), String> {
    not_here()
}

pub(super) fn probe_switch_records() -> Result<(), String> {
    not_here()
}

pub fn shorten_turns(_turn: Duration) {}

pub(super) fn probe_slice() -> Result<(), String> {
    not_here()
}

pub fn runnable_threads() -> Option<usize> {
    None
}

pub(super) fn probe_runnable_threads() -> Result<(), String> {
    not_here()
}

fn not_here() -> Result<(), String> {
    Err("not in the portable build".to_owned())
}
