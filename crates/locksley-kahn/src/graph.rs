//! A network that runs: its processes, its channels, and how it ends.

use std::future::poll_fn;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, PoisonError, Weak};
use std::task::{Poll, Waker};

use super::channel::{AnyChannel, Core};
use super::error::{Failure, NetworkError};
use super::process::Process;
use super::single_owner::SingleOwner;
use super::wait::Need;
use locksley::extend::{self, Queues};
use locksley_sys::primitive::plain::{Mutex, OnceLock};
use locksley_sys::primitive::{AtomicBool, AtomicU64, AtomicUsize, Instant, Ordering, fence};

/// In a link: this end of the channel was dropped before the network began. In a failure: the
/// network itself has failed, after its processes.
pub(super) const NO_PROCESS: u32 = u32::MAX;

/// The processes at the two ends of a channel, by number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) producer: u32,
    pub(super) consumer: u32,
}

impl Link {
    /// The process that provides messages, or room.
    #[inline]
    pub(super) fn provider(self, need: Need) -> u32 {
        match need {
            Need::Message => self.producer,
            Need::Room => self.consumer,
        }
    }

    /// The process that waits if there is no message, or no room.
    #[inline]
    fn waiter(self, need: Need) -> u32 {
        match need {
            Need::Message => self.consumer,
            Need::Room => self.producer,
        }
    }
}

/// The channels of a network, for a tracer.
#[derive(Debug)]
pub(super) struct Channels(pub(super) Weak<Graph>);

impl Queues for Channels {
    fn read(&self, read: &mut dyn FnMut(&str, usize)) -> bool {
        let graph = self.0.upgrade();
        for core in graph.iter().flat_map(|graph| graph.cores()) {
            let (sent, received) = core.counts();
            read(&format!("channel {}", core.name), sent.saturating_sub(received) as usize);
        }
        graph.is_some()
    }
}

/// What all processes of a network share.
pub(super) struct Graph {
    owner: SingleOwner,
    pub(super) processes: Box<[Process]>,
    channels: Box<[Arc<dyn AnyChannel>]>,
    /// For each channel, by number.
    links: Box<[Link]>,
    /// For each process, the channels of which it had an end when the network began.
    channels_of: Box<[Vec<u32>]>,
    /// The largest capacity that a channel may grow to.
    pub(super) limit: u64,
    /// True if polls and waits are timed.
    pub(super) is_measured: bool,
    /// True if messages carry stamps, for the pool's observer. Set before the processes begin.
    is_observed: AtomicBool,
    /// When this was made, just before the processes begin.
    pub(super) begun: Instant,
    /// Set by the first failure. Then the processes are not polled any more.
    has_failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
    /// The process that has ended the network by a panic.
    pub(super) panicked: OnceLock<u32>,
    /// How often a channel has grown.
    pub(super) grown: AtomicU64,
    /// The number of processes that have not finished.
    unfinished: AtomicUsize,
    /// Woken when all processes have finished.
    waker: OnceLock<Waker>,
}

