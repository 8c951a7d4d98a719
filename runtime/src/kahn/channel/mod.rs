//! Channels: one process sends, another one receives, first in, first out.
//!
//! The README of the folder above has the protocol.

mod receiver;
mod ring;
mod sender;

use std::ptr::NonNull;
use std::sync::OnceLock;

pub use receiver::{Receiver, Recv};
pub use sender::{Send, Sender};

use super::report::Measures;
use super::wait::Need;
use crate::primitive::{AtomicBool, AtomicU64, Ordering, UnsafeCell};
use crate::unwind::{self, Payload};
use ring::Ring;

/// So many bytes that what lies on both sides of them is on different cache lines, wherever it begins.
type Apart = [u64; 7];
const APART: Apart = [0; 7];

/// What of a channel does not depend on its messages.
#[repr(C)]
pub(super) struct Core {
    /// How many messages were put into it. Written by the producer.
    tail: AtomicU64,
    /// How many more were sent, and went nowhere. Written by the producer.
    discarded: AtomicU64,
    _producers: Apart,
    /// How many were taken out. Written by the consumer.
    head: AtomicU64,
    /// How many of these nobody has received: they were left when the consumer was done. Written by the consumer.
    unread: AtomicU64,
    _consumers: Apart,
    /// At most so many may be in it. Only grows, by whoever finds that it must.
    capacity: AtomicU64,
    /// Whether the producer waits for room, or may be about to. Set by it, and taken back by whoever wakes it.
    producer_waits: AtomicBool,
    /// Whether the consumer waits for a message, or may be about to. As above.
    consumer_waits: AtomicBool,
    /// Whether no more messages come.
    is_producer_gone: AtomicBool,
    /// Whether no more messages are wanted.
    is_consumer_gone: AtomicBool,
    /// Whether nobody takes messages out any more: the consumer has also dropped what was left.
    is_drained: AtomicBool,
    number: u32,
    first_capacity: u64,
    name: Box<str>,
    measures: OnceLock<Box<Measures>>,
}

impl Core {
    fn new(number: u32, name: Box<str>, capacity: u64) -> Self {
        let gone = || AtomicBool::new(false);
        Self {
            tail: AtomicU64::new(0),
            discarded: AtomicU64::new(0),
            _producers: APART,
            head: AtomicU64::new(0),
            unread: AtomicU64::new(0),
            _consumers: APART,
            capacity: AtomicU64::new(capacity),
            producer_waits: AtomicBool::new(false),
            consumer_waits: AtomicBool::new(false),
            is_producer_gone: gone(),
            is_consumer_gone: gone(),
            is_drained: gone(),
            number,
            first_capacity: capacity,
            name,
            measures: OnceLock::new(),
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
        self.measures.get_or_init(Box::default);
    }

    pub(super) fn measures(&self) -> Option<&Measures> {
        self.measures.get().map(|measures| &**measures)
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
    /// The ring that the consumer reads, or would. Belongs to the consumer, and to nobody once that is gone.
    oldest: UnsafeCell<NonNull<Ring<T>>>,
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
    pub(super) fn new(number: u32, name: Box<str>, capacity: u64) -> Self {
        let oldest = UnsafeCell::new(Ring::allocated(capacity));
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

    /// The ring that it begins with, for both ends.
    ///
    /// # Safety
    /// Nothing was received yet, and the consumer is not just doing so.
    unsafe fn first_ring(&self) -> NonNull<Ring<T>> {
        // SAFETY: nobody else uses the cell now, as the caller promises.
        self.oldest.with_mut(|ring| unsafe { *ring })
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
        // SAFETY: the cell is the consumer's.
        let mut ring = self.oldest.with_mut(|ring| unsafe { *ring });
        let (head, tail) = (core.head.load(Ordering::Relaxed), core.tail.load(Ordering::Acquire));
        for index in head..tail {
            // SAFETY: the caller is the consumer, and takes each message once: `drop_unread` says that it has.
            let message = unsafe { take_following(&mut ring, index) };
            // SAFETY: as above.
            self.oldest.with_mut(|oldest| unsafe { *oldest = ring });
            core.drop_unread(index + 1, message);
        }
    }
}

impl<T> Drop for Channel<T> {
    fn drop(&mut self) {
        // SAFETY: `&mut self`.
        let panicked = unsafe { self.drop_all() };
        // SAFETY: as above.
        let mut last = Some(self.oldest.with_mut(|ring| unsafe { *ring }));
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
    // SAFETY: as above.
    let ring = unsafe { ring.as_ref() };
    // SAFETY: as the caller promises.
    unsafe { ring.take(index) }
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
