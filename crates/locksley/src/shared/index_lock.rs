//! Which thread runs tasks under an index.
//!
//! A thread runs tasks under the index of a worker only while it holds the index's lock (three
//! exceptions: `worker/index.rs`). It gives the lock away while it blocks, as an interpreter does
//! with its global lock: to a thread that has claimed it, or else to a replacement. So no two
//! running tasks have the same index, and the P workers of a pool run at most P tasks. (Guests have
//! indices of their own, without a lock.)
//!
//! | word | meaning | other threads |
//! |---|---|---|
//! | holder | the holder runs a task, or is about to | claim the lock, and wait |
//! | holder, `IDLE` | the holder searches or sleeps, and runs no task | take the lock |
//! | holder, `IDLE`, `IN_TASK` | it is inside of a task that waits or blocks | take the lock |
//! | holder, `CLAIMED` | threads wait in the list | are served in their order |
//!
//! Here *idle* means that others may take the lock. A holder passes it on when its task ends,
//! before it takes the next one, or when it blocks. The list has a mutex, which is held for a few
//! instructions. A thread that is suspended meanwhile delays this index only: thieves open its
//! deque and take its tasks. `IDLE` and `CLAIMED` exclude each other, but for a moment: a thread
//! that claims an idle lock takes it.

use std::collections::VecDeque;

use crate::numbers::Slot;
use crate::primitive::{AtomicU32, Mutex, Ordering};

const HOLDER: u32 = 0xFFFF;
const IDLE: u32 = 1 << 16;
const IN_TASK: u32 = 1 << 17;
const CLAIMED: u32 = 1 << 18;

/// Whether an idle holder is inside of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// It has no task.
    WithoutTask,
    /// It is inside of a task that waits or blocks.
    InTask,
}

/// The idle holder from which the lock was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loser {
    pub(crate) slot: Slot,
    pub(crate) idle: Idle,
}

/// The lock of one index.
#[derive(Debug)]
pub(crate) struct IndexLock {
    word: AtomicU32,
    /// The threads that wait, in their order. `CLAIMED` is set while there are any; it changes
    /// under this mutex.
    claims: Mutex<VecDeque<Slot>>,
}

fn word_of(holder: Slot) -> u32 {
    holder.get() as u32
}

impl IndexLock {
    /// A lock that the thread in slot `holder` holds, or will hold when it starts.
    pub(crate) fn new(holder: Slot) -> Self {
        Self { word: AtomicU32::new(word_of(holder)), claims: Mutex::default() }
    }

    /// The thread that holds the lock now.
    pub(crate) fn holder(&self) -> Slot {
        // Relaxed: only for a look at that thread.
        Slot::new((self.word.load(Ordering::Relaxed) & HOLDER) as usize)
    }

    /// True if this thread holds the lock.
    pub(crate) fn is_held_by(&self, slot: Slot) -> bool {
        // Acquire pairs with the release of the holder before: its tasks have ended.
        self.word.load(Ordering::Acquire) & HOLDER == word_of(slot)
    }

    /// True if this thread holds the lock, and is not idle: it runs a task, or is about to.
    pub(crate) fn is_held_busy(&self, slot: Slot) -> bool {
        // Acquire as in `is_held_by`.
        self.word.load(Ordering::Acquire) & !CLAIMED == word_of(slot)
    }

    /// True if this thread holds the lock, is not idle, and no other thread waits.
    pub(crate) fn is_held_unclaimed(&self, slot: Slot) -> bool {
        // Acquire as in `is_held_by`.
        self.word.load(Ordering::Acquire) == word_of(slot)
    }

    /// Lets other threads take the lock: the holder runs no task. Returns false if the calling
    /// thread is not the holder, is idle already, or others wait.
    pub(crate) fn begin_idle(&self, slot: Slot, idle: Idle) -> bool {
        let in_task = if idle == Idle::InTask { IN_TASK } else { 0 };
        // Release pairs with the acquire of the thread that takes the lock.
        self.exchange(word_of(slot), word_of(slot) | IDLE | in_task)
    }

