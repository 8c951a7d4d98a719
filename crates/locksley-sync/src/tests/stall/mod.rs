//! The stall harness: a thread is held at each step of an operation in turn. All others go on, and
//! get all permits, signals and turns but what the held one has in hand.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex};
use std::thread;

use super::polled::Polled;
use crate::wait_queue::WaitQueue;
use crate::{Barrier, Condvar, JoinCounter, Mutex, OnceCell, Permit, Semaphore};
use locksley_sys::primitive::stepped::{self, Gate};

/// Makes the number of steps of an operation independent of the threads of other tests, which use
/// the same hazard domain: that has more records than there are threads, so that a scan has as many
/// steps each time; and the calling thread keeps a record, so that it does not search for one.
fn prepare_hazard_records() {
    const MORE_THAN_THREADS: usize = 64;
    static MADE: std::sync::Once = std::sync::Once::new();
    let line = WaitQueue::new();
    MADE.call_once(|| drop([(); MORE_THAN_THREADS].map(|()| line.hazards())));
    drop(line.hazards());
}

/// Holds a thread in `operation` at its first, second, ... step, with a new world each time.
/// `others` do their part meanwhile, and `after` checks the end. `operation` gives back what it has
/// made, so that it is not dropped on the way.
pub(super) fn hold_at_each_step<W, M>(
    least: usize,
    world: impl Fn() -> W,
    operation: impl Fn(&W) -> M + Sync,
    others: impl Fn(&W, usize),
    after: impl Fn(&W, M),
) where
    W: Sync,
    M: Send,
{
    for steps in 0.. {
        let world = world();
        let gate = Arc::new(Gate::default());
        let (held, made) = thread::scope(|scope| {
            let held_one = scope.spawn(|| {
                prepare_hazard_records();
                stepped::arm(steps, &gate);
                let made = operation(&world);
                stepped::disarm();
                made
            });
            let held = gate.wait_until_held();
            // What goes wrong here must not leave the other held for ever.
            let went = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                others(&world, steps);
            }));
            gate.open();
            let made = held_one.join().unwrap();
            if let Err(panic) = went {
                std::panic::resume_unwind(panic);
            }
            (held, made)
        });
        after(&world, made);
        if !held {
            assert!(steps >= least, "the operation has steps: {steps}");
            return;
        }
    }
}

/// Something that is not so at first, and from some step on always.
#[derive(Default)]
struct Once(AtomicUsize);

impl Once {
    #[track_caller]
    fn is(&self, so: bool, steps: usize) {
        let before = self.0.fetch_or(usize::from(so), Ordering::Relaxed);
        assert!(so || before == 0, "it was so before, and is not after {steps} steps");
    }

    #[track_caller]
    fn must_have_come(&self) {
        assert_eq!(self.0.load(Ordering::Relaxed), 1, "it never was so");
    }
}

/// A future that waits, and who takes it out to poll or drop it.
type Slot<T> = StdMutex<Option<Polled<'static, T>>>;

fn slot<T>(polled: Polled<'static, T>) -> Slot<T> {
    StdMutex::new(Some(polled))
}

fn taken<T>(slot: &Slot<T>) -> Polled<'static, T> {
    slot.lock().unwrap().take().expect("taken once")
}

/// Those of them that nobody took out are woken and ready.
#[track_caller]
fn finish_all<T>(slots: &[Slot<T>], context: impl std::fmt::Debug) {
    for slot in slots {
        if let Some(mut waiting) = slot.lock().unwrap().take() {
            assert!(waiting.is_woken(), "one is not woken: {context:?}");
            assert!(waiting.poll().is_ready(), "one was woken for nothing: {context:?}");
        }
    }
}

/// Nobody who waits is woken.
#[track_caller]
fn none_is_woken<T>(slots: &[Slot<T>], context: impl std::fmt::Debug) {
    for slot in slots {
        let is_woken = slot.lock().unwrap().as_ref().is_some_and(Polled::is_woken);
        assert!(!is_woken, "one is woken: {context:?}");
    }
}

