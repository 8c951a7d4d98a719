//! A network that runs: who waits for whom is read off it.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use super::channel::{AnyChannel, Core};
use super::cycle::Chain;
use super::error::Failure;
use super::process::Process;
use super::solitude::{NotMade, Solitude};
use super::stack::Homes;
use super::wait::Need;
use crate::meter::{Meeting, Region};
use crate::primitive::{AtomicBool, AtomicU64, Ordering, fence};
use crate::sync::JoinCounter;
use crate::task;
use crate::worker::Worker;

/// The address of the calling thread's worker, or 0.
#[inline]
fn here() -> usize {
    #[cfg(all(test, loom))]
    return super::models::here();
    #[cfg(not(all(test, loom)))]
    Worker::current_address()
}

/// No process: an end of a channel that nobody has, and that is closed.
pub(super) const NOBODY: u32 = u32::MAX;

/// How far a process that begins to wait follows the chain. Under the model checker not round a cycle of three.
const FIRST_STEPS: usize = if cfg!(loom) { 2 } else { 4 };

/// The processes at a channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) producer: u32,
    pub(super) consumer: u32,
}

impl Link {
    pub(super) fn nobodys() -> Self {
        Self { producer: NOBODY, consumer: NOBODY }
    }

    /// Whoever can give what is needed there.
    #[inline]
    pub(super) fn giver(self, need: Need) -> u32 {
        match need {
            Need::Message => self.producer,
            Need::Room => self.consumer,
        }
    }
}

/// Which channels each process has an end of.
struct Ends {
    /// The channels of the first process, of the second, and so on.
    channels: Box<[u32]>,
    /// Where those of each process end.
    until: Box<[u32]>,
}

impl Ends {
    fn of(processes: usize, links: &[Link]) -> Self {
        let of_link = |(channel, link): (usize, &Link)| {
            let consumer = (link.consumer != link.producer).then_some(link.consumer);
            let all = [Some(link.producer), consumer].into_iter().flatten();
            all.filter(|&process| process != NOBODY).map(move |process| (process, channel as u32))
        };
        let mut all: Vec<(u32, u32)> = links.iter().enumerate().flat_map(of_link).collect();
        all.sort_unstable();
        let mut until = vec![0; processes];
        all.iter().for_each(|&(process, _)| until[process as usize] += 1);
        let mut sum = 0;
        for count in &mut until {
            sum += *count;
            *count = sum;
        }
        let channels = all.into_iter().map(|(_, channel)| channel).collect();
        Self { channels, until: until.into() }
    }

    fn of_process(&self, process: u32) -> &[u32] {
        let process = process as usize;
        let from = process.checked_sub(1).map_or(0, |before| self.until[before]);
        &self.channels[from as usize..self.until[process] as usize]
    }
}

pub(super) struct Graph {
    solitude: Solitude,
    processes: Box<[Process]>,
    channels: Box<[Arc<dyn AnyChannel>]>,
    links: Box<[Link]>,
    ends: Ends,
    homes: Homes,
    /// The most that a channel may grow to.
    limit: u64,
    is_measured: bool,
    begun: Instant,
    /// Whether no process is polled any more.
    is_over: AtomicBool,
    /// Why it is over. Locked by those who end it and by who tells it.
    failure: Mutex<Option<Failure>>,
    /// How often a channel has grown.
    grown: AtomicU64,
    unfinished: JoinCounter,
    /// If it is metered.
    paths: OnceLock<Box<Paths>>,
}

/// What is metered of a network, beside its channels.
struct Paths {
    region: Arc<Region>,
    /// Where its processes have come to.
    end: Meeting,
}

impl Paths {
    /// The calling task was a process: it is over as far as anybody can learn, as who waits for the network does not wait for what comes after this.
    #[cold]
    fn task_ends(&self) {
        Worker::with_current(|current| {
            current.into_iter().for_each(|worker| _ = worker.task_ends_in(&self.region));
        });
    }

    /// Whoever waits for the network comes after what the calling thread has done.
    #[cold]
    fn process_arrives(&self) {
        Worker::with_current(|current| {
            match current.and_then(|worker| worker.settles_in(&self.region)) {
                Some((region, path)) => self.end.arrive(&path.along(region.burden())),
                None => self.region.has_uncarried(),
            }
        });
    }
}

