//! The paths of a metered network's messages, and of the room that is made for them.
//!
//! Each message has a stamp: the path to where it was put into its channel. Each that is taken out leaves one: the path to where there was room
//! again. They go through queues beside the ring, and are seen with what they belong to: a stamp is left before the number that says that
//! its message is there, or is gone.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::meter::{Path, Region};
use crate::primitive::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, UnsafeCell};
use crate::worker::Worker;

/// What is metered of a channel.
pub(super) struct Stamps {
    region: Arc<Region>,
    /// From the producer to the consumer.
    messages: Queue,
    /// From the consumer to the producer.
    room: Queue,
    /// How often the consumer has looked. Its own.
    looks: AtomicU32,
    /// Whether the consumer knows who has sent the last message, or that this is not to be known. Its own.
    knows_end: AtomicBool,
    /// Of so many messages the producer knows who has made room for what comes after them, or that this is not to be known. Its own.
    known_room: AtomicU64,
}

/// After so many looks a consumer gives way. One that nobody meters does so after as many; but it may find many messages by each.
const GIVES_WAY_AFTER: u32 = 256;

impl Stamps {
    /// Of a channel that has a producer, and a consumer, or not: who is not there has left nothing.
    pub(super) fn new(region: &Arc<Region>, is_sent: bool, is_received: bool) -> Self {
        let (messages, room) = (Queue::new(), Queue::new());
        let (looks, knows_end) = (AtomicU32::new(0), AtomicBool::new(!is_sent));
        let known_room = AtomicU64::new(if is_received { 0 } else { u64::MAX });
        let region = Arc::clone(region);
        Self { region, messages, room, looks, knows_end, known_room }
    }

    /// Whether anybody may still ask for the paths. Who has seen that nobody does leaves no stamps any more, and looks for none.
    #[inline]
    pub(super) fn are_wanted(&self) -> bool {
        !self.region.is_over()
    }

    /// The producer is about to publish the message with that index. It comes after what has made room for that, where so many are in the
    /// channel at most.
    ///
    /// # Safety
    /// The caller is the producer, and has seen that there is room.
    pub(super) unsafe fn sends(&self, index: u64, capacity: u64) {
        if self.are_wanted() {
            self.at_this_moment(|here| {
                // SAFETY: as the caller promises.
                let node = unsafe { self.comes_after_room(index, capacity, here) };
                // SAFETY: as the caller promises.
                unsafe { self.messages.put(node, self.stamp(index, false, here)) };
            });
        }
    }

    /// The same of a message that nobody wants: it is not published.
    ///
    /// # Safety
    /// As above.
    pub(super) unsafe fn discards(&self, index: u64, capacity: u64) {
        if self.are_wanted() {
            self.at_this_moment(|here| {
                // SAFETY: as the caller promises.
                drop(unsafe { self.comes_after_room(index, capacity, here) });
            });
        }
    }

    /// The producer is done, and has sent so many.
    ///
    /// # Safety
    /// The caller is the producer.
    pub(super) unsafe fn is_closed(&self, index: u64) {
        if self.are_wanted() {
            // SAFETY: as the caller promises.
            self.at_this_moment(|here| unsafe {
                self.messages.put(None, self.stamp(index, true, here));
            });
        }
    }

    /// Gives back a node that is not needed any more.
    #[inline(always)]
    unsafe fn comes_after_room(
        &self,
        index: u64,
        capacity: u64,
        here: Option<Here<'_>>,
    ) -> Option<Box<Node>> {
        let mut spare = None;
        let made_room = |stamp: &Stamp| stamp.index.saturating_add(capacity) <= index;
        // SAFETY: the producer reads this queue.
        while let Some(node) = unsafe { self.room.take_if(made_room) } {
            spare = Some(node);
        }
        // Relaxed, here and below: the producer's own.
        if spare.is_some() {
            // SAFETY: as above, and one was taken.
            let latest = unsafe { self.room.taken() };
            let known = if latest.is_end { u64::MAX } else { latest.index + 1 };
            self.known_room.store(known, Ordering::Relaxed);
            self.comes_after(latest, here);
        }
        // It was waited for, or would have been; but whoever has made it left no word of that, as an `Inlet` that is dropped.
        if self.known_room.load(Ordering::Relaxed) <= index.saturating_sub(capacity)
            && capacity <= index
        {
            self.region.has_uncarried();
            self.known_room.store(u64::MAX, Ordering::Relaxed);
        }
        spare
    }

