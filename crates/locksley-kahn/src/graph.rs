//! A network that runs: its processes, its channels, and how it ends.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Poll, Waker};
use std::time::Instant;

use super::channel::{AnyChannel, Core};
use super::error::{Failure, NetworkError};
use super::process::Process;
use super::single_owner::SingleOwner;
use super::wait::Need;
use locksley_sys::primitive::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

/// Stands for a process in a [`Link`]: the end of the channel was dropped before the network began.
/// No process has this number.
pub(super) const NO_PROCESS: u32 = u32::MAX;

/// The processes at a channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) producer: u32,
    pub(super) consumer: u32,
}

impl Link {
    /// The process that can give what is needed.
    #[inline]
    pub(super) fn giver(self, need: Need) -> u32 {
        match need {
            Need::Message => self.producer,
            Need::Room => self.consumer,
        }
    }

    /// The process that needs it.
    #[inline]
    fn waiter(self, need: Need) -> u32 {
        match need {
            Need::Message => self.consumer,
            Need::Room => self.producer,
        }
    }
}

pub(super) struct Graph {
    owner: SingleOwner,
    pub(super) processes: Box<[Process]>,
    channels: Box<[Arc<dyn AnyChannel>]>,
    links: Box<[Link]>,
    /// Of each process, the channels of which it has an end.
    ends: Box<[Vec<u32>]>,
    /// The largest capacity that a channel may grow to.
    pub(super) limit: u64,
    pub(super) is_measured: bool,
    /// Set before the processes begin.
    is_observed: AtomicBool,
    pub(super) begun: Instant,
    /// True when the processes are not polled any more.
    is_over: AtomicBool,
    failure: Mutex<Option<Failure>>,
    /// The process that has ended the network by a panic.
    pub(super) panicked: OnceLock<u32>,
    /// How often a channel has grown.
    pub(super) grown: AtomicU64,
    unfinished: AtomicUsize,
    /// Woken when all processes have ended.
    end_waker: OnceLock<Waker>,
}

impl Graph {
    pub(super) fn new(
        processes: Box<[Process]>,
        channels: Box<[Arc<dyn AnyChannel>]>,
        links: Box<[Link]>,
        limit: u64,
        is_measured: bool,
    ) -> Arc<Self> {
        if is_measured {
            channels.iter().for_each(|channel| channel.core().measure());
        }
        let mut ends = vec![Vec::new(); processes.len()];
        for (channel, link) in links.iter().enumerate() {
            for process in [link.producer, link.consumer] {
                if process != NO_PROCESS {
                    ends[process as usize].push(channel as u32);
                }
            }
        }
        Arc::new(Self {
            owner: SingleOwner::new(),
            unfinished: AtomicUsize::new(processes.len()),
            processes,
            channels,
            links,
            ends: ends.into(),
            limit,
            is_measured,
            is_observed: AtomicBool::new(false),
            begun: Instant::now(),
            is_over: AtomicBool::new(false),
            failure: Mutex::new(None),
            panicked: OnceLock::new(),
            grown: AtomicU64::new(0),
            end_waker: OnceLock::new(),
        })
    }

    /// The network begins on this thread, and is not known elsewhere.
    pub(super) fn begin(&self, is_observed: bool, has_heavy_barrier: bool) {
        self.is_observed.store(is_observed, Ordering::Relaxed);
        if has_heavy_barrier {
            self.owner.begin();
        }
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn is_shared(&self) -> bool {
        self.owner.is_shared()
    }

    /// True if messages carry stamps.
    #[inline]
    pub(super) fn is_observed(&self) -> bool {
        // Relaxed: written before the processes begin.
        self.is_observed.load(Ordering::Relaxed)
    }

    /// A fence among all threads that use the network. It costs nothing while that is one thread.
    #[inline]
    pub(super) fn barrier(&self) {
        if self.owner.barrier().is_err() {
            // A process that has published something that is not seen looks again.
            self.wake_all();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_all(&self) {
        self.processes.iter().for_each(Process::wake);
    }

    #[inline]
    pub(super) fn process(&self, number: u32) -> &Process {
        &self.processes[number as usize]
    }

    #[inline]
    pub(super) fn core(&self, channel: u32) -> &Core {
        self.channels[channel as usize].core()
    }

    pub(super) fn cores(&self) -> impl Iterator<Item = &Core> {
        self.channels.iter().map(|channel| channel.core())
    }

    #[inline]
    pub(super) fn link(&self, channel: u32) -> Link {
        self.links[channel as usize]
    }

    /// Wakes the process that waits for that at the channel, if it does. The caller has made a
    /// barrier since it has done what the process may wait for.
    #[inline]
    pub(super) fn wake_if_waiting(&self, core: &Core, need: Need) {
        if core.take_waiting(need) {
            self.wake(core.number, need);
        }
    }

    #[inline(never)]
    fn wake(&self, channel: u32, need: Need) {
        if let Some(process) = self.processes.get(self.link(channel).waiter(need) as usize) {
            process.wake();
        }
    }

    #[inline]
    pub(super) fn is_over(&self) -> bool {
        // Acquire pairs with the release in `fail`.
        self.is_over.load(Ordering::Acquire)
    }

    /// Ends the network. The first failure is reported.
    #[cold]
    pub(super) fn fail(&self, failure: Failure) {
        let mut noted = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.is_some() {
            drop(noted);
            return failure.discard();
        }
        *noted = Some(failure);
        drop(noted);
        self.is_over.store(true, Ordering::Release);
        // Pairs with the fence in `ProcessTask::poll`: either the process sees that the network is
        // over, or this sees how to wake it.
        fence(Ordering::SeqCst);
        self.wake_all();
    }

    pub(super) fn take_failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Drops the messages that were sent after the receiver was dropped. All processes have ended.
    pub(super) fn purge(&self) {
        for channel in &self.channels {
            if let Some(payload) = channel.purge() {
                self.fail(Failure::Panicked { process: NO_PROCESS, payload });
            }
        }
    }

    /// A process has ended, and dropped what it had. If it has kept an end of a channel, that is an
    /// error.
    pub(super) fn end_process(&self, number: u32) {
        self.process(number).publish(self);
        for &channel in &self.ends[number as usize] {
            let (core, link) = (self.core(channel), self.link(channel));
            let keeps_sender = link.producer == number && !core.is_closed();
            if keeps_sender || link.consumer == number && !core.is_abandoned() {
                self.fail(Failure::Error(NetworkError::Kept {
                    process: self.process(number).name.to_string(),
                    channel: core.name.to_string(),
                }));
            }
        }
        self.count_end();
    }

    /// A process has ended, or will not begin.
    pub(super) fn count_end(&self) {
        // Release and acquire: the last one has seen what all processes have done.
        if self.unfinished.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Pairs with the fence in `end`: either that sees the count, or this sees the waker.
            fence(Ordering::SeqCst);
            if let Some(waker) = self.end_waker.get() {
                waker.wake_by_ref();
            }
        }
    }

    /// Waits until all processes have ended. Awaited by one task.
    pub(super) async fn end(&self) {
        poll_fn(|context| {
            self.end_waker.get_or_init(|| context.waker().clone());
            fence(Ordering::SeqCst);
            match self.unfinished.load(Ordering::Acquire) {
                0 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
    }
}
