//! The producer's end.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::{End, Look, Operation, Side};
use crate::blocking::{self, Over};
use crate::channel::{Channel, Ring};
use crate::graph::Graph;
use crate::wait::Need;
use locksley::extend;
use locksley_sys::primitive::Ordering;

/// The end of a channel at which a process sends.
///
/// It belongs to one process: see [`Network::process`](crate::Network::process).
///
/// # The end of a stream
///
/// A stream ends when its sender is [closed](Self::close), or was dropped and its process ends
/// without a failure. Then the receiver gets the messages that are left, and `None`. A drop alone
/// does not end the stream, since `?` and panics drop senders, too: if the process fails, no
/// receiver gets `None` for it.
///
/// A sender that was dropped also ends its stream if its process waits in a
/// [cycle](crate::Network#deadlocks) that only this end resolves.
///
/// `None` says that one stream is complete. Another process may fail afterwards: what must not
/// outlive a failure of any process belongs after [`Network::run`](crate::Network::run).
pub struct Sender<T> {
    end: End<T>,
    /// Messages that were put into the channel.
    tail: u64,
    /// How far `tail` may grow before the sender looks again.
    may_send: u64,
}

impl<T> Sender<T> {
    /// # Safety
    /// The only sender of its channel.
    pub(crate) unsafe fn new(channel: Arc<Channel<T>>, graph: Arc<Graph>, owner: u32) -> Self {
        Self { end: End::new(channel, graph, owner, Need::Room), tail: 0, may_send: 0 }
    }

