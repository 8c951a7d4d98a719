//! Who can still do something.
//!
//! A member of a computation *rests* while it waits for what only other members can bring about. When all rest, nothing will
//! happen any more. The README beside this file has the argument.

use crate::primitive::{AtomicUsize, Ordering, fence};

/// How many can still do something: the body until it has returned, and each member that has not ended and does not rest.
#[derive(Debug)]
pub(super) struct Able(AtomicUsize);

impl Able {
    /// The body can.
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(1))
    }

    /// One more can. The caller is counted.
    pub(super) fn add_one(&self) {
        // Relaxed: the caller is taken away later, and whoever comes to nothing has seen that.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// One cannot any more. `true` if nobody can.
    #[must_use]
    pub(super) fn take_one(&self) -> bool {
        // AcqRel: the last one sees what all others were about when they could do nothing any more.
        self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

/// What a member does, and how many wakers there are of it.
#[derive(Debug)]
pub(super) struct Doing {
    /// One of the constants below, and perhaps `WOKEN`.
    word: AtomicUsize,
    /// Copies of its waker, wherever they are. (Not that which is lent to a poll, nor those that lie in what belongs to the
    /// computation.) While it is not polled these only become fewer once there are none left: nobody can make one of nothing.
    wakers: AtomicUsize,
}

/// It was woken, and will be polled.
const WOKEN: usize = 1;
/// It is being polled, or has never been.
const RUNS: usize = 0;
/// It waits, and only members can wake it. It is not counted, unless it was woken.
const RESTS: usize = 1 << 1;
/// It waits, and somebody else may wake it. It is counted.
const WAITS: usize = 2 << 1;
/// It has ended.
const ENDED: usize = 3 << 1;

/// What came of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Paused {
    /// It was woken meanwhile, and who did that knows that it is to be polled.
    Woken,
    Waits,
    Rests,
    /// It rests, and nobody can do anything now.
    LastOfAll,
}

impl Doing {
    /// It was counted before.
    pub(super) fn new() -> Self {
        Self { word: AtomicUsize::new(RUNS), wakers: AtomicUsize::new(0) }
    }

    /// There is one more waker.
    pub(super) fn waker_is_made(&self) {
        // Relaxed: made of one that is counted, or by who polls; and whoever hands it on does that by something that orders.
        self.wakers.fetch_add(1, Ordering::Relaxed);
    }

    /// There is one less, which was used up or not. `true`: the caller has the member polled, since nobody but members may be
    /// able to wake it now. It says so itself then: whoever drops a waker is not counted, and may outlive the computation.
    #[must_use]
    pub(super) fn waker_is_gone(&self) -> bool {
        // Release pairs with the acquire in `has_wakers`: who finds that there are none sees whom these have woken.
        if self.wakers.fetch_sub(1, Ordering::Release) > 1 {
            return false;
        }
        // Pairs with the fence in `pause`: either who pauses sees that there is none, or we see that it waits.
        fence(Ordering::SeqCst);
        // AcqRel, as in `wake`. If it has been polled since, and waits again, it is polled once for nothing.
        self.change(WAITS, WAITS | WOKEN)
    }

    fn has_wakers(&self) -> bool {
        // Acquire pairs with the release in `waker_is_gone`.
        self.wakers.load(Ordering::Acquire) > 0
    }

    fn change(&self, from: usize, to: usize) -> bool {
        // Release: who wakes it, or finds that nobody can do anything, sees what it waits for. Acquire: what who woke it did is
        // seen.
        self.word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// It is about to be polled.
    pub(super) fn begin(&self) {
        // Acquire pairs with the release of who woke it.
        let before = self.word.swap(RUNS, Ordering::AcqRel);
        debug_assert!(before == RUNS || before & WOKEN != 0 && before < ENDED, "{before}");
    }

    /// It was polled, and is pending.
    pub(super) fn pause(&self, able: &Able) -> Paused {
        // None is final: the poll is over.
        if !self.has_wakers() {
            return self.rest(RUNS, able);
        }
        if !self.change(RUNS, WAITS) {
            return Paused::Woken;
        }
        // Pairs with the fence in `waker_is_gone`.
        fence(Ordering::SeqCst);
        if self.has_wakers() { Paused::Waits } else { self.rest(WAITS, able) }
    }

    fn rest(&self, from: usize, able: &Able) -> Paused {
        if !self.change(from, RESTS) {
            return Paused::Woken;
        }
        if able.take_one() { Paused::LastOfAll } else { Paused::Rests }
    }

    /// Somebody wakes it, who is counted if it rests. Says whether the caller has it polled, which it does after this.
    #[must_use]
    pub(super) fn wake(&self, able: &Able) -> bool {
        // AcqRel: what the waker did is seen by the poll that follows.
        let before = self.word.fetch_or(WOKEN, Ordering::AcqRel);
        if before == RESTS {
            // Before the caller itself is not counted any more.
            able.add_one();
        }
        before & WOKEN == 0 && before != ENDED
    }

    pub(super) fn rests(&self) -> bool {
        self.word.load(Ordering::Acquire) == RESTS
    }

    /// It has ended. `true` if nobody can do anything now.
    #[must_use]
    pub(super) fn end(&self, able: &Able) -> bool {
        self.word.swap(ENDED, Ordering::AcqRel) != RESTS && able.take_one()
    }
}
