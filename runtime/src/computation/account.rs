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
    /// How often it was polled, times eight; one of the constants below; and perhaps `WOKEN`.
    word: AtomicUsize,
    /// Its wakers, wherever they are. (Not that which is lent to a poll.)
    wakers: AtomicUsize,
    /// Those that lie in what belongs to the computation.
    inner: AtomicUsize,
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
const STATE: usize = 7;
const POLL: usize = 8;

/// What came of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Paused {
    /// It was woken meanwhile, and who did that knows that it is to be polled.
    Woken,
    Waits,
    /// Nobody can do anything now.
    LastOfAll,
}

impl Doing {
    /// It was counted before.
    pub(super) fn new() -> Self {
        let none = || AtomicUsize::new(0);
        Self { word: AtomicUsize::new(RUNS), wakers: none(), inner: none() }
    }

    /// There is one more waker.
    pub(super) fn waker_is_made(&self) {
        // Relaxed: it is handed on by something that orders.
        self.wakers.fetch_add(1, Ordering::Relaxed);
    }

    /// There is one less, which was used up or not. `true` if nobody can do anything now.
    #[must_use]
    pub(super) fn waker_is_gone(&self, able: &Able) -> bool {
        // AcqRel: who finds that there are no others but inner ones sees which these are.
        self.wakers.fetch_sub(1, Ordering::AcqRel);
        self.rests_now(able)
    }

    /// A waker lies in what belongs to the computation. It is there already.
    pub(super) fn waker_is_inside(&self) {
        self.inner.fetch_add(1, Ordering::Relaxed);
    }

    /// One is about to be taken away from there.
    pub(super) fn waker_was_inside(&self) {
        // Relaxed: whoever counts one waker less sees this before.
        self.inner.fetch_sub(1, Ordering::Relaxed);
    }

    /// It is about to be polled.
    pub(super) fn begin(&self) {
        // Relaxed: only who polls changes the number of polls.
        let polls = self.word.load(Ordering::Relaxed) & !STATE;
        // Acquire pairs with the release of who woke it.
        let before = self.word.swap(polls.wrapping_add(POLL) | RUNS, Ordering::AcqRel);
        debug_assert!(before & STATE != RESTS && before & ENDED != ENDED, "{before}");
    }

    /// It was polled, and is pending.
    pub(super) fn pause(&self, able: &Able) -> Paused {
        let now = self.word.load(Ordering::Relaxed);
        // Release: who wakes it, or finds that nobody can do anything, sees what it waits for.
        let waits = now & STATE == RUNS
            && self
                .word
                .compare_exchange(now, now | WAITS, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
        match waits {
            false => Paused::Woken,
            true if self.rests_now(able) => Paused::LastOfAll,
            true => Paused::Waits,
        }
    }

    /// Has it rest, if it waits, and all its wakers lie in what belongs to the computation.
    fn rests_now(&self, able: &Able) -> bool {
        // Between waiting and looking at the wakers, or between giving one up and looking whether it waits: either who pauses
        // sees that there is one less, or who gives it up sees that it waits.
        fence(Ordering::SeqCst);
        // Acquire pairs with the release in `pause`: all wakers that it has left are counted.
        let now = self.word.load(Ordering::Acquire);
        if now & STATE != WAITS {
            return false;
        }
        // Acquire, so that the inner ones are not counted that have been taken away. As long as it is not polled, and has no
        // other wakers, nobody makes one; if it is polled meanwhile, the word is another.
        if self.wakers.load(Ordering::Acquire) > self.inner.load(Ordering::Relaxed) {
            return false;
        }
        let rests = now & !STATE | RESTS;
        // AcqRel, as in `pause`.
        self.word.compare_exchange(now, rests, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            && able.take_one()
    }

    /// Somebody wakes it, who is counted if it rests. Says whether the caller has it polled, which it does after this.
    #[must_use]
    pub(super) fn wake(&self, able: &Able) -> bool {
        // AcqRel: what the waker did is seen by the poll that follows.
        let before = self.word.fetch_or(WOKEN, Ordering::AcqRel) & STATE;
        if before == RESTS {
            // Before the caller itself is not counted any more.
            able.add_one();
        }
        before & WOKEN == 0 && before != ENDED
    }

    pub(super) fn rests(&self) -> bool {
        self.word.load(Ordering::Acquire) & STATE == RESTS
    }

    /// It has ended. `true` if nobody can do anything now.
    #[must_use]
    pub(super) fn end(&self, able: &Able) -> bool {
        self.word.swap(ENDED, Ordering::AcqRel) & STATE != RESTS && able.take_one()
    }
}