impl Graph {
    pub(super) fn new(
        processes: Box<[Process]>,
        channels: Box<[Arc<dyn AnyChannel>]>,
        links: Box<[Link]>,
        homes: Homes,
        limit: u64,
        is_measured: bool,
    ) -> Arc<Self> {
        debug_assert_eq!(channels.len(), links.len());
        if is_measured {
            channels.iter().for_each(|channel| channel.core().measure());
        }
        let unfinished = JoinCounter::new(processes.len());
        let ends = Ends::of(processes.len(), &links);
        Arc::new(Self {
            solitude: Solitude::new(),
            processes,
            channels,
            links,
            ends,
            homes,
            limit,
            is_measured,
            begun: Instant::now(),
            is_over: AtomicBool::new(false),
            failure: Mutex::new(None),
            grown: AtomicU64::new(0),
            unfinished,
            paths: OnceLock::new(),
        })
    }

    /// It begins here, and nobody else knows of its processes.
    pub(super) fn begin(&self) {
        self.solitude.begin(here());
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn is_shared(&self) -> bool {
        self.solitude.is_shared()
    }

    /// A fence among all who have to do with the network. Nothing is to be paid for it where that is but one worker.
    #[inline]
    pub(super) fn barrier(&self) {
        if !self.solitude.is_of(here()) {
            self.barrier_among_all();
        }
    }

    #[inline(never)]
    fn barrier_among_all(&self) {
        if let Err(NotMade) = self.solitude.barrier() {
            // Who has said something that we may not see looks again.
            self.processes.iter().for_each(Process::wake);
        }
    }

    #[inline]
    pub(super) fn process(&self, number: u32) -> &Process {
        &self.processes[number as usize]
    }

    pub(super) fn processes(&self) -> &[Process] {
        &self.processes
    }

    #[inline]
    pub(super) fn core(&self, channel: u32) -> &Core {
        self.channels[channel as usize].core()
    }

    pub(super) fn cores(&self) -> impl Iterator<Item = &Core> {
        self.channels.iter().map(|channel| channel.core())
    }

    /// Whether the channel of that number lies there.
    pub(super) fn has(&self, number: u32, at: *const ()) -> bool {
        self.channels.get(number as usize).is_some_and(|channel| Arc::as_ptr(channel).cast() == at)
    }

    #[inline]
    pub(super) fn link(&self, channel: u32) -> Link {
        self.links[channel as usize]
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    #[inline]
    pub(super) fn is_measured(&self) -> bool {
        self.is_measured
    }

    pub(super) fn begun(&self) -> Instant {
        self.begun
    }

    pub(super) fn has_grown(&self) {
        self.grown.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn times_grown(&self) -> u64 {
        self.grown.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn wake_consumer(&self, channel: u32) {
        if let Some(process) = self.processes.get(self.link(channel).consumer as usize) {
            process.wake();
        }
    }

    #[inline]
    pub(super) fn wake_producer(&self, channel: u32) {
        if let Some(process) = self.processes.get(self.link(channel).producer as usize) {
            process.wake();
        }
    }

    /// Wakes the producer if it waits. The caller is the consumer, and has made a fence since it took messages.
    #[inline]
    pub(super) fn look_after_producer(&self, channel: u32) {
        if self.core(channel).take_waiting_producer() {
            self.wake_producer(channel);
        }
    }

    /// Wakes who waits at channels whose other end this process has dropped, in whatever form. Says at which it still has one.
    pub(super) fn look_after_ends(&self, process: u32) -> Option<u32> {
        // Pairs with the barrier in `Waits::begin`: either they see that the end is gone, or we see that they wait.
        self.barrier();
        let mut kept = None;
        for &channel in self.ends.of_process(process) {
            let (core, link) = (self.core(channel), self.link(channel));
            let has_sent = link.producer == process && core.is_closed();
            let has_received = link.consumer == process && core.is_abandoned();
            if has_sent && core.take_waiting_consumer() {
                self.wake_consumer(channel);
            }
            if has_received {
                self.look_after_producer(channel);
            }
            if link.producer == process && !has_sent || link.consumer == process && !has_received {
                kept = Some(channel);
            }
        }
        kept
    }

    /// To be called by a process that has said what it waits for, has made a fence, and has found that it must wait.
    pub(super) fn has_begun_to_wait(this: &Arc<Self>, process: u32) {
        this.process(process).pay(this);
        Worker::with_current(|current| {
            // Whoever looks at the whole network sees this wait, too.
            if !current.is_some_and(|worker| worker.doubts().has(this)) {
                this.look_round(process, current);
            }
        });
    }

    /// Looks whether that process has closed a cycle. If that takes long, it is put off.
    #[inline(never)]
    fn look_round(self: &Arc<Self>, process: u32, current: Option<&Worker>) {
        match (self.follow(process, FIRST_STEPS), current) {
            (Chain::Open, _) => {}
            (Chain::Cycle(member), _) => self.see_to_cycle(member),
            (Chain::Long, Some(worker)) => worker.doubts().note(self),
            (Chain::Long, None) => self.sweep(),
        }
    }

    #[inline]
    pub(super) fn is_over(&self) -> bool {
        // Acquire pairs with the release in `fail`.
        self.is_over.load(Ordering::Acquire)
    }

    /// Ends the network. The first failure is the one to be told.
    #[cold]
    pub(super) fn fail(&self, failure: Failure) {
        if let Some(later) = self.note_failure(failure) {
            return later.discard();
        }
        self.is_over.store(true, Ordering::Release);
        // Pairs with the fence in `Run::poll`: either it sees that it is over, or we see how to wake it.
        fence(Ordering::SeqCst);
        self.processes.iter().for_each(Process::wake);
    }

    /// Gives it back if it is not the first; or the first, if this one is why.
    fn note_failure(&self, failure: Failure) -> Option<Failure> {
        let mut noted = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *noted {
            Some(first) if failure.is_why(first) => Some(std::mem::replace(first, failure)),
            Some(_) => Some(failure),
            None => {
                *noted = Some(failure);
                None
            }
        }
    }

    pub(super) fn take_failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Drops the messages that were sent when nobody received any more. All processes have ended.
    pub(super) fn purge(&self) {
        for channel in &self.channels {
            if let Some(payload) = channel.purge() {
                self.fail(Failure::Panicked { process: NOBODY, payload });
            }
        }
    }

    /// A process has returned, and dropped what it had; if it has not dropped an end of a channel, that is an error.
    pub(super) fn has_returned(&self, process: u32) {
        self.process(process).pay_at_a_pause(self);
        if let Some(channel) = self.look_after_ends(process) {
            self.fail(Failure::Kept { process, channel });
        }
        if let Some(paths) = self.paths.get() {
            paths.task_ends();
        }
        self.one_has_ended();
    }

    /// Those of the processes that have stacks of their own.
    pub(super) fn homes(&self) -> &Homes {
        &self.homes
    }

    /// Has it metered, if the worker on which it is about to begin runs a strand.
    pub(super) fn meter(&self, worker: &Worker) {
        let region = worker.region().filter(|region| !region.is_over());
        region.into_iter().for_each(|region| self.meter_in(region));
    }

    /// Has it metered, as a part of that region: none of its processes has begun.
    pub(super) fn meter_in(&self, region: &Arc<Region>) {
        self.cores().zip(&self.links).for_each(|(core, link)| {
            core.meter(region, link.producer != NOBODY, link.consumer != NOBODY);
        });
        let (region, end) = (Arc::clone(region), Meeting::new());
        self.paths.get_or_init(|| Box::new(Paths { region, end }));
    }

    pub(super) fn is_metered(&self) -> bool {
        self.paths.get().is_some()
    }

    /// All processes have ended: the strand that the caller runs, who has waited for that, comes after all of them.
    pub(super) fn is_waited_for(&self) {
        let Some(paths) = self.paths.get() else { return };
        Worker::with_current(|current| match current.filter(|it| it.is_in(&paths.region)) {
            Some(worker) => worker.comes_after(&paths.end),
            None => paths.region.has_uncarried(),
        });
    }

    /// A process has ended, and dropped all that it had; or will not begin. The caller may be about something else.
    pub(super) fn one_has_ended(&self) {
        if let Some(paths) = self.paths.get() {
            paths.process_arrives();
        }
        // They meet at `Paths::end`.
        self.unfinished.signal_without_path();
    }

    /// Waits until all processes have ended.
    pub(super) async fn end(&self) {
        let mut end = pin!(self.unfinished.wait());
        poll_fn(|context| {
            if self.is_metered() {
                // Who ends it says so with the path.
                task::tells_its_paths(context.waker());
            }
            end.as_mut().poll(context)
        })
        .await;
    }
}
