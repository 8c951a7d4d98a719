//! The parallel machine: workers that park between runs.
//!
//! Source: "Hood: A User-Level Threads Library for Multiprogrammed Multiprocessors", 1998, section
//! 2: "the P processes just park on a condition variable ... the program calls the `HoodParMach`
//! `runScheduler` method. The P processes are released from the condition variable, and they begin
//! executing the scheduling loop ... When the scheduling loop terminates, they repark and
//! `runScheduler` returns." Here they park in the receiving end of a channel.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_queue::SegQueue;
use locksley_sys::os;
use locksley_sys::primitive::mpsc::{self, Receiver, Sender};
use locksley_sys::primitive::plain::Mutex;
use locksley_sys::primitive::{AtomicBool, AtomicUsize, CachePadded, Ordering, thread};

use crate::context::Context;
use crate::fiber;
use crate::placement::Placement;
use crate::queues::Queues;
use crate::stats::Count;
use crate::worker::{Peer, Scheduler, Shared, Worker, lock};

/// Why a machine cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The parts do not fit together.
    #[error("{0}")]
    Unsuitable(&'static str),
    /// The system refused a thread.
    #[error("a thread could not be started: {0}")]
    Thread(#[source] io::Error),
}

/// Workers that run threads by a [`Scheduler`].
pub struct Machine {
    shared: Arc<Shared>,
    /// A message releases a worker; the end of the channel ends it.
    release: Vec<Sender<()>>,
    /// A message from each worker that has parked. Locked by the one call of `run` in progress.
    parked: Mutex<Receiver<()>>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Machine {
    /// Starts the workers, which park.
    ///
    /// # Errors
    /// If the parts of the scheduler do not fit together or to the number of workers, or if the
    /// system refuses a thread.
    ///
    /// # Safety
    /// - A thread may be resumed by another OS thread. So no thread of this machine holds something
    ///   that is not [`Send`], or a reference to a thread-local value, while it may wait: in
    ///   [`Context::join`], [`Context::wait`], [`Context::yield_now`], for a semaphore or for a
    ///   channel.
    /// - Each [`Thread`](crate::Thread), semaphore and channel is used by threads of one machine.
    /// - The deques return each item once.
    pub unsafe fn start(workers: usize, mut scheduler: Scheduler) -> Result<Machine, StartError> {
        let Scheduler { deque, ref queues, placement, ref processors, .. } = scheduler;
        let deque_of_each: Vec<usize> = match queues {
            Queues::OfPlaces(places) => places.clone(),
            Queues::OfWorkers | Queues::WithMailboxes => (0..workers).collect(),
        };
        let deques = deque_of_each.iter().max().map_or(0, |last| last + 1);
        let are_used = (0..deques).all(|deque| deque_of_each.contains(&deque));
        let are_bound = processors.is_empty() || processors.len() == workers;
        let is_last = placement == Placement::Last;
        let is_shared = is_last || matches!(queues, Queues::OfPlaces(_));
        let is_pushed_to = is_last || *queues != Queues::OfWorkers;
        ensure(workers > 0, "a machine needs a worker")?;
        ensure(
            deque_of_each.len() == workers && are_used,
            "each worker needs one place, and each place a worker",
        )?;
        ensure(are_bound, "each worker needs its processors")?;
        ensure(
            !is_shared || deque().is_shared(),
            "only a deque with a lock can be used by several workers",
        )?;
        ensure(
            !is_pushed_to || scheduler.stealing.is_one_attempt(),
            "a worker that tries several victims or sleeps does not see what others push to it",
        )?;
        scheduler.stealing.start(workers);
        let peer = |deque| CachePadded::new(Peer { deque, ..Peer::default() });
        let shared = Arc::new(Shared {
            deques: (0..deques).map(|_| CachePadded::new(deque())).collect(),
            peers: deque_of_each.into_iter().map(peer).collect(),
            scheduler,
            turn: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
            work_is_done: AtomicBool::new(true),
            panic: Mutex::new(None),
            spare: SegQueue::new(),
        });
        let (parks, parked) = mpsc::channel();
        let (release, threads) = (Vec::new(), Vec::new());
        let mut machine = Machine { shared, release, parked: Mutex::new(parked), threads };
        for worker in 0..workers {
            let (release, released) = mpsc::channel();
            let (shared, parks) = (machine.shared.clone(), parks.clone());
            let work = move || work(&Worker::new(shared, worker), &released, &parks);
            let thread = thread::Builder::new().name(format!("classic-{worker}")).spawn(work);
            // If this fails, the drop of the machine ends those that have started.
            machine.threads.push(thread.map_err(StartError::Thread)?);
            machine.release.push(release);
        }
        machine.wait_until_parked(&lock(&machine.parked));
        Ok(machine)
    }

    fn wait_until_parked(&self, parked: &Receiver<()>) {
        parked.iter().take(self.workers()).for_each(drop);
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.shared.peers.len()
    }

    /// Runs a thread, and all that it creates, and returns its result when all have ended. A second
    /// call meanwhile waits for the first.
    ///
    /// As in Hood, this does not return if a thread waits for a signal that is never sent. A call
    /// by a thread of this machine deadlocks.
    ///
    /// # Panics
    /// If a thread that is not joined panics, with the first such panic.
    pub fn run<'e, R: Send + 'e>(&self, root: impl FnOnce(&Context<'e>) -> R + Send + 'e) -> R {
        let parked = lock(&self.parked);
        let result = Mutex::new(None);
        let root = |context: &Context<'e>| *lock(&result) = Some(root(context));
        self.shared.live.store(1, Ordering::Relaxed);
        self.shared.work_is_done.store(false, Ordering::Relaxed);
        // The channels order these, and the push, before the accesses of the workers.
        let pushed = self.shared.deques[0].push_bottom(Context::thread(root, None).0);
        assert!(pushed.is_ok(), "all deques are empty between two runs");
        self.release.iter().for_each(|release| release.send(()).expect("a worker is there"));
        self.wait_until_parked(&parked);
        // Before the next run begins, which may panic, too.
        let panic = lock(&self.shared.panic).take();
        drop(parked);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        let result = lock(&result).take();
        result.expect("the thread has ended")
    }

    /// What all workers have counted.
    pub fn count(&self, count: Count) -> u64 {
        self.shared.peers.iter().map(|peer| peer.counters.get(count)).sum()
    }

    /// The context switches of all workers. `None` where they are not recorded.
    pub fn switches(&self) -> Option<u64> {
        self.shared.peers.iter().map(|peer| peer.switches()).sum()
    }

    /// The time of waits for the locks of deques.
    pub fn lock_wait(&self) -> Duration {
        self.shared.deques.iter().map(|deque| deque.lock_wait()).sum()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.release.clear();
        // A worker does not panic: threads catch their panics.
        self.threads.drain(..).for_each(|thread| _ = thread.join());
        while let Some(spare) = self.shared.spare.pop() {
            fiber::free(spare);
        }
    }
}

fn ensure(is_suitable: bool, otherwise: &'static str) -> Result<(), StartError> {
    if is_suitable { Ok(()) } else { Err(StartError::Unsuitable(otherwise)) }
}

/// What the OS thread of a worker runs.
fn work(worker: &Worker, released: &Receiver<()>, parks: &Sender<()>) {
    let run = || {
        let processors = worker.shared.scheduler.processors.get(worker.index);
        let is_bound = processors.is_none_or(|processors| os::bind_this_thread(processors));
        worker.count(Count::Unbound, (!is_bound).into());
        // A send fails if the machine could not be started.
        while parks.send(()).is_ok() && released.recv().is_ok() {
            worker.scheduling_loop();
        }
        worker.end();
    };
    // Threads borrow from callers that wait for them.
    if catch_unwind(AssertUnwindSafe(run)).is_err() {
        std::process::abort();
    }
}
