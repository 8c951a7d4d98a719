//! A worker: an operating system's thread with a scheduling loop. Hood calls it a process.
//!
//! Source of the loop: "The Performance of Work Stealing in Multiprogrammed Environments", 1998,
//! section 3.1; Algorithm 1 of "BWS: Balanced Work Stealing for Time-Sharing Multicores", 2012,
//! lines 12 to 19.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::DerefMut;
use std::ptr::NonNull;
use std::sync::{Arc, PoisonError};

use crossbeam_queue::SegQueue;
use locksley_sys::os::{self, Assists, RunState, ThreadWatch};
use locksley_sys::primitive::plain::{Mutex, OnceLock};
use locksley_sys::primitive::{AtomicBool, AtomicUsize, CachePadded, Instant, Ordering, thread};

use crate::deque::{AbpArray, Deque};
use crate::placement::Placement;
use crate::queues::Queues;
use crate::stats::{Count, Counters};
use crate::stealing::Abp;
use crate::thief::{Stealing, Thief};

/// A scheduler: one part of each kind.
pub struct Scheduler {
    /// Makes a deque.
    pub deque: fn() -> Box<dyn Deque<Ready>>,
    /// What workers do without a task.
    pub stealing: Box<dyn Stealing>,
    /// The deque that receives an unblocked thread.
    pub placement: Placement,
    /// Where ready threads wait.
    pub queues: Queues,
    /// The processors to which each worker is bound. Empty: workers are not bound.
    pub processors: Vec<Vec<usize>>,
    /// The size of a thread's stack, in bytes.
    pub stack_bytes: usize,
}

impl Default for Scheduler {
    /// Algorithm 1 of BWS on ABP's deques.
    fn default() -> Self {
        Scheduler {
            deque: || Box::new(AbpArray::new()),
            stealing: Box::new(Abp),
            placement: Placement::Current,
            queues: Queues::OfWorkers,
            processors: Vec::new(),
            stack_bytes: 1 << 20,
        }
    }
}

/// What deques hold: the head of a thread that can run.
pub struct Ready {
    /// Runs the thread on the calling worker until it blocks or ends.
    pub(crate) run: unsafe fn(NonNull<Ready>, &Worker),
    /// The worker that ran it last.
    pub(crate) last: AtomicUsize,
}

impl Ready {
    pub(crate) fn new(run: unsafe fn(NonNull<Ready>, &Worker), worker: usize) -> Ready {
        Ready { run, last: AtomicUsize::new(worker) }
    }
}

/// What a thread panicked with.
pub(crate) type Panic = Box<dyn Any + Send>;

/// A thread that waits in a queue of several workers, or a fiber without a thread: its head.
pub(crate) struct Queued(pub(crate) NonNull<Ready>);

// SAFETY: any worker may run a thread, and use a fiber without one.
unsafe impl Send for Queued {}

/// What all workers share.
pub(crate) struct Shared {
    pub(crate) scheduler: Scheduler,
    pub(crate) deques: Box<[CachePadded<Box<dyn Deque<Ready>>>]>,
    pub(crate) peers: Box<[CachePadded<Peer>]>,
    /// The next place for a thread without one.
    pub(crate) turn: AtomicUsize,
    /// Threads that were created and have not ended, the first one included.
    pub(crate) live: AtomicUsize,
    pub(crate) work_is_done: AtomicBool,
    /// The first panic of a thread that is not joined.
    pub(crate) panic: Mutex<Option<Panic>>,
    /// Spare fibers of all workers, beyond those that each keeps.
    pub(crate) spare: SegQueue<Queued>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> impl DerefMut<Target = T> + '_ {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What other workers see of a worker.
#[derive(Default)]
pub(crate) struct Peer {
    /// The number of its deque.
    pub(crate) deque: usize,
    /// Work items with an affinity for this worker.
    pub(crate) mailbox: Mutex<VecDeque<Queued>>,
    pub(crate) counters: Counters,
    pub(crate) has_task: AtomicBool,
    pub(crate) is_asleep: AtomicBool,
    pub(crate) thread: OnceLock<(thread::Thread, ThreadWatch)>,
}

impl Peer {
    /// The context switches of the worker, where they are recorded.
    pub(crate) fn switches(&self) -> Option<u64> {
        self.thread.get().and_then(|it| it.1.switches())
    }
}

impl Shared {
    /// A created thread has ended, or panicked. After the last one, all workers leave their
    /// scheduling loops.
    pub(crate) fn thread_ends(&self, panic: Option<Panic>) {
        if let Some(panic) = panic {
            lock(&self.panic).get_or_insert(panic);
        }
        // Release: what the thread did happens before `run` returns. Acquire: the last one passes
        // on what the others did.
        if self.live.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Release pairs with the acquire of `Worker::work_is_done`.
            self.work_is_done.store(true, Ordering::Release);
            // A worker that is about to sleep finds the token of this.
            self.peers.iter().filter_map(|peer| peer.thread.get()).for_each(|it| it.0.unpark());
        }
    }
}

