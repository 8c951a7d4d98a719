//! What the model checker runs: the account alone, with members that are threads of the model.

use std::task::Poll;

use loom::sync::Arc;
use loom::thread;

use super::account::{Able, Doing, Paused};
use crate::primitive::{AtomicUsize, Ordering};

/// A member that waits for permits, as a semaphore without a queue has them.
struct Seat {
    doing: Doing,
    permits: AtomicUsize,
}

struct Table {
    able: Able,
    seats: Vec<Seat>,
    /// How often it was found that nobody can go on, and how many rested then.
    stuck: AtomicUsize,
}

impl Table {
    fn of(seats: usize) -> Arc<Self> {
        let able = Able::new();
        let seats = (0..seats).map(|_| {
            able.add_one();
            Seat { doing: Doing::new(), permits: AtomicUsize::new(0) }
        });
        let seats = seats.collect();
        Arc::new(Self { able, seats, stuck: AtomicUsize::new(0) })
    }

    /// The body returns.
    fn begin(&self) {
        if self.able.take_one() {
            self.nobody_can_go_on();
        }
    }

    /// A permit for somebody; who is polled if it is to be. By a member, or by the body.
    fn give(&self, to: usize) -> bool {
        self.seats[to].permits.fetch_add(1, Ordering::AcqRel);
        self.seats[to].doing.wake(&self.able)
    }

    /// One poll of somebody who wants a permit.
    fn poll(&self, at: usize) -> Poll<()> {
        let seat = &self.seats[at];
        seat.doing.begin();
        if seat.permits.load(Ordering::Acquire) > 0 {
            seat.permits.fetch_sub(1, Ordering::AcqRel);
            return Poll::Ready(());
        }
        Poll::Pending
    }

    fn end(&self, at: usize) {
        if self.seats[at].doing.end(&self.able) {
            self.nobody_can_go_on();
        }
    }

    fn nobody_can_go_on(&self) {
        let resting = self.seats.iter().filter(|seat| seat.doing.rests()).count();
        if resting > 0 {
            self.stuck.fetch_add(resting, Ordering::AcqRel);
        }
    }

    /// Goes to rest. Whoever wakes it runs it on, as a worker would.
    fn rest(&self, at: usize) -> bool {
        match self.seats[at].doing.pause(&self.able) {
            Paused::Woken => false,
            Paused::Waits | Paused::Rests => true,
            Paused::LastOfAll => {
                self.nobody_can_go_on();
                true
            }
        }
    }
}

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4);
    model.check(check);
}

/// One waits, the other gives to it and ends: nobody is stuck, however late the one begins to rest.
#[test]
fn loom_computation_is_not_stuck_while_a_wake_is_under_way() {
    model(|| {
        let table = Table::of(2);
        table.begin();
        let giver = table.clone();
        let giver = thread::spawn(move || {
            // Who wakes one that rests runs it on.
            let polls = giver.give(0);
            giver.end(1);
            polls
        });
        let is_over = match table.poll(0) {
            Poll::Ready(()) => true,
            Poll::Pending if table.rest(0) => false,
            // Woken meanwhile: polled again.
            Poll::Pending => {
                assert!(table.poll(0).is_ready());
                true
            }
        };
        let was_told = giver.join().unwrap();
        if !is_over {
            assert!(was_told, "who rests is polled again");
            assert!(table.poll(0).is_ready());
        }
        table.end(0);
        assert_eq!(table.stuck.load(Ordering::Acquire), 0);
    });
}

/// Two wait for each other: it is found once, and both rest then.
#[test]
fn loom_computation_two_are_stuck() {
    model(|| {
        let table = Table::of(2);
        let waits = |table: &Table, at: usize| {
            assert!(table.poll(at).is_pending());
            assert!(table.rest(at));
        };
        let other = table.clone();
        let other = thread::spawn(move || waits(&other, 1));
        let body = table.clone();
        let body = thread::spawn(move || body.begin());
        waits(&table, 0);
        other.join().unwrap();
        body.join().unwrap();
        assert_eq!(table.stuck.load(Ordering::Acquire), 2);
    });
}

/// One ends while two others rest, of whom it has woken one, who wakes nobody: at last one is stuck, and no more.
#[test]
fn loom_computation_one_is_left() {
    model(|| {
        let table = Table::of(3);
        table.begin();
        // Two rest.
        for at in [0, 1] {
            assert!(table.poll(at).is_pending());
            assert!(table.rest(at));
        }
        assert!(table.give(0), "it rests");
        let woken = table.clone();
        let woken = thread::spawn(move || {
            assert!(woken.poll(0).is_ready());
            woken.end(0);
        });
        table.end(2);
        woken.join().unwrap();
        assert_eq!(table.stuck.load(Ordering::Acquire), 1);
    });
}

