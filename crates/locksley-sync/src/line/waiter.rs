//! A place in line: who waits there, for how much, and what became of it.

use std::fmt;
use std::ptr::{self, NonNull};
use std::task::{Poll, Waker};

use super::spare;
use locksley_sys::primitive::{
    AtomicPtr, AtomicUsize, Ordering, UnsafeCell, const_unless_loom, hazard,
};

/// One place in line. It belongs to the line and to the future that waits, and is freed by the last
/// of the two.
///
/// A semaphore where only one waits has no line: then it belongs to the semaphore instead, which
/// keeps some facts in the lowest bits of its address.
#[repr(align(16))]
pub(crate) struct Waiter {
    /// See [`Next`].
    next: AtomicPtr<Waiter>,
    /// A [`Phase`], and whether there is a waker.
    state: AtomicUsize,
    /// Whom to wake. Whoever took the flag `WAKER` out of `state` may touch it; before that,
    /// nobody.
    waker: UnsafeCell<Option<Waker>>,
    owners: AtomicUsize,
    /// How much it waits for, or since when: what that means is the line's user's to say.
    amount: usize,
    /// What was taken at the place before by those who did not have to wait. Constant once linked.
    passed_before: AtomicUsize,
    /// All that had been taken before this place. Constant, and known when the line's head has come
    /// here.
    taken_before: AtomicUsize,
    /// Loom does not see that freed memory is read. So under loom nothing is freed, but marked.
    #[cfg(loom)]
    is_freed: std::sync::atomic::AtomicBool,
}

/// What was decided about a waiter. Final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It gets what it waited for: it has the amount, or the signal.
    Granted,
    /// It need not wait any longer, as all who waited then.
    Dismissed,
}

/// How a place stands. It changes along the arrows only:
///
/// ```text
/// waiting -> granted
///         -> dismissed
///         -> left -> passed
///                 -> swept
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Waiting,
    Decided(Verdict),
    /// Its future does not wait any longer.
    Left,
    /// It was left, and the head of the line goes over it.
    Passed,
    /// It was left, and is taken out of the line's middle.
    Swept,
}

const WAITING: usize = 0;
const GRANTED: usize = 1;
const DISMISSED: usize = 2;
const LEFT: usize = 3;
const PASSED: usize = 4;
const SWEPT: usize = 5;
const PHASE: usize = 7;
/// A waker lies ready to be taken.
const WAKER: usize = 8;

/// What comes after a place. One word:
///
/// - nobody: how much was taken at this place by those who did not have to wait; the lowest bits
///   are `NOBODY`;
/// - a waiter: its address, and the bit `LEAVING` once this word does not change any more, because
///   this place has left the line or is about to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Nobody { passed: usize },
    Waiter { waiter: *mut Waiter, leaving: bool },
}

const LEAVING: usize = 1;
const NOBODY: usize = 2;
const TAGS: u32 = 2;

impl Next {
    /// As much as can be taken at one place by those who do not have to wait.
    pub(super) const MOST: usize = usize::MAX >> TAGS;

    pub(super) const fn word(self) -> *mut Waiter {
        match self {
            Next::Nobody { passed } => ptr::without_provenance_mut(passed << TAGS | NOBODY),
            Next::Waiter { waiter, leaving: false } => waiter,
            // Waiters are aligned to words, so their addresses have the two lowest bits free.
            Next::Waiter { waiter, leaving: true } => waiter.wrapping_byte_add(LEAVING),
        }
    }

    pub(super) fn of(word: *mut Waiter) -> Self {
        let address = word.addr();
        if address & NOBODY != 0 {
            return Next::Nobody { passed: address >> TAGS };
        }
        let leaving = address & LEAVING != 0;
        Next::Waiter { waiter: word.map_addr(|a| a & !LEAVING), leaving }
    }
}

// SAFETY: all fields but `waker` are atomic or constant; `waker` is touched by one thread at a
// time, as it says; a waker may be used on any thread.
unsafe impl Send for Waiter {}
// SAFETY: as above.
unsafe impl Sync for Waiter {}

