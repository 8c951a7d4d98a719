//! A process: what others know of it, and the future that runs it.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::error::Failure;
use super::graph::Graph;
use super::wait::{Need, WaitWord};
use crate::primitive::{AtomicU32, AtomicU64, Ordering, fence};
use crate::task;
use crate::unwind;
use crate::worker::Worker;

/// What others know of a process.
pub(super) struct Process {
    pub(super) wait: WaitWord,
    /// Set by its first poll, and there as long as the network: a wake needs no reference of its own.
    waker: OnceLock<Waker>,
    /// A channel from which it has taken messages without looking whether its sender waits: its number and 1, or 0.
    owes: AtomicU32,
    name: Box<str>,
    /// How long it was polled, if that is measured, in nanoseconds. Written by who polls it.
    busy: AtomicU64,
}

impl Process {
    pub(super) fn new(name: Box<str>) -> Self {
        let (owes, busy) = (AtomicU32::new(0), AtomicU64::new(0));
        Self { wait: WaitWord::new(), waker: OnceLock::new(), owes, name, busy }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn busy(&self) -> Duration {
        Duration::from_nanos(self.busy.load(Ordering::Relaxed))
    }

    pub(super) fn was_busy(&self, time: Duration) {
        let nanos = self.busy.load(Ordering::Relaxed).wrapping_add(time.as_nanos() as u64);
        self.busy.store(nanos, Ordering::Relaxed);
    }

    /// Of a time that will be counted as busy, so much was not.
    pub(super) fn was_idle(&self, time: Duration) {
        let nanos = self.busy.load(Ordering::Relaxed).wrapping_sub(time.as_nanos() as u64);
        self.busy.store(nanos, Ordering::Relaxed);
    }

    /// Makes it ready, if it waits.
    #[inline]
    pub(super) fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }

    /// It lets others go first, and is polled again. Where that context is its own, it comes after itself alone: nothing was done for it meanwhile that has
    /// a path.
    #[cold]
    pub(super) fn gives_way(&self, context: &Context<'_>) {
        let waker = context.waker();
        task::tells_its_paths(waker);
        let own = self.waker.get().filter(|own| own.data() == waker.data());
        own.unwrap_or(waker).wake_by_ref();
    }

    /// How it is woken from now on. Says whether that was not known.
    pub(super) fn is_woken_by(&self, waker: &Waker) -> bool {
        // Paths go along channels, and not with who wakes.
        self.waker.get().is_none() && self.waker.set(task::waker_without_path(waker)).is_ok()
    }

    /// Says what it waits for.
    pub(super) fn begin_to_wait(&self, context: &Context<'_>, channel: u32, need: Need) {
        // By what it wakes, and not by `will_wake`: that may say no where both wake the same, as two copies of a table of functions have
        // different addresses. Here the address is that of the process's task or signal, which is nobody else's while the process is there.
        let is_own = |waker: &Waker| waker.data() == context.waker().data();
        assert!(
            self.waker.get().is_some_and(is_own),
            "an end of a channel waits only in the process that it belongs to, which is '{}', and not below a future that \
             polls others with wakers of its own",
            self.name
        );
        assert!(
            self.wait.own().target().is_none(),
            "process '{}' waits for two channels at the same time: what it does next would depend on the schedule",
            self.name
        );
        self.wait.begin(channel, need);
    }

    pub(super) fn wait_is_over(&self) {
        self.wait.end();
    }

    /// It has taken a message, and will have to look whether the sender waits.
    #[inline]
    pub(super) fn owes_a_look(&self, graph: &Graph, channel: u32) {
        // Relaxed: written by the process itself.
        let before = self.owes.load(Ordering::Relaxed);
        if before != channel + 1 {
            self.owes_another(graph, channel, before);
        }
    }

    #[inline(never)]
    fn owes_another(&self, graph: &Graph, channel: u32, before: u32) {
        self.owes.store(channel + 1, Ordering::Relaxed);
        if before != 0 {
            // Pairs with the barrier in `Waits::begin`.
            graph.barrier();
            graph.look_after_producer(before - 1);
        }
    }

    /// Looks after the sender that it owes it to. The caller has made a fence since it took messages.
    #[inline]
    pub(super) fn pay(&self, graph: &Graph) {
        let owed = self.owes.load(Ordering::Relaxed);
        if owed != 0 {
            self.owes.store(0, Ordering::Relaxed);
            graph.look_after_producer(owed - 1);
        }
    }

