//! Semaphores.

use std::sync::Arc;

use super::{Slot, Switch, finish_all, hold_at_each_step, keep, slot, taken, waiting_to_keep};
use crate::tests::polled::Polled;
use crate::{Permit, Semaphore};

/// What the held thread does to a semaphore for which four tasks wait.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Held {
    Acquires {
        permits: usize,
    },
    TriesToAcquire,
    /// Polls the waiter of this number again, with another waker.
    PollsAnew(usize),
    /// Drops the waiter of this number.
    Cancels(usize),
    /// Drops the first waiter, which was served.
    CancelsServed,
    Releases {
        permits: usize,
    },
}

struct Served {
    semaphore: Arc<Semaphore>,
    waiting: Vec<Slot<()>>,
}

impl Held {
    fn world(self) -> Served {
        let semaphore = Arc::new(Semaphore::new(0));
        let waiting = (0..4).map(|_| waiting_to_keep(&semaphore)).collect();
        if self == Held::CancelsServed {
            semaphore.add_permits(1);
        }
        Served { semaphore, waiting }
    }

    /// Returns a wait that is still pending at the end.
    fn operation(self, world: &Served) -> Option<Polled<'static, ()>> {
        match self {
            Held::Acquires { permits } => {
                let mut acquire = keep(&world.semaphore, permits);
                return acquire.poll().is_pending().then_some(acquire);
            }
            Held::TriesToAcquire => drop(world.semaphore.try_acquire().map(Permit::forget)),
            Held::PollsAnew(at) => {
                let mut waiting = taken(&world.waiting[at]);
                return waiting.poll_anew().is_pending().then_some(waiting);
            }
            Held::Cancels(at) => drop(taken(&world.waiting[at])),
            Held::CancelsServed => drop(taken(&world.waiting[0])),
            Held::Releases { permits } => world.semaphore.add_permits(permits),
        }
        None
    }

    /// Releases as many permits as there are waiters, including that of the held thread. All other
    /// waiters are served.
    fn others(self, world: &Served, steps: usize) {
        let given = if self == Held::CancelsServed { 3 } else { 4 };
        (0..given).for_each(|_| world.semaphore.add_permits(1));
        finish_all(&world.waiting, (self, steps));
        // A later waiter is served, too. The held one may be in front of it, or may have taken a
        // permit without waiting.
        let mut late = keep(&world.semaphore, 1);
        let at_once = late.poll().is_ready();
        (0..self.new_demand() + 1).for_each(|_| world.semaphore.add_permits(1));
        assert!(at_once || late.is_woken() && late.poll().is_ready(), "{self:?} {steps}");
    }

    /// Number of permits that the held thread asks for in addition to the waiters.
    fn new_demand(self) -> usize {
        match self {
            Held::Acquires { permits } => permits,
            Held::TriesToAcquire => 1,
            _ => 0,
        }
    }

    /// All permits are forgotten, or free.
    fn after(self, world: &Served, late: Option<Polled<'static, ()>>) {
        if let Some(mut late) = late {
            late.finish();
        }
        let given = 4 + self.new_demand() + 1;
        let left = world.semaphore.available_permits();
        match self {
            Held::Acquires { .. } | Held::PollsAnew(_) => assert_eq!(left, 0, "{self:?}"),
            Held::TriesToAcquire => assert!(left <= 1),
            Held::Cancels(_) | Held::CancelsServed => assert_eq!(left, 1, "{self:?}"),
            Held::Releases { permits } => assert_eq!(left, given + permits - 5),
        }
    }
}

#[test]
fn a_held_thread_keeps_no_permit_from_others() {
    let served = [
        Held::Acquires { permits: 1 },
        Held::Acquires { permits: 3 },
        Held::TriesToAcquire,
        Held::PollsAnew(0),
        Held::PollsAnew(2),
        Held::Cancels(0),
        Held::Cancels(1),
        Held::Cancels(3),
        Held::CancelsServed,
        Held::Releases { permits: 1 },
        Held::Releases { permits: 4 },
    ];
    for held in served {
        hold_at_each_step(
            3,
            || held.world(),
            |world| held.operation(world),
            |world, steps| held.others(world, steps),
            |world, late| held.after(world, late),
        );
    }
}

