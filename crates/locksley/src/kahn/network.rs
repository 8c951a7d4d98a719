//! How networks are made and run.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use super::channel::{AnyChannel, Channel};
use super::error::{Failure, NetworkError};
use super::graph::{Graph, Link, NOBODY};
use super::ports::{Declared, Inlet, Outlet, Owner, Ports};
use super::process::{Process, Run};
use super::report::Report;
use super::stack::{Homes, Start};
use super::wait::MOST_CHANNELS;
use crate::meter::Site;
use crate::os::Assists;
use crate::pool::{Pool, Shared};
use crate::task::{Task, TaskError};
use crate::unwind;
use crate::worker::Worker;

/// A network of processes and channels: made first, and then [run](Self::run).
///
/// The processes are asynchronous closures, which run as tasks, or [ordinary ones](Self::process_on_stack); the channels are the only thing that they should have in common.
/// Then what each of them computes, and what goes through each channel, does not depend on the schedule, nor on capacities
/// (Kahn, "The semantics of a simple language for parallel programming", 1974).
///
/// # Examples
/// ```
/// use locksley::{Pool, kahn::Network};
///
/// let mut network = Network::new();
/// let (to_square, numbers) = network.channel("numbers", 8);
/// let (to_sum, squares) = network.channel("squares", 8);
/// network.process("count", to_square, async |mut output| {
///     for n in 0..100_u64 {
///         output.send(n).await;
///     }
/// });
/// network.process("square", (numbers, to_sum), async |(mut input, mut output)| {
///     while let Some(n) = input.recv().await {
///         output.send(n * n).await;
///     }
/// });
/// let sum = network.process("sum", squares, async |mut input| {
///     let mut sum = 0;
///     while let Some(n) = input.recv().await {
///         sum += n;
///     }
///     sum
/// });
/// let report = network.run(&Pool::new(2)?)?;
/// assert_eq!(sum.take(), Some(328_350));
/// assert_eq!(report.channels()[1].received, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Deadlocks
///
/// Where processes wait for each other and one of them for room, the smallest of the full channels grows, as Parks has it
/// ("Bounded scheduling of process networks", 1995), as far as the [limit](Self::limit) permits; this is found while other processes
/// go on, too (Geilen and Basten, "Requirements on the execution of Kahn process networks", 2003). Where they wait for messages only,
/// the network ends with an error. What a process waits for that is no channel of its network, such as a timer, is not looked into: one
/// that waits for such a thing alone is no part of a deadlock, and one that waits for it and for a channel at the same time (a `select`)
/// counts as waiting for the channel alone, and may be said to be deadlocked while the other thing would still have come.
pub struct Network {
    names: Vec<Box<str>>,
    begin: Vec<Begin>,
    channels: Vec<Arc<dyn AnyChannel>>,
    links: Vec<Link>,
    /// The processes that are to have stacks of their own.
    on_stacks: Vec<u32>,
    limit: u64,
    is_measured: bool,
}

/// Makes a process a task, on a worker.
type Begin = Box<dyn FnOnce(&Arc<Graph>, &Worker) + Send>;

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

impl Network {
    /// A network of nothing.
    ///
    /// # Examples
    /// See [`Network`].
    #[must_use]
    pub fn new() -> Self {
        let (names, begin, channels, links, on_stacks) = Default::default();
        Self { names, begin, channels, links, on_stacks, limit: u64::MAX, is_measured: false }
    }

    /// Has channels grow to `messages` at most. Those that are larger from the start do not grow.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, kahn::{Network, NetworkError}};
    ///
    /// let run = |limit| {
    ///     let mut network = Network::new().limit(limit);
    ///     let (mut numbers, last) = network.channel("numbers", 1);
    ///     let (mut signal, done) = network.channel("signal", 1);
    ///     network.process("count", (numbers, signal), async |(mut numbers, mut signal)| {
    ///         for n in 0..10 {
    ///             numbers.send(n).await;
    ///         }
    ///         signal.send(()).await;
    ///     });
    ///     // Takes the signal first.
    ///     network.process("last", (last, done), async |(mut last, mut done)| {
    ///         done.recv().await;
    ///         while last.recv().await.is_some() {}
    ///     });
    ///     network.run(&Pool::new(2).unwrap())
    /// };
    /// assert!(run(16).unwrap().channels()[0].capacity >= 10);
    /// assert!(matches!(run(9), Err(NetworkError::Limit { channel, .. }) if channel == "numbers"));
    /// ```
    #[must_use]
    pub fn limit(self, messages: usize) -> Self {
        Self { limit: messages as u64, ..self }
    }

