//! What both ends of a channel have in common: their process, and how they wait.

pub(crate) mod receiver;
pub(crate) mod sender;

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::channel::{Channel, Core, Ring, Slots};
use crate::graph::Graph;
use crate::process::Process;
use crate::wait::Need;
use locksley_sys::primitive::Ordering;

/// An end of a channel.
struct End<T> {
    channel: Arc<Channel<T>>,
    graph: Arc<Graph>,
    /// The process that the end belongs to.
    owner: u32,
    /// What the process waits for at this end.
    need: Need,
    is_waiting: bool,
    /// Counts operations that did not wait, up to the next yield.
    turns: u8,
    /// True if messages are measured or carry stamps.
    is_watched: bool,
    /// The ring of the next message; known when there is one, or room for one.
    ring: Option<NonNull<Ring<T>>>,
    /// The slots of that ring.
    slots: Slots<T>,
}

// SAFETY: the ring is a part of the channel, which may be sent and is kept alive.
unsafe impl<T: Send> Send for End<T> {}
// SAFETY: shared references change nothing.
unsafe impl<T: Send> Sync for End<T> {}

// As those of std's channels: each message is there, or is not.
impl<T> UnwindSafe for End<T> {}
impl<T> RefUnwindSafe for End<T> {}

/// What a process finds at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// A message, or room for one.
    Ready,
    /// The process must wait.
    Blocked,
    /// There will be no message, as the stream has ended; or none is wanted.
    Gone,
}

impl<T> End<T> {
    fn new(channel: Arc<Channel<T>>, graph: Arc<Graph>, owner: u32, need: Need) -> Self {
        let is_watched = graph.is_measured || graph.is_observed();
        let (ring, slots) = (None, Slots::none());
        Self { channel, graph, owner, need, is_waiting: false, turns: 0, is_watched, ring, slots }
    }

    fn core(&self) -> &Core {
        &self.channel.core
    }

    fn process(&self) -> &Process {
        self.graph.process(self.owner)
    }

    /// The ring of the next message, if it is known.
    fn ring(&self) -> Option<&Ring<T>> {
        // SAFETY: the ring is alive: the producer uses the newest one, and the consumer frees a
        // ring only after both ends have left it.
        self.ring.map(|ring| unsafe { ring.as_ref() })
    }

    /// Continues in a ring.
    ///
    /// # Safety
    /// For the producer, the newest ring of the channel; for the consumer, the ring of its next
    /// message.
    unsafe fn enter(&mut self, ring: NonNull<Ring<T>>) {
        self.ring = Some(ring);
        // SAFETY: the ring is alive, as in `ring`.
        self.slots = unsafe { ring.as_ref() }.slots();
    }

    /// Publishes that the process waits, unless it has done so.
    fn begin_wait(&mut self, context: &Context<'_>) {
        if !self.is_waiting {
            self.process().begin_wait(context, self.core().number, self.need);
            self.is_waiting = true;
            if let Some(measures) = self.core().measures() {
                measures.begin_wait(self.need, self.graph.begun.elapsed());
            }
        }
        self.core().waits(self.need).store(true, Ordering::Relaxed);
        // Pairs with the barrier that the other process makes after it has put or taken a message,
        // or dropped its end: one of the two sees the other. It also pairs with the same barrier of
        // other waiting processes: of those that close a cycle, the last one sees all.
        self.graph.barrier();
    }

    #[inline]
    fn end_wait(&mut self) {
        if self.is_waiting {
            self.end_begun_wait();
        }
    }

    #[inline(never)]
    fn end_begun_wait(&mut self) {
        self.is_waiting = false;
        self.core().waits(self.need).store(false, Ordering::Relaxed);
        self.process().wait.end();
        if let Some(measures) = self.core().measures() {
            measures.end_wait(self.need, self.graph.begun.elapsed());
        }
    }

    /// True each 256th time: then the process lets others go first, and is polled again. Without
    /// this, one that never waits would keep its worker, and could not be cancelled.
    fn yields(&mut self, context: &Context<'_>) -> bool {
        self.turns = self.turns.wrapping_add(1);
        if self.turns == 0 {
            self.end_wait();
            context.waker().wake_by_ref();
        }
        self.turns == 0
    }
}

/// A sender or a receiver.
trait Side {
    type Message;

    fn end(&mut self) -> &mut End<Self::Message>;

    /// What the process finds now.
    fn look(&mut self) -> Look;

    /// Waits until there is a message, or room. False if there will be none.
    fn poll_ready(&mut self, context: &Context<'_>) -> Poll<bool> {
        let mut found = self.look();
        if found == Look::Blocked {
            self.end().begin_wait(context);
            found = self.look();
        }
        let end = self.end();
        if found == Look::Blocked {
            Graph::check_new_wait(&end.graph, end.owner);
            return Poll::Pending;
        }
        end.end_wait();
        if found == Look::Gone && end.graph.has_failed() {
            // The failure may be why, and was then noted before the channel was closed. All
            // processes are woken after it, and dropped.
            end.process().assert_current(context);
            return Poll::Pending;
        }
        Poll::Ready(found == Look::Ready)
    }
}

/// A send or receive that is under way: polled by a function. If it is given up, so is its wait.
struct Operation<'e, S: Side, F> {
    side: &'e mut S,
    poll: F,
}

impl<S: Side, F> Unpin for Operation<'_, S, F> {}

impl<S: Side, R, F: FnMut(&mut S, &Context<'_>) -> Poll<R>> Future for Operation<'_, S, F> {
    type Output = R;

    // Unlike `poll_fn`, this is inlined into the process.
    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        let this = self.get_mut();
        (this.poll)(this.side, context)
    }
}

impl<S: Side, F> Drop for Operation<'_, S, F> {
    #[inline]
    fn drop(&mut self) {
        self.side.end().end_wait();
    }
}
