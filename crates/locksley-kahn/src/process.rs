//! A process: what the network knows of it, and the future that runs it.

use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::deferred::Current;
use super::error::{Failure, NetworkError};
use super::graph::Graph;
use super::wait::{Need, WaitWord};
use locksley::extend::{self, Signal, Tracer};
use locksley::{Worker, task};
use locksley_sys::primitive::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use locksley_sys::unwind;

pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// How a process waits for channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitMode {
    /// Its future is pending.
    Async,
    /// Its thread blocks, during the single poll of its future.
    Blocking,
}

/// What the network knows of a process.
pub(super) struct Process {
    pub(super) wait: WaitWord,
    pub(super) has_ended: AtomicBool,
    /// Set by the first poll, and kept as long as the network: a wake needs no reference of its
    /// own.
    waker: OnceLock<Waker>,
    /// The channel from which the process has taken messages without looking whether the producer
    /// waits: its number plus 1, or 0. Written by the process.
    deferred: AtomicU32,
    pub(super) name: Box<str>,
    /// How long it was polled, in nanoseconds, if that is measured. Written by the process.
    busy: AtomicU64,
}

impl Process {
    pub(super) fn new(name: Box<str>) -> Self {
        Self {
            wait: WaitWord::new(),
            has_ended: AtomicBool::new(false),
            waker: OnceLock::new(),
            deferred: AtomicU32::new(0),
            name,
            busy: AtomicU64::new(0),
        }
    }

    pub(super) fn busy(&self) -> Duration {
        Duration::from_nanos(self.busy.load(Ordering::Relaxed))
    }

    fn add_busy(&self, time: Duration) {
        let busy = self.busy.load(Ordering::Relaxed);
        self.busy.store(busy.wrapping_add(time.as_nanos() as u64), Ordering::Relaxed);
    }

    /// A blocking process has waited in the middle of a time that will be added.
    pub(super) fn subtract_busy(&self, time: Duration) {
        let busy = self.busy.load(Ordering::Relaxed);
        self.busy.store(busy.wrapping_sub(time.as_nanos() as u64), Ordering::Relaxed);
    }

    /// Makes the process ready, if it waits.
    #[inline]
    pub(super) fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }

    /// Sets how the process is woken. True if that was not known.
    pub(super) fn set_waker(&self, waker: &Waker) -> bool {
        self.waker.get().is_none() && self.waker.set(waker.clone()).is_ok()
    }

    /// Publishes what the process waits for.
    pub(super) fn begin_wait(&self, context: &Context<'_>, channel: u32, need: Need) {
        // By what the waker wakes and not by `will_wake`, which also compares the addresses of
        // tables of functions: there may be copies. The process's task or signal keeps its address.
        let is_own = |waker: &Waker| waker.data() == context.waker().data();
        assert!(
            self.waker.get().is_some_and(is_own),
            "an end of a channel waits only in the process that it belongs to, which is '{}', and \
             not below a future that polls others with wakers of its own",
            self.name
        );
        assert!(
            self.wait.own().target().is_none(),
            "process '{}' waits for two channels at the same time: what it does next would depend \
             on the schedule",
            self.name
        );
        self.wait.begin(channel, need);
    }

    /// The process has taken a message, and will look later whether the producer waits.
    #[inline]
    pub(super) fn defer(&self, graph: &Graph, channel: u32) {
        // Relaxed: the process's own.
        if self.deferred.load(Ordering::Relaxed) != channel + 1 {
            self.defer_another(graph, channel);
        }
    }

    #[inline(never)]
    fn defer_another(&self, graph: &Graph, channel: u32) {
        self.wake_deferred(graph);
        self.deferred.store(channel + 1, Ordering::Relaxed);
    }

    /// Wakes the producer of the deferred channel, if there is one and it waits.
    #[inline]
    pub(super) fn wake_deferred(&self, graph: &Graph) {
        if self.deferred.load(Ordering::Relaxed) != 0 {
            // Pairs with the barrier in `End::begin_wait`.
            graph.barrier();
            self.wake_deferred_after_barrier(graph);
        }
    }

    /// The same, if the caller has made a barrier since the process has taken messages.
    pub(super) fn wake_deferred_after_barrier(&self, graph: &Graph) {
        let deferred = self.deferred.load(Ordering::Relaxed);
        if deferred != 0 {
            self.deferred.store(0, Ordering::Relaxed);
            graph.wake_if_waiting(graph.core(deferred - 1), Need::Room);
        }
    }
}

/// A handle of what a process returns in the end.
///
/// # Examples
/// See [`Network`](super::Network).
#[derive(Debug)]
pub struct Product<T>(Arc<Mutex<Option<T>>>);

impl<T> Product<T> {
    /// Two handles of one product: the process sets it, and the program takes it.
    pub(super) fn pair() -> (Self, Self) {
        let product = Arc::new(Mutex::new(None));
        (Self(Arc::clone(&product)), Self(product))
    }

