//! The consumer's end.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::{End, Look, Operation, Side};
use crate::blocking::{self, Over};
use crate::channel::Channel;
use crate::error::Failure;
use crate::graph::Graph;
use crate::wait::Need;
use locksley::extend;
use locksley_sys::primitive::Ordering;

/// The end of a channel at which a process receives.
///
/// It belongs to one process: see [`Network::process`](crate::Network::process). When it is
/// dropped, the messages that are left are dropped. What is sent later is dropped at the latest
/// when the network ends. A message that panics when it is dropped counts as a panic of this
/// process, and ends the network.
pub struct Receiver<T> {
    end: End<T>,
    /// Messages that were taken out.
    head: u64,
    /// Messages that the receiver has seen, up to the end of the ring.
    seen: u64,
    /// At this many messages the producer is woken if it waits.
    publish_at: u64,
}

impl<T> Receiver<T> {
    /// # Safety
    /// The only receiver of its channel.
    pub(crate) unsafe fn new(channel: Arc<Channel<T>>, graph: Arc<Graph>, owner: u32) -> Self {
        let publish_at = portion(channel.core.initial_capacity);
        let end = End::new(channel, graph, owner, Need::Message);
        Self { end, head: 0, seen: 0, publish_at }
    }

    /// Receives the next message. Waits while there is none. `None` at the
    /// [end of the stream](crate::Sender#the-end-of-a-stream), when all its messages were received.
    ///
    /// `None` never comes from a failure. After a process has failed or the network was cancelled,
    /// a receive that finds no message does not return: the process is dropped where it waits.
    ///
    /// A process may wait for something else at the same time, as a `select` with a timer does, but
    /// then it is no Kahn process: what it does next depends on time. While it waits here, it
    /// counts as waiting for this channel alone, so that a
    /// [deadlock](crate::Network#deadlocks) may be reported that the timer would have
    /// resolved.
    ///
    /// # Panics
    /// As [`Sender::send`](crate::Sender::send).
    ///
    /// # Examples
    /// See [`Sender::send`](crate::Sender::send).
    pub fn recv(&mut self) -> impl Future<Output = Option<T>> {
        Operation { side: self, poll: Self::poll_recv }
    }

    /// Receives the next message in a [blocking process](crate::Network::process_blocking).
    /// Waits while there is none. `None` at the
    /// [end of the stream](crate::Sender#the-end-of-a-stream), when all its messages were received.
    ///
    /// # Errors
    /// [`Over`] if no message is left, and the network has failed or was cancelled. `None` never
    /// comes from a failure.
    ///
    /// # Panics
    /// As [`Sender::send_blocking`](crate::Sender::send_blocking).
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_kahn::{Network, Over};
    ///
    /// let mut network = Network::new();
    /// let (numbers, all) = network.channel("numbers", 4);
    /// network.process("count", numbers, async |mut numbers| {
    ///     for n in 1..=100_u32 {
    ///         numbers.send(n).await;
    ///     }
    /// });
    /// let sum = network.process_blocking("sum", all, |mut all| {
    ///     let mut sum = 0;
    ///     while let Some(n) = all.recv_blocking()? {
    ///         sum += n;
    ///     }
    ///     Ok::<_, Over>(sum)
    /// });
    /// network.run(&Pool::new(2)?)?;
    /// assert_eq!(sum.take(), Some(5050));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn recv_blocking(&mut self) -> Result<Option<T>, Over> {
        if self.head != self.seen {
            return Ok(Some(self.take()));
        }
        let graph = Arc::clone(&self.end.graph);
        blocking::wait(&graph, self.end.owner, self.recv())
    }

    #[inline]
    fn poll_recv(&mut self, context: &Context<'_>) -> Poll<Option<T>> {
        if self.head == self.seen {
            return self.poll_unseen(context);
        }
        Poll::Ready(Some(self.take()))
    }

    #[inline(never)]
    fn poll_unseen(&mut self, context: &Context<'_>) -> Poll<Option<T>> {
        if self.end.yields(context) {
            return Poll::Pending;
        }
        let is_there = ready!(self.poll_ready(context));
        if !is_there && self.end.graph.is_observed() {
            extend::follow(self.end.core().last_stamp.get());
        }
        Poll::Ready(is_there.then(|| self.take()))
    }

    #[inline]
    fn take(&mut self) -> T {
        debug_assert!(self.head < self.seen);
        // SAFETY: this is the consumer, `&mut`. `look` has acquired the messages below `seen`,
        // which lie in this ring.
        let message = unsafe { self.end.slots.take(self.head) };
        if self.end.is_watched {
            self.follow();
        }
        self.head += 1;
        let core = self.end.core();
        // Release pairs with the acquire in `Sender::look`: the message has left its slot.
        core.head.store(self.head, Ordering::Release);
        if self.head == self.publish_at {
            self.publish();
        } else {
            self.end.graph.defer(self.end.owner, core.number);
        }
        message
    }

    /// Comes after the task that sent the message.
    #[cold]
    #[inline(never)]
    fn follow(&self) {
        if let Some(ring) = self.end.ring() {
            // SAFETY: as in `take`, which has not yet said that it has taken the message.
            unsafe { ring.follow(self.head) };
        }
    }

    /// A portion was taken: wakes the producer if it waits.
    #[inline(never)]
    fn publish(&mut self) {
        self.publish_at += portion(self.end.core().initial_capacity);
        // Pairs with the barrier in `End::begin_wait`: either the producer sees that there is room,
        // or this sees that it waits.
        self.end.graph.barrier();
        self.end.graph.wake_if_waiting(self.end.core(), Need::Room);
    }
}

/// How many messages a consumer takes before it looks whether the producer waits.
fn portion(capacity: u64) -> u64 {
    // The model checker has portions in small channels, too.
    (capacity / if cfg!(loom) { 1 } else { 4 }).max(1)
}

impl<T> Side for Receiver<T> {
    type Message = T;

    fn end(&mut self) -> &mut End<T> {
        &mut self.end
    }

    fn look(&mut self) -> Look {
        let core = self.end.core();
        // Before the tail: when the channel is closed, the tail is the last one.
        let is_closed = core.is_closed();
        // Acquire pairs with the release in `Sender::put`: the messages are seen, and the ends of
        // the rings.
        let tail = core.tail.load(Ordering::Acquire);
        if tail == self.head {
            return if is_closed { Look::Gone } else { Look::Blocked };
        }
        // SAFETY: this is the consumer. There is a message, and all before `head` were taken.
        let ring = unsafe { self.end.channel.ring_of(self.head) };
        // SAFETY: it is the ring of the next message.
        unsafe { self.end.enter(ring) };
        self.seen = self.end.ring().map_or(tail, |ring| tail.min(ring.end()));
        Look::Ready
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let core = self.end.core();
        core.abandon();
        // As in `publish`.
        self.end.graph.barrier();
        self.end.graph.wake_if_waiting(core, Need::Room);
        // SAFETY: this is the consumer.
        let panicked = unsafe { self.end.channel.drop_all() };
        // What is put into the channel later is dropped at the end of the network.
        core.mark_drained();
        if let Some(payload) = panicked {
            // Not raised here: the process may be unwinding, or go on.
            self.end.graph.fail(Failure::Panicked { process: self.end.owner, payload });
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("channel", &self.end.core().name)
            .field("received", &self.head)
            .finish_non_exhaustive()
    }
}
