//! The producer's end.

use std::fmt;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::ring::Ring;
use super::waits::{End, Waits};
use super::{Channel, Core};
use crate::held::{self, Place, Wait};
use crate::kahn::graph::Graph;
use crate::kahn::stack::{self, Over};
use crate::kahn::wait::Need;
use crate::primitive::Ordering;
use crate::task;

/// The end of a channel at which a process sends.
///
/// One process has it, and uses it itself: see [`Network::process`](crate::kahn::Network::process). When it is dropped, the receiver gets what is left,
/// and then nothing more.
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
    graph: Arc<Graph>,
    /// The process that it belongs to.
    owner: u32,
    /// Whether it is measured or metered.
    is_watched: bool,
    waits: Waits,
    /// How many messages were put into the channel.
    tail: u64,
    /// How many there may be until we look again.
    most: u64,
    /// The ring in which the next one will lie. Made when that is there.
    ring: Option<NonNull<Ring<T>>>,
}

// SAFETY: the ring is a part of the channel, which may be sent and is kept alive.
unsafe impl<T: std::marker::Send> std::marker::Send for Sender<T> {}
// SAFETY: nothing is done by shared reference.
unsafe impl<T: std::marker::Send> Sync for Sender<T> {}

impl<T> Unpin for Sender<T> {}

impl<T> Sender<T> {
    /// # Safety
    /// The one sender of its channel.
    pub(in crate::kahn) unsafe fn new(
        channel: Arc<Channel<T>>,
        graph: Arc<Graph>,
        owner: u32,
    ) -> Self {
        let is_watched = channel.core.is_watched();
        let (waits, ring) = (Waits::default(), None);
        Self { channel, graph, owner, is_watched, waits, tail: 0, most: 0, ring }
    }

    /// Sends a message. Waits as long as the channel is full.
    ///
    /// Where the capacity is 8 or more, a sender that waits goes on as soon as a quarter of it is free, or the receiver waits or ends.
    ///
    /// If the receiver's process is done with the channel, the message is dropped and counted: it would be wrong to say so here,
    /// since whether that has happened yet depends on the schedule.
    ///
    /// # Panics
    /// If it would have to wait and is not awaited by the process that it belongs to, as what that waits for at the moment. A
    /// future that polls several others with wakers of its own is in the way of that; so is another wait at the same time.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, kahn::Network};
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
    pub fn send(&mut self, message: T) -> Send<'_, T> {
        Send { sender: self, message: Some(message), has_given_way: false }
    }

    /// Sends a message from a process on a [stack of its own](crate::kahn::Network::process_on_stack). Waits as long as the channel is full, and
    /// is otherwise as [`send`](Self::send).
    ///
    /// # Errors
    /// [`Over`], if it has to wait and the network has failed, or fails since the process [unwinds](crate::kahn::NetworkError::Unwinding). Then
    /// the message is dropped.
    ///
    /// # Panics
    /// If it would have to wait and is not called by the process that it belongs to, on its own stack. Elsewhere it may panic, too, where it need not
    /// wait: unless it knows that without asking what the process at the other end has done.
    ///
    /// # Examples
    /// See [`Network::process_on_stack`](crate::kahn::Network::process_on_stack).
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn send_blocking(&mut self, message: T) -> Result<(), Over> {
        held::tell_here(Wait::Channel, Place::here());
        if self.tail != self.most {
            self.put(message);
            return Ok(());
        }
        let graph = Arc::clone(&self.graph);
        stack::wait(&graph, self.owner, self.send(message))
    }

    fn core(&self) -> &Core {
        &self.channel.core
    }

    #[inline]
    fn put(&mut self, message: T) {
        debug_assert!(self.ring.is_some() && self.tail < self.most);
        // SAFETY: `tail < most`, so `look` has made room, and a ring.
        let ring = unsafe { self.ring.unwrap_unchecked() };
        // SAFETY: the ring in which the producer writes is alive: the consumer does not leave it before we do. This is the producer, `&mut`;
        // what was there is taken, which `look` has acquired.
        unsafe { Ring::put(ring, self.tail, message) };
        self.tail += 1;
        let core = &self.channel.core;
        if self.is_watched {
            self.is_seen_to_put();
        }
        // Release pairs with the acquire in `Receiver::look`: who sees the number sees the message.
        core.tail.store(self.tail, Ordering::Release);
        // Pairs with the barrier in `Waits::begin`: either the receiver sees the message, or we see that it waits.
        self.graph.barrier();
        if core.take_waiting_consumer() {
            self.wake_receiver();
        }
    }

    #[inline(never)]
    fn wake_receiver(&self) {
        self.graph.wake_consumer(self.core().number);
    }

    /// Whether there is room for a message now. If not, or if it is not wanted, says which.
    fn look(&mut self) -> Look {
        let core = &self.channel.core;
        if core.is_abandoned() {
            return Look::Unwanted;
        }
        // Acquire pairs with the release in `Receiver::take`: those messages are out of their slots.
        let head = core.head.load(Ordering::Acquire);
        let capacity = core.capacity();
        if self.tail - head >= capacity {
            return Look::Full;
        }
        // SAFETY: as in `put`.
        let slots = self.ring.map_or(0, |ring| unsafe { ring.as_ref() }.slots());
        let has_room = self.tail - head < slots;
        if !has_room {
            self.change_rings(capacity);
        }
        self.most = head + if has_room { capacity.min(slots) } else { capacity };
        Look::Room
    }

    /// Goes on in a ring for so many, or begins with it.
    #[cold]
    fn change_rings(&mut self, capacity: u64) {
        self.ring = Some(match self.ring {
            // SAFETY: as in `put`.
            Some(ring) => unsafe { ring.as_ref() }.replace(self.tail, capacity),
            None => {
                let first = Ring::allocated(capacity);
                self.channel.begins_with(first);
                first
            }
        });
    }

    fn discard(&mut self, message: T) {
        if self.is_watched {
            self.is_seen_to_discard();
        }
        let discarded = &self.core().discarded;
        discarded.store(discarded.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        drop(message);
    }

    /// Before the message is counted.
    #[cold]
    fn is_seen_to_discard(&self) {
        let core = self.core();
        if let Some(stamps) = core.stamps() {
            let sent = self.tail + core.discarded.load(Ordering::Relaxed);
            // SAFETY: this is the producer, `&mut`.
            unsafe { stamps.discards(sent, core.capacity()) };
        }
    }

    /// With the message that is about to be published: afterwards it may be gone at once.
    #[cold]
    fn is_seen_to_put(&self) {
        let core = self.core();
        if let Some(measures) = core.measures() {
            measures.filled(self.tail - core.head.load(Ordering::Relaxed));
        }
        if let Some(stamps) = core.stamps() {
            // SAFETY: this is the producer, `&mut`, and there was room.
            unsafe { stamps.sends(self.tail - 1, core.capacity()) };
        }
    }

    /// Says that it waits, unless it does. Afterwards looks again, and for a deadlock.
    #[cold]
    fn wait(&mut self, context: &Context<'_>) -> Look {
        let Self { channel, graph, owner, .. } = self;
        let end = End { core: &channel.core, graph, owner: *owner, need: Need::Room };
        self.waits.begin(end, context);
        let found = self.look();
        if found == Look::Full {
            if self.is_watched {
                task::tells_its_paths(context.waker());
            }
            Graph::has_begun_to_wait(&self.graph, self.owner);
        }
        found
    }

    #[inline]
    fn wait_is_over(&mut self) {
        let Self { channel, graph, owner, .. } = self;
        let end = End { core: &channel.core, graph, owner: *owner, need: Need::Room };
        self.waits.end(end);
    }
}