impl Waiter {
    const_unless_loom! {
        /// The place before the first: nobody waits there.
        pub(super) fn nobody() -> Self {
            Self {
                next: AtomicPtr::new(Next::Nobody { passed: 0 }.word()),
                state: AtomicUsize::new(DISMISSED),
                waker: UnsafeCell::new(None),
                owners: AtomicUsize::new(0),
                amount: 0,
                passed_before: AtomicUsize::new(0),
                taken_before: AtomicUsize::new(0),
                #[cfg(loom)]
                is_freed: std::sync::atomic::AtomicBool::new(false),
            }
        }
    }

    /// A place that is not in line yet. It has two owners: the line that it will be in, and the
    /// caller.
    pub(super) fn new(amount: usize, waker: Waker) -> NonNull<Self> {
        spare::placed(Self {
            next: AtomicPtr::new(Next::Nobody { passed: 0 }.word()),
            state: AtomicUsize::new(WAITING | WAKER),
            waker: UnsafeCell::new(Some(waker)),
            owners: AtomicUsize::new(2),
            amount,
            passed_before: AtomicUsize::new(0),
            taken_before: AtomicUsize::new(0),
            #[cfg(loom)]
            is_freed: std::sync::atomic::AtomicBool::new(false),
        })
    }

    /// The same, for one who is alone with a semaphore; which becomes a line's first place if
    /// others come.
    pub(crate) fn alone(amount: usize, waker: Waker) -> NonNull<Self> {
        let waiter = Self::new(amount, waker);
        // As if as much had been given back before as it takes, so that after it nothing has been
        // taken. SAFETY: just made, and nobody else knows it.
        unsafe { waiter.as_ref() }.set_passed_before(0_usize.wrapping_sub(amount));
        waiter
    }