    /// The consumer is about to take a message out, if it is there, or has learnt that there will be none. It comes after whoever has put it there, or was
    /// done. What it leaves, with that index, says that there is room.
    ///
    /// # Safety
    /// The caller is the consumer, and has seen that; and before, that stamps [are wanted](Self::are_wanted).
    pub(super) unsafe fn receives(&self, index: u64, is_there: bool) {
        // Relaxed: the consumer's own.
        let knows_end = !is_there && self.knows_end.swap(true, Ordering::Relaxed);
        // SAFETY: the consumer reads this queue.
        match unsafe { self.messages.take_if(|_| true) } {
            Some(node) => self.at_this_moment(|here| {
                // SAFETY: as above, and one was taken.
                let stamp = unsafe { self.messages.taken() };
                // The model is optimized, and checks this all the same.
                if cfg!(any(debug_assertions, loom)) {
                    assert_eq!((stamp.index, stamp.is_end), (index, !is_there));
                }
                self.comes_after(stamp, here);
                // SAFETY: the consumer writes to this one.
                unsafe { self.room.put(Some(node), self.stamp(index, false, here)) };
            }),
            None if knows_end => {} // it has asked again
            None if !self.are_wanted() => {}
            // Whoever was done left no word of that, as an `Outlet` that is dropped.
            None => self.region.has_uncarried(),
        }
    }

    /// The consumer is done: from that index on there is room for whatever is sent.
    ///
    /// # Safety
    /// The caller is the consumer.
    pub(super) unsafe fn is_abandoned(&self, index: u64) {
        if self.are_wanted() {
            // SAFETY: as the caller promises.
            self.at_this_moment(|here| unsafe {
                self.room.put(None, self.stamp(index, true, here));
            });
        }
    }

    /// Whether the consumer is to let others go first.
    #[inline]
    pub(super) fn gives_way(&self) -> bool {
        // Relaxed: the consumer's own.
        let looks = self.looks.load(Ordering::Relaxed).wrapping_add(1);
        self.looks.store(looks, Ordering::Relaxed);
        looks.is_multiple_of(GIVES_WAY_AFTER)
    }

    /// Where the calling thread is, if it runs a strand of this region: the clock is read once, however much is done at a message.
    #[inline]
    fn at_this_moment<R>(&self, what: impl FnOnce(Option<Here<'_>>) -> R) -> R {
        Worker::with_current(|current| {
            let its = current.filter(|worker| worker.is_in(&self.region));
            what(its.map(|worker| Here { worker, now: worker.running().now() }))
        })
    }

    /// What the caller leaves, with its path, if that is known.
    #[inline]
    fn stamp<'h>(
        &self,
        index: u64,
        is_end: bool,
        here: Option<Here<'h>>,
    ) -> impl FnOnce(&mut Stamp) + use<'h> {
        if here.is_none() {
            self.region.has_uncarried();
        }
        let burden = self.region.burden();
        move |stamp| {
            (stamp.index, stamp.is_end) = (index, is_end);
            // Each by itself: so the path is written where it is to lie.
            match here {
                Some(Here { worker, now }) => {
                    stamp.path = Some(worker.running().path(now).along(burden));
                }
                None => stamp.path = None,
            }
        }
    }

    /// The caller has seen what that was left with.
    #[inline]
    fn comes_after(&self, stamp: &Stamp, here: Option<Here<'_>>) {
        let Some(path) = &stamp.path else { return };
        match here {
            Some(Here { worker, now }) => worker.goes_on_after_at(path, now),
            None => self.region.has_uncarried(),
        }
    }
}

/// Where somebody is who sends or receives, and when.
#[derive(Clone, Copy)]
struct Here<'w> {
    worker: &'w Worker,
    now: i64,
}

/// What is known of a message.
struct Stamp {
    index: u64,
    /// Whether it is that of who is done.
    is_end: bool,
    /// To its being there, or gone, and to whoever goes on after that; `None` if it is not known.
    path: Option<Path>,
}

impl Stamp {
    const NOTHING: Self = Self { index: 0, is_end: false, path: None };
}

/// One writes, and another one reads: a list of nodes, of which the first has been read, as in Michael and Scott's queue ("Simple, fast, and
/// practical non-blocking and blocking concurrent queue algorithms", PODC 1996), with one at each end. A node that is given back with a stamp is used for the
/// next one, so none is allocated as long as messages go to and fro.
struct Queue {
    /// The reader's.
    read: UnsafeCell<NonNull<Node>>,
    /// The writer's.
    newest: UnsafeCell<NonNull<Node>>,
}

struct Node {
    next: AtomicPtr<Node>,
    /// Written before the node is in the list, and read from when it is found there until the next one has been taken.
    stamp: UnsafeCell<Stamp>,
}

// SAFETY: each end is used by one process, which may change threads; stamps may be sent.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Node {
    fn new() -> Box<Self> {
        let next = AtomicPtr::new(ptr::null_mut());
        Box::new(Self { next, stamp: UnsafeCell::new(Stamp::NOTHING) })
    }
}

