//! How a network runs: its processes begin, and end, are cancelled, or panic.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use super::deferred;
use super::error::{Failure, NetworkError};
use super::graph::{Channels, Graph, NO_PROCESS};
use super::report::NetworkReport;
use locksley::extend;
use locksley::task::{JoinError, JoinHandle};
use locksley::{Pool, Worker};
use locksley_sys::os::Assists;
use locksley_sys::unwind;

/// Starts a process: spawns its task, on a worker.
pub(super) type Starter = Box<dyn FnOnce(&Arc<Graph>, &Worker) + Send>;

/// A network that runs: a future of its result.
///
/// If it is dropped, the network continues. If a process panics then, that goes to the pool's
/// [`panic_handler`](locksley::PoolBuilder::panic_handler), as with a detached task.
///
/// # Examples
/// See [`Network::start`](super::Network::start).
#[must_use = "it has the result of the network"]
pub struct Running {
    graph: Arc<Graph>,
    task: JoinHandle<Result<NetworkReport, NetworkError>>,
}

impl Running {
    pub(super) fn start(graph: Arc<Graph>, starters: Vec<Starter>, pool: &Pool) -> Self {
        deferred::register_hooks();
        let task = pool.spawn_future(conclude(Arc::clone(&graph), starters));
        Self { graph, task }
    }

    /// Blocks until all processes have ended.
    ///
    /// # Errors
    /// As [`Network::run`](super::Network::run).
    ///
    /// # Panics
    /// If the result was taken before, by polling.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_kahn::Network;
    ///
    /// let pool = Pool::new(1)?;
    /// assert!(Network::new().start(&pool)?.join().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn join(self) -> Result<NetworkReport, NetworkError> {
        result(&self.graph, self.task.join())
    }

    /// Cancels the network: processes are dropped where they wait, and the waits of blocking
    /// processes return [`Over`]. To cancel it during [`join`](Self::join), use a
    /// [`CancelHandle`].
    ///
    /// [`Over`]: super::Over
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_kahn::{Network, NetworkError};
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
        self.graph.cancel();
    }

    /// A handle that cancels the network from elsewhere, also while [`join`](Self::join) or
    /// another wait for the network blocks this thread.
    ///
    /// # Examples
    /// See [`CancelHandle`].
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle(Arc::downgrade(&self.graph))
    }

    /// The numbers of the processes that have not ended, in the order in which they were added, if
    /// all of them wait at the same time: none continues unless something else than the network's
    /// processes, such as the caller, gives it what it waits for, or a channel grows because it is
    /// full in a cycle. Otherwise `None`, also when all have ended.
    ///
    /// Use it to find deadlocks of networks that are connected with each other. A process waits for
    /// a channel, or for what `elsewhere` knows: this returns a number that differs for each wait,
    /// or `None` if the process need not wait there.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (never, numbers) = network.channel::<u64>("numbers", 1);
    /// network.process("source", never, async |_never| std::future::pending::<()>().await);
    /// network.process("sink", numbers, async |mut numbers| numbers.recv().await);
    /// let pool = Pool::new(1)?;
    /// let running = network.start(&pool)?;
    /// // The source waits for something that does not come.
    /// let waiting = || running.waiting(|process| (process == 0).then_some(0));
    /// while waiting().is_none() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(waiting(), Some(vec![0, 1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn waiting(&self, elsewhere: impl Fn(usize) -> Option<u64>) -> Option<Vec<usize>> {
        self.graph.waiting(elsewhere)
    }

    /// True if a process waits for a message of a sender that was dropped.
    ///
    /// Use it with [`end_dropped_streams`](Self::end_dropped_streams), if networks that are
    /// connected with each other all [wait](Self::waiting). Within one network, the
    /// [deadlock check](super::Network#deadlocks) does so.
    #[must_use]
    pub fn has_dropped_streams(&self) -> bool {
        self.graph.dropped_streams().next().is_some()
    }

    /// [Ends](super::Sender#the-end-of-a-stream) the streams of senders that were dropped and whose
    /// receivers wait.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (numbers, all) = network.channel::<u64>("numbers", 1);
    /// let (go, goes) = tokio::sync::oneshot::channel();
    /// network.process("drops", numbers, async move |numbers| {
    ///     drop(numbers);
    ///     goes.await.unwrap();
    /// });
    /// network.process("all", all, async move |mut all| {
    ///     assert_eq!(all.recv().await, None);
    ///     go.send(()).unwrap();
    /// });
    /// let pool = Pool::new(1)?;
    /// let running = network.start(&pool)?;
    /// while !running.has_dropped_streams() {
    ///     std::thread::yield_now();
    /// }
    /// running.end_dropped_streams();
    /// running.join()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn end_dropped_streams(&self) {
        self.graph.dropped_streams().for_each(|core| self.graph.close(core));
    }
}

