//! A node of the wait queue: what its future waits for, the outcome, and the waker.

use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::task::{Poll, Waker};

use super::next::Next;
use locksley_sys::primitive::{
    AtomicPtr, AtomicUsize, Ordering, UnsafeCell, const_unless_loom, hazard,
};
use locksley_sys::unwind;

/// A queue node for one wait.
///
/// Up to two references keep it: the future's, and that of the queue or of a semaphore's word.
pub(crate) struct Waiter {
    /// See [`Next`].
    pub(super) next: AtomicPtr<Waiter>,
    /// A [`Status`], and the flag `WAKER`.
    state: AtomicUsize,
    /// The flag `WAKER` of `state` protects it. The thread that clears the flag may access it.
    /// While the flag is clear, only the future may.
    waker: UnsafeCell<Option<Waker>>,
    references: AtomicUsize,
    /// The number of permits, or the generation in which the wait began.
    pub(super) key: usize,
    /// The `taken` of the previous node when this node was linked. Constant from then on.
    ///
    /// Accesses of `taken_at_previous` and `taken_before` are relaxed: a thread reads them after it
    /// has acquired the link, or the head, that leads to the node.
    pub(super) taken_at_previous: AtomicUsize,
    /// What was taken in front of this node. Constant once the head is here.
    pub(super) taken_before: AtomicUsize,
    /// Loom does not detect reads of freed memory. So under loom a node is marked, and not freed.
    #[cfg(loom)]
    is_freed: std::sync::atomic::AtomicBool,
}

/// How a wait ends, other than by cancellation. Final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The wait has the permits, or the notification.
    Granted,
    /// The wait ends without them: closed, or its generation is over.
    Dismissed,
}

/// State of a node. The transitions:
///
/// ```text
/// waiting -> granted
///         -> dismissed
///         -> cancelled -> skipped
///                      -> swept
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Waiting,
    Completed(Outcome),
    /// The future was dropped.
    Cancelled,
    /// Cancelled, and the head of the queue moves over it.
    Skipped,
    /// Cancelled, and unlinked from the middle of the queue.
    Swept,
}

/// How a cancelled node leaves the queue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Claim {
    Skip = SKIPPED as isize,
    Sweep = SWEPT as isize,
}

const WAITING: usize = 0;
const GRANTED: usize = 1;
const DISMISSED: usize = 2;
const CANCELLED: usize = 3;
const SKIPPED: usize = 4;
const SWEPT: usize = 5;
const STATUS: usize = 7;
/// There is a waker to take.
const WAKER: usize = 8;

// SAFETY: all fields but `waker` are atomic or constant. One thread at a time accesses `waker`, by
// the rule of its flag. A waker may be used on any thread.
unsafe impl Send for Waiter {}
// SAFETY: as above.
unsafe impl Sync for Waiter {}

// The waker is taken out before it is called, so its panic leaves nothing half changed. With this,
// queues and futures are unwind safe, too, as those of std and tokio.
impl UnwindSafe for Waiter {}
impl RefUnwindSafe for Waiter {}

impl Waiter {
    const_unless_loom! {
        fn with_state(state: usize, waker: Option<Waker>, key: usize) -> Self {
            Self {
                next: AtomicPtr::new(Next::End { taken: 0 }.to_word()),
                state: AtomicUsize::new(state),
                waker: UnsafeCell::new(waker),
                references: AtomicUsize::new(1),
                key,
                taken_at_previous: AtomicUsize::new(0),
                taken_before: AtomicUsize::new(0),
                #[cfg(loom)]
                is_freed: std::sync::atomic::AtomicBool::new(false),
            }
        }
    }

    const_unless_loom! {
        /// The node in front of a queue's first waiter.
        pub(super) fn sentinel() -> Self {
            Self::with_state(DISMISSED, None, 0)
        }
    }

    /// Asserts, in models only, that the node is not freed.
    fn assert_alive(&self) {
        #[cfg(loom)]
        assert!(!self.is_freed.load(Ordering::Relaxed), "read after it was freed");
    }

    pub(super) fn next(&self) -> Next {
        // Acquire pairs with the release that linked the next node, and with that of `try_take`.
        let next = Next::from_word(self.next.load(Ordering::Acquire));
        self.assert_alive();
        next
    }

    pub(super) fn status(&self) -> Status {
        // Acquire pairs with the release in `complete`.
        status(self.state.load(Ordering::Acquire))
    }

