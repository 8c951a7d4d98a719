//! Processes on stacks of their own: how they begin, and how they wait.

use std::error::Error;
use std::fmt;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use super::error::Failure;
use super::graph::Graph;
use super::ports::{Owner, Ports};
use crate::fiber::Signal;
use crate::primitive::{Ordering, fence};
use crate::unwind;
use crate::worker::Worker;

/// The network is over: it has failed or was given up, and what a process waited for will not come. Or the process cannot wait, since it
/// unwinds, and the network is over by that ([`NetworkError::Unwinding`](super::NetworkError::Unwinding)).
///
/// # Examples
/// ```
/// use locksley::{Pool, kahn::{Network, NetworkError, Over}};
///
/// let mut network = Network::new();
/// let (never, input) = network.channel::<u8>("never", 1);
/// network.process_on_stack("waits", (never, input), |(never, mut input)| {
///     // It waits for itself.
///     assert_eq!(input.recv_blocking(), Err(Over));
///     drop(never);
/// });
/// let ended = network.run(&Pool::new(1)?);
/// assert!(matches!(ended, Err(NetworkError::Deadlock(_) | NetworkError::NoStack { .. })));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over;

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the process network is over")
    }
}

impl Error for Over {}

/// The processes of a network that have stacks of their own: their numbers, which rise, and where each runs once it has begun.
pub(super) struct Homes {
    processes: Box<[u32]>,
    homes: Box<[OnceLock<Home>]>,
}

/// Where such a process runs.
struct Home {
    /// One for all its waits, so that a wake needs to know no more than that of a task.
    signal: Arc<Signal>,
    /// The same, as others see it.
    waker: Waker,
    stack: NonZeroUsize,
}

impl Homes {
    pub(super) fn of(processes: Vec<u32>) -> Self {
        debug_assert!(processes.is_sorted());
        let homes = processes.iter().map(|_| OnceLock::new()).collect();
        Self { processes: processes.into(), homes }
    }

    fn place(&self, process: u32) -> Option<&OnceLock<Home>> {
        self.processes.binary_search(&process).ok().map(|place| &self.homes[place])
    }

    /// A process begins on the stack that the worker is on.
    fn settle(&self, process: u32, worker: &Worker) -> &Home {
        self.place(process).expect("it is to have a stack").get_or_init(|| {
            let stack = worker.stack().expect("it has been given a stack");
            let signal = Arc::new(Signal::of(worker));
            Home { waker: Waker::from(Arc::clone(&signal)), signal, stack }
        })
    }

    /// Where it runs, if it has begun.
    fn home(&self, process: u32) -> Option<&Home> {
        self.place(process)?.get()
    }
}

impl Home {
    /// Waits to be woken. The caller is on the process's stack.
    fn wait(&self, worker: &Worker) {
        self.signal.wait_at_channel(worker);
    }

    /// Whether it could wait now: a worker whose thread unwinds does not leave the stack that it is on, and would never come to what
    /// this one waits for.
    fn may_wait(&self, worker: &Worker) -> bool {
        worker.may_switch() || self.signal.is_given()
    }
}

/// A process that is to begin.
pub(super) struct Start<P, F, R> {
    pub(super) graph: Arc<Graph>,
    pub(super) number: u32,
    pub(super) ports: P,
    pub(super) body: F,
    /// Where what it returns goes.
    pub(super) place: Arc<OnceLock<R>>,
}

impl<P, F, R> Start<P, F, R>
where
    P: Ports,
    F: FnOnce(P::Owned) -> R + Send + 'static,
    R: Send + Sync + 'static,
{
    /// Begins it, on a stack of its own: on no other, where it might lie on top of what waits for it. A guest, which has no stacks, and who
    /// unwinds, and cannot go to one, leave it to the others.
    pub(super) fn begin(self, worker: &Worker) {
        // The task that begins it is over: what comes next may run to the network's end before this returns.
        worker.arrives();
        if worker.may_switch() {
            return self.begin_here(worker);
        }
        // When the pool is dropped it is cancelled, like one that has begun: it is told when it begins.
        let begin = move |worker: &Worker| {
            worker.arrives(); // as above
            self.begin_here(worker);
        };
        if let Some(job) = worker.shared().cancellable(begin) {
            worker.leave_apart(job);
        }
    }

    fn begin_here(self, worker: &Worker) {
        let (graph, number) = (Arc::clone(&self.graph), self.number);
        if let Err(refused) = worker.spawn_apart(move |worker| self.run(worker)) {
            graph.fail(Failure::NoStack { process: number });
            if let Err(payload) = unwind::halt(|| drop(refused)) {
                graph.fail(Failure::Panicked { process: number, payload });
            }
            graph.has_returned(number);
        }
    }

    /// Runs it to its end, on its stack.
    fn run(self, worker: &Worker) {
        let Self { graph, number, ports, body, place, .. } = self;
        let process = graph.process(number);
        process.is_woken_by(&graph.homes().settle(number, worker).waker);
        // Pairs with the fence in `Graph::fail`: either that wakes us, or we see that it is over.
        fence(Ordering::SeqCst);
        let since = graph.is_measured().then(Instant::now);
        let body = || {
            if graph.is_over() {
                return drop((ports, body, place));
            }
            let ends = ports.own(&Owner { graph: &graph, process: number });
            // Ports of a program's own may have dropped some of what they were.
            graph.look_after_ends(number);
            let product = body(ends);
            // Where nobody wants it, it is dropped with its place, which is given up before the process has ended.
            drop(place.set(product));
        };
        // Whatever it waits for, it pays what it owes first.
        let ended = worker.payer().while_polled(&graph, number, || unwind::halt(body));
        if let Some(since) = since {
            process.was_busy(since.elapsed());
        }
        if let Err(payload) = ended {
            graph.fail(Failure::Panicked { process: number, payload });
        }
        graph.has_returned(number);
    }
}

/// Waits for a future of an end of a channel, on the stack of the process that has it.
pub(super) fn wait<F: Future + Unpin>(
    graph: &Graph,
    owner: u32,
    mut future: F,
) -> Result<F::Output, Over> {
    let process = graph.process(owner);
    Worker::with_current(|current| {
        // Looked at before anything is said in the process's name.
        let here = current.zip(graph.homes().home(owner));
        let here = here.filter(|(worker, home)| worker.stack() == Some(home.stack));
        let (worker, home) = here.unwrap_or_else(|| {
            panic!(
                "an end of a channel blocks only in the process that it belongs to, which is '{}', and on a stack of its own",
                process.name()
            )
        });
        let mut context = Context::from_waker(&home.waker);
        if worker.is_metered() && !graph.is_metered() {
            worker.has_uncarried();
        }
        loop {
            if let Poll::Ready(found) = Pin::new(&mut future).poll(&mut context) {
                return Ok(found);
            }
            if !home.may_wait(worker) {
                graph.fail(Failure::Unwinding { process: owner });
            }
            // Who ends the network wakes all processes afterwards.
            if graph.is_over() {
                return Err(Over);
            }
            let since = graph.is_measured().then(Instant::now);
            home.wait(worker);
            if let Some(since) = since {
                process.was_idle(since.elapsed());
            }
        }
    })
}