    /// Has it measured how full channels are, and for how long processes run and wait. That costs time; nothing is measured otherwise
    /// but the numbers of messages.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, kahn::Network};
    ///
    /// let mut network = Network::new().measured();
    /// let (numbers, all) = network.channel("numbers", 4);
    /// network.process("count", numbers, async |mut numbers| {
    ///     for n in 0..10 {
    ///         numbers.send(n).await;
    ///     }
    /// });
    /// network.process("all", all, async |mut all| while all.recv().await.is_some() {});
    /// let report = network.run(&Pool::new(2)?)?;
    /// assert!(matches!(report.channels()[0].high_water, Some(1..=4)));
    /// assert!(report.processes()[0].busy.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn measured(self) -> Self {
        Self { is_measured: true, ..self }
    }

    /// A channel that holds so many messages. Each of its ends is to be given to a process, or dropped.
    ///
    /// Memory for as many messages as it may hold, rounded up to a power of two, is taken with the first one, and for more when it grows. Where
    /// the system has none then, the program ends as wherever memory cannot be had
    /// ([`handle_alloc_error`](std::alloc::handle_alloc_error)).
    ///
    /// # Panics
    /// If the capacity is 0 or larger than any memory, or if there would be more than 2²⁴ channels.
    ///
    /// # Examples
    /// See [`Network`].
    pub fn channel<T: Send + 'static>(
        &mut self,
        name: impl Into<String>,
        capacity: usize,
    ) -> (Outlet<T>, Inlet<T>) {
        assert!(capacity > 0, "a channel holds a message at least");
        assert!(
            self.channels.len() < MOST_CHANNELS,
            "a network has at most {MOST_CHANNELS} channels"
        );
        let name = name.into().into_boxed_str();
        let channel = Arc::new(Channel::new(self.channels.len() as u32, name, capacity as u64));
        self.channels.push(Arc::<Channel<T>>::clone(&channel));
        self.links.push(Link::nobodys());
        (Outlet::new(Arc::clone(&channel)), Inlet::new(channel))
    }

    /// A process, and the ends of channels that are its own.
    ///
    /// `body` is called when the network begins to run. What it returns in the end can be had from the [`Product`]. A process ends when
    /// it returns; a receiver then gets `None` when it has received all that it had sent.
    ///
    /// The ends are the process's own: it sends and receives itself, not by other tasks that it spawns, and has dropped them when it has
    /// returned. The second half of a join, or a scope's task, is elsewhere too: whether another worker has stolen it would decide what is
    /// refused, and a sender may wait longer than it has to. A wait anywhere else is refused by a panic; and if the process ends and one of its ends has not, because it is
    /// in what was returned, in another task, or leaked, the network ends with [`NetworkError::Kept`].
    ///
    /// # Panics
    /// If the ends belong to another network, or if there would be 2³² processes.
    ///
    /// # Examples
    /// See [`Network`].
    #[track_caller]
    pub fn process<P, F, R>(
        &mut self,
        name: impl Into<String>,
        ports: P,
        body: F,
    ) -> Product<R::Output>
    where
        P: Ports,
        F: FnOnce(P::Owned) -> R + Send + 'static,
        R: Future + Send + 'static,
        R::Output: Send + Sync + 'static,
    {
        let (number, site) = (self.declare(name.into(), &ports), Site::here());
        let product = Arc::new(OnceLock::new());
        let place = Arc::clone(&product);
        self.begin.push(Box::new(move |graph, worker| {
            let make = || unwind::halt(|| body(ports.own(&Owner { graph, process: number })));
            // It may receive and wait in there, too.
            let made = worker.payer().while_polled(graph, number, make);
            // Ports of a program's own may have dropped some of what they were.
            graph.look_after_ends(number);
            // Where nobody wants what it returns, there need be no place for that.
            let place = (Arc::strong_count(&place) > 1).then_some(place);
            match made {
                Ok(future) => {
                    let run = Run::new(future, place, Arc::clone(graph), number);
                    drop(worker.spawn_future_from(site, run));
                }
                Err(payload) => {
                    graph.fail(Failure::Panicked { process: number, payload });
                    graph.one_has_ended();
                }
            }
        }));
        Product(product)
    }

    /// A process on a stack of its own: ordinary code, which sends by [`Sender::send_blocking`](super::Sender::send_blocking), receives by
    /// [`Receiver::recv_blocking`](super::Receiver::recv_blocking), and may wait deep inside of functions that are not `async`.
    ///
    /// It begins on any worker of the pool, and stays there. While it waits, the worker goes on with other tasks; when it can go on, its worker
    /// comes back to it first. It counts in [deadlocks](Self#deadlocks) as any other process does. When the network has failed, its waits
    /// return [`Over`](super::Over), and it is expected to return; its stack is not unwound. A destructor that would have to wait for a
    /// channel while the process unwinds makes it fail: see [`NetworkError::Unwinding`].
    ///
    /// What it is given, and what it returns, is as with [`process`](Self::process). It may wait for what does not belong to the network by
    /// [`block_on`](crate::block_on), in a join or a scope, or in [`blocking`](crate::blocking). Such a wait does not end with the network. A
    /// pool that is dropped first waits for it to end, as it does where closures wait, if it has begun before, and unless the process is at a
    /// channel inside of it; after that its networks are cancelled, like all futures, and it waits for processes on stacks to return. One that
    /// comes to such a wait later, when the pool is being dropped and all closures have ended, may find the pool's futures cancelled: if it waits
    /// for what one of these was to do, and the wait does not end when that is dropped, the pool waits for ever.
    ///
    /// A wait at a channel inside of `blocking` or a scope ends with the network all the same. The pool does not wait for what is around it
    /// either: if the process is at such a channel when the last closure has ended, the scope goes on like a wait that begins later, and another
    /// task of it may find the pool's futures cancelled.
    ///
    /// If there is no stack for it, because the pool may have [none](crate::PoolBuilder::waiting_stacks) or no more of them, because the system
    /// has no memory for one, because the pool's only worker is [the thread that built it](crate::PoolBuilder::with_current_thread), or all others unwind, or
    /// because the feature `stacks` is off, the network ends with [`NetworkError::NoStack`]. Stacks that are kept to be used again count, too,
    /// so whether there is one may depend on the schedule; but, where the system has them, not while fewer than half of those that there may be
    /// are in use.
    ///
    /// # Panics
    /// As [`process`](Self::process).
    ///
    /// # Examples
    /// ```
    /// use locksley::kahn::{Network, NetworkError, Over};
    /// use locksley::Pool;
    ///
    /// /// A walk over a tree, which is not `async`.
    /// fn walk(tree: &[u32], node: usize, visit: &mut impl FnMut(u32) -> Result<(), Over>) -> Result<(), Over> {
    ///     if let Some(&value) = tree.get(node) {
    ///         walk(tree, 2 * node + 1, visit)?;
    ///         visit(value)?;
    ///         walk(tree, 2 * node + 2, visit)?;
    ///     }
    ///     Ok(())
    /// }
    ///
    /// let mut network = Network::new();
    /// let (values, all) = network.channel("values", 2);
    /// network.process_on_stack("walk", values, |mut values| {
    ///     walk(&[4, 2, 6, 1, 3, 5, 7], 0, &mut |value| values.send_blocking(value))
    /// });
    /// let all = network.process("all", all, async |mut all| {
    ///     let mut found = Vec::new();
    ///     while let Some(value) = all.recv().await {
    ///         found.push(value);
    ///     }
    ///     found
    /// });
    /// match network.run(&Pool::new(2)?) {
    ///     Ok(_) => assert_eq!(all.take().unwrap(), [1, 2, 3, 4, 5, 6, 7]),
    ///     Err(NetworkError::NoStack { .. }) => {} // on systems that have none
    ///     Err(error) => return Err(error.into()),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn process_on_stack<P, F, R>(
        &mut self,
        name: impl Into<String>,
        ports: P,
        body: F,
    ) -> Product<R>
    where
        P: Ports,
        F: FnOnce(P::Owned) -> R + Send + 'static,
        R: Send + Sync + 'static,
    {
        let number = self.declare(name.into(), &ports);
        self.on_stacks.push(number);
        let product = Arc::new(OnceLock::new());
        let place = Arc::clone(&product);
        self.begin.push(Box::new(move |graph, worker| {
            let graph = Arc::clone(graph);
            let start = Start { graph, number, ports, body, place };
            worker.spawn(|worker| start.begin(worker));
        }));
        Product(product)
    }

    /// One more process, with these ends of channels.
    fn declare(&mut self, name: String, ports: &impl Ports) -> u32 {
        let number = u32::try_from(self.names.len()).ok().filter(|&number| number != NOBODY);
        let number = number.expect("fewer than 2^32 processes");
        let (channels, links) = (&self.channels, &mut self.links);
        ports.declare(&mut Declared { channels, links, process: number });
        self.names.push(name.into_boxed_str());
        number
    }

    /// Runs the network on a pool, and waits until all its processes have ended.
    ///
    /// A worker, of whatever pool, runs other tasks meanwhile; any other thread blocks.
    ///
    /// # Errors
    /// [`NetworkError`]: if processes wait for each other, if one panics, or if an end of a channel belongs to nobody. Then the other
    /// processes have been dropped where they waited.
    ///
    /// # Examples
    /// See [`Network`].
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn run(self, pool: &Pool) -> Result<Report, NetworkError> {
        self.start(pool)?.join()
    }

    /// Starts the network on a pool.
    ///
    /// # Errors
    /// [`NetworkError::Unowned`], if an end of a channel belongs to nobody.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, kahn::Network};
    ///
    /// let pool = Pool::new(2)?;
    /// let mut network = Network::new();
    /// let answer = network.process("answer", (), async |()| 42);
    /// let running = network.start(&pool)?;
    /// pool.spawn_future(running).join()??;
    /// assert_eq!(answer.take(), Some(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start(self, pool: &Pool) -> Result<Running, NetworkError> {
        for (channel, link) in self.channels.iter().zip(&self.links) {
            let core = channel.core();
            let is_unowned = link.producer == NOBODY && !core.is_closed()
                || link.consumer == NOBODY && !core.is_abandoned();
            if is_unowned {
                return Err(NetworkError::Unowned { channel: core.name().to_owned() });
            }
        }
        let processes = self.names.into_iter().map(Process::new).collect();
        let (channels, links) = (self.channels.into(), self.links.into());
        let homes = Homes::of(self.on_stacks);
        let graph = Graph::new(processes, channels, links, homes, self.limit, self.is_measured);
        let task = pool.spawn_future(conclude(Arc::clone(&graph), self.begin));
        Ok(Running { graph, task })
    }
}