/// A single waiter for one permit is in the semaphore's word. A waiter for three is in the queue.
#[test]
fn a_held_thread_keeps_no_permit_from_a_single_waiter() {
    let world = |wants: usize| {
        let semaphore = Arc::new(Semaphore::new(0));
        let mut waiting = keep(&semaphore, wants);
        assert!(waiting.poll().is_pending());
        Served { semaphore, waiting: vec![slot(waiting)] }
    };
    for wants in [1, 3] {
        // A release is held. Others release all that is wanted. So either they wake the waiter, or
        // the held thread has taken it out of the word. Then a newcomer gets what they released.
        let in_hand = Switch::default();
        hold_at_each_step(
            2,
            || world(wants),
            |world| world.semaphore.add_permits(1),
            |world, steps| {
                (0..wants).for_each(|_| world.semaphore.add_permits(1));
                let is_woken = world.waiting[0].lock().unwrap().as_ref().unwrap().is_woken();
                if wants > 1 {
                    assert!(is_woken, "held after {steps} steps");
                } else if !is_woken {
                    in_hand.record(true, steps);
                }
                let mut late = keep(&world.semaphore, 1);
                let is_there = late.poll().is_ready();
                assert!(is_woken || is_there, "held after {steps} steps");
                drop(late);
            },
            |world, ()| finish_all(&world.waiting, wants),
        );
        assert!(wants > 1 || in_hand.is_on());
        // A cancellation is held. What was granted, and what is released, is for the next waiter.
        hold_at_each_step(
            2,
            || {
                let world = world(wants);
                world.semaphore.add_permits(wants - 1);
                world
            },
            |world| drop(taken(&world.waiting[0])),
            |world, steps| {
                // Enough for both, if the first is not cancelled.
                world.semaphore.add_permits(1);
                let mut late = keep(&world.semaphore, wants);
                let mut is_served = late.poll().is_ready();
                if !is_served {
                    // The held thread had it, and has not passed it on.
                    world.semaphore.add_permits(wants);
                    is_served = late.is_woken() && late.poll().is_ready();
                }
                assert!(is_served, "held after {steps} steps");
            },
            |world, ()| assert!([0, wants].contains(&world.semaphore.available_permits())),
        );
        // A second waiter is held while it makes the queue.
        hold_at_each_step(
            3,
            || world(wants),
            |world| {
                let mut second = keep(&world.semaphore, 1);
                second.poll().is_pending().then_some(second)
            },
            |world, steps| {
                (0..wants).for_each(|_| world.semaphore.add_permits(1));
                finish_all(&world.waiting, steps);
            },
            |world, second| {
                world.semaphore.add_permits(1);
                second.expect("all permits are for the first waiter").finish();
                assert_eq!(world.semaphore.available_permits(), 0);
            },
        );
    }
}

#[test]
fn a_held_close_keeps_no_task_waiting() {
    hold_at_each_step(
        3,
        || Held::Releases { permits: 1 }.world(),
        |world| world.semaphore.close(),
        |world, steps| {
            // If it is closed, each release dismisses the waiters. If not, it serves them.
            (0..4).for_each(|_| world.semaphore.add_permits(1));
            for slot in &world.waiting {
                assert!(slot.lock().unwrap().as_ref().unwrap().is_woken(), "{steps}");
            }
        },
        |world, ()| assert!(world.semaphore.is_closed()),
    );
}

/// The only permit is taken and given back while a thread that counts the free ones is held.
#[test]
fn no_more_permits_seem_free_than_there_are() {
    let world = || {
        let semaphore = Arc::new(Semaphore::new(0));
        // Two tasks that wait make a queue.
        drop([waiting_to_keep(&semaphore), waiting_to_keep(&semaphore)]);
        semaphore.add_permits(1);
        semaphore
    };
    let take_and_give_back = |semaphore: &Arc<Semaphore>, _| {
        (0..3).for_each(|_| drop(semaphore.try_acquire().expect("it is free")));
    };
    let count = |semaphore: &Arc<Semaphore>| semaphore.available_permits();
    hold_at_each_step(3, world, count, take_and_give_back, |_, free| assert!(free <= 1, "{free}"));
}
