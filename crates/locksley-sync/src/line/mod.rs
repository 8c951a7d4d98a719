//! The line in which all wait: first come, first served; whoever waits may leave; nobody who stands
//! still stops the others.
//!
//! The queue is Michael and Scott's (PODC 1996, figure 1) with hazard pointers, with four
//! departures that the README beside this file explains: what a waiter gets is decided at its
//! place, before it is taken out of the line; a place counts what is taken there by those who do
//! not have to wait; those who left in the middle are swept out as in Michael's list ("High
//! performance dynamic lock-free hash tables and list-based sets", SPAA 2002); and the first place
//! lies in the line itself.

mod hold;
mod place;
mod spare;
mod sweep;
mod waiter;

use std::fmt;
use std::ptr::{self, NonNull};

use locksley_sys::primitive::{AtomicPtr, AtomicUsize, Ordering, const_unless_loom};
use waiter::{Next, Phase};

pub(super) use hold::Hold;
pub(super) use place::Place;
pub(super) use waiter::{Verdict, Waiter};

/// A line of waiters.
pub(crate) struct Waiters {
    /// The place before the oldest waiter: decided, or left. Null stands for `first`.
    head: AtomicPtr<Waiter>,
    /// The newest place, or the one before it while who linked it is about to say so here. Null
    /// stands for `first`.
    tail: AtomicPtr<Waiter>,
    /// So that a line where nobody ever waited has allocated nothing.
    first: Waiter,
    /// How many have left since the last sweep.
    left: AtomicUsize,
    /// After how many the next sweep is due.
    sweep_at: AtomicUsize,
    #[cfg(loom)]
    hazards: hold::Domain,
}

/// The oldest waiter about whom nothing is decided.
pub(super) struct Oldest<'h> {
    line: &'h Waiters,
    /// They protect this place and the one before it, and are not used for anything else meanwhile.
    hazards: &'h Hold<'h>,
    waiter: &'h Waiter,
    /// The same, as whoever frees it needs it.
    place: *mut Waiter,
    /// The place before it.
    head: *mut Waiter,
    /// All that was taken before.
    taken: usize,
}

impl Oldest<'_> {
    /// What it waits for.
    pub(super) fn amount(&self) -> usize {
        self.waiter.amount()
    }

    /// All that was taken before.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// Decides about it, and wakes it. `false` if somebody else has decided, or it has left.
    pub(super) fn decide(self, verdict: Verdict) -> bool {
        let is_ours = self.waiter.decide(verdict);
        if is_ours {
            self.pass();
        }
        is_ours
    }

    /// Wakes one that is decided, if nobody has; and moves the head onto that place, or onto one
    /// that is to be passed.
    fn pass(self) {
        self.hazards.call(|| self.waiter.wake());
        self.waiter.set_taken_before(self.taken);
        let (line, from, to) = (self.line, self.head, self.place);
        // SAFETY: protected since it was the head.
        let dummy = unsafe { line.place(from) };
        // Release, as when it was linked. A plain store: the successor cannot be swept any more, so
        // nothing else is ever written here. It tells those who sweep that what comes after may
        // have left the line too.
        dummy.next().store(Next::Waiter { waiter: to, leaving: true }.word(), Ordering::Release);
        // Acquire: who linked `to` had seen the tail at `from`, so it is seen there, or later.
        if line.tail.load(Ordering::Acquire) == from {
            // Who linked it was suspended before it could: do it, or `tail` would point to a place
            // that has left.
            line.help_tail(from, to);
        }
        // Release pairs with the acquire in `protect`: the place is seen with what was taken before
        // it.
        let moved = line.head.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
        if moved.is_ok() && !from.is_null() {
            line.must_not_be_tail(from);
            // SAFETY: the line's right to it; `head` and `tail` have both moved past it, and we
            // moved `head`.
            unsafe { self.hazards.unlinked(from) };
        }
    }
}

/// What came of an attempt to take something without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taking {
    Taken,
    /// There is not enough.
    Refused,
    /// There is, but no more can be counted at this place.
    Full,
    /// Somebody stands in line, or has until now.
    Occupied,
}

impl Waiters {
    const_unless_loom! {
        pub(super) fn new() -> Self {
            Self {
                head: AtomicPtr::new(ptr::null_mut()),
                tail: AtomicPtr::new(ptr::null_mut()),
                first: Waiter::nobody(),
                left: AtomicUsize::new(0),
                sweep_at: AtomicUsize::new(sweep::LEAST),
                #[cfg(loom)]
                hazards: hold::Domain::new(),
            }
        }
    }

