//! Channels: one process sends, another receives, first in, first out. What both ends share.
//!
//! The README of the folder above has the protocol.

mod ring;

use std::ptr::NonNull;
use std::time::Duration;

use super::wait::Need;
use locksley::extend::LatestStamp;
use locksley_sys::primitive::plain::OnceLock;
use locksley_sys::primitive::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use locksley_sys::unwind::{self, Payload};
pub(super) use ring::{Ring, Slots};

/// The state of a channel, apart from its messages.
///
/// It fills two cache lines. What the producer writes or reads with each message comes first, and
/// 64 bytes later what the consumer writes or reads. The flag of a waiting process lies on the line
/// of the process that reads it with each message, not on the line of the one that waits.
#[repr(C)]
pub(super) struct Core {
    /// Messages that were put into the channel. Written by the producer.
    pub(super) tail: AtomicU64,
    /// Set by the consumer before it waits for a message, taken back by whatever wakes it.
    consumer_waits: AtomicBool,
    is_consumer_gone: AtomicBool,
    /// The consumer has dropped what was left, and takes nothing out any more.
    is_drained: AtomicBool,
    pub(super) number: u32,
    /// Only grows.
    capacity: AtomicU64,
    /// Messages that were sent when there was no consumer. Written by the producer.
    pub(super) discarded: AtomicU64,
    pub(super) name: Box<str>,
    measures: OnceLock<Box<Measures>>,
    /// Messages that were taken out. Written by the consumer.
    pub(super) head: AtomicU64,
    /// Set by the producer before it waits for room.
    producer_waits: AtomicBool,
    /// The stream has ended: all messages are in the channel.
    is_closed: AtomicBool,
    /// The sender was dropped. The stream has not ended by that.
    is_sender_dropped: AtomicBool,
    /// Messages that were taken out and not received: the consumer has dropped them.
    unread: AtomicU64,
    pub(super) initial_capacity: u64,
    /// In an observed pool, the stamp of the producer's end.
    pub(super) last_stamp: LatestStamp,
}

#[cfg(all(not(loom), not(test), target_pointer_width = "64"))]
const _: () = assert!(std::mem::offset_of!(Core, head) - std::mem::offset_of!(Core, tail) == 64);

impl Core {
    fn new(number: u32, name: Box<str>, capacity: u64) -> Self {
        Self {
            tail: AtomicU64::new(0),
            consumer_waits: AtomicBool::new(false),
            is_consumer_gone: AtomicBool::new(false),
            is_drained: AtomicBool::new(false),
            number,
            capacity: AtomicU64::new(capacity),
            discarded: AtomicU64::new(0),
            name,
            measures: OnceLock::new(),
            head: AtomicU64::new(0),
            producer_waits: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            is_sender_dropped: AtomicBool::new(false),
            unread: AtomicU64::new(0),
            initial_capacity: capacity,
            last_stamp: LatestStamp::default(),
        }
    }

    pub(super) fn capacity(&self) -> u64 {
        // Acquire, like all loads of `capacity_if_stuck`: read before the waits are read again.
        self.capacity.load(Ordering::Acquire)
    }

    /// Messages sent, and of these received. Exact when both processes have ended.
    pub(super) fn counts(&self) -> (u64, u64) {
        // Acquire pairs with the releases in `count_unread`, `Receiver::take` and `Sender::put`:
        // each number is read after those that do not exceed it.
        let unread = self.unread.load(Ordering::Acquire);
        let head = self.head.load(Ordering::Acquire);
        let tail = self.tail.load(Ordering::Acquire);
        (tail + self.discarded.load(Ordering::Relaxed), head - unread)
    }

    pub(super) fn measure(&self) {
        self.measures.get_or_init(|| Box::new(Measures::new()));
    }

    #[inline]
    pub(super) fn measures(&self) -> Option<&Measures> {
        Some(self.measures.get()?)
    }

    /// True if the stream has ended.
    pub(super) fn is_closed(&self) -> bool {
        // Acquire pairs with the release in `close`: all that was sent before is seen.
        self.is_closed.load(Ordering::Acquire)
    }

    /// True if the sender was dropped. The stream may go on until the process has ended.
    pub(super) fn is_sender_dropped(&self) -> bool {
        // Acquire pairs with the release in `mark_sender_dropped`: all that was sent is seen.
        self.is_sender_dropped.load(Ordering::Acquire)
    }

