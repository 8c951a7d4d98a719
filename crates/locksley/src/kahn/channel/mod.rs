//! Channels: one process sends, another one receives, first in, first out.
//!
//! The README of the folder above has the protocol.

mod receiver;
mod ring;
mod sender;
mod stamps;
mod waits;
mod watch;

use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

pub use receiver::{Receiver, Recv};
pub use sender::{Send, Sender};

use super::report::Measures;
use super::wait::Need;
use crate::meter::Region;
use crate::primitive::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use crate::unwind::{self, Payload};
use ring::Ring;
use stamps::Stamps;
use watch::Watch;

/// What of a channel does not depend on its messages.
///
/// On two cache lines, wherever it begins: what the producer writes or looks at with each message, and as far as a line behind that the
/// same of the consumer. In between lies what neither needs then. A mark of waiting lies with what its reader writes: so that finds it
/// at hand, and only who waits goes to the other's line.
#[repr(C)]
pub(super) struct Core {
    /// How many messages were put into it. Written by the producer.
    tail: AtomicU64,
    /// Whether the consumer waits for a message, or may be about to. Set by it, and taken back by whoever wakes it.
    consumer_waits: AtomicBool,
    /// Whether no more messages are wanted.
    is_consumer_gone: AtomicBool,
    /// Whether nobody takes messages out any more: the consumer has also dropped what was left.
    is_drained: AtomicBool,
    number: u32,
    /// At most so many may be in it. Only grows, by whoever finds that it must.
    capacity: AtomicU64,
    /// How many more were sent, and went nowhere. Written by the producer.
    discarded: AtomicU64,
    name: Box<str>,
    /// If it is measured or metered.
    watch: OnceLock<Box<Watch>>,
    /// How many were taken out. Written by the consumer.
    head: AtomicU64,
    /// Whether the producer waits for room, or may be about to. As with the consumer.
    producer_waits: AtomicBool,
    /// Whether no more messages come.
    is_producer_gone: AtomicBool,
    /// How many of those taken out nobody has received: they were left when the consumer was done. Written by the consumer.
    unread: AtomicU64,
    first_capacity: u64,
}

#[cfg(all(not(loom), not(test), target_pointer_width = "64"))]
const _: () = assert!(std::mem::offset_of!(Core, head) - std::mem::offset_of!(Core, tail) == 64);

impl Core {
    fn new(number: u32, name: Box<str>, capacity: u64) -> Self {
        let nothing = || AtomicU64::new(0);
        let not_yet = || AtomicBool::new(false);
        Self {
            tail: nothing(),
            consumer_waits: not_yet(),
            is_consumer_gone: not_yet(),
            is_drained: not_yet(),
            number,
            capacity: AtomicU64::new(capacity),
            discarded: nothing(),
            name,
            watch: OnceLock::new(),
            head: nothing(),
            producer_waits: not_yet(),
            is_producer_gone: not_yet(),
            unread: nothing(),
            first_capacity: capacity,
        }
    }