    /// A line in which one stands already.
    ///
    /// # Safety
    /// The caller is one of the two owners that the line expects of a place, and hands that over,
    /// unless it [calls it back](Self::without_first). The place is in no line.
    pub(super) unsafe fn with_first(waiter: NonNull<Waiter>) -> Self {
        let line = Self::new();
        // Relaxed: whoever comes to know the line sees how it was made.
        line.first.next().store(waiter.as_ptr(), Ordering::Relaxed);
        line.tail.store(waiter.as_ptr(), Ordering::Relaxed);
        line
    }

    /// Ends a line that nobody else has come to know. The caller is an owner of the first place
    /// again.
    pub(super) fn without_first(self) {
        self.first.next().store(Next::Nobody { passed: 0 }.word(), Ordering::Relaxed);
        self.tail.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Decides about the oldest waiter as `verdict` says, and then about the next, until it says
    /// nothing. `true` if somebody still waits then.
    ///
    /// Whoever does this does it for all: it is a matter of one compare-and-swap at a waiter's
    /// place, before and after which others may go on with it. A waker that panics does so when all
    /// have been served.
    pub(super) fn serve(&self, verdict: impl Fn(&Oldest<'_>) -> Option<Verdict>) -> bool {
        let mut hazards = self.hold();
        while let Some(oldest) = self.oldest(&mut hazards) {
            let Some(verdict) = verdict(&oldest) else { return true };
            // Where somebody else was faster, all is well too.
            oldest.decide(verdict);
        }
        false
    }

    /// Lets all go who have joined in another round than that of now, which their amounts say.
    /// Nobody stands behind somebody of a later round whose own is not over: who joins behind
    /// another sees the round that the other saw, and does not wait if that is not its own.
    pub(super) fn dismiss_older(&self, round: impl Fn() -> usize) {
        self.serve(|oldest| (oldest.amount() != round()).then_some(Verdict::Dismissed));
    }

    /// Whether nobody stands in line. Exact for those who came before the caller's last fence.
    pub(super) fn is_empty(&self) -> bool {
        // Acquire pairs with the release with which the tail is moved: then the head is seen as it
        // was at that time, or later.
        let tail = self.tail.load(Ordering::Acquire);
        // Equal: the head had come to what was the newest place, so all who stood there and before
        // are decided.
        self.head.load(Ordering::Relaxed) == tail
    }

    /// Takes `amount`, if nobody stands in line and `allows` it, given all that was taken before.
    pub(super) fn take(&self, amount: usize, allows: impl Fn(usize) -> bool) -> Taking {
        let hazards = self.hold();
        loop {
            let head = hazards.protect(0, &self.head);
            // SAFETY: protected while it was the head, which is in line.
            let dummy = unsafe { self.place(head) };
            // Acquire pairs with the release below: what allowed others to take is seen when
            // `allows` looks.
            let word = dummy.next().load(Ordering::Acquire);
            let Next::Nobody { passed } = Next::of(word) else { return Taking::Occupied };
            if !allows(dummy.taken_up_to().wrapping_add(passed)) {
                return Taking::Refused;
            }
            if amount > Next::MOST - passed {
                return Taking::Full;
            }
            let taken = Next::Nobody { passed: passed + amount }.word();
            // Acquire pairs with the release of who gave; release, with the acquire above.
            let changed =
                dummy.next().compare_exchange(word, taken, Ordering::AcqRel, Ordering::Relaxed);
            if changed.is_ok() {
                return Taking::Taken;
            }
        }
    }

    /// Puts a place behind all others.
    fn link(&self, waiter: NonNull<Waiter>) {
        let hazards = self.hold();
        loop {
            let tail = hazards.protect(0, &self.tail);
            // SAFETY: protected, and `tail` never points to a place that has left the line: it is
            // moved on before.
            let last = unsafe { self.place(tail) };
            let word = last.next().load(Ordering::Acquire);
            match Next::of(word) {
                Next::Waiter { waiter, .. } => self.help_tail(tail, waiter),
                Next::Nobody { passed } => {
                    // SAFETY: the caller is an owner; and nobody else knows it yet.
                    unsafe { waiter.as_ref() }.set_passed_before(passed);
                    // Release pairs with the acquires of `next` and of `tail`: who finds the place
                    // sees its contents. Acquire: who takes this as the head's last word sees what
                    // was taken there.
                    let linked = last.next().compare_exchange(
                        word,
                        waiter.as_ptr(),
                        Ordering::AcqRel,
                        Ordering::Relaxed,
                    );
                    if linked.is_ok() {
                        self.help_tail(tail, waiter.as_ptr());
                        return;
                    }
                }
            }
        }
    }

    /// The oldest waiter about whom nothing is decided. Those about whom something is are passed
    /// by, and woken if they have not been: somebody who is held up may have decided it.
    ///
    /// It begins with a fence, that of the hazard pointers: of who leaves or joins and looks, and
    /// who gives and looks, one sees what the other did.
    pub(super) fn oldest<'h>(&'h self, hazards: &'h mut Hold<'_>) -> Option<Oldest<'h>> {
        let hazards = &*hazards;
        loop {
            let head = hazards.protect(0, &self.head);
            // SAFETY: protected while it was the head, which is in line.
            let dummy = unsafe { self.place(head) };
            // Acquire pairs with the release in `link`.
            let word = dummy.next().load(Ordering::Acquire);
            let Next::Waiter { waiter: next, .. } = Next::of(word) else { return None };
            hazards.announce(1, next);
            let Next::Waiter { waiter: now, .. } = Next::of(dummy.next().load(Ordering::Acquire))
            else {
                unreachable!("a place that has a successor keeps one");
            };
            if now != next || self.head.load(Ordering::Acquire) != head {
                continue; // it may have been swept, or passed by, before we announced it
            }
            // SAFETY: announced before it could leave the line.
            let waiter = unsafe { &*next };
            let taken = waiter.taken_after(dummy);
            let oldest = Oldest { line: self, hazards, waiter, place: next, head, taken };
            match waiter.phase() {
                Phase::Waiting => return Some(oldest),
                // It goes one of the two ways, which we see when we look again.
                Phase::Left => {
                    waiter.claim(Phase::Passed);
                }
                // SAFETY: announced before it could leave the line.
                Phase::Swept => unsafe { self.bypass(hazards, dummy, next) },
                Phase::Decided(_) | Phase::Passed => oldest.pass(),
            }
        }
    }