// A panic of a process ends the network, and is its result.
impl UnwindSafe for Graph {}
impl RefUnwindSafe for Graph {}

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
        let mut channels_of = vec![Vec::new(); processes.len()];
        for (channel, link) in links.iter().enumerate() {
            for process in [link.producer, link.consumer] {
                if process != NO_PROCESS {
                    channels_of[process as usize].push(channel as u32);
                }
            }
        }
        Arc::new(Self {
            owner: SingleOwner::new(),
            unfinished: AtomicUsize::new(processes.len()),
            processes,
            channels,
            links,
            channels_of: channels_of.into(),
            limit,
            is_measured,
            is_observed: AtomicBool::new(false),
            begun: Instant::now(),
            has_failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            panicked: OnceLock::new(),
            grown: AtomicU64::new(0),
            waker: OnceLock::new(),
        })
    }

    /// Begins the network, on a thread that alone knows it so far. `has_heavy_barrier` is true if
    /// the pool may use heavy barriers.
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

    #[inline]
    pub(super) fn is_observed(&self) -> bool {
        // Relaxed: written before the processes begin.
        self.is_observed.load(Ordering::Relaxed)
    }

    /// A fence, as seen by all threads that use the network: of two calls, the second sees what was
    /// done before the first. It is free while only one thread uses the network.
    #[inline]
    pub(super) fn barrier(&self) {
        if self.owner.barrier().is_err() {
            // The system has refused a heavy barrier. A process may wait, and this thread may not
            // see that yet: all processes look at their channels again.
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

    /// Wakes the process that waits for `need` at the channel, if one does. The caller has made a
    /// barrier after it supplied the message or the room.
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

    /// A process has taken a message, and will look later whether the producer waits.
    #[inline]
    pub(super) fn defer(&self, process: u32, channel: u32) {
        // Relaxed: the process's own.
        if self.process(process).deferred.load(Ordering::Relaxed) != channel + 1 {
            self.defer_another(process, channel);
        }
    }

    #[inline(never)]
    fn defer_another(&self, process: u32, channel: u32) {
        self.wake_deferred(process);
        self.process(process).deferred.store(channel + 1, Ordering::Relaxed);
    }

    /// Wakes the producer of the process's deferred channel, if there is one and it waits.
    #[inline]
    pub(super) fn wake_deferred(&self, process: u32) {
        if self.process(process).deferred.load(Ordering::Relaxed) != 0 {
            // Pairs with the barrier in `End::begin_wait`.
            self.barrier();
            self.wake_deferred_after_barrier(process);
        }
    }

    /// The same, if the caller has made a barrier since the process has taken messages.
    pub(super) fn wake_deferred_after_barrier(&self, process: u32) {
        let own = &self.process(process).deferred;
        let deferred = own.load(Ordering::Relaxed);
        if deferred != 0 {
            own.store(0, Ordering::Relaxed);
            self.wake_if_waiting(self.core(deferred - 1), Need::Room);
        }
    }

    #[inline]
    pub(super) fn has_failed(&self) -> bool {
        // Acquire pairs with the release in `fail`.
        self.has_failed.load(Ordering::Acquire)
    }

    /// Ends the network by a failure. The first one is reported, and others are dropped.
    #[cold]
    pub(super) fn fail(&self, failure: Failure) {
        let mut noted = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.is_some() {
            drop(noted);
            return failure.discard();
        }
        *noted = Some(failure);
        // Under the lock: another process that fails meanwhile ends its streams only after this, so
        // that no receiver takes one of them for complete.
        self.has_failed.store(true, Ordering::Release);
        drop(noted);
        // Pairs with the fence in `ProcessTask::poll`: either the process sees the failure, or this
        // thread sees how to wake the process.
        fence(Ordering::SeqCst);
        self.wake_all();
    }

    /// Ends the network, unless it has failed before.
    pub(super) fn cancel(&self) {
        self.fail(Failure::Error(NetworkError::Cancelled));
    }

    pub(super) fn take_failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Drops the messages that were sent after the receiver was dropped. All processes have
    /// finished.
    pub(super) fn purge(&self) {
        for channel in &self.channels {
            if let Some(payload) = channel.purge() {
                self.fail(Failure::Panicked { process: NO_PROCESS, payload });
            }
        }
    }

    /// Ends a stream, and wakes its receiver.
    pub(super) fn close(&self, core: &Core) {
        if self.is_observed() {
            core.last_stamp.record(extend::stamp().unwrap_or_default());
        }
        core.close();
        // Pairs with the barrier in `End::begin_wait`: either the consumer sees that the stream has
        // ended, or this sees that it waits.
        self.barrier();
        self.wake_if_waiting(core, Need::Message);
    }

    /// Records that a process has finished, and that its future was dropped. Its failure, if it has
    /// failed, was noted before.
    ///
    /// An end of a channel that was not dropped is an error: the process has kept it elsewhere, for
    /// example in its product.
    pub(super) fn finish_process(&self, number: u32) {
        self.wake_deferred(number);
        let channels = &self.channels_of[number as usize];
        for &channel in channels {
            let (core, link) = (self.core(channel), self.link(channel));
            let keeps_sender = link.producer == number && !core.is_sender_dropped();
            let keeps_receiver = link.consumer == number && !core.is_abandoned();
            if keeps_sender || keeps_receiver {
                self.fail(Failure::Error(NetworkError::Kept {
                    process: self.process(number).name.to_string(),
                    channel: core.name.to_string(),
                }));
            }
        }
        // Only now: a receiver that sees one of its streams end sees also why.
        for &channel in channels {
            let core = self.core(channel);
            let is_own = self.link(channel).producer == number;
            if is_own && core.is_sender_dropped() && !core.is_closed() {
                self.close(core);
            }
        }
        // Release pairs with the acquire in `waiting`.
        self.process(number).has_ended.store(true, Ordering::Release);
        // Release and acquire: the last one has seen what all processes have done.
        if self.unfinished.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Pairs with the fence in `wait_until_finished`: either that sees the count, or this
            // sees the waker.
            fence(Ordering::SeqCst);
            if let Some(waker) = self.waker.get() {
                waker.wake_by_ref();
            }
        }
    }

    /// Waits until all processes have finished. Only one task may await this, since only the waker
    /// of the first poll is kept.
    pub(super) async fn wait_until_finished(&self) {
        poll_fn(|context| {
            self.waker.get_or_init(|| context.waker().clone());
            // Pairs with the fence in `finish_process`.
            fence(Ordering::SeqCst);
            match self.unfinished.load(Ordering::Acquire) {
                0 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
    }
}
