//! Creating a network: its channels and its processes.

use std::fmt;
use std::sync::Arc;

use super::channel::{AnyChannel, Channel};
use super::deferred::Current;
use super::error::{Failure, NetworkError};
use super::graph::{Graph, Link, NO_PROCESS};
use super::ports::{Inlet, Outlet, Owner, PortRegistry, Ports};
use super::process::Process;
use super::report::NetworkReport;
use super::running::{Running, Starter};
use super::task::{BoxError, ProcessTask, Product, WaitMode};
use super::wait::MOST_CHANNELS;
use locksley::Pool;
use locksley_sys::unwind;

/// The largest capacity that a channel grows to, unless the program sets another limit. A pipeline
/// needs no growth, and a cycle that needs more than this is most often an error.
const LIMIT: u64 = 1 << 16;

/// The future of a process with more bytes is moved to the heap at once, as those of tasks are.
const LARGE: usize = 16 << 10;

/// A network of processes and channels: made first, and then [run](Self::run).
///
/// A process is an asynchronous closure, or a [blocking](Self::process_blocking) one. If processes
/// share nothing but channels, then what each of them computes, and what goes through each channel,
/// depends neither on the schedule nor on capacities (Kahn, "The semantics of a simple language for
/// parallel programming", 1974).
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_kahn::Network;
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
/// assert_eq!(report.channels[1].received, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Deadlocks
///
/// A cycle of processes that wait for each other is resolved in one of three ways:
/// - If one of them waits for a message of a sender that was dropped, that stream
///   [ends](super::Sender#the-end-of-a-stream).
/// - If one of them waits for room, the smallest full channel of the cycle grows (Parks, "Bounded
///   scheduling of process networks", 1995).
/// - Otherwise the network ends with an error: all of them wait for messages, or that channel is at
///   the [limit](Self::limit), by default 65,536 messages.
///
/// Cycles are detected while other processes continue (Geilen and Basten, "Requirements on the
/// execution of Kahn process networks", 2003); one of more than four, after the next tasks of the
/// worker that has met it. A process that waits for something else than a
/// channel of its network, such as a timer, counts as running.
pub struct Network {
    names: Vec<Box<str>>,
    /// One for each process.
    starters: Vec<Starter>,
    channels: Vec<Arc<dyn AnyChannel>>,
    /// One for each channel.
    links: Vec<Link>,
    limit: u64,
    is_measured: bool,
}

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

impl Network {
    /// An empty network.
    ///
    /// # Examples
    /// See [`Network`].
    #[must_use]
    pub fn new() -> Self {
        Self {
            names: Vec::new(),
            starters: Vec::new(),
            channels: Vec::new(),
            links: Vec::new(),
            limit: LIMIT,
            is_measured: false,
        }
    }

    /// Sets the largest capacity that a channel may grow to, in messages. The default is 65,536.
    ///
    /// A channel grows if processes wait for each other in a [cycle](Self#deadlocks) in which it is
    /// full. A channel that is as large as the limit from the start does not grow: with `limit(0)`,
    /// all channels keep their capacity. With `limit(usize::MAX)`, the memory of the machine is the
    /// limit. The report says how often channels have grown, and how large each one is.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_kahn::{Network, NetworkError};
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
    /// assert!(run(16).unwrap().channels[0].capacity >= 10);
    /// assert!(matches!(run(9), Err(NetworkError::Limit { channel, .. }) if channel == "numbers"));
    /// ```
    #[must_use]
    pub fn limit(self, messages: usize) -> Self {
        Self { limit: messages as u64, ..self }
    }