    /// Returns the outcome, and leaves the waker as it is.
    pub(crate) fn outcome(&self) -> Poll<Outcome> {
        match self.status() {
            Status::Completed(outcome) => Poll::Ready(outcome),
            _ => Poll::Pending,
        }
    }

    /// What was taken in front of this node. `head` is the previous node.
    pub(super) fn taken_in_front(&self, head: &Waiter) -> usize {
        head.taken_through().wrapping_add(self.taken_at_previous.load(Ordering::Relaxed))
    }

    /// What was taken in front of this node and by this node, which is or was the queue's head.
    pub(super) fn taken_through(&self) -> usize {
        let before = self.taken_before.load(Ordering::Relaxed);
        match self.status() {
            Status::Completed(Outcome::Granted) => before.wrapping_add(self.key),
            _ => before,
        }
    }

    /// Completes the wait. Returns `false` if it is already completed or cancelled.
    pub(super) fn complete(&self, outcome: Outcome) -> bool {
        let completed = match outcome {
            Outcome::Granted => GRANTED,
            Outcome::Dismissed => DISMISSED,
        };
        self.end(|state| completed | state & WAKER).is_ok()
    }

    /// Cancels the wait. The waker stays until [`take_last_waker`](Self::take_last_waker).
    ///
    /// # Errors
    /// The outcome, if the wait is already completed.
    pub(super) fn cancel(&self) -> Result<(), Outcome> {
        self.end(|_| CANCELLED)
    }

