//! What the network knows of a process.

use std::task::{Context, Waker};
use std::time::Duration;

use super::wait::{Need, WaitWord};
use locksley_sys::primitive::plain::OnceLock;
use locksley_sys::primitive::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// What the network knows of a process.
pub(super) struct Process {
    pub(super) wait: WaitWord,
    pub(super) has_ended: AtomicBool,
    /// Set by the first poll, and kept as long as the network: a wake needs no reference of its
    /// own.
    waker: OnceLock<Waker>,
    /// The channel from which the process has taken messages without looking whether the producer
    /// waits: its number plus 1, or 0. Written by the process.
    pub(super) deferred: AtomicU32,
    pub(super) name: Box<str>,
    /// How long it was polled, in nanoseconds, if that is measured. Written by the process.
    busy: AtomicU64,
}

impl Process {
    pub(super) fn new(name: Box<str>) -> Self {
        Self {
            wait: WaitWord::new(),
            has_ended: AtomicBool::new(false),
            waker: OnceLock::new(),
            deferred: AtomicU32::new(0),
            name,
            busy: AtomicU64::new(0),
        }
    }

    pub(super) fn busy(&self) -> Duration {
        Duration::from_nanos(self.busy.load(Ordering::Relaxed))
    }

    pub(super) fn add_busy(&self, time: Duration) {
        let busy = self.busy.load(Ordering::Relaxed);
        self.busy.store(busy.wrapping_add(time.as_nanos() as u64), Ordering::Relaxed);
    }

    /// A blocking process has waited in the middle of a time that will be added.
    pub(super) fn subtract_busy(&self, time: Duration) {
        let busy = self.busy.load(Ordering::Relaxed);
        self.busy.store(busy.wrapping_sub(time.as_nanos() as u64), Ordering::Relaxed);
    }

    /// Makes the process ready, if it waits.
    #[inline]
    pub(super) fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }

    /// Sets how the process is woken. True if that was not known.
    pub(super) fn set_waker(&self, waker: &Waker) -> bool {
        self.waker.get().is_none() && self.waker.set(waker.clone()).is_ok()
    }

    /// Panics if it is not the process that waits: no wake would come.
    pub(super) fn assert_current(&self, context: &Context<'_>) {
        // By what the waker wakes and not by `will_wake`, which also compares the addresses of
        // tables of functions: there may be copies. The process's task or signal keeps its address.
        let is_own = |waker: &Waker| waker.data() == context.waker().data();
        assert!(
            self.waker.get().is_some_and(is_own),
            "an end of a channel waits only in the process that it belongs to, which is '{}', and \
             not below a future that polls others with wakers of its own",
            self.name
        );
    }

    /// Publishes what the process waits for.
    pub(super) fn begin_wait(&self, context: &Context<'_>, channel: u32, need: Need) {
        self.assert_current(context);
        assert!(
            self.wait.own().target().is_none(),
            "process '{}' waits for two channels at the same time: what it does next would depend \
             on the schedule",
            self.name
        );
        self.wait.begin(channel, need);
    }
}