    /// Sends a message. Waits while the channel is full.
    ///
    /// With a capacity of 8 or more, a waiting sender continues as soon as a quarter of the
    /// capacity is free, or the receiver's process waits or ends.
    ///
    /// If the receiver was dropped, the message is dropped, at the latest when the network ends,
    /// and is not counted as [received](crate::ChannelReport::received). `send` does not report
    /// that: whether it has happened yet depends on the schedule.
    ///
    /// # Panics
    /// If it has to wait and is not awaited by the process that the sender belongs to, or if that
    /// process waits for another channel at the same time. A future that polls others with wakers
    /// of its own is not that process.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (numbers, all) = network.channel("numbers", 4);
    /// network.process("count", numbers, async |mut numbers| {
    ///     for n in 1..=100_u32 {
    ///         numbers.send(n).await;
    ///     }
    /// });
    /// let sum = network.process("sum", all, async |mut all| {
    ///     let mut sum = 0;
    ///     while let Some(n) = all.recv().await {
    ///         sum += n;
    ///     }
    ///     sum
    /// });
    /// network.run(&Pool::new(2)?)?;
    /// assert_eq!(sum.take(), Some(5050));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn send(&mut self, message: T) -> impl Future<Output = ()> {
        let mut message = Some(message);
        Operation {
            side: self,
            poll: move |sender: &mut Self, context: &Context<'_>| {
                sender.poll_send(&mut message, context)
            },
        }
    }

    /// Sends a message from a [blocking process](crate::Network::process_blocking). Waits
    /// while the channel is full, and is otherwise like [`send`](Self::send).
    ///
    /// # Errors
    /// [`Over`] if it has to wait and the network is over. The message is dropped.
    ///
    /// # Panics
    /// If it has to look whether there is room, and is not called by the blocking process that the
    /// sender belongs to.
    ///
    /// # Examples
    /// See [`Network::process_blocking`](crate::Network::process_blocking).
    #[track_caller]
    pub fn send_blocking(&mut self, message: T) -> Result<(), Over> {
        if self.tail != self.may_send {
            self.put(message);
            return Ok(());
        }
        let graph = Arc::clone(&self.end.graph);
        blocking::wait(&graph, self.end.owner, self.send(message))
    }

    /// Ends the stream now: it is complete, and no later failure of this process truncates it. The
    /// receiver gets the messages that are left, and then `None`, unless the network fails before.
    ///
    /// Use it if the process continues for long, or waits for what the receiver does at the end of
    /// the stream. Otherwise drop the sender: see [the end of a stream](#the-end-of-a-stream).
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_kahn::{Network, Over};
    ///
    /// let mut network = Network::new();
    /// let (lines, all) = network.channel("lines", 4);
    /// let (tell, written) = std::sync::mpsc::channel();
    /// network.process_blocking("read", lines, move |mut lines| {
    ///     (0..10).try_for_each(|n| lines.send_blocking(n))?;
    ///     lines.close();
    ///     // Not a wait for a channel of the network.
    ///     assert_eq!(locksley::blocking(|| written.recv()), Ok(10));
    ///     Ok::<_, Over>(())
    /// });
    /// network.process_blocking("write", all, move |mut all| {
    ///     let mut count = 0;
    ///     while all.recv_blocking()?.is_some() {
    ///         count += 1;
    ///     }
    ///     tell.send(count).unwrap();
    ///     Ok::<_, Over>(())
    /// });
    /// network.run(&Pool::new(2)?)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(self) {
        let (channel, graph) = (Arc::clone(&self.end.channel), Arc::clone(&self.end.graph));
        drop(self);
        graph.close(&channel.core);
    }

    #[inline]
    fn poll_send(&mut self, message: &mut Option<T>, context: &Context<'_>) -> Poll<()> {
        if self.tail == self.may_send {
            return self.poll_room(message, context);
        }
        if let Some(message) = message.take() {
            self.put(message);
        }
        Poll::Ready(())
    }

    #[inline(never)]
    fn poll_room(&mut self, message: &mut Option<T>, context: &Context<'_>) -> Poll<()> {
        let has_room = ready!(self.poll_ready(context));
        if !has_room && self.end.yields(context) {
            return Poll::Pending;
        }
        if let Some(message) = message.take() {
            if has_room { self.put(message) } else { self.discard(message) }
        }
        Poll::Ready(())
    }

    #[inline]
    fn put(&mut self, message: T) {
        debug_assert!(self.tail < self.may_send);
        // SAFETY: this is the producer, `&mut`. `tail` is below `may_send`: `look` has seen that
        // the slot is free.
        unsafe { self.end.slots.put(self.tail, message) };
        if self.end.is_watched {
            self.record_put();
        }
        self.tail += 1;
        let core = self.end.core();
        // Release pairs with the acquire in `Receiver::look`: the message is seen with the number.
        core.tail.store(self.tail, Ordering::Release);
        // Pairs with the barrier in `End::begin_wait`: either the consumer sees the message, or
        // this sees that it waits.
        self.end.graph.barrier();
        self.end.graph.wake_if_waiting(core, Need::Message);
    }

    #[cold]
    #[inline(never)]
    fn record_put(&self) {
        let core = self.end.core();
        if let Some(measures) = core.measures() {
            measures.record_fill(self.tail + 1 - core.head.load(Ordering::Relaxed));
        }
        if let Some(ring) = self.end.ring() {
            // SAFETY: as in `put`, which has not yet published the message.
            unsafe { ring.stamp(self.tail) };
        }
    }

    #[cold]
    fn discard(&mut self, message: T) {
        let discarded = &self.end.core().discarded;
        discarded.store(discarded.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        drop(message);
    }

    /// Makes the first ring, or one with room for more.
    #[cold]
    fn change_rings(&mut self, capacity: u64) {
        let ring = match self.end.ring() {
            Some(ring) => ring.replace(self.tail, capacity),
            None => {
                let first = Ring::allocate(capacity, self.end.graph.is_observed());
                // Relaxed: the consumer reads it after it has acquired a tail above 0.
                self.end.channel.oldest.store(first.as_ptr(), Ordering::Relaxed);
                first
            }
        };
        // SAFETY: just made, it is the newest.
        unsafe { self.end.enter(ring) };
    }
}

impl<T> Side for Sender<T> {
    type Message = T;

    fn end(&mut self) -> &mut End<T> {
        &mut self.end
    }

    fn look(&mut self) -> Look {
        let core = self.end.core();
        if core.is_abandoned() {
            return Look::Gone;
        }
        // Acquire pairs with the release in `Receiver::take`: those messages have left their slots.
        let head = core.head.load(Ordering::Acquire);
        let capacity = core.capacity();
        if self.tail - head >= capacity {
            return Look::Blocked;
        }
        let room = self.end.ring().map_or(0, Ring::room);
        let has_room = self.tail - head < room;
        if !has_room {
            self.change_rings(capacity);
        }
        self.may_send = head + if has_room { capacity.min(room) } else { capacity };
        Look::Ready
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let core = self.end.core();
        if self.end.graph.is_observed() {
            core.last_stamp.record(extend::stamp().unwrap_or_default());
        }
        // Not closed: the process may be failing. `Graph::finish_process` closes the channel.
        core.mark_sender_dropped();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("channel", &self.end.core().name)
            .field("sent", &self.tail)
            .finish_non_exhaustive()
    }
}
