//! The parallel machine: workers that park until there is work.
//!
//! Source: "Hood: A User-Level Threads Library for Multiprogrammed Multiprocessors", 1998, section
//! 2: "the P processes just park on a condition variable ... the program calls the `HoodParMach`
//! `runScheduler` method. The P processes are released from the condition variable, and they begin
//! executing the scheduling loop ... When the scheduling loop terminates, they repark and
//! `runScheduler` returns."

use std::fmt;
use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use locksley_sys::os;
use locksley_sys::primitive::{AtomicBool, AtomicUsize, CachePadded, Ordering, thread};

use crate::context::Context;
use crate::deque::{AbpArray, Deque};
use crate::fiber;
use crate::placement::Placement;
use crate::stats::{Counter, Counters, Stats};
use crate::stealing::Abp;
use crate::thief::Stealing;
use crate::worker::{Peer, Ready, Shared, Worker};

/// A scheduler: one part of each kind.
pub struct Scheduler {
    /// Makes a deque.
    pub deque: fn() -> Box<dyn Deque<Ready>>,
    /// What workers do without a task.
    pub stealing: Box<dyn Stealing>,
    /// Where a thread goes that no longer waits.
    pub placement: Placement,
    /// The place of each worker, from 0 on. Workers of a place share its deque. Empty: each worker
    /// has a deque.
    pub places: Vec<usize>,
    /// Whether threads with an affinity lie in mailboxes, too.
    pub has_mailboxes: bool,
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
            places: Vec::new(),
            has_mailboxes: false,
            processors: Vec::new(),
            stack_bytes: 1 << 20,
        }
    }
}

