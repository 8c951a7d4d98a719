//! Jobs that need a stack of their own, for those of a pool's workers who can go to one. The README beside this file has the argument.

use std::ops::Range;
use std::ptr::NonNull;
use std::thread;

use crate::deque::Inbox;
use crate::hunt::Found;
use crate::job::Job;
use crate::os;
use crate::primitive::{AtomicBool, Ordering, fence};
use crate::sleep::Sleep;
use crate::worker::Worker;

/// The inbox for these, and who can take from it.
pub(crate) struct Apart<T> {
    inbox: Inbox<T>,
    /// Whether anything was ever sent there: where nothing was, nobody looks any further.
    is_used: AtomicBool,
    /// By seat, who cannot: guests, stand-ins that nobody has called, and those who wait while their threads unwind. Nobody rings for these.
    unable: Box<[AtomicBool]>,
}

impl<T> Apart<T> {
    /// The residents are those of the workers who are no guests. The seats before theirs are guests', and those behind, stand-ins'.
    pub(super) fn new(seats: usize, residents: Range<usize>) -> Self {
        let is_unable = |seat| AtomicBool::new(!residents.contains(&seat));
        let unable = (0..seats).map(is_unable).collect();
        Self { inbox: Inbox::new(), is_used: AtomicBool::new(false), unable }
    }

    /// Sends an item, and wakes one of those who can take it, if one sleeps.
    pub(super) fn send(&self, item: NonNull<T>, sleep: &Sleep) {
        // Relaxed: whoever has to know has a fence after the one in `wake_one`, or is woken there.
        self.is_used.store(true, Ordering::Relaxed);
        self.inbox.send(item);
        self.wake_one(sleep);
    }

    fn wake_one(&self, sleep: &Sleep) {
        // Relaxed: written before its seat entered the set of sleepers, where it has been found.
        sleep.work_was_sent_to_some(|seat| !self.unable[seat].load(Ordering::Relaxed));
    }

    /// To be called by one who was asleep and goes on to something else: if it was woken for what lies here, somebody else is.
    pub(crate) fn pass_on(&self, sleep: &Sleep) {
        // Pairs with the fence of the sender: if that still saw the caller asleep, what it has sent is seen.
        fence(Ordering::SeqCst);
        if self.is_any() {
            self.wake_one(sleep);
        }
    }

    /// Whether anything was ever sent, as far as the caller knows.
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }

    /// Whether something lies here. Exact for what was sent before the caller's last fence.
    pub(crate) fn is_any(&self) -> bool {
        self.is_used() && !self.inbox.is_empty()
    }

    fn take(&self) -> Option<NonNull<T>> {
        self.inbox.take()
    }

    /// The one in that seat is about to wait, and cannot take anything meanwhile. Says whether it could before.
    fn becomes_unable(&self, seat: usize) -> bool {
        // Relaxed: each writes its own.
        if self.unable[seat].load(Ordering::Relaxed) {
            return false;
        }
        self.unable[seat].store(true, Ordering::Relaxed);
        // Pairs with the fence of a sender, and with this one of the others: who is the last sees that there is something, and nobody for it.
        fence(Ordering::SeqCst);
        true
    }

    fn becomes_able(&self, seat: usize) {
        self.unable[seat].store(false, Ordering::Relaxed);
    }

    fn is_unable(&self, seat: usize) -> bool {
        // Relaxed: whoever has to know about another has a fence before.
        self.unable[seat].load(Ordering::Relaxed)
    }

    /// Whether nobody can take anything; but for the one in a seat, of whom the caller knows. Exact for those who said so before the caller's
    /// last fence.
    fn is_for_nobody(&self, but: Option<usize>) -> bool {
        (0..self.unable.len()).all(|seat| but == Some(seat) || self.is_unable(seat))
    }
}

/// While it lives, a worker that waits, and cannot go to another stack, is in a call that blocks. It may come back, and somebody may stand in for it.
#[must_use]
pub(crate) struct Away<'w>(&'w Worker);

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.0.becomes_unable();
    }
}

/// While it lives, a worker waits that cannot go to another stack.
#[must_use]
pub(crate) struct Unable<'w>(&'w Worker);

impl Drop for Unable<'_> {
    fn drop(&mut self) {
        self.0.shared().apart().becomes_able(self.0.seat_index());
    }
}

impl Worker {
    /// Leaves a job that needs a stack to those who can go to one, which this worker cannot. If nobody can, it is run here, and learns of
    /// that.
    pub(crate) fn leave_apart(&self, job: NonNull<Job>) {
        self.shared().send_apart(job);
        if self.shared().apart().is_for_nobody(Some(self.seat_index())) {
            self.run_what_nobody_can();
        }
    }