/// Gets so many permits, and keeps them for good.
fn keep(semaphore: &Arc<Semaphore>, permits: usize) -> Polled<'static, ()> {
    let semaphore = Arc::clone(semaphore);
    Polled::new(async move { semaphore.acquire_many(permits).await.unwrap().forget() })
}

fn waiting_to_keep(semaphore: &Arc<Semaphore>) -> Slot<()> {
    let mut waiting = keep(semaphore, 1);
    assert!(waiting.poll().is_pending());
    slot(waiting)
}

/// What the held thread does to a semaphore where four wait.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Held {
    Acquires {
        permits: usize,
    },
    TriesToAcquire,
    /// The waiter of this number looks again, with another waker.
    PollsAnew(usize),
    /// The waiter of this number is dropped.
    Leaves(usize),
    /// The first waiter is dropped, who has been served.
    LeavesServed,
    Gives {
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
        if self == Held::LeavesServed {
            semaphore.add_permits(1);
        }
        Served { semaphore, waiting }
    }

    /// What is still to be waited for when it is over.
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
            Held::Leaves(at) => drop(taken(&world.waiting[at])),
            Held::LeavesServed => drop(taken(&world.waiting[0])),
            Held::Gives { permits } => world.semaphore.add_permits(permits),
        }
        None
    }

    /// As many permits come as there are waiters, the held thread's included: all of the others'
    /// are served.
    fn others(self, world: &Served, steps: usize) {
        let given = if self == Held::LeavesServed { 3 } else { 4 };
        (0..given).for_each(|_| world.semaphore.add_permits(1));
        finish_all(&world.waiting, (self, steps));
        // And so is one that comes late, though the held one may stand before it, or may have taken
        // one without waiting.
        let mut late = keep(&world.semaphore, 1);
        let at_once = late.poll().is_ready();
        (0..self.most() + 1).for_each(|_| world.semaphore.add_permits(1));
        assert!(at_once || late.is_woken() && late.poll().is_ready(), "{self:?} {steps}");
    }

    /// How many permits it may get that did not wait before.
    fn most(self) -> usize {
        match self {
            Held::Acquires { permits } => permits,
            Held::TriesToAcquire => 1,
            _ => 0,
        }
    }

    /// What was given is taken for good, or left.
    fn after(self, world: &Served, late: Option<Polled<'static, ()>>) {
        if let Some(mut late) = late {
            late.finish();
        }
        let given = 4 + self.most() + 1;
        let left = world.semaphore.available_permits();
        match self {
            Held::Acquires { .. } | Held::PollsAnew(_) => assert_eq!(left, 0, "{self:?}"),
            Held::TriesToAcquire => assert!(left <= 1),
            Held::Leaves(_) | Held::LeavesServed => assert_eq!(left, 1, "{self:?}"),
            Held::Gives { permits } => assert_eq!(left, given + permits - 5),
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
        Held::Leaves(0),
        Held::Leaves(1),
        Held::Leaves(3),
        Held::LeavesServed,
        Held::Gives { permits: 1 },
        Held::Gives { permits: 4 },
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

/// Where one waits alone, there is no line. What a held thread has given it is its own at once, or
/// is not given yet; only who gives what it waited for wakes it, and nobody else has to.
#[test]
fn a_held_thread_keeps_no_permit_from_one_who_is_alone() {
    let world = |wants: usize| {
        let semaphore = Arc::new(Semaphore::new(0));
        let mut waiting = keep(&semaphore, wants);
        assert!(waiting.poll().is_pending());
        Served { semaphore, waiting: vec![slot(waiting)] }
    };
    for wants in [1, 3] {
        // A giver is held: others give all that is wanted, so either they wake it, or the held one
        // has it in hand, and then what they gave is there for who comes.
        let in_hand = Once::default();
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
                    in_hand.is(true, steps);
                }
                let mut late = keep(&world.semaphore, 1);
                let is_there = late.poll().is_ready();
                assert!(is_woken || is_there, "held after {steps} steps");
                drop(late);
            },
            |world, ()| finish_all(&world.waiting, wants),
        );
        assert!(wants > 1 || in_hand.0.load(Ordering::Relaxed) == 1);
        // It leaves, and is held: what it had been given, and what comes, is there for the next.
        hold_at_each_step(
            2,
            || {
                let world = world(wants);
                world.semaphore.add_permits(wants - 1);
                world
            },
            |world| drop(taken(&world.waiting[0])),
            |world, steps| {
                // Enough for the two of them, if it has not left.
                world.semaphore.add_permits(1);
                let mut late = keep(&world.semaphore, wants);
                let mut is_served = late.poll().is_ready();
                if !is_served {
                    // The held one had it, and has not passed it on.
                    world.semaphore.add_permits(wants);
                    is_served = late.is_woken() && late.poll().is_ready();
                }
                assert!(is_served, "held after {steps} steps");
            },
            |world, ()| assert!([0, wants].contains(&world.semaphore.available_permits())),
        );
        // A second one comes, and is held while it makes a line of it.
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
                second.expect("what there was is the first one's").finish();
                assert_eq!(world.semaphore.available_permits(), 0);
            },
        );
    }
}

