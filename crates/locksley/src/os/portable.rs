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
pub(crate) struct Futex {
    word: AtomicU32,
    waiter: OnceLock<Thread>,
}

#[cfg_attr(loom, allow(dead_code, reason = "the model has a futex of its own"))]
impl Futex {
    pub(crate) fn new(value: u32) -> Self {
        Self { word: AtomicU32::new(value), waiter: OnceLock::new() }
    }

    pub(crate) fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// Blocks while the word is `expected`, until woken; may return for no reason.
    pub(crate) fn wait(&self, expected: u32) {
        self.waiter.get_or_init(std::thread::current);
        // Pairs with the fence in `wake`: either that finds us, or we see the new word.
        fence(Ordering::SeqCst);
        if self.word.load(Ordering::Acquire) == expected {
            std::thread::park();
        }
    }

    /// As [`wait`](Self::wait), but not for much longer than `most`.
    pub(crate) fn wait_at_most(&self, expected: u32, most: Duration) {
        self.waiter.get_or_init(std::thread::current);
        // As in `wait`.
        fence(Ordering::SeqCst);
        if self.word.load(Ordering::Acquire) == expected {
            std::thread::park_timeout(most);
        }
    }

    /// Wakes the thread that waits, if there is one. The caller has changed the word before.
    pub(crate) fn wake(&self) {
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
pub(crate) fn heavy_barrier_works() -> bool {
    false
}

#[cfg_attr(loom, allow(dead_code, reason = "the model has a barrier of its own"))]
pub(crate) fn heavy_barrier() -> bool {
    false
}

pub(super) fn probe_heavy_barrier() -> Result<(), String> {
    not_here()
}

/// Never made here: priority is not changed where it is not known how to change it back.
#[derive(Debug)]
pub(crate) struct LoweredPriority(std::convert::Infallible);

impl LoweredPriority {
    pub(crate) fn begin() -> Option<Self> {
        None
    }
}

/// Forks are not noticed here.
pub(crate) fn generation() -> u32 {
    0
}

pub(crate) fn watch_for_forks(_in_the_child: fn()) {}

pub(crate) fn unbind_this_thread(_processors: &[usize]) -> bool {
    false
}

pub(crate) fn lowered_priority_works() -> bool {
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
pub(crate) struct Limits {
    pub(crate) quota: Option<Quota>,
    pub(crate) processors: Option<Vec<usize>>,
    pub(crate) faults: Vec<LimitFault>,
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
pub(crate) struct QuotaWatch;

impl QuotaWatch {
    pub(crate) fn of_this_process() -> Self {
        Self
    }

    pub(crate) fn quota(&mut self) -> (Option<Quota>, Vec<LimitFault>) {
        (None, Vec::new())
    }

    pub(crate) fn periods_used_up(&mut self, _quota: &Quota) -> Option<u64> {
        None
    }
}

/// Where a thread may run: not known here.
#[derive(Debug)]
pub(crate) struct ThreadAffinity;

impl ThreadAffinity {
    pub(crate) fn of_this_thread() -> Self {
        Self
    }
}

#[derive(Debug, Default)]
pub(crate) struct Affinities;

impl Affinities {
    pub(crate) fn of_any<'a>(
        &mut self,
        _threads: impl ExactSizeIterator<Item = Option<&'a ThreadAffinity>> + Clone,
    ) -> Option<usize> {
        None
    }
}

pub(crate) fn online() -> Option<usize> {
    std::thread::available_parallelism().ok().map(usize::from)
}

pub(crate) fn move_to_process_affinity() -> bool {
    false
}

pub(crate) fn bind_this_thread(_processors: &[usize]) -> bool {
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
pub(crate) struct ThreadClock;

impl ThreadClock {
    pub(crate) fn of_this_thread() -> Self {
        Self
    }

    pub(crate) fn read(&self) -> Option<Duration> {
        None
    }
}

#[derive(Debug)]
pub(crate) struct ThreadDelay;

impl ThreadDelay {
    pub(crate) fn of_this_thread() -> Self {
        Self
    }

    pub(crate) fn read(&self) -> Option<Duration> {
        None
    }

    pub(crate) fn retire(&self) {}
}

pub(crate) fn own_delay() -> Option<Duration> {
    None
}

pub(crate) fn throttled() -> Option<Duration> {
    None
}

pub(crate) fn limits_now() -> Limits {
    Limits::default()
}

/// Nobody says that processors' counters agree: `false`.
#[cfg(target_arch = "x86_64")]
pub(crate) fn trusts_counter() -> bool {
    false
}

/// There is no way: `false`.
pub(crate) fn at_exit(_call: extern "C" fn()) -> bool {
    false
}

pub(super) fn probe_thread_clock() -> Result<(), String> {
    not_here()
}

pub(crate) fn process_time() -> Option<Duration> {
    None
}

pub(crate) fn busy_time(_processors: &[usize]) -> Result<Duration, String> {
    not_here().map(|()| Duration::ZERO)
}

pub(super) fn probe_busy_time() -> Result<(), String> {
    not_here()
}

pub(crate) fn move_this_thread(_processor: usize) -> bool {
    false
}

/// Nobody can say where a thread is to be woken.
#[derive(Debug)]
pub(crate) struct SleepersMask;

impl SleepersMask {
    pub(crate) fn new() -> Self {
        Self
    }

    /// # Safety
    /// None is asked for.
    pub(crate) unsafe fn note(&self, _at_least: usize) -> bool {
        false
    }

    /// # Safety
    /// None is asked for.
    pub(crate) unsafe fn leave_out(&self, _processor: usize) {}

    /// # Safety
    /// None is asked for.
    pub(crate) unsafe fn restore(&self) {}

    /// # Safety
    /// None is asked for.
    pub(crate) unsafe fn give_back(&self) {}
}

pub(crate) fn current_processor() -> Option<usize> {
    None
}

pub(crate) fn moves_threads() -> bool {
    false
}

/// What others may learn of a thread: nothing here.
#[derive(Debug)]
pub(crate) struct ThreadWatch;

impl ThreadWatch {
    pub(crate) fn of_this_thread(_assists: Assists) -> Self {
        Self
    }

    pub(crate) fn processor(&self) -> Option<usize> {
        None
    }

    pub(crate) fn standing(&self, _here: Option<usize>) -> Standing {
        Standing::Unknown
    }

    pub(crate) fn switches(&self) -> Option<u64> {
        None
    }

    pub(crate) fn pull(&self, _here: usize, _was_all: impl FnOnce() -> bool) -> bool {
        false
    }

    pub(crate) fn retire(&self) {}
}

pub(super) fn probe_run_state() -> Result<(), String> {
    not_here()
}

pub(super) fn probe_switch_records() -> Result<(), String> {
    not_here()
}

pub(crate) fn shorten_turns(_turn: Duration) {}

pub(super) fn probe_slice() -> Result<(), String> {
    not_here()
}

pub(crate) fn runnable_threads() -> Option<usize> {
    None
}

pub(super) fn probe_runnable_threads() -> Result<(), String> {
    not_here()
}

fn not_here() -> Result<(), String> {
    Err("not in the portable build".to_owned())
}