/// A worker, as its scheduling loop and its policy use it: *w* in the papers' algorithms.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: usize,
    /// The number of its deque.
    pub(crate) deque: usize,
    /// Not 0.
    random: Cell<u64>,
    /// Heads of fibers without a thread, for the next ones. (As heads, so that this file does not
    /// depend on fibers.)
    pub(crate) spare: RefCell<Vec<Queued>>,
    /// Threads for which the bounded deque has no room, and those that yield where it has no other
    /// end. They run when the deque is empty, in this order, and are not stolen.
    overflow: RefCell<VecDeque<NonNull<Ready>>>,
}

impl Worker {
    /// The worker of the calling thread.
    pub(crate) fn new(shared: Arc<Shared>, index: usize) -> Worker {
        // Any numbers that differ, and none of them 0: the factor is odd.
        let random = Cell::new(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index as u64 + 1));
        let watch = ThreadWatch::with_assists(Assists::ALL);
        let is_first = shared.peers[index].thread.set((thread::current(), watch)).is_ok();
        assert!(is_first, "a worker has one thread");
        let (deque, (spare, overflow)) = (shared.peers[index].deque, Default::default());
        Worker { shared, index, deque, random, spare, overflow }
    }

    fn peer(&self) -> &Peer {
        &self.shared.peers[self.index]
    }

    pub(crate) fn count(&self, count: Count, number: u64) {
        self.peer().counters.add(count, number);
    }

    /// Pops and runs threads, and steals while there are none, until the work is done.
    pub(crate) fn scheduling_loop(&self) {
        let mut search = None;
        while !self.work_is_done() {
            match self.next() {
                Some(thread) => {
                    self.count_search(search.take());
                    self.run(thread);
                }
                None => {
                    search.get_or_insert_with(|| (Instant::now(), self.peer().switches()));
                    self.shared.scheduler.stealing.steal(self);
                }
            }
        }
        self.count_search(search);
        // Only items of mailboxes are left. Their threads ran from the other queue.
        while let Some(thread) = self.next() {
            self.run(thread);
        }
    }

    fn next(&self) -> Option<NonNull<Ready>> {
        self.pop()
            .or_else(|| self.overflow.borrow_mut().pop_front())
            .or_else(|| lock(&self.peer().mailbox).pop_front().map(|thread| thread.0))
    }

    /// Counts a search that has ended, from its beginning on.
    fn count_search(&self, search: Option<(Instant, Option<u64>)>) {
        let Some((begun, before)) = search else { return };
        self.count(Count::SearchNanos, begun.elapsed().as_nanos() as u64);
        let during = self.peer().switches().zip(before).map_or(0, |(now, before)| now - before);
        self.count(Count::SwitchesToThief, during);
    }

    fn run(&self, thread: NonNull<Ready>) {
        self.peer().has_task.store(true, Ordering::Relaxed);
        // SAFETY: what a deque holds lives until it has run.
        let run = unsafe { thread.as_ref() }.run;
        // SAFETY: it was in a deque, so this worker alone runs it.
        unsafe { run(thread, self) };
        self.peer().has_task.store(false, Ordering::Relaxed);
    }

    /// Takes the thread at the bottom of the worker's deque.
    pub(crate) fn pop(&self) -> Option<NonNull<Ready>> {
        self.shared.deques[self.deque].pop_bottom()
    }

    /// Puts a thread at the bottom of a deque, and does not announce it.
    pub(crate) fn enqueue(&self, deque: usize, thread: NonNull<Ready>) {
        let pushed = self.shared.deques[deque].push_bottom(thread);
        pushed.unwrap_or_else(|thread| self.overflow.borrow_mut().push_back(thread));
    }

    /// Puts a thread at the bottom of a deque, and announces it.
    pub(crate) fn push(&self, deque: usize, thread: NonNull<Ready>) {
        self.enqueue(deque, thread);
        self.shared.scheduler.stealing.generated(self);
    }

    /// Puts an unblocked thread where the placement says.
    pub(crate) fn unblock(&self, thread: NonNull<Ready>) {
        // SAFETY: a thread that waits lives.
        let last = unsafe { thread.as_ref() }.last.load(Ordering::Relaxed);
        match self.shared.scheduler.placement {
            Placement::Current => self.push(self.deque, thread),
            Placement::Last => self.push(self.shared.peers[last].deque, thread),
        }
    }

    /// Puts a thread where the worker runs others first: at the top of its deque if that has an end
    /// for this.
    pub(crate) fn push_last(&self, thread: NonNull<Ready>) {
        let pushed = self.shared.deques[self.deque].push_top(thread);
        pushed.unwrap_or_else(|thread| self.overflow.borrow_mut().push_back(thread));
    }

    /// A random number below `bound`, by xorshift64*.
    fn random(&self, bound: usize) -> usize {
        let mut x = self.random.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.random.set(x);
        let scrambled = x.wrapping_mul(0x2545_f491_4f6c_dd1d);
        ((u128::from(scrambled) * bound as u128) >> 64) as usize
    }

    /// The OS thread is about to end.
    pub(crate) fn end(&self) {
        self.spare.take().into_iter().for_each(|spare| self.shared.spare.push(spare));
        if let Some((_, watch)) = self.peer().thread.get() {
            watch.retire();
        }
    }
}

