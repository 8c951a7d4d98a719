//! The task of a process: the future that runs it, and what it returns.

use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use super::deferred::Current;
use super::error::{Failure, NetworkError};
use super::graph::Graph;
use super::wait::Need;
use locksley::extend::{self, Signal, Tracer};
use locksley::{Worker, task};
use locksley_sys::primitive::plain::Mutex;
use locksley_sys::primitive::{Instant, Ordering, fence};
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

    /// Drops the future where it lies, as it was pinned, and with it the ends of channels. Streams
    /// end after a failure of the process was noted, here or before.
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
                this.graph.wake_deferred(this.number);
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
        if polled.is_pending() {
            if let Some((channel, need)) = process.wait.own().target() {
                let what = if need == Need::Room { "has no room" } else { "is empty" };
                this.tracer.mark(&format!("channel {} {what}", graph.core(channel).name));
            }
        }
        this.tracer.end_span();
        polled
    }
}

impl<F: Future, T> Drop for ProcessTask<F, T> {
    /// If the process has not ended, its pool gives it up.
    fn drop(&mut self) {
        if self.future.is_some() {
            // First: a receiver that finds its channel closed does not take this for the end of a
            // complete stream.
            self.graph.cancel();
            self.end();
        }
    }
}
