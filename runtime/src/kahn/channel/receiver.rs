//! The consumer's end.

use std::fmt;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::ring::Ring;
use super::{Channel, Core, follow};
use crate::kahn::error::Failure;
use crate::kahn::graph::Graph;
use crate::kahn::stack::{self, Over};
use crate::kahn::wait::Need;
use crate::primitive::{Ordering, fence};

/// The end of a channel at which a process receives.
///
/// One process has it, and uses it itself: see [`Network::process`](crate::kahn::Network::process). When it is dropped, what is left in
/// the channel is dropped too, and so is what will be sent. A message that panics then is a panic of this process, and ends the network.
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
    graph: Arc<Graph>,
    /// The process that it belongs to.
    owner: u32,
    is_measured: bool,
    is_waiting: bool,
    /// How often it has looked for messages, in the smallest of numbers: at nothing it gives way.
    looks: u8,
    /// How many messages were taken out.
    head: u64,
    /// How many there are, up to the end of the ring, when we last looked.
    seen: u64,
    /// At how many taken out the producer is looked after, if it waits.
    look_after: u64,
    /// The ring in which the next one lies.
    ring: NonNull<Ring<T>>,
}

// SAFETY: the ring is a part of the channel, which may be sent and is kept alive.
unsafe impl<T: std::marker::Send> std::marker::Send for Receiver<T> {}
// SAFETY: nothing is done by shared reference.
unsafe impl<T: std::marker::Send> Sync for Receiver<T> {}

impl<T> Unpin for Receiver<T> {}

/// What a consumer finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Message,
    Empty,
    /// And no more will come.
    Ended,
}

impl<T> Receiver<T> {
    /// # Safety
    /// The one receiver of its channel.
    pub(in crate::kahn) unsafe fn new(
        channel: Arc<Channel<T>>,
        graph: Arc<Graph>,
        owner: u32,
    ) -> Self {
        // SAFETY: as the caller promises, so nothing was received yet.
        let ring = unsafe { channel.first_ring() };
        let is_measured = channel.core.measures().is_some();
        let look_after = portion(channel.core.first_capacity);
        let (head, seen, is_waiting, looks) = (0, 0, false, 0);
        Self { channel, graph, owner, is_measured, is_waiting, looks, head, seen, look_after, ring }
    }

    /// Receives the next message. Waits as long as there is none. `None` once the sender has been dropped, and all was received.
    ///
    /// To wait for something else at the same time, as a `select` with a timer does, is no part of process networks: what the process does
    /// next would depend on time. It is not refused; but as long as the process waits here, it counts as waiting for nothing else, so
    /// [deadlocks](crate::kahn::Network#deadlocks) may be found where the timer would have helped.
    ///
    /// # Panics
    /// As [`Sender::send`](super::Sender::send).
    ///
    /// # Examples
    /// See [`Sender::send`](super::Sender::send).
    pub fn recv(&mut self) -> Recv<'_, T> {
        Recv { receiver: self, since: None }
    }

    /// Receives the next message in a process on a [stack of its own](crate::kahn::Network::process_on_stack). Waits as long as there is none.
    /// `None` once the sender has been dropped, and all was received.
    ///
    /// # Errors
    /// [`Over`], if it has to wait and the network has failed.
    ///
    /// # Panics
    /// As [`Sender::send_blocking`](super::Sender::send_blocking).
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, kahn::{Network, NetworkError}};
    ///
    /// let mut network = Network::new();
    /// let (numbers, all) = network.channel("numbers", 4);
    /// network.process("count", numbers, async |mut numbers| {
    ///     for n in 1..=100_u32 {
    ///         numbers.send(n).await;
    ///     }
    /// });
    /// let sum = network.process_on_stack("sum", all, |mut all| {
    ///     let mut sum = 0;
    ///     while let Some(n) = all.recv_blocking()? {
    ///         sum += n;
    ///     }
    ///     Ok::<_, locksley::kahn::Over>(sum)
    /// });
    /// match network.run(&Pool::new(2)?) {
    ///     Ok(_) => assert_eq!(sum.take(), Some(Ok(5050))),
    ///     Err(NetworkError::NoStack { .. }) => {} // on systems that have none
    ///     Err(error) => return Err(error.into()),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recv_blocking(&mut self) -> Result<Option<T>, Over> {
        let found = if self.head == self.seen {
            let graph = Arc::clone(&self.graph);
            stack::wait(&graph, self.owner, self.recv())?
        } else {
            Some(self.take())
        };
        // What the process waits for next may be nothing of the network's, and nobody would look after the sender then.
        self.graph.process(self.owner).pay_at_a_pause(&self.graph);
        Ok(found)
    }

    fn core(&self) -> &Core {
        &self.channel.core
    }

    #[inline]
    fn take(&mut self) -> T {
        // SAFETY: the consumer's ring is alive until it leaves it.
        let ring = unsafe { self.ring.as_ref() };
        // SAFETY: this is the consumer, `&mut`; `head < seen`, which `look` has acquired, and which lies in this ring.
        let message = unsafe { ring.take(self.head) };
        self.head += 1;
        let core = &self.channel.core;
        // Release pairs with the acquire in `Sender::look`: the message is out of its slot.
        core.head.store(self.head, Ordering::Release);
        if self.head == self.look_after {
            self.look_after += portion(core.first_capacity);
            // Pairs with the fence in `Sender::wait`: either it sees that there is room, or we see that it waits.
            fence(Ordering::SeqCst);
            if core.take_waiting_producer() {
                self.graph.wake_producer(core.number);
            }
        } else {
            self.graph.process(self.owner).owes_a_look(&self.graph, core.number);
        }
        message
    }

    /// Whether there is a message now.
    fn look(&mut self) -> Look {
        let core = &self.channel.core;
        // Before we see how many there are: if it is closed, there will not be more.
        let is_closed = core.is_closed();
        // Acquire pairs with the release in `Sender::put`: the messages are seen, and where their ring ends.
        let tail = core.tail.load(Ordering::Acquire);
        if tail == self.head {
            return if is_closed { Look::Ended } else { Look::Empty };
        }
        let before = self.ring;
        // SAFETY: this is the consumer, and it has taken all before `head`.
        unsafe { follow(&mut self.ring, self.head) };
        if self.ring != before {
            // SAFETY: the cell is the consumer's.
            self.channel.oldest.with_mut(|oldest| unsafe { *oldest = self.ring });
        }
        // SAFETY: as in `take`.
        self.seen = tail.min(unsafe { self.ring.as_ref() }.end());
        Look::Message
    }

    /// Says that it waits, unless it does. Afterwards looks again, and for a deadlock.
    #[cold]
    fn wait(&mut self, context: &Context<'_>) -> Look {
        let (core, owner) = (&self.channel.core, self.graph.process(self.owner));
        if !self.is_waiting {
            owner.begin_to_wait(context, core.number, Need::Message);
            self.is_waiting = true;
        }
        core.consumer_waits.store(true, Ordering::Relaxed);
        // Pairs with the fence in `Sender::put` and in its `drop`: either it sees that we wait, or we see what it has done. And with
        // the one of whoever waits too: of those who close a cycle one sees it.
        fence(Ordering::SeqCst);
        let found = self.look();
        if found == Look::Empty {
            Graph::has_begun_to_wait(&self.graph, self.owner);
        }
        found
    }

    fn wait_no_more(&mut self) {
        self.is_waiting = false;
        self.core().consumer_waits.store(false, Ordering::Relaxed);
        self.graph.process(self.owner).wait_is_over();
    }
}