    /// Makes the only transition out of `Waiting`, to the state `then(state)`.
    fn end(&self, then: impl Fn(usize) -> usize) -> Result<(), Outcome> {
        let mut state = self.state.load(Ordering::Acquire);
        loop {
            match status(state) {
                Status::Waiting => {}
                Status::Completed(outcome) => return Err(outcome),
                Status::Cancelled | Status::Skipped | Status::Swept => {
                    return Err(Outcome::Dismissed);
                }
            }
            // Release pairs with the acquire in `status`. Acquire pairs with the release in
            // `publish`: the thread that takes the waker sees it.
            let changed = self.state.compare_exchange(
                state,
                then(state),
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            match changed {
                Ok(_) => return Ok(()),
                Err(now) => state = now,
            }
        }
    }

    /// Claims a cancelled node for skipping or sweeping, unless it is claimed already.
    pub(super) fn claim(&self, claim: Claim) {
        // Release pairs with the acquire in `status`: a thread that finds the claim sees what the
        // claimer saw. Acquire pairs with the release in `end`.
        let _ = self.state.compare_exchange(
            CANCELLED,
            claim as usize,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
    }

    /// Wakes a completed wait, unless its waker is already taken.
    pub(super) fn wake(&self) {
        self.assert_alive();
        let state = self.state.load(Ordering::Relaxed);
        if state & WAKER == 0 || status(state) == Status::Waiting {
            return;
        }
        if let Some(waker) = self.withdraw(state) {
            waker.wake();
        }
    }

    /// Returns the outcome, or registers `waker`. Only the future calls this.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<Outcome> {
        let state = self.state.load(Ordering::Acquire);
        if let Status::Completed(outcome) = status(state) {
            return Poll::Ready(outcome);
        }
        let old = if state & WAKER != 0 { self.withdraw(state) } else { None };
        let kept = old.filter(|old| old.will_wake(waker)).unwrap_or_else(|| waker.clone());
        self.publish(kept)
    }

    /// Takes the waker, if the state is still `state`.
    fn withdraw(&self, state: usize) -> Option<Waker> {
        // Acquire pairs with the release in `publish`.
        self.state
            .compare_exchange(state, state & !WAKER, Ordering::AcqRel, Ordering::Acquire)
            .ok()?;
        // SAFETY: this thread cleared the flag.
        unsafe { self.take_waker() }
    }

    /// Stores a waker, for the future that has withdrawn the one before.
    fn publish(&self, waker: Waker) -> Poll<Outcome> {
        let state = self.state.load(Ordering::Acquire);
        if let Status::Completed(outcome) = status(state) {
            return Poll::Ready(outcome);
        }
        // SAFETY: the flag is clear, so no other thread accesses the waker. Only the future, which
        // calls this, sets the flag.
        self.waker.with_mut(|slot| unsafe { *slot = Some(waker) });
        // Release pairs with the acquire of the thread that clears the flag.
        let published = self.state.compare_exchange(
            WAITING,
            WAITING | WAKER,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        match published.map_err(status) {
            Ok(_) => Poll::Pending,
            Err(Status::Completed(outcome)) => {
                // SAFETY: as above; the flag is still clear.
                drop(unsafe { self.take_waker() });
                Poll::Ready(outcome)
            }
            Err(_) => unreachable!("a future that polls is not cancelled"),
        }
    }

    /// Takes a waker that no thread has woken. Only the future calls this, when it is dropped.
    #[must_use = "the destructor of a waker may panic, so it comes last"]
    pub(super) fn take_last_waker(&self) -> Option<Waker> {
        let state = self.state.load(Ordering::Acquire);
        match status(state) {
            // SAFETY: the future cleared the flag when it cancelled the wait, and calls this.
            Status::Cancelled | Status::Skipped | Status::Swept => unsafe { self.take_waker() },
            Status::Waiting | Status::Completed(_) if state & WAKER != 0 => self.withdraw(state),
            Status::Waiting | Status::Completed(_) => None,
        }
    }

    /// # Safety
    /// The caller cleared the flag `WAKER`, or is the future, and the flag is clear.
    unsafe fn take_waker(&self) -> Option<Waker> {
        // SAFETY: as the caller promises, no other thread accesses it.
        self.waker.with_mut(|slot| unsafe { (*slot).take() })
    }
}

fn status(state: usize) -> Status {
    match state & STATUS {
        WAITING => Status::Waiting,
        GRANTED => Status::Completed(Outcome::Granted),
        DISMISSED => Status::Completed(Outcome::Dismissed),
        CANCELLED => Status::Cancelled,
        SKIPPED => Status::Skipped,
        SWEPT => Status::Swept,
        other => unreachable!("no status: {other}"),
    }
}

/// A counted reference to a node.
pub(crate) struct WaiterRef(NonNull<Waiter>);

// SAFETY: it gives shared access to a `Waiter`, which is `Send` and `Sync`.
unsafe impl Send for WaiterRef {}
// SAFETY: as above.
unsafe impl Sync for WaiterRef {}

impl WaiterRef {
    /// The only reference to a new node.
    pub(super) fn new(key: usize, waker: Waker) -> Self {
        let waiter = Waiter::with_state(WAITING | WAKER, Some(waker), key);
        Self(NonNull::from(Box::leak(Box::new(waiter))))
    }

    /// Makes another reference.
    pub(crate) fn share(&self) -> Self {
        // Relaxed: the caller has a reference, so the node is not freed meanwhile.
        self.references.fetch_add(1, Ordering::Relaxed);
        Self(self.0)
    }

    pub(super) fn is_shared(&self) -> bool {
        self.references.load(Ordering::Relaxed) > 1
    }

    pub(crate) fn as_ptr(&self) -> NonNull<Waiter> {
        self.0
    }

    pub(crate) fn into_raw(self) -> NonNull<Waiter> {
        std::mem::ManuallyDrop::new(self).0
    }

    /// # Safety
    /// `raw` is from [`into_raw`](Self::into_raw), and the caller owns that reference.
    pub(crate) unsafe fn from_raw(raw: NonNull<Waiter>) -> Self {
        Self(raw)
    }

    /// Completes and wakes a wait that is in no queue. Returns `false` if it was cancelled before.
    pub(crate) fn complete_and_wake(self, outcome: Outcome) -> bool {
        let is_completed = self.complete(outcome);
        unwind::catch(|| self.wake()).unwrap_or_else(unwind::resume_unless_panicking);
        is_completed
    }
}

impl Deref for WaiterRef {
    type Target = Waiter;

    fn deref(&self) -> &Waiter {
        // SAFETY: this reference keeps the node.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for WaiterRef {
    fn drop(&mut self) {
        self.assert_alive();
        // Acquire pairs with the release in `fetch_sub`: the last reference frees the node after
        // the other has used it. If this is the only reference, it need not be counted down.
        let is_last = self.references.load(Ordering::Acquire) == 1
            || self.references.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last {
            #[cfg(loom)]
            self.is_freed.store(true, Ordering::Relaxed);
            // SAFETY: `new` leaked the box, and this was the last reference.
            #[cfg(not(loom))]
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl hazard::Node for Waiter {
    unsafe fn free(this: *mut Self) {
        if let Some(this) = NonNull::new(this) {
            // SAFETY: the caller hands over the queue's reference.
            drop(unsafe { WaiterRef::from_raw(this) });
        }
    }
}