    /// Tells one that was alone that it has what it waited for, which was decided elsewhere.
    ///
    /// # Safety
    /// The caller is an owner, and does not touch it afterwards. Nobody else decides about it.
    pub(crate) unsafe fn call(this: NonNull<Self>) {
        // SAFETY: alive, since the caller is an owner of it.
        let waiter = unsafe { this.as_ref() };
        waiter.must_be_alive();
        // Acquire pairs with the release of `publish`; release, with the acquire of a future that
        // finds it decided.
        let before = waiter.state.swap(GRANTED, Ordering::AcqRel);
        debug_assert_eq!(phase(before), Phase::Waiting);
        // SAFETY: we took the flag out.
        let waker = if before & WAKER != 0 { unsafe { waiter.take_waker() } } else { None };
        // SAFETY: as the caller promises.
        unsafe { Self::let_go(this) };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Does away with one that was alone, for a future that has both shares in it.
    ///
    /// # Safety
    /// The caller is both owners, and does not touch it afterwards.
    pub(crate) unsafe fn withdraw_alone(this: NonNull<Self>) {
        // SAFETY: alive, since the caller is an owner of it.
        let waker = unsafe { this.as_ref() }.take_last_waker();
        // SAFETY: as the caller promises.
        unsafe { Self::let_go(this) };
        // SAFETY: as the caller promises: that was the other share.
        unsafe { Self::let_go(this) };
        drop(waker);
    }

    /// Lets go of one that was alone, for the future that has got what it waited for, or has left
    /// the line.
    ///
    /// # Safety
    /// The caller is the future's owner, and does not touch it afterwards.
    pub(crate) unsafe fn done_alone(this: NonNull<Self>) {
        // SAFETY: alive, since the caller is an owner of it.
        let waker = unsafe { this.as_ref() }.take_last_waker();
        // SAFETY: as the caller promises.
        unsafe { Self::let_go(this) };
        drop(waker);
    }

    /// One owner lets go.
    ///
    /// # Safety
    /// The caller is an owner, made by [`new`](Self::new), and does not touch the place afterwards.
    pub(crate) unsafe fn let_go(this: NonNull<Self>) {
        // SAFETY: alive, since the caller is an owner of it.
        let waiter = unsafe { this.as_ref() };
        waiter.must_be_alive();
        // AcqRel: the last owner frees what the other has done with. Who finds that it is the last
        // needs not say so.
        let is_last = waiter.owners.load(Ordering::Acquire) == 1
            || waiter.owners.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last {
            #[cfg(loom)]
            waiter.is_freed.store(true, Ordering::Relaxed);
            // SAFETY: made by `new`; no owner is left.
            #[cfg(not(loom))]
            unsafe {
                spare::free(this);
            }
        }
    }

    /// For models: whoever touches it has a right to.
    fn must_be_alive(&self) {
        #[cfg(loom)]
        assert!(!self.is_freed.load(Ordering::Relaxed), "read after it was freed");
    }

    pub(super) fn amount(&self) -> usize {
        self.amount
    }

    pub(super) fn next(&self) -> &AtomicPtr<Waiter> {
        self.must_be_alive();
        &self.next
    }

    pub(super) fn phase(&self) -> Phase {
        self.must_be_alive();
        // Acquire pairs with the release of whoever decided: what was given is seen, and so is
        // `waker` if it is there.
        phase(self.state.load(Ordering::Acquire))
    }

    /// Notes, before it is linked, what has been taken at the place before.
    pub(super) fn set_passed_before(&self, passed: usize) {
        // Relaxed: published by linking.
        self.passed_before.store(passed, Ordering::Relaxed);
    }

    /// What was taken at the place before without waiting. Other than 0 it is only where that was
    /// the line's head when this was linked; so this comes next to be passed.
    pub(super) fn passed_before(&self) -> usize {
        // Relaxed: published by linking, which whoever has come here along the line has seen.
        self.passed_before.load(Ordering::Relaxed)
    }

    /// All that has been taken before `self`, if `before` is the place before it, and the line's
    /// head.
    pub(super) fn taken_after(&self, before: &Waiter) -> usize {
        before.taken_up_to().wrapping_add(self.passed_before())
    }

    /// Notes it. Whoever does notes the same.
    pub(super) fn set_taken_before(&self, taken: usize) {
        // Relaxed: published by moving the head here.
        self.taken_before.store(taken, Ordering::Relaxed);
    }

    /// All that has been taken before and by this place, which is the line's head or has been.
    pub(super) fn taken_up_to(&self) -> usize {
        let before = self.taken_before.load(Ordering::Relaxed);
        match self.phase() {
            Phase::Decided(Verdict::Granted) => before.wrapping_add(self.amount),
            _ => before,
        }
    }

    /// Decides about it. `false` if somebody else has, or it was left.
    pub(super) fn decide(&self, verdict: Verdict) -> bool {
        let decided = match verdict {
            Verdict::Granted => GRANTED,
            Verdict::Dismissed => DISMISSED,
        };
        self.stop_waiting(|state| decided | state & WAKER).is_ok()
    }

    /// Does not wait any longer, unless it was decided before. The waker stays where it is, for
    /// nobody but the future to touch, until [`take_last_waker`](Self::take_last_waker): its
    /// destructor may panic, and what is to be done comes first.
    pub(super) fn leave(&self) -> Result<(), Verdict> {
        self.stop_waiting(|_| LEFT).map(drop)
    }

    fn stop_waiting(&self, then: impl Fn(usize) -> usize) -> Result<usize, Verdict> {
        let mut state = self.state.load(Ordering::Acquire);
        loop {
            match phase(state) {
                Phase::Waiting => {}
                Phase::Decided(verdict) => return Err(verdict),
                // Nobody who left decides about it, or leaves again: that is for the helpers of a
                // late decision.
                Phase::Left | Phase::Passed | Phase::Swept => {
                    return Err(Verdict::Dismissed);
                }
            }
            // Release pairs with the acquire of the future that finds it decided; acquire, with the
            // release of `publish`: the waker is seen by who takes it.
            let changed = self.state.compare_exchange(
                state,
                then(state),
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            match changed {
                Ok(before) => return Ok(before),
                Err(now) => state = now,
            }
        }
    }

    /// A place that was left is to be passed, or swept. `false` if it is to be the other.
    pub(super) fn claim(&self, as_: Phase) -> bool {
        let claimed = match as_ {
            Phase::Passed => PASSED,
            Phase::Swept => SWEPT,
            _ => unreachable!("only what was left is claimed, and only once"),
        };
        // AcqRel: whoever finds it claimed sees what the claimer saw.
        let before =
            self.state.compare_exchange(LEFT, claimed, Ordering::AcqRel, Ordering::Acquire);
        before.map_or_else(|now| now == claimed, |_| true)
    }

    /// Wakes it, if it was decided, has gone to sleep, and nobody else wakes it.
    pub(super) fn wake(&self) {
        self.must_be_alive();
        let state = self.state.load(Ordering::Relaxed);
        if state & WAKER == 0 || phase(state) == Phase::Waiting {
            return;
        }
        if let Some(waker) = self.withdraw(state) {
            waker.wake();
        }
    }

    /// For the future: what was decided; if nothing, `waker` will be woken when something is.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Verdict> {
        let state = self.state.load(Ordering::Acquire);
        if let Phase::Decided(verdict) = phase(state) {
            return Poll::Ready(verdict);
        }
        let old = if state & WAKER != 0 { self.withdraw(state) } else { None };
        let kept = old.filter(|old| old.will_wake(waker)).unwrap_or_else(|| waker.clone());
        self.publish(kept)
    }

    /// Takes the waker, if `state` is still what the caller saw.
    fn withdraw(&self, state: usize) -> Option<Waker> {
        // Acquire pairs with the release in `publish`.
        self.state
            .compare_exchange(state, state & !WAKER, Ordering::AcqRel, Ordering::Acquire)
            .ok()?;
        // SAFETY: we took the flag out.
        unsafe { self.take_waker() }
    }

    /// For the future, which has withdrawn its waker.
    fn publish(&self, waker: Waker) -> Poll<Verdict> {
        let state = self.state.load(Ordering::Acquire);
        if let Phase::Decided(verdict) = phase(state) {
            return Poll::Ready(verdict);
        }
        // SAFETY: there is no flag, so nobody else touches it; its future alone can bring the flag
        // back.
        self.waker.with_mut(|place| unsafe { *place = Some(waker) });
        // Release pairs with the acquire of whoever takes the flag out.
        let published = self.state.compare_exchange(
            WAITING,
            WAITING | WAKER,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        match published.map_err(phase) {
            Ok(_) => Poll::Pending,
            Err(Phase::Decided(verdict)) => {
                // SAFETY: as above; the flag did not come back.
                drop(unsafe { self.take_waker() });
                Poll::Ready(verdict)
            }
            Err(_) => unreachable!("a future that polls has not left"),
        }
    }

    /// For the future, when it goes: a waker that nobody took, which is of no use any more. To be
    /// dropped when all else is done, since its destructor may panic.
    #[must_use]
    pub(super) fn take_last_waker(&self) -> Option<Waker> {
        let state = self.state.load(Ordering::Acquire);
        match phase(state) {
            // SAFETY: who left took the flag out, if it was there, and was the future.
            Phase::Left | Phase::Passed | Phase::Swept => unsafe { self.take_waker() },
            Phase::Waiting | Phase::Decided(_) if state & WAKER != 0 => self.withdraw(state),
            Phase::Waiting | Phase::Decided(_) => None,
        }
    }

    /// # Safety
    /// The caller took the flag `WAKER` out, or is the future and the flag is not there.
    unsafe fn take_waker(&self) -> Option<Waker> {
        // SAFETY: the caller alone touches it.
        self.waker.with_mut(|place| unsafe { (*place).take() })
    }
}

fn phase(state: usize) -> Phase {
    match state & PHASE {
        WAITING => Phase::Waiting,
        GRANTED => Phase::Decided(Verdict::Granted),
        DISMISSED => Phase::Decided(Verdict::Dismissed),
        LEFT => Phase::Left,
        PASSED => Phase::Passed,
        SWEPT => Phase::Swept,
        other => unreachable!("no phase: {other}"),
    }
}

impl hazard::Node for Waiter {
    unsafe fn free(this: *mut Self) {
        if let Some(this) = NonNull::new(this) {
            // SAFETY: the line was an owner, and hands that over.
            unsafe { Waiter::let_go(this) };
        }
    }
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter")
            .field("phase", &self.phase())
            .field("amount", &self.amount)
            .finish_non_exhaustive()
    }
}