/// Why a machine cannot be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The parts do not fit together.
    Unsuitable(&'static str),
    /// The system refused a thread.
    Thread(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Unsuitable(why) => f.write_str(why),
            StartError::Thread(error) => write!(f, "a thread could not be started: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// Workers that run threads by a [`Scheduler`].
pub struct Machine {
    shared: Arc<Shared>,
    gate: Arc<Gate>,
    /// Held by the one call of `run` that is in progress.
    running: Mutex<()>,
    threads: Vec<thread::JoinHandle<()>>,
}

/// Where workers park between two runs.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    /// A run begins, or the machine ends.
    opened: Condvar,
    /// The last worker has parked.
    parked: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of runs that have begun.
    runs: u64,
    is_over: bool,
    /// Workers in their scheduling loops.
    working: usize,
}

impl Machine {
    /// Starts the workers, which park.
    ///
    /// # Errors
    /// If the parts of the scheduler do not fit together or to the number of workers, or if the
    /// system refuses a thread.
    ///
    /// # Safety
    /// A thread may be resumed by another thread of the operating system. So no thread of this
    /// machine holds something that is not [`Send`] while it may wait: in [`Context::join`], in
    /// [`Context::wait`], in [`Context::yield_now`], for a semaphore or for a channel.
    pub unsafe fn start(workers: usize, scheduler: Scheduler) -> Result<Machine, StartError> {
        let Scheduler { deque, mut stealing, placement, places, .. } = scheduler;
        let (processors, has_mailboxes) = (scheduler.processors, scheduler.has_mailboxes);
        let has_places = !places.is_empty();
        let place = |worker: usize| if has_places { places[worker] } else { worker };
        let deques = match places.iter().max() {
            Some(last) => last + 1,
            None => workers,
        };
        let is_shared = deque().is_shared();
        let reason = match () {
            () if workers == 0 => "a machine needs a worker",
            () if has_places && places.len() != workers => "each worker needs one place",
            () if (0..deques).any(|place| has_places && !places.contains(&place)) => {
                "each place needs a worker"
            }
            () if !processors.is_empty() && processors.len() != workers => {
                "each worker needs its processors"
            }
            () if !is_shared && (has_places || has_mailboxes || placement == Placement::Last) => {
                "only a deque with a lock can be used by several workers"
            }
            () if has_places && (has_mailboxes || stealing.needs_a_deque_each()) => {
                "each worker needs a deque of its own"
            }
            () => "",
        };
        if !reason.is_empty() {
            return Err(StartError::Unsuitable(reason));
        }
        stealing.start(workers);
        let shared = Arc::new(Shared {
            deques: (0..deques).map(|_| CachePadded::new(deque())).collect(),
            peers: (0..workers).map(|worker| CachePadded::new(Peer::new(place(worker)))).collect(),
            stealing,
            placement,
            places: has_places.then(AtomicUsize::default),
            has_mailboxes,
            live: AtomicUsize::new(0),
            work_is_done: AtomicBool::new(true),
            unbound: AtomicUsize::new(0),
            panic: locksley_sys::primitive::Mutex::new(None),
            stack_bytes: scheduler.stack_bytes,
        });
        let gate = Arc::new(Gate::default());
        gate.lock().working = workers;
        let mut machine =
            Machine { shared, gate, running: Mutex::new(()), threads: Vec::with_capacity(workers) };
        for worker in 0..workers {
            let (shared, gate) = (machine.shared.clone(), machine.gate.clone());
            let processors = processors.get(worker).cloned();
            let thread =
                thread::Builder::new().name(format!("classic-{worker}")).spawn(move || {
                    if processors.is_some_and(|processors| !os::bind_this_thread(&processors)) {
                        shared.unbound.fetch_add(1, Ordering::Relaxed);
                    }
                    work(&Worker::new(shared, worker), &gate);
                });
            // If this fails, the drop of the machine waits for those that have started.
            machine.threads.push(thread.map_err(|error| {
                machine.gate.lock().working -= workers - worker;
                StartError::Thread(error)
            })?);
        }
        drop(machine.gate.wait_until_parked(machine.gate.lock()));
        Ok(machine)
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.shared.peers.len()
    }

    /// Runs a thread, and all that it creates, and returns its result when all have ended. A second
    /// call meanwhile waits for the first.
    ///
    /// As in Hood, this does not return if a thread waits for a signal that is never sent. A thread
    /// of this machine that calls it waits for itself.
    ///
    /// # Panics
    /// If a thread that is not joined panics, with the first such panic.
    pub fn run<'e, R: Send + 'e>(&self, root: impl FnOnce(&Context<'e>) -> R + Send + 'e) -> R {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let result = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&result);
        let (root, _) = Context::thread(
            move |context: &Context<'e>| {
                let result = root(context);
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            },
            None,
        );
        self.shared.live.store(1, Ordering::Relaxed);
        self.shared.work_is_done.store(false, Ordering::Relaxed);
        // The lock of the gate orders these, and the push, before the accesses of the workers.
        let pushed = self.shared.deque(0).push_bottom(root);
        assert!(pushed.is_ok(), "all deques are empty between two runs");
        let mut state = self.gate.lock();
        (state.runs, state.working) = (state.runs + 1, self.workers());
        self.gate.opened.notify_all();
        drop(self.gate.wait_until_parked(state));
        drop(running);
        if let Some(panic) = self.shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            resume_unwind(panic);
        }
        let result = result.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.expect("the thread has ended")
    }

    /// What all workers did since the machine was started.
    pub fn stats(&self) -> Stats {
        let total = |counter: fn(&Counters) -> &Counter| -> u64 {
            self.shared.peers.iter().map(|peer| counter(&peer.counters).get()).sum()
        };
        Stats {
            steals: total(|it| &it.steals),
            failed_steals: total(|it| &it.failed_steals),
            yields: total(|it| &it.yields),
            sleeps: total(|it| &it.sleeps),
            wakes: total(|it| &it.wakes),
            switches_to_thief: total(|it| &it.switches_to_thief),
            switches: self.shared.peers.iter().map(|peer| peer.switches()).sum(),
            unbound: self.shared.unbound.load(Ordering::Relaxed),
            out_of_place: total(|it| &it.out_of_place),
            searching: Duration::from_nanos(total(|it| &it.searching)),
            lock_wait: self.shared.deques.iter().map(|deque| deque.lock_wait()).sum(),
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.gate.lock().is_over = true;
        self.gate.opened.notify_all();
        for thread in self.threads.drain(..) {
            // A worker does not panic: threads catch their panics.
            let _ = thread.join();
        }
    }
}

/// The life of a worker.
fn work(worker: &Worker, gate: &Gate) {
    let mut runs = 0;
    let aborts = AbortsOnUnwind;
    while gate.park(&mut runs) {
        worker.scheduling_loop();
    }
    fiber::free_spare(worker);
    worker.retire();
    std::mem::forget(aborts);
}

/// A worker that has no memory for a stack ends the process: its run would wait for ever.
struct AbortsOnUnwind;

impl Drop for AbortsOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Parks a worker until the next run. Returns false if there is none any more.
    fn park(&self, runs: &mut u64) -> bool {
        let mut state = self.lock();
        state.working -= 1;
        if state.working == 0 {
            self.parked.notify_all();
        }
        while state.runs == *runs && !state.is_over {
            state = self.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        *runs = state.runs;
        !state.is_over
    }

    fn wait_until_parked<'g>(&'g self, mut state: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        while state.working > 0 {
            state = self.parked.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }
}