/// Begins all processes and waits for them.
async fn conclude(graph: Arc<Graph>, begin: Vec<Begin>) -> Outcome {
    let home = Worker::with_current(|current| {
        let worker = current.expect("tasks run on workers");
        graph.meter(worker);
        if worker.shared().assists().has(Assists::MEMBARRIER) {
            graph.begin();
        }
        begin.into_iter().for_each(|begin| begin(&graph, worker));
        Arc::clone(worker.shared())
    });
    let unfinished = Unfinished(&graph);
    graph.end().await;
    graph.is_waited_for();
    std::mem::forget(unfinished);
    graph.purge();
    match graph.take_failure() {
        Some(failure) => {
            let error = failure.told(&graph);
            let home = matches!(error, NetworkError::Panicked { .. }).then_some(home);
            Outcome { result: Some(Err(error)), home }
        }
        None => Outcome { result: Some(Ok(Report::of(&graph))), home: None },
    }
}

/// A network that somebody waits for. If they are dropped before it has ended, its pool gives it up.
struct Unfinished<'g>(&'g Graph);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        // Those that are futures are dropped as this is. Those on stacks are told by this.
        self.0.fail(Failure::Cancelled);
    }
}

/// How a network has ended. If it was by a panic, and nobody asks, the pool's handler is told.
struct Outcome {
    result: Option<Result<Report, NetworkError>>,
    /// A share in the pool, so that its handler is there as long as this is.
    home: Option<Arc<Shared>>,
}