/// After so many messages a producer that waits is woken: as soon as there is room, but where that is much, together.
fn portion(capacity: u64) -> u64 {
    // Small channels have it too under the model checker.
    (capacity / if cfg!(loom) { 1 } else { 4 }).max(1)
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let core = &self.channel.core;
        core.abandon();
        // As in `take`.
        fence(Ordering::SeqCst);
        if core.take_waiting_producer() {
            self.graph.wake_producer(core.number);
        }
        // SAFETY: this is the consumer.
        let panicked = unsafe { self.channel.drop_all() };
        // What comes later than this is dropped at the end of the network.
        core.drained();
        if let Some(payload) = panicked {
            // Not raised here: the process may be unwinding, or have dropped this in passing.
            self.graph.fail(Failure::Panicked { process: self.owner, payload });
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("channel", &self.core().name())
            .field("received", &self.head)
            .finish_non_exhaustive()
    }
}

/// What [`Receiver::recv`] returns.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Recv<'r, T> {
    receiver: &'r mut Receiver<T>,
    /// Since when it waits, if that is measured.
    since: Option<Instant>,
}

impl<T> Unpin for Recv<'_, T> {}

impl<T> Future for Recv<'_, T> {
    type Output = Option<T>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        if this.receiver.head == this.receiver.seen {
            match this.find(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(false) => return Poll::Ready(None),
                Poll::Ready(true) => {}
            }
        }
        Poll::Ready(Some(this.receiver.take()))
    }
}

impl<T> Recv<'_, T> {
    /// Whether there is a message.
    fn find(&mut self, context: &Context<'_>) -> Poll<bool> {
        self.receiver.looks = self.receiver.looks.wrapping_add(1);
        if self.receiver.looks == 0 {
            // A process that is its own partner never waits, and would keep its worker for ever.
            self.over();
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut found = self.receiver.look();
        if found == Look::Empty {
            if self.receiver.is_measured && self.since.is_none() {
                self.since = Some(Instant::now());
            }
            found = self.receiver.wait(context);
            if found == Look::Empty {
                return Poll::Pending;
            }
        }
        self.over();
        if found == Look::Ended && self.receiver.graph.is_over() {
            // It was closed by the end of the network, which drops this process too: who ends it wakes all afterwards.
            return Poll::Pending;
        }
        Poll::Ready(found == Look::Message)
    }

    #[inline]
    fn over(&mut self) {
        if self.receiver.is_waiting {
            self.wait_is_over();
        }
    }

    fn wait_is_over(&mut self) {
        self.receiver.wait_no_more();
        if let (Some(since), Some(measures)) = (self.since.take(), self.receiver.core().measures())
        {
            measures.receiver_waited(since.elapsed());
        }
    }
}

impl<T> Drop for Recv<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.over();
    }
}

impl<T> fmt::Debug for Recv<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recv").field("receiver", &self.receiver).finish_non_exhaustive()
    }
}