#[test]
fn a_held_closer_keeps_nobody_waiting() {
    hold_at_each_step(
        3,
        || Held::Gives { permits: 1 }.world(),
        |world| world.semaphore.close(),
        |world, steps| {
            // Either it is closed, and whoever comes sends all away; or it is not.
            (0..4).for_each(|_| world.semaphore.add_permits(1));
            for slot in &world.waiting {
                assert!(slot.lock().unwrap().as_ref().unwrap().is_woken(), "{steps}");
            }
        },
        |world, ()| assert!(world.semaphore.is_closed()),
    );
}

/// While one is held that locks or unlocks, the others have the lock when it does not.
#[test]
fn a_held_thread_keeps_the_lock_only_while_it_has_it() {
    struct World {
        mutex: Arc<Mutex<u32>>,
        leaves: Slot<()>,
        waiting: Vec<Slot<()>>,
    }
    let count = |mutex: &Arc<Mutex<u32>>| {
        let mutex = Arc::clone(mutex);
        Polled::new(async move { *mutex.lock().await += 1 })
    };
    let passes_on = Once::default();
    hold_at_each_step(
        3,
        || {
            let mutex = Arc::new(Mutex::new(0));
            let guard = mutex.try_lock().unwrap();
            let wait = || {
                let mut waiting = count(&mutex);
                assert!(waiting.poll().is_pending());
                slot(waiting)
            };
            let (first, leaves, waiting) = (wait(), wait(), vec![wait(), wait()]);
            drop(guard);
            taken(&first).finish();
            // Now the one that leaves has been given the lock.
            World { mutex, leaves, waiting }
        },
        |world| drop(taken(&world.leaves)),
        |world, steps| {
            // Whoever comes looks whether somebody can have the lock; it is for those who were
            // there before.
            let mut late = count(&world.mutex);
            assert!(late.poll().is_pending());
            let mut had_it = 0;
            for slot in &world.waiting {
                let waiting = &mut *slot.lock().unwrap();
                if waiting.as_mut().is_some_and(|waiting| waiting.poll().is_ready()) {
                    *waiting = None;
                    had_it += 1;
                }
            }
            // All or nobody, and all from a certain step on: that in which the held one gives the
            // lock up.
            assert!([0, 2].contains(&had_it), "held after {steps} steps: {had_it}");
            passes_on.is(had_it == 2, steps);
            assert!(had_it == 0 || late.poll().is_ready(), "{steps}");
        },
        |world, ()| {
            finish_all(&world.waiting, "after it was over");
            assert!(*world.mutex.try_lock().unwrap() >= 3);
        },
    );
    passes_on.must_have_come();
}

struct Notified {
    mutex: Arc<Mutex<()>>,
    condvar: Arc<Condvar>,
    waiting: Vec<Slot<()>>,
}

