//! The consumer's end.

use std::fmt;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::ring::Ring;
use super::waits::{End, Waits};
use super::{Channel, Core, follow};
use crate::held::{self, Place, Wait};
use crate::kahn::error::Failure;
use crate::kahn::graph::Graph;
use crate::kahn::stack::{self, Over};
use crate::kahn::wait::Need;
use crate::primitive::Ordering;
use crate::task;

/// The end of a channel at which a process receives.
///
/// One process has it, and uses it itself: see [`Network::process`](crate::kahn::Network::process). When it is dropped, what is left in
/// the channel is dropped too, and so is what will be sent. A message that panics then is a panic of this process, and ends the network.
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
    graph: Arc<Graph>,
    /// The process that it belongs to.
    owner: u32,
    waits: Waits,
    /// How often it has looked for messages, in the smallest of numbers: at nothing it gives way.
    looks: u8,
    /// How many messages were taken out.
    head: u64,
    /// How many there are, up to the end of the ring, when we last looked.
    seen: u64,
    /// The same in a metered network, where each is taken by itself: there `seen` is one more than were taken out, at most.
    known: u64,
    /// At how many taken out the producer is looked after, if it waits.
    look_after: u64,
    /// The ring in which the next one lies. Known from the first one on.
    ring: Option<NonNull<Ring<T>>>,
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
        let look_after = portion(channel.core.first_capacity);
        let looks = if channel.core.stamps().is_some() { METERED } else { 0 };
        let (head, seen, known, waits, ring) = (0, 0, 0, Waits::default(), None);
        Self { channel, graph, owner, waits, looks, head, seen, known, look_after, ring }
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
        Recv { receiver: self }
    }

    /// Receives the next message in a process on a [stack of its own](crate::kahn::Network::process_on_stack). Waits as long as there is none.
    /// `None` once the sender has been dropped, and all was received.
    ///
    /// # Errors
    /// [`Over`], if it has to wait and the network has failed, or fails since the process [unwinds](crate::kahn::NetworkError::Unwinding).
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
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn recv_blocking(&mut self) -> Result<Option<T>, Over> {
        held::tell_here(Wait::Channel, Place::here());
        if self.head != self.seen {
            return Ok(Some(self.take()));
        }
        let graph = Arc::clone(&self.graph);
        stack::wait(&graph, self.owner, self.recv())
    }

    fn core(&self) -> &Core {
        &self.channel.core
    }

    #[inline]
    fn take(&mut self) -> T {
        debug_assert!(self.ring.is_some() && self.head < self.seen);
        // SAFETY: `head < seen`, so `look` has found a message, and its ring.
        let ring = unsafe { self.ring.unwrap_unchecked() };
        // SAFETY: the consumer's ring is alive until it leaves it. This is the consumer, `&mut`; `look` has acquired what is below `seen`, which
        // lies in this ring.
        let message = unsafe { Ring::take(ring, self.head) };
        self.head += 1;
        let core = &self.channel.core;
        // Release pairs with the acquire in `Sender::look`: the message is out of its slot.
        core.head.store(self.head, Ordering::Release);
        if self.head == self.look_after {
            self.look_after_sender();
        } else {
            self.graph.process(self.owner).owes_a_look(&self.graph, core.number);
        }
        message
    }

    /// A portion has been taken.
    #[inline(never)]
    fn look_after_sender(&mut self) {
        let core = &self.channel.core;
        self.look_after += portion(core.first_capacity);
        // Pairs with the barrier in `Waits::begin`: either the sender sees that there is room, or we see that it waits.
        self.graph.barrier();
        self.graph.look_after_producer(core.number);
    }

    /// Whether there is a message now.
    #[inline]
    fn look(&mut self) -> Look {
        let core = &self.channel.core;
        // Before we see how many there are: if it is closed, there will not be more.
        let is_closed = core.is_closed();
        // Acquire pairs with the release in `Sender::put`: the messages are seen, and where their ring ends.
        let tail = core.tail.load(Ordering::Acquire);
        if tail == self.head {
            return if is_closed { Look::Ended } else { Look::Empty };
        }
        let before = self.ring.unwrap_or_else(|| self.channel.oldest());
        let mut ring = before;
        // SAFETY: this is the consumer, and it has taken all before `head`.
        unsafe { follow(&mut ring, self.head) };
        if ring != before {
            // Relaxed: the consumer's own.
            self.channel.oldest.store(ring.as_ptr(), Ordering::Relaxed);
        }
        self.ring = Some(ring);
        // SAFETY: as in `take`.
        self.seen = tail.min(unsafe { ring.as_ref() }.end());
        Look::Message
    }

    /// Says that it waits, unless it does. Afterwards looks again, and for a deadlock.
    #[cold]
    fn wait(&mut self, context: &Context<'_>) -> Look {
        let Self { channel, graph, owner, .. } = self;
        let end = End { core: &channel.core, graph, owner: *owner, need: Need::Message };
        self.waits.begin(end, context);
        let found = self.look();
        if found == Look::Empty {
            Graph::has_begun_to_wait(&self.graph, self.owner);
        }
        found
    }

    #[inline]
    fn wait_is_over(&mut self) {
        let Self { channel, graph, owner, .. } = self;
        let end = End { core: &channel.core, graph, owner: *owner, need: Need::Message };
        self.waits.end(end);
    }
}