/// Two that give to each other by turns.
#[test]
fn loom_computation_two_take_turns() {
    model(|| {
        let table = Table::of(2);
        table.begin();
        // The second waits for the first; the first gives to it, and waits for it.
        let other = table.clone();
        let other = thread::spawn(move || {
            let first = match other.poll(1) {
                Poll::Ready(()) => true,
                Poll::Pending => !other.rest(1) && other.poll(1).is_ready(),
            };
            if first {
                let polls = other.give(0);
                other.end(1);
                return Some(polls);
            }
            None
        });
        let polls_other = table.give(1);
        let mut is_over = table.poll(0).is_ready() || !table.rest(0) && table.poll(0).is_ready();
        let mut polls_me = other.join().unwrap();
        if polls_me.is_none() {
            assert!(polls_other, "it rests, and was told");
            assert!(table.poll(1).is_ready());
            polls_me = Some(table.give(0));
            table.end(1);
        }
        if !is_over {
            assert_eq!(polls_me, Some(true));
            is_over = table.poll(0).is_ready();
        }
        assert!(is_over);
        table.end(0);
        assert_eq!(table.stuck.load(Ordering::Acquire), 0);
    });
}

/// Somebody outside has a waker, and drops it: after that nobody is left who could wake the one that waits. It is that one who
/// says so, in a poll of its own.
#[test]
fn loom_computation_is_stuck_when_the_last_waker_outside_is_gone() {
    model(|| {
        let table = Table::of(1);
        table.begin();
        assert!(table.poll(0).is_pending());
        table.seats[0].doing.waker_is_made();
        let outside = table.clone();
        let outside = thread::spawn(move || outside.seats[0].doing.waker_is_gone());
        let rests = table.rest(0);
        if outside.join().unwrap() {
            assert_eq!(table.stuck.load(Ordering::Acquire), 0);
            assert!(table.poll(0).is_pending());
            assert!(table.rest(0));
        } else {
            assert!(rests);
        }
        assert_eq!(table.stuck.load(Ordering::Acquire), 1);
    });
}

/// Somebody outside has the last wakers of two, and drops them while they begin to wait. Each may be polled once more for that;
/// then both are stuck, which is found once.
#[test]
fn loom_computation_two_are_stuck_when_the_last_wakers_outside_are_gone() {
    model(|| {
        let table = Table::of(2);
        table.begin();
        for at in [0, 1] {
            assert!(table.poll(at).is_pending());
            table.seats[at].doing.waker_is_made();
        }
        let outside = table.clone();
        let outside =
            thread::spawn(move || [0, 1].map(|at| outside.seats[at].doing.waker_is_gone()));
        let other = table.clone();
        let other = thread::spawn(move || other.rest(1));
        let rest = [table.rest(0), other.join().unwrap()];
        for (at, is_polled) in outside.join().unwrap().into_iter().enumerate() {
            if is_polled {
                assert_eq!(table.stuck.load(Ordering::Acquire), 0);
                assert!(table.poll(at).is_pending());
                assert!(table.rest(at));
            } else {
                assert!(rest[at]);
            }
        }
        assert_eq!(table.stuck.load(Ordering::Acquire), 2);
    });
}

/// Somebody outside has two wakers, drops one and uses the other: as long as there is one, nobody is stuck.
#[test]
fn loom_computation_is_not_stuck_while_there_is_a_waker_outside() {
    model(|| {
        let table = Table::of(1);
        table.begin();
        assert!(table.poll(0).is_pending());
        table.seats[0].doing.waker_is_made();
        table.seats[0].doing.waker_is_made();
        let outside = table.clone();
        let outside = thread::spawn(move || {
            let doing = &outside.seats[0].doing;
            assert!(!doing.waker_is_gone(), "there is another");
            let polls = outside.give(0);
            assert!(!doing.waker_is_gone(), "it has been woken, and has left no other");
            polls
        });
        let is_over = !table.rest(0) && table.poll(0).is_ready();
        let was_told = outside.join().unwrap();
        assert!(was_told);
        if !is_over {
            assert!(table.poll(0).is_ready());
        }
        assert_eq!(table.stuck.load(Ordering::Acquire), 0);
        table.end(0);
        assert_eq!(table.stuck.load(Ordering::Acquire), 0);
    });
}

/// A waker that was used goes late, when the member has been polled again, and a waker is left outside or none: who has the
/// late one may have it polled once more, and nobody is stuck while there is the other.
#[test]
fn loom_computation_a_used_waker_goes_late() {
    model(|| {
        let table = Table::of(1);
        table.begin();
        assert!(table.poll(0).is_pending());
        table.seats[0].doing.waker_is_made();
        let late = table.clone();
        let late = thread::spawn(move || {
            let doing = &late.seats[0].doing;
            let polls = doing.wake(&late.able);
            (polls, doing.waker_is_gone())
        });
        let is_polled_at_once = !table.rest(0);
        if is_polled_at_once {
            assert!(table.poll(0).is_pending());
            table.seats[0].doing.waker_is_made();
            assert!(table.rest(0));
        }
        let (polls, polls_again) = late.join().unwrap();
        assert!(polls, "nobody else has woken it");
        assert_eq!(table.stuck.load(Ordering::Acquire), 0);
        if is_polled_at_once {
            let is_polled = table.seats[0].doing.waker_is_gone();
            assert!(is_polled || polls_again, "now there is none left");
        } else {
            assert!(!polls_again, "it waited, and was woken already");
        }
        assert!(table.poll(0).is_pending());
        assert!(table.rest(0));
        assert_eq!(table.stuck.load(Ordering::Acquire), 1);
    });
}