    /// What needs a stack, if this worker can go to one.
    pub(crate) fn take_apart(&self) -> Option<Found> {
        let can_take = self.shared().apart().is_used() && self.may_switch();
        if can_take { self.receive_from(&self.shared().apart().inbox) } else { None }
    }

    /// Whether there is something that it would take. Exact for what was sent before the caller's last fence.
    pub(crate) fn is_any_apart(&self) -> bool {
        self.shared().apart().is_any() && self.may_switch()
    }

    /// It begins to wait on top of what waits. If it cannot go to another stack meanwhile, others do not count on it.
    pub(crate) fn waits_on_top(&self) -> Option<Unable<'_>> {
        // A guest never can.
        (thread::panicking() && self.becomes_unable()).then(|| Unable(self))
    }

    /// It is about to call something that blocks. Who waits on top of what waits is counted on again meanwhile.
    pub(crate) fn may_come_back(&self) -> Option<Away<'_>> {
        let (apart, seat) = (self.shared().apart(), self.seat_index());
        // A guest never can.
        if !thread::panicking() || self.is_guest() || !apart.is_unable(seat) {
            return None;
        }
        apart.becomes_able(seat);
        Some(Away(self))
    }

    /// This one, a stand-in, has been called.
    pub(crate) fn begins_to_stand_in(&self) {
        self.shared().apart().becomes_able(self.seat_index());
    }

    /// This one, a stand-in, is not wanted any more.
    pub(crate) fn ends_to_stand_in(&self) {
        self.becomes_unable();
    }

    /// Others do not count on it from now on. Says whether they did before.
    fn becomes_unable(&self) -> bool {
        let apart = self.shared().apart();
        let was_able = apart.becomes_unable(self.seat_index());
        if was_able && self.is_any_for_nobody() {
            self.run_what_nobody_can();
        }
        was_able
    }

    /// It has found nothing, for code that waits in a loop of its own. If it cannot go to another stack, it says so for as long as it looks, and runs
    /// what nobody can. Says whether there was something.
    pub(crate) fn runs_what_nobody_can(&self) -> bool {
        let apart = self.shared().apart();
        if !apart.is_used() || !thread::panicking() {
            return false;
        }
        let _unable = apart.becomes_unable(self.seat_index()).then(|| Unable(self));
        let is_any = self.is_any_for_nobody();
        if is_any {
            self.run_what_nobody_can();
        } else if apart.is_any() {
            // Others who wait like this are to look while this one has said so.
            os::yield_now();
        }
        is_any
    }

    fn is_any_for_nobody(&self) -> bool {
        let apart = self.shared().apart();
        // (In a child of the process all that lies there is the parent's.)
        apart.is_any() && apart.is_for_nobody(None) && !self.shared().is_lost()
    }

    #[cold]
    fn run_what_nobody_can(&self) {
        while let Some(job) = self.shared().apart().take() {
            self.execute(Found { job, from: self.seat_index() });
            self.doubts().executed();
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use std::ptr::NonNull;

    use loom::sync::Arc;
    use loom::thread;

    use super::Apart;
    use crate::latch::Flag;
    use crate::sleep::{Limit, Sleep, Summons};

    /// Items that nobody looks at.
    const ITEM: NonNull<u64> = NonNull::dangling();

    struct Pool {
        sleep: Sleep,
        apart: Apart<u64>,
        /// What a worker waits for.
        done: Flag,
    }

    impl Pool {
        fn new(seats: usize, guests: usize) -> Arc<Self> {
            let (sleep, apart) = (Sleep::new(seats, Limit::NONE), Apart::new(seats, guests..seats));
            Arc::new(Self { sleep, apart, done: Flag::new() })
        }

        /// Hunts and sleeps until it has taken one, as who can.
        fn take_one(&self, seat: usize) {
            self.sleep.begins_to_hunt();
            while self.apart.take().is_none() {
                self.sleep.sleep(seat, |_| self.apart.is_any());
            }
            self.leaves();
        }

        /// The same for who cannot: until that is done.
        fn wait(&self, seat: usize) {
            self.sleep.begins_to_hunt();
            while !self.done.is_set() {
                self.sleep.sleep(seat, |_| self.done.is_set());
            }
            self.leaves();
        }

        fn leaves(&self) {
            self.sleep.stops_hunting(&Summons::default(), || false);
            self.apart.pass_on(&self.sleep);
        }

        fn is_done(&self, waiter: usize) {
            self.done.set();
            self.sleep.wake(waiter);
        }
    }

    fn check(bound: usize, model: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(bound);
        builder.check(model);
    }

    /// A guest sleeps, or hunts; so does who can.
    #[test]
    fn loom_apart_what_is_sent_wakes_who_can_take_it() {
        check(2, || {
            let pool = Pool::new(2, 1);
            let (guest, able) = (pool.clone(), pool.clone());
            let guest = thread::spawn(move || guest.wait(0));
            let able = thread::spawn(move || {
                able.take_one(1);
                able.is_done(0);
            });
            pool.apart.send(ITEM, &pool.sleep);
            guest.join().unwrap();
            able.join().unwrap();
        });
    }

    /// One that is no guest cannot either, for the time of a wait.
    #[test]
    fn loom_apart_who_unwinds_is_not_counted_on() {
        check(2, || {
            let pool = Pool::new(2, 0);
            let (unwinds, able) = (pool.clone(), pool.clone());
            let unwinds = thread::spawn(move || {
                assert!(unwinds.apart.becomes_unable(0));
                unwinds.wait(0);
                unwinds.apart.becomes_able(0);
            });
            let able = thread::spawn(move || {
                able.take_one(1);
                able.is_done(0);
            });
            pool.apart.send(ITEM, &pool.sleep);
            unwinds.join().unwrap();
            able.join().unwrap();
        });
    }

    /// Who is woken for it has something else to do, and is stuck in that.
    #[test]
    fn loom_apart_who_is_woken_for_it_and_goes_on_to_something_else_passes_it_on() {
        check(2, || {
            let pool = Pool::new(2, 0);
            let (reader, able) = (pool.clone(), pool.clone());
            let reader = thread::spawn(move || {
                reader.sleep.begins_to_hunt();
                while !reader.done.is_set() {
                    // What it waits for was said before anything is sent, so this ends.
                    let look_again = |_| reader.done.is_set() || reader.apart.is_any();
                    reader.sleep.sleep(0, look_again);
                }
                reader.leaves();
            });
            let able = thread::spawn(move || able.take_one(1));
            pool.is_done(0);
            pool.apart.send(ITEM, &pool.sleep);
            reader.join().unwrap();
            able.join().unwrap();
        });
    }

    /// Both begin to wait and cannot take anything, while something is sent: one of the three finds that it is for nobody.
    #[test]
    fn loom_apart_what_nobody_can_take_is_found() {
        check(3, || {
            let pool = Pool::new(2, 0);
            let waiters = [0, 1].map(|seat| {
                let pool = pool.clone();
                thread::spawn(move || {
                    assert!(pool.apart.becomes_unable(seat));
                    pool.apart.is_any() && pool.apart.is_for_nobody(None)
                })
            });
            pool.apart.send(ITEM, &pool.sleep);
            let mut is_found = pool.apart.is_for_nobody(None);
            for waiter in waiters {
                is_found |= waiter.join().unwrap();
            }
            assert!(is_found, "it lies there for ever");
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::ptr::NonNull;

    use super::Apart;
    use crate::sleep::{Limit, Sleep};

    #[test]
    fn it_is_for_nobody_where_all_but_guests_are_unable() {
        let none = Apart::<u64>::new(1, 1..1);
        assert!(none.is_for_nobody(None), "there are guests only");
        assert!(!none.becomes_unable(0), "a guest never can");
        let apart = Apart::<u64>::new(5, 1..3);
        assert!(!apart.is_for_nobody(None));
        assert!(apart.becomes_unable(1) && !apart.becomes_unable(1));
        assert!(!apart.is_for_nobody(None) && apart.is_for_nobody(Some(2)));
        assert!(apart.becomes_unable(2) && apart.is_for_nobody(None));
        apart.becomes_able(1);
        assert!(!apart.is_for_nobody(None) && !apart.is_for_nobody(Some(2)));
    }

    #[test]
    fn a_stand_in_counts_while_it_stands_in() {
        let apart = Apart::<u64>::new(4, 1..2);
        assert!(apart.becomes_unable(1) && apart.is_for_nobody(None));
        apart.becomes_able(3);
        assert!(!apart.is_for_nobody(None) && apart.is_for_nobody(Some(3)));
        assert!(apart.becomes_unable(3) && apart.is_for_nobody(None));
    }

    #[test]
    fn what_is_sent_comes_out_in_that_order() {
        let (apart, sleep) = (Apart::new(2, 0..2), Sleep::new(2, Limit::NONE));
        assert!(!apart.is_used() && !apart.is_any());
        let items = [1_u64, 2].map(|n| NonNull::from(Box::leak(Box::new(n))));
        items.iter().for_each(|&item| apart.send(item, &sleep));
        assert!(apart.is_any());
        for item in items {
            assert_eq!(apart.take(), Some(item));
            // SAFETY: made above, and taken once.
            drop(unsafe { Box::from_raw(item.as_ptr()) });
        }
        assert!(apart.is_used() && !apart.is_any() && apart.take().is_none());
    }
}