    /// The same, where no fence was made.
    #[inline]
    pub(super) fn pay_at_a_pause(&self, graph: &Graph) {
        if self.owes.load(Ordering::Relaxed) != 0 {
            // Pairs with the barrier in `Waits::begin`.
            graph.barrier();
            self.pay(graph);
        }
    }
}

/// A process as a future: it ends with the process, or with its network.
pub(super) struct Run<F: Future> {
    /// Until it has ended.
    future: Option<F>,
    /// Where what it returns goes. Given up before it has ended, so that whoever waits for that has it alone.
    product: Option<Arc<OnceLock<F::Output>>>,
    graph: Arc<Graph>,
    number: u32,
}

impl<F: Future> Run<F> {
    pub(super) fn new(
        future: F,
        product: Option<Arc<OnceLock<F::Output>>>,
        graph: Arc<Graph>,
        number: u32,
    ) -> Self {
        Self { future: Some(future), product, graph, number }
    }

    /// The future, which is not moved, and the rest.
    fn parts(self: Pin<&mut Self>) -> (Pin<&mut Option<F>>, &Arc<Graph>, u32) {
        // SAFETY: of what is pinned, only the future cares about it, and that is not moved out.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: it is a part of what is pinned, and stays where it is.
        (unsafe { Pin::new_unchecked(&mut this.future) }, &this.graph, this.number)
    }

    fn product(self: Pin<&mut Self>) -> Option<Arc<OnceLock<F::Output>>> {
        // SAFETY: of what is pinned, only the future cares about it.
        unsafe { self.get_unchecked_mut() }.product.take()
    }

    /// Drops the future. This is its end, in a poll with that context.
    fn end(mut self: Pin<&mut Self>, context: &Context<'_>) {
        drop(self.as_mut().product());
        let (mut future, graph, number) = self.parts();
        if future.is_none() {
            return;
        }
        // The ends of channels that it has are dropped with it, and wake who waits there.
        if let Err(payload) = unwind::halt(|| future.set(None)) {
            graph.fail(Failure::Panicked { process: number, payload });
        }
        if graph.is_metered() {
            task::tells_its_paths(context.waker());
        }
        graph.has_returned(number);
    }

    fn poll_process(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let (future, graph, number) = self.as_mut().parts();
        let process = graph.process(number);
        let Some(future) = future.as_pin_mut() else { return Poll::Ready(()) };
        let since = graph.is_measured().then(Instant::now);
        let poll = || unwind::halt(|| future.poll(context));
        let polled = Worker::with_current(|current| match current {
            Some(worker) => worker.payer().while_polled(graph, number, poll),
            None => poll(),
        });
        if let Some(since) = since {
            process.was_busy(since.elapsed());
        }
        match polled {
            Ok(Poll::Pending) => {
                process.pay_at_a_pause(graph);
                return Poll::Pending;
            }
            Ok(Poll::Ready(product)) => {
                let place = self.as_mut().product();
                // Where nobody wants it, it is dropped, with its place if there is one.
                let kept = unwind::halt(|| place.map(|place| place.set(product).is_ok()));
                if let Err(payload) = kept {
                    let (_, graph, _) = self.as_mut().parts();
                    graph.fail(Failure::Panicked { process: number, payload });
                }
            }
            Err(payload) => graph.fail(Failure::Panicked { process: number, payload }),
        }
        self.end(context);
        Poll::Ready(())
    }
}

impl<F: Future> Future for Run<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let (_, graph, number) = self.as_mut().parts();
        if graph.process(number).is_woken_by(context.waker()) {
            // Pairs with the fence in `Graph::fail`: either that wakes us, or we see that it is over.
            fence(Ordering::SeqCst);
        }
        if graph.is_over() {
            self.end(context);
            return Poll::Ready(());
        }
        self.poll_process(context)
    }
}

impl<F: Future> Drop for Run<F> {
    /// Where it has not ended, the pool gives it up.
    fn drop(&mut self) {
        if self.future.is_none() {
            return;
        }
        self.product = None;
        // First: when its channels are closed, nobody takes that for an end of their streams.
        self.graph.fail(Failure::Cancelled);
        // Where it is, since it was pinned.
        if let Err(payload) = unwind::halt(|| self.future = None) {
            self.graph.fail(Failure::Panicked { process: self.number, payload });
        }
        self.graph.one_has_ended();
    }
}