/// So many looks there have been of a consumer that is metered: the next one is that after which it gives way, or comes to where that is known.
const METERED: u8 = u8::MAX;

/// After so many messages a producer that waits is woken: as soon as there is room, but where that is much, together.
fn portion(capacity: u64) -> u64 {
    // Small channels have it too under the model checker.
    (capacity / if cfg!(loom) { 1 } else { 4 }).max(1)
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let core = &self.channel.core;
        if let Some(stamps) = core.stamps() {
            // SAFETY: this is the consumer, `&mut`.
            unsafe { stamps.is_abandoned(self.head) };
        }
        core.abandon();
        // As in `take`.
        self.graph.barrier();
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
}

impl<T> Unpin for Recv<'_, T> {}

impl<T> Future for Recv<'_, T> {
    type Output = Option<T>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        if this.receiver.head == this.receiver.seen {
            return this.poll_for_message(context);
        }
        Poll::Ready(Some(this.receiver.take()))
    }
}

impl<T> Recv<'_, T> {
    #[inline(never)]
    fn poll_for_message(&mut self, context: &Context<'_>) -> Poll<Option<T>> {
        self.find(context).map(|is_there| is_there.then(|| self.receiver.take()))
    }

    /// Whether there is a message.
    #[inline]
    fn find(&mut self, context: &Context<'_>) -> Poll<bool> {
        self.receiver.looks = self.receiver.looks.wrapping_add(1);
        if self.receiver.looks == 0 {
            return self.find_after_many(context);
        }
        self.find_now(context)
    }

    /// It has looked often; or each time, in a metered network.
    #[cold]
    #[inline(never)]
    fn find_after_many(&mut self, context: &Context<'_>) -> Poll<bool> {
        let receiver = &mut *self.receiver;
        let stamps = receiver.channel.core.stamps().filter(|stamps| stamps.are_wanted());
        // Also after this.
        receiver.looks = if stamps.is_some() { METERED } else { 0 };
        if let Some(stamps) = stamps
            && !stamps.gives_way()
        {
            if receiver.head < receiver.known {
                receiver.seen = receiver.head + 1;
                // SAFETY: this is the consumer, `&mut`, and has seen that it is there.
                unsafe { stamps.receives(receiver.head, true) };
                return Poll::Ready(true);
            }
            return self.find_metered(context);
        }
        // A process that is its own partner never waits, and would keep its worker for ever.
        self.receiver.wait_is_over();
        self.receiver.graph.process(self.receiver.owner).gives_way(context);
        Poll::Pending
    }

    /// The same, one message at a time, of which it does not know whether there is one.
    #[inline(never)]
    fn find_metered(&mut self, context: &Context<'_>) -> Poll<bool> {
        let found = self.find_now(context);
        let receiver = &mut *self.receiver;
        let Poll::Ready(is_there) = found else {
            task::tells_its_paths(context.waker());
            return found;
        };
        if is_there {
            receiver.known = receiver.seen;
            receiver.seen = receiver.head + 1;
        }
        if let Some(stamps) = receiver.channel.core.stamps() {
            // SAFETY: this is the consumer, `&mut`, and has seen what there is.
            unsafe { stamps.receives(receiver.head, is_there) };
        }
        found
    }

    #[inline(always)]
    fn find_now(&mut self, context: &Context<'_>) -> Poll<bool> {
        let mut found = self.receiver.look();
        if found == Look::Empty {
            found = self.receiver.wait(context);
            if found == Look::Empty {
                return Poll::Pending;
            }
        }
        self.receiver.wait_is_over();
        if found == Look::Ended && self.receiver.graph.is_over() {
            // It was closed by the end of the network, which drops this process too: who ends it wakes all afterwards.
            return Poll::Pending;
        }
        Poll::Ready(found == Look::Message)
    }
}

impl<T> Drop for Recv<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.receiver.wait_is_over();
    }
}

impl<T> fmt::Debug for Recv<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recv").field("receiver", &self.receiver).finish_non_exhaustive()
    }
}