impl Drop for Outcome {
    fn drop(&mut self) {
        if let (Some(Err(error)), Some(home)) = (self.result.take(), &self.home)
            && let Ok(payload) = error.try_into_panic()
        {
            home.report_panic(payload);
        }
    }
}

fn told(ended: Result<Outcome, TaskError>) -> Result<Report, NetworkError> {
    match ended {
        Ok(mut outcome) => outcome.result.take().unwrap_or(Err(NetworkError::Cancelled)),
        Err(error) if error.is_panic() => Err(NetworkError::Panicked { process: None, error }),
        Err(_) => Err(NetworkError::Cancelled),
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("processes", &self.names)
            .field("channels", &self.channels.len())
            .finish_non_exhaustive()
    }
}

/// A network that runs: a future of how it ends. Dropping it lets the network go on by itself; if a process panics then, that goes to
/// the pool's [`panic_handler`](crate::PoolBuilder::panic_handler), as where a detached task does.
///
/// # Examples
/// See [`Network::start`].
#[must_use = "it says how the network ends"]
pub struct Running {
    graph: Arc<Graph>,
    task: Task<Outcome>,
}

impl Running {
    /// Waits until all processes have ended, from code that is not `async`.
    ///
    /// # Errors
    /// As [`Network::run`].
    ///
    /// # Panics
    /// If how it ended was taken before, by polling it.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, kahn::Network};
    ///
    /// let pool = Pool::new(1)?;
    /// assert!(Network::new().start(&pool)?.join().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn join(self) -> Result<Report, NetworkError> {
        told(self.task.join())
    }

    /// Has the network given up: processes are dropped where they wait.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, kahn::{Network, NetworkError}};
    ///
    /// let pool = Pool::new(1)?;
    /// let mut network = Network::new();
    /// network.process("endless", (), async |()| std::future::pending::<()>().await);
    /// let running = network.start(&pool)?;
    /// running.cancel();
    /// assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&self) {
        self.graph.fail(Failure::Cancelled);
    }
}