impl Notified {
    fn wait(&self) -> Polled<'static, ()> {
        let (mutex, condvar) = (Arc::clone(&self.mutex), Arc::clone(&self.condvar));
        Polled::new(async move {
            let guard = mutex.lock().await;
            drop(condvar.wait(guard).await);
        })
    }

    fn world() -> Self {
        let mut world =
            Self { mutex: Arc::default(), condvar: Arc::default(), waiting: Vec::new() };
        for _ in 0..4 {
            let mut waiting = world.wait();
            assert!(waiting.poll().is_pending());
            world.waiting.push(slot(waiting));
        }
        world
    }

    /// So many notifications reach all.
    fn reach_all(&self, notifications: usize, steps: usize) {
        (0..notifications).for_each(|_| self.condvar.notify_one());
        finish_all(&self.waiting, steps);
    }
}

#[test]
fn a_held_notifier_keeps_back_no_notification() {
    let notify_one = |world: &Notified| world.condvar.notify_one();
    hold_at_each_step(3, Notified::world, notify_one, |w, s| w.reach_all(4, s), |_, ()| {});
    let notify_all = |world: &Notified| world.condvar.notify_all();
    hold_at_each_step(3, Notified::world, notify_all, |w, s| w.reach_all(4, s), |_, ()| {});
}

#[test]
fn a_held_waiter_keeps_back_no_notification() {
    for at in [0, 1, 3] {
        // One notification more: it may have got one, which it then passes on.
        let leave = |world: &Notified| drop(taken(&world.waiting[at]));
        hold_at_each_step(3, Notified::world, leave, |w, s| w.reach_all(4, s), |_, ()| {});
        let look = |world: &Notified| {
            let mut waiting = taken(&world.waiting[at]);
            let ready = waiting.poll_anew().is_ready();
            *world.waiting[at].lock().unwrap() = (!ready).then_some(waiting);
        };
        // When it is held with the lock, as the last step of a wait may be, the others are
        // notified, and wait for that.
        let notify = |world: &Notified, steps: usize| {
            (0..4).for_each(|_| world.condvar.notify_one());
            for slot in &world.waiting {
                if let Some(waiting) = &*slot.lock().unwrap() {
                    assert!(waiting.is_woken(), "{steps}");
                }
            }
        };
        let all_end = |world: &Notified, ()| finish_all(&world.waiting, at);
        hold_at_each_step(1, Notified::world, look, notify, all_end);
    }
}

#[test]
fn a_held_newcomer_keeps_back_no_notification() {
    let wait = |world: &Notified| {
        // With a mutex of its own: the lock is not what is looked at here.
        let condvar = Arc::clone(&world.condvar);
        let other = Arc::new(Mutex::new(()));
        let mut wait = Polled::new(async move {
            let guard = other.lock().await;
            drop(condvar.wait(guard).await);
        });
        (!wait.poll().is_ready()).then_some(wait)
    };
    let others = |world: &Notified, steps: usize| world.reach_all(4, steps);
    let after = |world: &Notified, waiting: Option<Polled<'static, ()>>| {
        world.condvar.notify_one();
        if let Some(mut waiting) = waiting {
            waiting.finish();
        }
    };
    hold_at_each_step(3, Notified::world, wait, others, after);
}

#[test]
fn who_is_held_at_a_barrier_stops_only_who_waits_for_it() {
    struct World {
        barrier: Arc<Barrier>,
        waiting: Vec<Slot<bool>>,
    }
    let arrive = |barrier: &Arc<Barrier>| {
        let barrier = Arc::clone(barrier);
        let mut wait = Polled::new(async move { barrier.wait().await.is_leader() });
        (wait.poll().is_pending()).then_some(wait)
    };
    let world = || {
        let barrier = Arc::new(Barrier::new(3));
        let waiting = (0..2).map(|_| slot(arrive(&barrier).unwrap())).collect();
        World { barrier, waiting }
    };
    // The one that comes last is held; one that comes after it frees the others, or is the last
    // itself.
    let last = |world: &World| drop(arrive(&world.barrier));
    let one_more = |world: &World, steps: usize| {
        let more = arrive(&world.barrier);
        finish_all(&world.waiting, steps);
        drop(more);
    };
    hold_at_each_step(3, world, last, one_more, |_, ()| {});
    // One that takes its arrival back is held: two more complete the round in any case.
    let leave = |world: &World| drop(taken(&world.waiting[0]));
    let two_more = |world: &World, steps: usize| {
        let more = [arrive(&world.barrier), arrive(&world.barrier)];
        finish_all(&world.waiting, steps);
        assert!(more.iter().flatten().all(|wait| wait.is_woken()) || more[1].is_some());
        drop(more);
    };
    hold_at_each_step(3, world, leave, two_more, |_, ()| {});
}