    /// The mark of who waits for that.
    fn mark_of(&self, need: Need) -> &AtomicBool {
        match need {
            Need::Message => &self.consumer_waits,
            Need::Room => &self.producer_waits,
        }
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn capacity(&self) -> u64 {
        // Acquire, as all that `is_stuck` reads: read before the waits are read again.
        self.capacity.load(Ordering::Acquire)
    }

    pub(super) fn first_capacity(&self) -> u64 {
        self.first_capacity
    }

    /// Messages sent, and of these received. Exact if both processes have ended.
    pub(super) fn counts(&self) -> (u64, u64) {
        // Acquire pairs with the releases in `drop_unread`, `Receiver::take` and `Sender::put`: each number is read after those that
        // are not above it.
        let unread = self.unread.load(Ordering::Acquire);
        let head = self.head.load(Ordering::Acquire);
        let tail = self.tail.load(Ordering::Acquire);
        (tail + self.discarded.load(Ordering::Relaxed), head - unread)
    }

    /// Has it measured from now on.
    pub(super) fn measure(&self) {
        self.watch.get_or_init(Box::default).measure();
    }

    /// Has it metered, as a part of that region, from now on: none of its ends is there yet, and of some nobody ever will have any.
    pub(super) fn meter(&self, region: &Arc<Region>, is_sent: bool, is_received: bool) {
        self.watch.get_or_init(Box::default).meter(region, is_sent, is_received);
    }

    fn is_watched(&self) -> bool {
        self.watch.get().is_some()
    }

    #[inline]
    pub(super) fn measures(&self) -> Option<&Measures> {
        self.watch.get()?.measures()
    }

    #[inline]
    fn stamps(&self) -> Option<&Stamps> {
        self.watch.get()?.stamps()
    }

    /// Whether its producer will not send.
    pub(super) fn is_closed(&self) -> bool {
        // Acquire pairs with the release in `close`: all that was sent before is seen.
        self.is_producer_gone.load(Ordering::Acquire)
    }

    /// Whether its consumer will not receive.
    pub(super) fn is_abandoned(&self) -> bool {
        self.is_consumer_gone.load(Ordering::Acquire)
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        self.is_producer_gone.store(true, Ordering::Release);
    }

    /// Nothing more is wanted.
    pub(super) fn abandon(&self) {
        self.is_consumer_gone.store(true, Ordering::Release);
    }

    /// The consumer takes nothing out any more.
    pub(super) fn drained(&self) {
        // Release pairs with the acquire in `purge`: what it has taken out is seen.
        self.is_drained.store(true, Ordering::Release);
    }

    /// Whether there is nothing of what is needed: the capacity then, if it is room.
    ///
    /// Exact if both processes wait, and the caller has seen it.
    pub(super) fn is_stuck(&self, need: Need) -> Option<u64> {
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

    /// Makes its capacity `to`, if it is still `from`. Says whether this call has done it.
    pub(super) fn grow(&self, from: u64, to: u64) -> bool {
        debug_assert!(from < to);
        // Relaxed: the producer that is woken after this sees it by that.
        self.capacity.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Drops a message that nobody has received.
    fn drop_unread<T>(&self, head: u64, message: T) {
        // Counted first, since to drop it may panic.
        // Release pairs with the acquire in `Sender::look`, as where it is received.
        self.head.store(head, Ordering::Release);
        // Release pairs with the acquire in `counts`: who sees it counted sees it taken out.
        self.unread.store(self.unread.load(Ordering::Relaxed) + 1, Ordering::Release);
        drop(message);
    }

    /// Takes the mark of a producer back that waits. The caller has made a fence, and wakes it if there was one.
    #[inline]
    #[must_use]
    pub(super) fn take_waiting_producer(&self) -> bool {
        // Relaxed: see the README, "Waiting". If it is set again in between, it is woken all the same.
        let waits = self.producer_waits.load(Ordering::Relaxed);
        if waits {
            self.producer_waits.store(false, Ordering::Relaxed);
        }
        waits
    }

    /// The same of the consumer.
    #[inline]
    #[must_use]
    pub(super) fn take_waiting_consumer(&self) -> bool {
        let waits = self.consumer_waits.load(Ordering::Relaxed);
        if waits {
            self.consumer_waits.store(false, Ordering::Relaxed);
        }
        waits
    }
}

/// A channel.
#[repr(C)]
pub(super) struct Channel<T> {
    core: Core,
    /// The ring that the consumer reads, or would; null until the producer has made the first one. Belongs to the consumer from the first
    /// message on, and to nobody once that is gone.
    oldest: AtomicPtr<Ring<T>>,
}

// SAFETY: messages change threads, and are never shared; the rings are the producer's and the consumer's, one each, slot by slot.
unsafe impl<T: std::marker::Send> std::marker::Send for Channel<T> {}
// SAFETY: as above.
unsafe impl<T: std::marker::Send> Sync for Channel<T> {}

/// A channel of whatever messages.
pub(super) trait AnyChannel: std::marker::Send + Sync {
    fn core(&self) -> &Core;
    /// Drops what is in it, if both its ends have been dropped. Gives back the first panic of that.
    fn purge(&self) -> Option<Payload>;
}

impl<T: std::marker::Send> AnyChannel for Channel<T> {
    fn core(&self) -> &Core {
        &self.core
    }

    fn purge(&self) -> Option<Payload> {
        // Acquire pairs with the release in `drained`. Swapped, so that it is done once.
        let is_ours = self.core.is_closed() && self.core.is_drained.swap(false, Ordering::Acquire);
        if !is_ours {
            return None;
        }
        // SAFETY: the producer sends nothing any more, and the consumer takes nothing; what they have done is seen.
        unsafe { self.drop_all() }
    }
}

impl<T> Channel<T> {
    /// # Panics
    /// If no memory holds so many messages.
    pub(super) fn new(number: u32, name: Box<str>, capacity: u64) -> Self {
        assert!(Ring::<T>::is_possible(capacity), "a channel's capacity fits into memory");
        let oldest = AtomicPtr::new(std::ptr::null_mut());
        Self { core: Core::new(number, name, capacity), oldest }
    }

    /// Nobody will send.
    pub(super) fn close(&self) {
        self.core.close();
    }

    /// Nobody will receive.
    pub(super) fn abandon(&self) {
        self.core.abandon();
        self.core.drained();
    }

    /// The producer has made the first ring. It publishes the first message after this.
    fn begins_with(&self, ring: NonNull<Ring<T>>) {
        // Relaxed: whoever has acquired a tail above 0 sees it.
        self.oldest.store(ring.as_ptr(), Ordering::Relaxed);
    }

    /// The ring that the consumer reads. The caller has seen that there was a message, and is the consumer, or has the channel to itself.
    fn oldest(&self) -> NonNull<Ring<T>> {
        // Relaxed: see `begins_with`; afterwards it is the consumer's own.
        NonNull::new(self.oldest.load(Ordering::Relaxed)).expect("made before the first message")
    }
}

impl<T> Channel<T> {
    /// Drops what is in it, also what comes after a message that panics then. Gives back the first panic.
    ///
    /// # Safety
    /// As `drop_messages`.
    unsafe fn drop_all(&self) -> Option<Payload> {
        let mut first = None;
        // It comes to an end: a message is taken out before it is dropped.
        // SAFETY: as the caller promises.
        while let Err(payload) = unwind::halt(|| unsafe { self.drop_messages() }) {
            if first.is_none() {
                first = Some(payload);
            } else {
                unwind::discard(payload);
            }
        }
        first
    }

    /// Drops what is in it, up to the first one that panics.
    ///
    /// # Safety
    /// The caller is the consumer, or has the channel to itself.
    unsafe fn drop_messages(&self) {
        let core = &self.core;
        let (head, tail) = (core.head.load(Ordering::Relaxed), core.tail.load(Ordering::Acquire));
        for index in head..tail {
            let mut ring = self.oldest();
            // SAFETY: the caller is the consumer, and takes each message once: `drop_unread` says that it has.
            let message = unsafe { take_following(&mut ring, index) };
            self.oldest.store(ring.as_ptr(), Ordering::Relaxed);
            core.drop_unread(index + 1, message);
        }
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
            // SAFETY: nobody uses it any more.
            unsafe { Ring::free(ring) };
        }
        match panicked {
            Some(payload) if std::thread::panicking() => unwind::discard(payload),
            Some(payload) => unwind::resume(payload),
            None => {}
        }
    }
}

/// Takes a message out, and goes on to the next ring where one ends, which is freed.
///
/// # Safety
/// As [`Ring::take`], of the channel whose oldest ring this is.
unsafe fn take_following<T>(ring: &mut NonNull<Ring<T>>, index: u64) -> T {
    // SAFETY: alive: the consumer frees it, which is the caller.
    unsafe { follow(ring, index) };
    // SAFETY: as the caller promises.
    unsafe { Ring::take(*ring, index) }
}

/// Goes on to the ring in which that index lies, and frees those before.
///
/// # Safety
/// The caller is the consumer, this is the ring that it reads, and it has taken all that is in those before.
unsafe fn follow<T>(ring: &mut NonNull<Ring<T>>, index: u64) {
    // SAFETY: the consumer's ring is alive until it leaves it.
    while unsafe { ring.as_ref() }.end() == index {
        // SAFETY: as above.
        let next = unsafe { ring.as_ref() }.next().expect("a ring ends where another one begins");
        // SAFETY: the producer went on to the next one before it said so, and we have taken all that was here.
        unsafe { Ring::free(std::mem::replace(ring, next)) };
    }
}