    /// The holder is about to take a task. Returns false if it is not idle, or is not the holder
    /// any more.
    pub(crate) fn end_idle(&self, slot: Slot) -> bool {
        // A thread may claim the lock just now: then its claim waits until the task has ended.
        let idle = word_of(slot) | IDLE;
        let end = |word| (word & !CLAIMED & !IN_TASK == idle).then_some(word & !IDLE & !IN_TASK);
        // As in `exchange`.
        self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, end).is_ok()
    }

    /// Ends being idle, if the thread is. Returns true if it is the holder.
    pub(crate) fn resume(&self, slot: Slot) -> bool {
        self.end_idle(slot) || self.is_held_by(slot)
    }

    /// Makes another thread the holder, idle. Returns false if `from` is not the holder, is idle,
    /// or others wait.
    pub(crate) fn transfer(&self, from: Slot, to: Slot) -> bool {
        self.exchange(word_of(from), word_of(to) | IDLE)
    }

    fn exchange(&self, from: u32, to: u32) -> bool {
        // AcqRel: the next holder comes after the tasks of all holders before.
        self.word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Takes the lock if the holder is idle, and returns that one. Otherwise puts the calling
    /// thread into the list: it holds the lock when [`is_held_by`](Self::is_held_by) says so.
    pub(crate) fn take_or_claim(&self, slot: Slot) -> Option<Loser> {
        self.take_if_idle(slot).or_else(|| {
            let mut claims = self.claims();
            claims.push_back(slot);
            // Relaxed: the bit publishes nothing. What takes or grants the lock orders the tasks.
            self.word.fetch_or(CLAIMED, Ordering::Relaxed);
            // The holder may have become idle before the bit was set. Not after that.
            let taken = self.take_if_idle(slot)?;
            self.remove(&mut claims, slot);
            Some(taken)
        })
    }

    /// Takes the lock if the holder is idle, and returns the holder.
    fn take_if_idle(&self, slot: Slot) -> Option<Loser> {
        let take = |word| (word & IDLE != 0).then(|| word_of(slot) | word & CLAIMED);
        // As in `exchange`.
        let before = self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, take).ok()?;
        let idle = if before & IN_TASK == 0 { Idle::WithoutTask } else { Idle::InTask };
        Some(Loser { slot: Slot::new((before & HOLDER) as usize), idle })
    }

    /// Passes the lock to the thread that has waited longest. Returns that thread, to be unparked;
    /// `None` if no thread waits. Otherwise calls `before_passing` while the calling thread still
    /// has the lock, which it must hold without being idle.
    pub(crate) fn grant_next(&self, from: Slot, before_passing: impl FnOnce()) -> Option<Slot> {
        let mut claims = self.claims();
        let next = claims.pop_front()?;
        before_passing();
        let claimed = if claims.is_empty() { 0 } else { CLAIMED };
        debug_assert!(self.holder() == from);
        // Nothing else changes the word: the holder is not idle, and the bit changes under the
        // list's mutex. Release as in `exchange`.
        self.word.swap(word_of(next) | claimed, Ordering::AcqRel);
        Some(next)
    }

    /// Takes the claim of a thread back. Returns false if the thread has got the lock meanwhile.
    pub(crate) fn withdraw(&self, slot: Slot) -> bool {
        self.remove(&mut self.claims(), slot)
    }

    fn remove(&self, claims: &mut VecDeque<Slot>, slot: Slot) -> bool {
        let before = claims.len();
        claims.retain(|&it| it != slot);
        if claims.is_empty() {
            // Relaxed: as in `take_or_claim`.
            self.word.fetch_and(!CLAIMED, Ordering::Relaxed);
        }
        claims.len() < before
    }

    fn claims(&self) -> impl std::ops::DerefMut<Target = VecDeque<Slot>> {
        // No code that panics runs under the mutex.
        self.claims.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const A: Slot = Slot::new(0);
    const B: Slot = Slot::new(5);
    const C: Slot = Slot::new(65_533);

    #[test]
    fn a_busy_holder_serves_claims_in_their_order() {
        let lock = IndexLock::new(A);
        assert!(lock.is_held_unclaimed(A) && !lock.is_held_by(B));
        assert_eq!(lock.grant_next(A, || ()), None);
        assert_eq!((lock.take_or_claim(B), lock.take_or_claim(C)), (None, None));
        assert!(lock.is_held_by(A) && !lock.is_held_unclaimed(A));
        assert!(
            !lock.begin_idle(A, Idle::WithoutTask) && !lock.transfer(A, Slot::new(9)),
            "others wait"
        );
        assert_eq!(lock.grant_next(A, || ()), Some(B));
        assert!(lock.is_held_by(B) && !lock.is_held_unclaimed(B));
        assert_eq!(lock.grant_next(B, || ()), Some(C));
        assert!(lock.is_held_unclaimed(C));
    }

    #[test]
    fn an_idle_holder_loses_the_lock_to_the_first_claim() {
        let lock = IndexLock::new(A);
        assert!(
            !lock.begin_idle(B, Idle::WithoutTask)
                && lock.begin_idle(A, Idle::WithoutTask)
                && !lock.begin_idle(A, Idle::WithoutTask)
        );
        assert_eq!(lock.take_or_claim(B), Some(Loser { slot: A, idle: Idle::WithoutTask }));
        assert!(!lock.end_idle(A) && lock.is_held_unclaimed(B));
        assert!(lock.begin_idle(B, Idle::WithoutTask) && lock.end_idle(B) && !lock.end_idle(B));
        assert!(lock.transfer(B, C) && !lock.transfer(B, C));
        assert!(lock.is_held_by(C) && lock.end_idle(C));
    }

    #[test]
    fn an_idle_holder_that_takes_a_task_serves_a_claim_afterwards() {
        let lock = IndexLock::new(A);
        assert!(lock.begin_idle(A, Idle::WithoutTask));
        // In the middle of `take_or_claim`.
        lock.claims().push_back(B);
        lock.word.fetch_or(CLAIMED, Ordering::Relaxed);
        assert!(lock.end_idle(A) && lock.is_held_by(A));
        assert_eq!((lock.take_if_idle(B), lock.grant_next(A, || ())), (None, Some(B)));
        assert!(lock.is_held_unclaimed(B));
    }

    #[test]
    fn a_claim_is_withdrawn_unless_it_was_served() {
        let lock = IndexLock::new(A);
        assert_eq!((lock.take_or_claim(B), lock.take_or_claim(C)), (None, None));
        assert!(lock.withdraw(B) && !lock.withdraw(B));
        assert!(!lock.is_held_unclaimed(A));
        assert_eq!(lock.grant_next(A, || ()), Some(C));
        assert!(!lock.withdraw(C) && lock.is_held_unclaimed(C));
    }
}