#[test]
fn a_held_signal_keeps_nobody_who_looks_from_going_on() {
    struct World {
        counter: Arc<JoinCounter>,
        waiting: Vec<Slot<()>>,
    }
    let wait = |counter: &Arc<JoinCounter>| {
        let counter = Arc::clone(counter);
        Polled::new(async move { counter.wait().await })
    };
    let complete = Once::default();
    hold_at_each_step(
        2,
        || {
            let counter = Arc::new(JoinCounter::new(1));
            let waiting = (0..2).map(|_| {
                let mut waiting = wait(&counter);
                assert!(waiting.poll().is_pending());
                slot(waiting)
            });
            let waiting = waiting.collect();
            World { counter, waiting }
        },
        |world| world.counter.signal(),
        |world, steps| {
            // Whoever comes once it is complete frees those who wait; until then nobody goes.
            let is_complete = world.counter.is_complete();
            assert_eq!(wait(&world.counter).poll().is_ready(), is_complete);
            complete.is(is_complete, steps);
            if is_complete {
                finish_all(&world.waiting, steps);
            } else {
                none_is_woken(&world.waiting, steps);
            }
        },
        |world, ()| {
            finish_all(&world.waiting, "after the signal");
            assert!(world.counter.is_complete());
        },
    );
    complete.must_have_come();
}

#[test]
fn a_held_maker_of_a_value_does_not_lose_who_waits() {
    struct World {
        cell: Arc<OnceCell<u32>>,
        maker: Slot<u32>,
        waiting: Vec<Slot<u32>>,
    }
    let get = |cell: &Arc<OnceCell<u32>>, value: Option<u32>| {
        let cell = Arc::clone(cell);
        let mut get = Polled::new(async move {
            let make = async || match value {
                Some(value) => value,
                None => std::future::pending().await,
            };
            *cell.get_or_init(make).await
        });
        assert!(get.poll().is_pending());
        slot(get)
    };
    let get_late = |cell: &Arc<OnceCell<u32>>| get(cell, Some(3));
    let passes_on = Once::default();
    let world = || {
        let cell = Arc::new(OnceCell::new());
        // The maker never ends; it is dropped.
        let maker = get(&cell, None);
        let waiting = vec![get(&cell, Some(1)), get(&cell, Some(2))];
        World { cell, maker, waiting }
    };
    hold_at_each_step(
        3,
        world,
        |world| drop(taken(&world.maker)),
        |world, steps| {
            // Once the next one has the turn, it makes the value, and all have it; until then
            // nobody goes. Whoever comes looks whose turn it is.
            let late = get_late(&world.cell);
            let mut first = taken(&world.waiting[0]);
            let has_turn = first.poll().is_ready();
            passes_on.is(has_turn, steps);
            if has_turn {
                finish_all(&world.waiting[1..], steps);
                finish_all(&[late], steps);
            } else {
                assert_eq!(world.cell.get(), None);
                assert!(!first.is_woken(), "{steps}");
                none_is_woken(&world.waiting[1..], steps);
                *world.waiting[0].lock().unwrap() = Some(first);
            }
        },
        |world, ()| {
            finish_all(&world.waiting, "after the maker has gone");
            assert_eq!(world.cell.get(), Some(&1));
        },
    );
    passes_on.must_have_come();
}