    /// All that was taken before the oldest waiter, or, where there is none, until now.
    pub(super) fn taken(&self, hazards: &mut Hold<'_>) -> usize {
        loop {
            if let Some(oldest) = self.oldest(hazards) {
                return oldest.taken();
            }
            let head = hazards.protect(0, &self.head);
            // SAFETY: protected while it was the head, which is in line.
            let dummy = unsafe { self.place(head) };
            if let Next::Nobody { passed } = Next::of(dummy.next().load(Ordering::Acquire)) {
                return dummy.taken_up_to().wrapping_add(passed);
            }
        }
    }

    /// How many places there are, that before the first included.
    ///
    /// # Safety
    /// No other thread uses the line meanwhile.
    #[cfg(all(test, not(loom)))]
    pub(super) unsafe fn places(&self) -> usize {
        let mut count = 1;
        // SAFETY: in line, and nobody takes it out.
        let mut place = unsafe { self.place(self.head.load(Ordering::Acquire)) };
        while let Next::Waiter { waiter, .. } = Next::of(place.next().load(Ordering::Acquire)) {
            // SAFETY: as above.
            place = unsafe { &*waiter };
            count += 1;
        }
        count
    }

    /// For models: what is about to be freed is not where the next one will be linked.
    fn must_not_be_tail(&self, _place: *mut Waiter) {
        #[cfg(loom)]
        assert!(self.tail.load(Ordering::Relaxed) != _place, "the tail has left the line");
    }

    fn help_tail(&self, from: *mut Waiter, to: *mut Waiter) {
        // Release pairs with the acquire in `protect`. Failure: somebody else helped.
        let _ = self.tail.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// # Safety
    /// `place` is null, or a hazard pointer, announced before it left the line, keeps it.
    unsafe fn place(&self, place: *mut Waiter) -> &Waiter {
        // SAFETY: as the caller promises.
        unsafe { place.as_ref() }.unwrap_or(&self.first)
    }
}

impl Drop for Waiters {
    fn drop(&mut self) {
        let mut place = self.head.load(Ordering::Acquire);
        let mut next = Next::of(
            // SAFETY: `&mut self`: nobody takes it out of the line.
            unsafe { self.place(place) }.next().load(Ordering::Acquire),
        );
        loop {
            if let Some(place) = NonNull::new(place) {
                // SAFETY: in line, so the line is an owner; and it is not looked at again.
                unsafe { Waiter::let_go(place) };
            }
            let Next::Waiter { waiter, .. } = next else { return };
            place = waiter;
            // SAFETY: in line.
            next = Next::of(unsafe { &*place }.next().load(Ordering::Acquire));
        }
    }
}

impl fmt::Debug for Waiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiters").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}