    /// Makes the report contain how full the channels were, and how long the processes ran and
    /// waited. These measurements cost time. Without them, the network counts only messages.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_kahn::Network;
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
    /// assert!(matches!(report.channels[0].high_water, Some(1..=4)));
    /// assert!(report.processes[0].busy.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn measured(self) -> Self {
        Self { is_measured: true, ..self }
    }

    /// Adds a channel that holds `capacity` messages. Returns the sending end, and then the
    /// receiving end. Give each of them to a process, or drop it.
    ///
    /// A full channel makes its sender wait. It grows beyond its capacity only to end a
    /// [deadlock](Self#deadlocks), and up to the [limit](Self::limit) of the network: by default
    /// to 65,536 messages.
    ///
    /// Memory for that many messages, rounded up to a power of two, is allocated with the first
    /// message, and for more when the channel grows.
    ///
    /// # Panics
    /// If the capacity is 0, or if there would be more than 2²⁴ channels. Sending the first message
    /// panics if the address space cannot hold as many messages as the capacity.
    ///
    /// # Examples
    /// See [`Network`].
    #[track_caller]
    pub fn channel<T: Send + 'static>(
        &mut self,
        name: impl Into<String>,
        capacity: usize,
    ) -> (Outlet<T>, Inlet<T>) {
        assert!(capacity > 0, "a channel holds a message at least");
        let number = self.channels.len();
        assert!(number < MOST_CHANNELS, "a network has at most {MOST_CHANNELS} channels");
        let name = name.into().into_boxed_str();
        let channel = Arc::new(Channel::new(number as u32, name, capacity as u64));
        self.channels.push(Arc::<Channel<T>>::clone(&channel));
        self.links.push(Link { producer: NO_PROCESS, consumer: NO_PROCESS });
        (Outlet(Some(Arc::clone(&channel))), Inlet(Some(channel)))
    }

    /// Adds a process, and gives it ends of channels.
    ///
    /// `body` is called when the network begins to run. The [`Product`] is a handle of what it
    /// returns in the end.
    ///
    /// When a process ends without a failure, each receiver at the other end of its channels gets
    /// the messages that are left, and then `None`. If it fails or panics, no receiver gets `None`
    /// for that: see [the end of a stream](super::Sender#the-end-of-a-stream).
    ///
    /// **An `Err` that `body` returns is no failure here**, but the process's product. A process
    /// that may fail is a [`try_process`](Self::try_process).
    ///
    /// Send and receive only in the process's own future. Do not do so in another task, in the
    /// second closure of a join, or in a task of a scope: another worker may run these, and a wait
    /// there panics.
    ///
    /// When the process ends, all ends of channels that it was given must have been dropped.
    /// Otherwise the network ends with [`NetworkError::Kept`], since the process at the other end
    /// might wait for ever.
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
        R: Future<Output: Send + 'static> + Send + 'static,
    {
        self.add(name.into(), ports, body, Ok, WaitMode::Async)
    }

    /// Adds a process that may fail. Its error ends the network, with [`NetworkError::Process`],
    /// unless the network has failed before. Receivers do not take that for the
    /// [end of a stream](super::Sender#the-end-of-a-stream): the other processes are dropped where
    /// they wait, or get [`Over`]. In all else it is like [`process`](Self::process).
    ///
    /// [`Over`]: super::Over
    ///
    /// # Panics
    /// As [`process`](Self::process).
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_kahn::{Network, NetworkError};
    ///
    /// let sum = |text: &'static str| {
    ///     let mut network = Network::new();
    ///     let (numbers, all) = network.channel::<i32>("numbers", 4);
    ///     network.try_process("parse", numbers, async move |mut numbers| {
    ///         for word in text.split(' ') {
    ///             numbers.send(word.parse()?).await;
    ///         }
    ///         Ok::<_, std::num::ParseIntError>(())
    ///     });
    ///     let sum = network.process("sum", all, async |mut all| {
    ///         let mut sum = 0;
    ///         while let Some(n) = all.recv().await {
    ///             sum += n;
    ///         }
    ///         sum
    ///     });
    ///     let _ = network.run(&Pool::new(2).unwrap())?;
    ///     Ok::<_, NetworkError>(sum.take())
    /// };
    /// assert_eq!(sum("1 2 3")?, Some(6));
    /// let error = sum("1 two 3").unwrap_err();
    /// assert_eq!(error.to_string(), "process 'parse': invalid digit found in string");
    /// # Ok::<(), NetworkError>(())
    /// ```
    #[track_caller]
    pub fn try_process<P, F, R, T, E>(
        &mut self,
        name: impl Into<String>,
        ports: P,
        body: F,
    ) -> Product<T>
    where
        P: Ports,
        F: FnOnce(P::Owned) -> R + Send + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<BoxError> + 'static,
    {
        self.add(name.into(), ports, body, box_error::<T, E>, WaitMode::Async)
    }

    /// Adds a process that blocks its thread while it waits: ordinary code, which sends by
    /// [`Sender::send_blocking`](super::Sender::send_blocking) and receives by
    /// [`Receiver::recv_blocking`](super::Receiver::recv_blocking), also deep inside of functions
    /// that are not `async`. It may fail, as with [`try_process`](Self::try_process).
    ///
    /// While it waits, a replacement thread runs other tasks of the pool. The pool has a
    /// [limit](locksley::PoolBuilder::replacements) of replacements. At the limit, a process blocks
    /// without one. So a network may hang if more processes block than the pool has workers and
    /// replacements. This is not detected as a deadlock.
    ///
    /// Its waits for channels count in [deadlocks](Self#deadlocks). They return the error [`Over`]
    /// when the network fails or is cancelled, and never `None` for that. A wait for anything else,
    /// such as [`block_on`](locksley::block_on), does not end with the network. If another process
    /// has to go on meanwhile, make such a wait in [`blocking`](locksley::blocking()). A pool that
    /// is dropped cancels its tasks, and then waits for the process to return.
    ///
    /// [`Over`]: super::Over
    ///
    /// # Panics
    /// As [`process`](Self::process).
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_kahn::{Network, Over};
    ///
    /// /// Visits a binary tree in order. Not `async`.
    /// fn walk(
    ///     tree: &[u32],
    ///     node: usize,
    ///     visit: &mut impl FnMut(u32) -> Result<(), Over>,
    /// ) -> Result<(), Over> {
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
    /// network.process_blocking("walk", values, |mut values| {
    ///     walk(&[4, 2, 6, 1, 3, 5, 7], 0, &mut |value| values.send_blocking(value))
    /// });
    /// let all = network.process("all", all, async |mut all| {
    ///     let mut found = Vec::new();
    ///     while let Some(value) = all.recv().await {
    ///         found.push(value);
    ///     }
    ///     found
    /// });
    /// network.run(&Pool::new(2)?)?;
    /// assert_eq!(all.take().unwrap(), [1, 2, 3, 4, 5, 6, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn process_blocking<P, F, T, E>(
        &mut self,
        name: impl Into<String>,
        ports: P,
        body: F,
    ) -> Product<T>
    where
        P: Ports,
        F: FnOnce(P::Owned) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Into<BoxError> + 'static,
    {
        let body = move |ends: P::Owned| async move { body(ends) };
        self.add(name.into(), ports, body, box_error::<T, E>, WaitMode::Blocking)
    }

    #[track_caller]
    fn add<P, F, R, T>(
        &mut self,
        name: String,
        ports: P,
        body: F,
        finish: fn(R::Output) -> Result<T, BoxError>,
        wait_mode: WaitMode,
    ) -> Product<T>
    where
        P: Ports,
        F: FnOnce(P::Owned) -> R + Send + 'static,
        R: Future + Send + 'static,
        T: Send + 'static,
    {
        // A future, though not a body, is boxed before it is passed on, which may copy it each
        // time: a worker's stack has 2 MiB.
        if const { size_of::<R>() > LARGE } {
            let body = move |ends: P::Owned| Box::pin(body(ends));
            self.add_as_it_is(name, ports, body, finish, wait_mode)
        } else {
            self.add_as_it_is(name, ports, body, finish, wait_mode)
        }
    }

    #[track_caller]
    fn add_as_it_is<P, F, R, T>(
        &mut self,
        name: String,
        ports: P,
        body: F,
        finish: fn(R::Output) -> Result<T, BoxError>,
        wait_mode: WaitMode,
    ) -> Product<T>
    where
        P: Ports,
        F: FnOnce(P::Owned) -> R + Send + 'static,
        R: Future + Send + 'static,
        T: Send + 'static,
    {
        let number = u32::try_from(self.names.len()).ok().filter(|&number| number != NO_PROCESS);
        let number = number.expect("fewer than 2^32 processes");
        let (channels, links) = (&self.channels, &mut self.links);
        ports.declare(&mut PortRegistry { channels, links, process: number });
        self.names.push(name.into_boxed_str());
        let (product, product_of_task) = Product::pair();
        self.starters.push(Box::new(move |graph, worker| {
            // This process is the thread's current one during the call, as it is while its future
            // is polled: the body may receive before it returns a future. Blocking processes park
            // on a `signal`; their bodies run later, when their future is polled.
            let current = Current { graph, process: number, signal: None };
            let created = current.while_polled(|| {
                unwind::catch(|| body(ports.own(&Owner { graph, process: number })))
            });
            match created {
                // Detached: the graph counts the end of the process.
                Ok(future) => ProcessTask {
                    future: Some(future),
                    finish,
                    product: Some(product_of_task),
                    graph: Arc::clone(graph),
                    number,
                    wait_mode,
                }
                .spawn(worker),
                Err(payload) => {
                    graph.fail(Failure::Panicked { process: number, payload });
                    graph.finish_process(number);
                }
            }
        }));
        product
    }

    /// Runs the network on a pool, and waits until all its processes have ended.
    ///
    /// # Errors
    /// Each [`NetworkError`]: a deadlock; a channel at the limit; a process that failed, panicked,
    /// or kept an end of a channel; an end without a process; cancellation, since the pool was
    /// dropped. The futures of the other processes are then dropped where they wait. The waits of
    /// blocking processes return [`Over`].
    ///
    /// [`Over`]: super::Over
    ///
    /// # Examples
    /// See [`Network`].
    pub fn run(self, pool: &Pool) -> Result<NetworkReport, NetworkError> {
        self.start(pool)?.join()
    }

    /// Starts the network on a pool.
    ///
    /// # Errors
    /// [`NetworkError::Unowned`] if an end of a channel was neither given to a process nor dropped.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_kahn::Network;
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
            // To drop an outlet closes the channel; to drop an inlet abandons it.
            let is_unowned = link.producer == NO_PROCESS && !core.is_closed()
                || link.consumer == NO_PROCESS && !core.is_abandoned();
            if is_unowned {
                return Err(NetworkError::Unowned { channel: core.name.to_string() });
            }
        }
        let processes = self.names.into_iter().map(Process::new).collect();
        let (channels, links) = (self.channels.into(), self.links.into());
        let graph = Graph::new(processes, channels, links, self.limit, self.is_measured);
        Ok(Running::start(graph, self.starters, pool))
    }
}

fn box_error<T, E: Into<BoxError>>(result: Result<T, E>) -> Result<T, BoxError> {
    result.map_err(Into::into)
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("processes", &self.names)
            .field("channels", &self.channels.len())
            .finish_non_exhaustive()
    }
}