impl Future for Running {
    type Output = Result<Report, NetworkError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.task).poll(context).map(told)
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("is_over", &self.graph.is_over()).finish_non_exhaustive()
    }
}

/// What a process returns in the end.
///
/// # Examples
/// See [`Network`].
pub struct Product<T>(Arc<OnceLock<T>>);

impl<T> Product<T> {
    /// What the process has returned; `None` if it has not ended.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, kahn::Network};
    ///
    /// let mut network = Network::new();
    /// let answer = network.process("answer", (), async |()| 42);
    /// assert_eq!(answer.get(), None);
    /// network.run(&Pool::new(1)?)?;
    /// assert_eq!(answer.get(), Some(&42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// What the process has returned, if its network has ended; `None` if it has not, or was not run to its end.
    ///
    /// # Examples
    /// See [`Network`].
    #[must_use]
    pub fn take(self) -> Option<T> {
        Arc::into_inner(self.0)?.into_inner()
    }
}

impl<T> fmt::Debug for Product<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Product").field("is_there", &self.0.get().is_some()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::future::pending;
    use std::sync::mpsc::channel;

    use super::Network;
    use crate::Pool;
    use crate::os::{self, Assists};

    #[test]
    fn a_network_is_its_worker_s_alone_where_the_pool_makes_heavy_barriers() {
        for assists in [Assists::ALL, Assists::MEMBARRIER, Assists::NONE] {
            let pool = Pool::builder().workers(1).assists(assists).build().unwrap();
            let (say, said) = channel();
            let mut network = Network::new();
            network.process("waits", (), async move |()| {
                say.send(()).unwrap();
                pending::<()>().await;
            });
            let running = network.start(&pool).unwrap();
            said.recv().unwrap();
            let makes_them = assists.has(Assists::MEMBARRIER) && os::heavy_barrier_works();
            assert_eq!(running.graph.is_shared(), !makes_them, "{assists:?}");
            running.cancel();
            assert!(running.join().is_err());
        }
    }
}