impl Thief for Worker {
    fn index(&self) -> usize {
        self.index
    }

    fn workers(&self) -> usize {
        self.shared.peers.len()
    }

    fn work_is_done(&self) -> bool {
        // Acquire pairs with the release in `thread_ends`.
        self.shared.work_is_done.load(Ordering::Acquire)
    }

    fn random_victim(&self) -> usize {
        let (own, deques) = (self.deque, self.shared.deques.len());
        match deques {
            1 => own,
            _ => (own + 1 + self.random(deques - 1)) % deques,
        }
    }

    fn steal_from(&self, victim: usize) -> bool {
        let stolen = self.shared.deques[victim].pop_top();
        let count = if stolen.is_some() { Count::Steals } else { Count::FailedSteals };
        self.count(count, 1);
        stolen.map(|thread| self.enqueue(self.deque, thread)).is_some()
    }

    fn has_task(&self, worker: usize) -> bool {
        self.shared.peers[worker].has_task.load(Ordering::Relaxed)
    }

    fn is_preempted(&self, worker: usize) -> bool {
        let thread = self.shared.peers[worker].thread.get();
        let state = thread.map(|it| it.1.run_state(os::current_processor()));
        matches!(state, Some(RunState::WaitsHere | RunState::WaitsElsewhere))
    }

    fn yield_core(&self) {
        self.count(Count::Yields, 1);
        os::yield_now();
    }

    fn is_asleep(&self, worker: usize) -> bool {
        self.shared.peers[worker].is_asleep.load(Ordering::Relaxed)
    }

    fn sleep(&self) {
        self.count(Count::Sleeps, 1);
        let is_asleep = &self.peer().is_asleep;
        is_asleep.store(true, Ordering::Release);
        // Acquire pairs with the release in `wake`.
        while is_asleep.load(Ordering::Acquire) && !self.work_is_done() {
            thread::park();
        }
        is_asleep.store(false, Ordering::Relaxed);
    }

    fn wake(&self, worker: usize) -> bool {
        let peer = &self.shared.peers[worker];
        // Release pairs with the acquire in `sleep`. The swap decides which of several wakes it.
        let was_asleep = peer.is_asleep.swap(false, Ordering::AcqRel);
        if was_asleep && let Some((thread, _)) = peer.thread.get() {
            thread.unpark();
        }
        was_asleep
    }

    fn sleeper(&self) -> Option<usize> {
        let (first, workers) = (self.random(self.workers()), self.workers());
        let mut all = (first..first + workers).map(|number| number % workers);
        all.find(|&worker| self.is_asleep(worker))
    }
}