    /// True if the consumer receives nothing any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.is_consumer_gone.load(Ordering::Acquire)
    }

    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    pub(super) fn mark_sender_dropped(&self) {
        self.is_sender_dropped.store(true, Ordering::Release);
    }

    pub(super) fn abandon(&self) {
        self.is_consumer_gone.store(true, Ordering::Release);
    }

    pub(super) fn mark_drained(&self) {
        // Release pairs with the acquire in `purge`: what the consumer has taken out is seen.
        self.is_drained.store(true, Ordering::Release);
    }

    /// The capacity, if what is needed is not there: no message, or no room.
    ///
    /// Exact if the caller has seen that both processes wait.
    pub(super) fn capacity_if_stuck(&self, need: Need) -> Option<u64> {
        // Acquire, all of them: what the caller reads afterwards is read later.
        let head = self.head.load(Ordering::Acquire);
        let filled = self.tail.load(Ordering::Acquire) - head;
        let capacity = self.capacity();
        let is_stuck = match need {
            Need::Message => filled == 0 && !self.is_closed(),
            Need::Room => filled >= capacity && !self.is_abandoned(),
        };
        is_stuck.then_some(capacity)
    }

    /// Raises the capacity, if it is still `from`. True if this call has done it.
    pub(super) fn grow(&self, from: u64, to: u64) -> bool {
        debug_assert!(from < to);
        // Relaxed: the producer that is woken after this sees it by the wake.
        self.capacity.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// A message was taken out that is not received.
    fn count_unread(&self, head: u64) {
        // Release pairs with the acquire in `Sender::look`, as in `Receiver::take`.
        self.head.store(head, Ordering::Release);
        // Release pairs with the acquire in `counts`: what is seen as unread is seen as taken out.
        self.unread.store(self.unread.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// The flag of the process that waits for that.
    pub(super) fn waits(&self, need: Need) -> &AtomicBool {
        match need {
            Need::Message => &self.consumer_waits,
            Need::Room => &self.producer_waits,
        }
    }

    /// Takes the flag of a waiting process back; if it was set, the caller wakes that process. The
    /// caller has made a barrier.
    #[inline]
    #[must_use]
    pub(super) fn take_waiting(&self, need: Need) -> bool {
        let flag = self.waits(need);
        // Relaxed: see the README, "Waiting". A flag that is set again in between is woken for,
        // too.
        let waits = flag.load(Ordering::Relaxed);
        if waits {
            flag.store(false, Ordering::Relaxed);
        }
        waits
    }
}

/// Measured of a channel on demand. Each number is written by one of its two processes.
pub(super) struct Measures {
    pub(super) high_water: AtomicU64,
    /// Nanoseconds. During a wait, less the time at which the wait began (modulo 2⁶⁴).
    pub(super) sender_waited: AtomicU64,
    pub(super) receiver_waited: AtomicU64,
}

impl Measures {
    fn new() -> Self {
        let [high_water, sender_waited, receiver_waited] = [0; 3].map(AtomicU64::new);
        Self { high_water, sender_waited, receiver_waited }
    }

    /// By the producer: the channel has that many messages.
    pub(super) fn record_fill(&self, messages: u64) {
        if messages > self.high_water.load(Ordering::Relaxed) {
            self.high_water.store(messages, Ordering::Relaxed);
        }
    }

    fn waited(&self, need: Need) -> &AtomicU64 {
        match need {
            Need::Message => &self.receiver_waited,
            Need::Room => &self.sender_waited,
        }
    }

    /// By the process that waits, at that time after the network has begun.
    pub(super) fn begin_wait(&self, need: Need, now: Duration) {
        let waited = self.waited(need);
        let begun = waited.load(Ordering::Relaxed).wrapping_sub(now.as_nanos() as u64);
        waited.store(begun, Ordering::Relaxed);
    }

    /// The same, at the end of the wait.
    pub(super) fn end_wait(&self, need: Need, now: Duration) {
        let waited = self.waited(need);
        let ended = waited.load(Ordering::Relaxed).wrapping_add(now.as_nanos() as u64);
        waited.store(ended, Ordering::Relaxed);
    }
}

/// A channel.
#[repr(C)]
pub(super) struct Channel<T> {
    pub(super) core: Core,
    /// The ring that the consumer reads; null until the producer has made the first one. Written by
    /// the consumer from the first message on.
    pub(super) oldest: AtomicPtr<Ring<T>>,
}

// SAFETY: messages change threads and are never shared; each slot is used by one end at a time.
unsafe impl<T: Send> Send for Channel<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Channel<T> {}

/// A channel of any type of messages.
pub(super) trait AnyChannel: Send + Sync {
    fn core(&self) -> &Core;
    /// Drops the messages, if both ends were dropped. Returns the first panic.
    fn purge(&self) -> Option<Payload>;
}

impl<T: Send> AnyChannel for Channel<T> {
    fn core(&self) -> &Core {
        &self.core
    }

    fn purge(&self) -> Option<Payload> {
        // Acquire pairs with the release in `mark_drained`. Swapped, so that it is done once.
        if !self.core.is_closed() || !self.core.is_drained.swap(false, Ordering::Acquire) {
            return None;
        }
        // SAFETY: both ends are gone, and what they have done is seen.
        unsafe { self.drop_all() }
    }
}

impl<T> Channel<T> {
    pub(super) fn new(number: u32, name: Box<str>, capacity: u64) -> Self {
        let oldest = AtomicPtr::new(std::ptr::null_mut());
        Self { core: Core::new(number, name, capacity), oldest }
    }

    /// There is no producer.
    pub(super) fn close(&self) {
        self.core.close();
    }

    /// There is no consumer.
    pub(super) fn abandon(&self) {
        self.core.abandon();
        self.core.mark_drained();
    }

    /// The ring in which message `index` lies. Frees the rings before it.
    ///
    /// # Safety
    /// The caller is the consumer or has the channel to itself, has seen that there was a message,
    /// and has taken all messages before `index`.
    pub(super) unsafe fn ring_of(&self, index: u64) -> NonNull<Ring<T>> {
        // Relaxed: written before the first message was published, and then by the consumer.
        let first = NonNull::new(self.oldest.load(Ordering::Relaxed));
        let mut ring = first.expect("made before the first message");
        // SAFETY: the consumer's ring is alive until the consumer leaves it.
        while unsafe { ring.as_ref() }.end() == index {
            // SAFETY: as above.
            let next = unsafe { ring.as_ref() }.next().expect("a ring ends where another begins");
            self.oldest.store(next.as_ptr(), Ordering::Relaxed);
            // SAFETY: the producer has left the ring, and all its messages were taken.
            unsafe { Ring::free(std::mem::replace(&mut ring, next)) };
        }
        ring
    }

    /// Drops all messages, also those after one that panics. Returns the first panic.
    ///
    /// # Safety
    /// The caller is the consumer, or has the channel to itself.
    pub(super) unsafe fn drop_all(&self) -> Option<Payload> {
        let core = &self.core;
        let (head, tail) = (core.head.load(Ordering::Relaxed), core.tail.load(Ordering::Acquire));
        let mut first = None;
        for index in head..tail {
            // SAFETY: as the caller promises; `index` is below the tail.
            let ring = unsafe { self.ring_of(index) };
            // SAFETY: the ring is alive until the consumer leaves it.
            let slots = unsafe { ring.as_ref() }.slots();
            // SAFETY: the caller is the consumer, and takes each message once: it is counted below.
            let message = unsafe { slots.take(index) };
            core.count_unread(index + 1);
            if let Err(payload) = unwind::catch(|| drop(message)) {
                match first {
                    None => first = Some(payload),
                    Some(_) => unwind::discard(payload),
                }
            }
        }
        first
    }
}

impl<T> Drop for Channel<T> {
    fn drop(&mut self) {
        // SAFETY: `&mut self`.
        let panicked = unsafe { self.drop_all() };
        let mut last = NonNull::new(self.oldest.load(Ordering::Relaxed));
        while let Some(ring) = last {
            // SAFETY: alive until it is freed, just below.
            last = unsafe { ring.as_ref() }.next();
            // SAFETY: neither end is there any more.
            unsafe { Ring::free(ring) };
        }
        if let Some(payload) = panicked {
            unwind::resume_unless_panicking(payload);
        }
    }
}