/// After so many messages that nobody wants a producer lets others go first.
const GIVES_WAY_AFTER: u64 = 256;

/// What a producer finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Room,
    Full,
    /// The consumer is gone.
    Unwanted,
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let core = self.core();
        if self.is_watched
            && let Some(stamps) = core.stamps()
        {
            // SAFETY: this is the producer, `&mut`.
            unsafe { stamps.is_closed(self.tail) };
        }
        core.close();
        // As in `put`.
        self.graph.barrier();
        if core.take_waiting_consumer() {
            self.graph.wake_consumer(core.number);
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("channel", &self.core().name())
            .field("sent", &self.tail)
            .finish_non_exhaustive()
    }
}

/// What [`Sender::send`] returns.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Send<'s, T> {
    sender: &'s mut Sender<T>,
    /// Until it is sent.
    message: Option<T>,
    /// Whether it has let others go first.
    has_given_way: bool,
}

impl<T> Unpin for Send<'_, T> {}

impl<T> Future for Send<'_, T> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if this.sender.tail == this.sender.most {
            return this.poll_for_room(context);
        }
        if let Some(message) = this.message.take() {
            this.sender.put(message);
        }
        Poll::Ready(())
    }
}

impl<T> Send<'_, T> {
    #[inline(never)]
    fn poll_for_room(&mut self, context: &Context<'_>) -> Poll<()> {
        let Poll::Ready(found) = self.make_room(context) else { return Poll::Pending };
        if let Some(message) = self.message.take() {
            match found {
                Look::Room => self.sender.put(message),
                _ => self.sender.discard(message),
            }
        }
        Poll::Ready(())
    }

    #[inline]
    fn make_room(&mut self, context: &Context<'_>) -> Poll<Look> {
        let mut found = self.sender.look();
        if found == Look::Full {
            found = self.sender.wait(context);
            if found == Look::Full {
                return Poll::Pending;
            }
        }
        self.sender.wait_is_over();
        if found == Look::Unwanted && self.gives_way(context) {
            return Poll::Pending;
        }
        Poll::Ready(found)
    }

    /// Whether it lets others go first: to send what nobody wants never waits, and that might go on for ever.
    #[cold]
    fn gives_way(&mut self, context: &Context<'_>) -> bool {
        if self.sender.graph.is_over() {
            return true; // who ended the network wakes all after they have said so
        }
        let discarded = self.sender.core().discarded.load(Ordering::Relaxed);
        let gives_way = discarded % GIVES_WAY_AFTER == GIVES_WAY_AFTER - 1 && !self.has_given_way;
        if gives_way {
            self.has_given_way = true;
            self.sender.graph.process(self.sender.owner).gives_way(context);
        }
        gives_way
    }
}

impl<T> Drop for Send<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.sender.wait_is_over();
    }
}

impl<T> fmt::Debug for Send<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Send").field("sender", &self.sender).finish_non_exhaustive()
    }
}