    fn set(self, product: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(product);
    }

    /// Takes what the process has returned. `None` if it has not ended, has failed, or was dropped.
    ///
    /// # Examples
    /// See [`Network`](super::Network).
    #[must_use]
    pub fn take(self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A process as a future. It ends with the process, or with its network.
pub(super) struct ProcessTask<F: Future, T> {
    /// `None` when the process has ended.
    pub(super) future: Option<F>,
    /// Makes the product of what the future returns, or the process's error.
    pub(super) finish: fn(F::Output) -> Result<T, BoxError>,
    pub(super) product: Option<Product<T>>,
    pub(super) graph: Arc<Graph>,
    pub(super) number: u32,
    pub(super) wait_mode: WaitMode,
}

impl<F: Future, T> ProcessTask<F, T> {
    /// Spawns it as a task that is detached: the graph counts its end.
    pub(super) fn spawn(self, worker: &Worker)
    where
        F: Send + 'static,
        T: Send + 'static,
    {
        match extend::tracer(worker) {
            None => drop(task::spawn(self)),
            Some(tracer) => drop(task::spawn(Traced { task: Box::pin(self), tracer })),
        }
    }

    fn fail(&self, payload: unwind::Payload) {
        self.graph.fail(Failure::Panicked { process: self.number, payload });
    }

    /// Drops the future where it lies, as it was pinned. With it go the ends of channels, which
    /// wakes the processes that wait at their other ends.
    fn end(&mut self) {
        if let Err(payload) = unwind::catch(|| self.future = None) {
            self.fail(payload);
        }
        self.graph.finish_process(self.number);
    }

    /// The process has returned.
    fn complete(&mut self, output: F::Output) {
        let (finish, product) = (self.finish, self.product.take());
        // A product that is not wanted is dropped here, and may panic.
        let finished = unwind::catch(|| {
            finish(output).map(|output| {
                if let Some(product) = product {
                    product.set(output);
                }
            })
        });
        match finished {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let process = self.graph.process(self.number).name.to_string();
                self.graph.fail(Failure::Error(NetworkError::Process { process, error }));
            }
            Err(payload) => self.fail(payload),
        }
    }
}

impl<F: Future, T> Future for ProcessTask<F, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: of what is pinned, only the future relies on it, and it is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let process = this.graph.process(this.number);
        let signal = (this.wait_mode == WaitMode::Blocking).then(|| {
            Worker::with_current(|current| Arc::new(Signal::of(current.expect("on a worker"))))
        });
        let is_first = match &signal {
            Some(signal) => process.set_waker(&Waker::from(Arc::clone(signal))),
            None => process.set_waker(context.waker()),
        };
        if is_first {
            // Pairs with the fence in `Graph::fail`: either that wakes the process, or it sees here
            // the failure.
            fence(Ordering::SeqCst);
        }
        if this.graph.has_failed() {
            if this.future.is_some() {
                this.end();
            }
            return Poll::Ready(());
        }
        // SAFETY: a part of what is pinned, which stays where it is.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        let Some(future) = future.as_pin_mut() else { return Poll::Ready(()) };
        let since = this.graph.is_measured.then(Instant::now);
        let current = Current { graph: &this.graph, process: this.number, signal: signal.as_ref() };
        let polled = current.while_polled(|| unwind::catch(|| future.poll(context)));
        if let Some(since) = since {
            process.add_busy(since.elapsed());
        }
        match polled {
            Ok(Poll::Pending) => {
                process.wake_deferred(&this.graph);
                return Poll::Pending;
            }
            Ok(Poll::Ready(output)) => this.complete(output),
            Err(payload) => this.fail(payload),
        }
        this.end();
        Poll::Ready(())
    }
}

/// A process on a traced pool.
struct Traced<F: Future, T> {
    task: Pin<Box<ProcessTask<F, T>>>,
    tracer: Arc<dyn Tracer>,
}

impl<F: Future, T> Future for Traced<F, T> {
    type Output = ();

    /// Names the process while it is polled, and then the channel that it waits for.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let (graph, number) = (Arc::clone(&this.task.graph), this.task.number);
        let process = graph.process(number);
        this.tracer.begin_span(&process.name);
        let polled = this.task.as_mut().poll(context);
        if polled.is_pending()
            && let Some((channel, need)) = process.wait.own().target()
        {
            let what = if need == Need::Room { "has no room" } else { "is empty" };
            this.tracer.mark(&format!("channel {} {what}", graph.core(channel).name));
        }
        this.tracer.end_span();
        polled
    }
}

impl<F: Future, T> Drop for ProcessTask<F, T> {
    /// If the process has not ended, its pool gives it up.
    fn drop(&mut self) {
        if self.future.is_some() {
            // First: a receiver that finds its channel closed does not take this for the end of its
            // stream.
            self.graph.fail(Failure::Error(NetworkError::Cancelled));
            self.end();
        }
    }
}