/// Cancels a network that runs: from another thread, when a deadline has passed, or on Ctrl-C.
///
/// It may be cloned and sent, and does not keep the network's memory. Do not call it in a signal
/// handler, since it takes a lock: call it on a thread that is told of the signal.
///
/// # Examples
/// By a token, which has a deadline:
/// ```
/// use std::time::Duration;
///
/// use locksley::{Cancellation, Pool};
/// use locksley_kahn::{Network, NetworkError};
///
/// let pool = Pool::new(1)?;
/// let mut network = Network::new();
/// network.process("endless", (), async |()| std::future::pending::<()>().await);
/// let running = network.start(&pool)?;
/// let token = Cancellation::new();
/// let handle = running.cancel_handle();
/// let _hook = token.on_cancel(move || handle.cancel());
/// token.cancel_after(Duration::from_millis(20))?;
/// assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// Ctrl-C, with the crate `ctrlc`, which calls its closure on a thread:
/// `ctrlc::set_handler(move || token.cancel())`.
#[derive(Clone)]
pub struct CancelHandle(Weak<Graph>);

impl CancelHandle {
    /// Cancels the network, as [`Running::cancel`] does. Does nothing if the network has failed
    /// before or has ended.
    ///
    /// # Examples
    /// See [`CancelHandle`].
    pub fn cancel(&self) {
        if let Some(graph) = self.0.upgrade() {
            graph.cancel();
        }
    }
}

impl fmt::Debug for CancelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelHandle").finish_non_exhaustive()
    }
}

fn result<T>(
    graph: &Graph,
    ended: Result<Result<T, NetworkError>, JoinError>,
) -> Result<T, NetworkError> {
    match ended {
        Ok(result) => result,
        Err(error) if !error.is_cancelled() => {
            let process = graph.panicked.get().filter(|&&process| process != NO_PROCESS);
            let process = process.map(|&process| graph.process(process).name.to_string());
            Err(NetworkError::Panicked { process, error })
        }
        Err(_) => Err(NetworkError::Cancelled),
    }
}

impl Future for Running {
    type Output = Result<NetworkReport, NetworkError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        Pin::new(&mut this.task).poll(context).map(|ended| result(&this.graph, ended))
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("has_failed", &self.graph.has_failed())
            .finish_non_exhaustive()
    }
}

/// Starts all processes and waits for them. Panics if a process does: then the pool's panic handler
/// learns of it if the result is not asked for.
async fn conclude(
    graph: Arc<Graph>,
    starters: Vec<Starter>,
) -> Result<NetworkReport, NetworkError> {
    Worker::with_current(|current| {
        let worker = current.expect("tasks run on workers");
        let has_heavy_barrier = extend::assists(worker).has(Assists::MEMBARRIER);
        let is_observed = extend::stamp().is_some();
        graph.begin(is_observed, has_heavy_barrier);
        if let Some(tracer) = extend::tracer(worker) {
            tracer.attach_queues(Arc::new(Channels(Arc::downgrade(&graph))));
        }
        starters.into_iter().for_each(|start| start(&graph, worker));
    });
    let unfinished = Unfinished(&graph);
    graph.wait_until_finished().await;
    std::mem::forget(unfinished);
    graph.purge();
    match graph.take_failure() {
        Some(Failure::Error(error)) => Err(error),
        Some(Failure::Panicked { process, payload }) => {
            let _ = graph.panicked.set(process);
            unwind::resume(payload)
        }
        None => Ok(NetworkReport::of(&graph)),
    }
}

/// Ends the network if the pool is dropped before its processes have ended: the task that waits for
/// them is then dropped, and blocking processes learn of it by this.
struct Unfinished<'g>(&'g Graph);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::future::pending;
    use std::sync::mpsc::channel;

    use crate::Network;
    use locksley::Pool;
    use locksley_sys::os::{self, Assists};

    #[test]
    fn a_network_has_one_owner_if_the_pool_makes_heavy_barriers() {
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
            let has_owner = assists.has(Assists::MEMBARRIER) && os::heavy_barrier_works();
            assert_eq!(running.graph.is_shared(), !has_owner, "{assists:?}");
            running.cancel();
            assert!(running.join().is_err());
        }
    }
}