impl Queue {
    fn new() -> Self {
        let first = NonNull::from(Box::leak(Node::new()));
        Self { read: UnsafeCell::new(first), newest: UnsafeCell::new(first) }
    }

    /// Puts a stamp at the end, in that node if there is one, as it is written there.
    ///
    /// # Safety
    /// The caller is the writer.
    #[inline]
    unsafe fn put(&self, node: Option<Box<Node>>, write: impl FnOnce(&mut Stamp)) {
        let node = node.unwrap_or_else(Node::new);
        // Relaxed: it is in no list.
        node.next.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: it is ours.
        node.stamp.with_mut(|stamp| write(unsafe { &mut *stamp }));
        let node = NonNull::from(Box::leak(node));
        // SAFETY: the writer's.
        let last = self.newest.with_mut(|newest| unsafe { std::mem::replace(&mut *newest, node) });
        // Release pairs with the acquire in `take_if`: the stamp is seen.
        // SAFETY: the reader does not free the last node of the list.
        unsafe { last.as_ref() }.next.store(node.as_ptr(), Ordering::Release);
    }

    /// Takes the next stamp, if it is there and is wanted: it is that which was [taken](Self::taken) last. Returns a node for another one.
    ///
    /// # Safety
    /// The caller is the reader.
    #[inline]
    unsafe fn take_if(&self, is_wanted: impl FnOnce(&Stamp) -> bool) -> Option<Box<Node>> {
        // SAFETY: the reader's.
        let read = self.read.with(|read| unsafe { *read });
        // Acquire pairs with the release in `put`.
        // SAFETY: it is in the list, and nobody but the reader frees it.
        let next = NonNull::new(unsafe { read.as_ref() }.next.load(Ordering::Acquire))?;
        // SAFETY: as above.
        let node = unsafe { next.as_ref() };
        // SAFETY: it was written before the node was found here; the writer does not touch it any more.
        if !node.stamp.with(|stamp| is_wanted(unsafe { &*stamp })) {
            return None;
        }
        // SAFETY: the reader's.
        self.read.with_mut(|read| unsafe { *read = next });
        // SAFETY: made of a box. It has been left behind: the writer has gone on to the next one.
        Some(unsafe { Box::from_raw(read.as_ptr()) })
    }

    /// The stamp that was taken last.
    ///
    /// # Safety
    /// The caller is the reader, has taken one, and takes none while the result is used.
    #[inline]
    unsafe fn taken(&self) -> &Stamp {
        // SAFETY: the reader's.
        let read = self.read.with(|read| unsafe { *read });
        // SAFETY: it is in the list, and nobody but the reader frees it.
        let node = unsafe { read.as_ref() };
        // SAFETY: the writer does not touch it any more, nor does anybody else before it is left behind.
        node.stamp.with(|stamp| unsafe { &*stamp })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: `&mut self`.
        while unsafe { self.take_if(|_| true) }.is_some() {}
        // SAFETY: as above.
        let last = self.read.with(|read| unsafe { *read });
        // SAFETY: made of a box, and nobody uses it any more.
        drop(unsafe { Box::from_raw(last.as_ptr()) });
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::primitive::AtomicU64;

    /// Who has seen that a message is there has its stamp, and the other way round; and nodes go to and fro.
    #[test]
    fn loom_kahn_stamps_are_there_with_what_they_belong_to() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let all = Arc::new(([Queue::new(), Queue::new()], [0; 2].map(AtomicU64::new)));
            let of = |index| move |stamp: &mut Stamp| stamp.index = index;
            let there = all.clone();
            let other = thread::spawn(move || {
                let ([messages, room], [tail, head]) = &*there;
                let mut taken = 0;
                // Only as far as it has seen.
                for _ in 0..2 {
                    while taken < tail.load(Ordering::Acquire) {
                        // SAFETY: this is the reader.
                        let found = unsafe { messages.take_if(|_| true) };
                        let node = found.expect("it was left before");
                        // SAFETY: as above, and one was taken.
                        assert_eq!(unsafe { messages.taken() }.index, taken);
                        // SAFETY: this is the writer.
                        unsafe { room.put(Some(node), of(taken)) };
                        taken += 1;
                        head.store(taken, Ordering::Release);
                    }
                }
            });
            let ([messages, room], [tail, head]) = &*all;
            let (mut spare, mut seen) = (None, 0);
            for index in 0..2 {
                // SAFETY: this is the writer.
                unsafe { messages.put(spare.take(), of(index)) };
                tail.store(index + 1, Ordering::Release);
                if seen < head.load(Ordering::Acquire) {
                    // SAFETY: this is the reader.
                    let found = unsafe { room.take_if(|stamp| stamp.index == seen) };
                    spare = Some(found.expect("it was left before"));
                    seen += 1;
                }
            }
            other.join().unwrap();
        });
    }
}
