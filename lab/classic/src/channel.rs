//! Bounded channels between two threads: the arcs of Nornir's process networks.
//!
//! Source: "A simple improvement of the work-stealing scheduling algorithm", 2010, section 3: a
//! process blocks when it reads from an empty channel or sends to a full one. "Channels are
//! protected from concurrent accesses with a busy-waiting mutex: if a task attempts to lock an
//! already locked mutex, it yields to the scheduler." The paper does not say where such a task
//! goes: here its worker runs all others first.
//!
//! A thread waits for ever if the other end of its channel was dropped.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use locksley_sys::primitive::{AtomicBool, Ordering};

use crate::context::Context;
use crate::worker::{Queued, Ready, Worker};

/// Makes a channel that holds up to `capacity` messages, at least one.
pub fn channel<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let capacity = capacity.max(1);
    let state = State { messages: VecDeque::with_capacity(capacity), capacity, waits: None };
    let channel =
        Arc::new(Channel { is_locked: AtomicBool::new(false), state: UnsafeCell::new(state) });
    (Sender(channel.clone()), Receiver(channel))
}

/// Sends messages.
pub struct Sender<T>(Arc<Channel<T>>);

/// Receives messages.
pub struct Receiver<T>(Arc<Channel<T>>);

struct Channel<T> {
    is_locked: AtomicBool,
    /// Used only while the channel is locked.
    state: UnsafeCell<State<T>>,
}

struct State<T> {
    messages: VecDeque<T>,
    capacity: usize,
    /// The thread that waits: the receiver's if there is no message, the sender's if there is no
    /// room.
    waits: Option<Queued>,
}

// SAFETY: the state is used by the thread that has locked the channel.
unsafe impl<T: Send> Sync for Channel<T> {}

impl<T: Send> Sender<T> {
    /// Sends a message. Blocks the thread while the channel is full.
    pub fn send(&mut self, context: &Context<'_>, message: T) {
        let mut message = Some(message);
        self.0.access(context, |state| {
            if state.messages.len() < state.capacity {
                state.messages.extend(message.take());
            }
            message.is_none().then_some(())
        });
    }
}

impl<T: Send> Receiver<T> {
    /// Receives the oldest message. Blocks the thread while there is none.
    pub fn receive(&mut self, context: &Context<'_>) -> T {
        self.0.access(context, |state| state.messages.pop_front())
    }
}

impl<T> Channel<T> {
    /// Tries `operation` on the locked channel, again and again, until it has a result. Blocks the
    /// thread in between. Then unblocks the other thread.
    fn access<R>(
        &self,
        context: &Context<'_>,
        mut operation: impl FnMut(&mut State<T>) -> Option<R>,
    ) -> R {
        loop {
            // Acquire pairs with the releases of the lock.
            while self.is_locked.swap(true, Ordering::Acquire) {
                context.yield_now();
            }
            // SAFETY: the channel is locked.
            let state = unsafe { &mut *self.state.get() };
            if let Some(result) = operation(state) {
                let other = state.waits.take();
                // Release pairs with the acquire of the lock.
                self.is_locked.store(false, Ordering::Release);
                other.into_iter().for_each(|other| context.worker().unblock(other.0));
                return result;
            }
            context.fiber().wait(block::<T>, ptr::from_ref(self).cast(), 0);
        }
    }
}

/// Unlocks the channel for which a thread waits, which publishes the thread.
///
/// # Safety
/// `of` is a channel that the thread has locked, and which lives until the thread is resumed.
unsafe fn block<T>(of: *const (), _: i64, thread: NonNull<Ready>, _: &Worker) -> bool {
    // SAFETY: the thread was not resumed yet.
    let channel = unsafe { &*of.cast::<Channel<T>>() };
    // SAFETY: the channel is locked, and the thread is suspended.
    let state = unsafe { &mut *channel.state.get() };
    state.waits = Some(Queued(thread));
    // Release pairs with the acquire of the lock.
    channel.is_locked.store(false, Ordering::Release);
    true
}
