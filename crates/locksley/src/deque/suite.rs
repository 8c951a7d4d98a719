//! The tests that every deque passes, against a simple oracle, and those of the inbox and the
//! pinned queue.
//!
//! A new deque gets all of them by one line at the end of this file.

use std::collections::VecDeque;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::chase_lev::chase_lev;
use super::contract::{Kind, Owner, Steal, Thief};
use super::inbox::Inbox;
use super::kinds::{AbpArray, AbpBarrier, Blocking, ChaseLev, ClosedChaseLev, Spinning, WithLock};
use super::pinned_queue::{Reader, pinned_queue};
use crate::primitive::stepped::{self, Gate};

/// An item that stands for a number. Never followed.
fn item(number: usize) -> NonNull<u64> {
    NonNull::new(ptr::without_provenance_mut(number * 8 + 8)).unwrap()
}

fn number(item: NonNull<u64>) -> usize {
    item.as_ptr().addr() / 8 - 1
}

/// An attempt, for which the deque is opened if that takes force.
fn steal<T: Thief<u64>>(thief: &T) -> Steal<u64> {
    match thief.steal_oldest() {
        Steal::Kept => {
            thief.open_by_force();
            thief.steal_oldest()
        }
        steal => steal,
    }
}

/// Takes until there is nothing left.
fn take_all<T: Thief<u64>>(thief: &T) -> Vec<usize> {
    let mut taken = Vec::new();
    let mut lost_in_a_row = 0;
    loop {
        match steal(thief) {
            Steal::Taken(item) => taken.push(number(item)),
            Steal::Empty => return taken,
            Steal::Lost | Steal::Kept => {
                lost_in_a_row += 1;
                assert!(
                    lost_in_a_row < 1_000_000,
                    "a lost steal means that another thread progressed"
                );
                continue;
            }
        }
        lost_in_a_row = 0;
    }
}

fn assert_each_once(mut taken: Vec<usize>, count: usize) {
    taken.sort_unstable();
    assert_eq!(taken, (0..count).collect::<Vec<_>>());
}

/// A small generator for choices (splitmix64, Steele, Lea and Flood 2014).
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % limit
    }
}

fn owner_takes_newest_and_thief_oldest<K: Kind>() {
    let (owner, thief) = K::pair::<u64>();
    assert_eq!(owner.pop_newest(), None);
    assert_eq!(thief.steal_oldest(), Steal::Empty);
    for n in 0..4 {
        owner.push_new(item(n));
    }
    assert!(!thief.is_empty());
    assert_eq!(owner.pop_newest().map(number), Some(3));
    assert_eq!(steal(&thief), Steal::Taken(item(0)));
    assert_eq!(owner.pop_newest().map(number), Some(2));
    assert_eq!(steal(&thief.clone()), Steal::Taken(item(1)));
    assert!(thief.is_empty());
    assert_eq!(owner.pop_newest(), None);
}

fn agrees_with_a_vec_deque<K: Kind>() {
    for seed in 0..200 {
        let mut choices = Choices(seed);
        let (owner, thief) = K::pair::<u64>();
        let mut oracle = VecDeque::new();
        // Some runs mostly push, so that the deque grows; others keep it near empty.
        let pushes = 2 + choices.below(6);
        for n in 0..400 {
            match choices.below(8) {
                choice if choice < pushes => {
                    owner.push_new(item(n));
                    oracle.push_back(n);
                }
                choice if choice % 2 == 0 => {
                    assert_eq!(owner.pop_newest().map(number), oracle.pop_back());
                }
                _ => {
                    let expected =
                        oracle.pop_front().map_or(Steal::Empty, |n| Steal::Taken(item(n)));
                    assert_eq!(steal(&thief), expected);
                }
            }
            assert_eq!(thief.is_empty(), oracle.is_empty());
        }
    }
}

fn each_item_is_taken_once<K: Kind>() {
    const ITEMS: usize = 20_000;
    for thieves in [1, 4] {
        let (owner, thief) = K::pair::<u64>();
        let over = AtomicBool::new(false);
        let mut taken = Vec::new();
        thread::scope(|scope| {
            let threads: Vec<_> = (0..thieves)
                .map(|_| {
                    scope.spawn(|| {
                        let mut mine = Vec::new();
                        while !over.load(Ordering::Acquire) {
                            mine.extend(take_all(&thief));
                            thread::yield_now();
                        }
                        mine.extend(take_all(&thief));
                        mine
                    })
                })
                .collect();
            let mut choices = Choices(thieves);
            for n in 0..ITEMS {
                owner.push_new(item(n));
                // Near empty the owner meets the thieves; in bursts the deque grows.
                if choices.below(1000) > 2 * (n as u64 % 500) {
                    taken.extend(owner.pop_newest().map(number));
                }
            }
            while let Some(item) = owner.pop_newest() {
                taken.push(number(item));
            }
            over.store(true, Ordering::Release);
            for thread in threads {
                taken.extend(thread.join().unwrap());
            }
        });
        assert_each_once(taken, ITEMS);
    }
}

/// What the stall harness holds a thread in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Push,
    Pop,
    Steal,
}

impl Operation {
    /// Carries it out; a push adds the item of this number. What it took is the caller's.
    fn run<K: Kind>(
        self,
        owner: &K::Owner<u64>,
        thief: &K::Thief<u64>,
        new: usize,
    ) -> Option<usize> {
        let taken = match self {
            Operation::Push => {
                owner.push_new(item(new));
                None
            }
            Operation::Pop => owner.pop_newest(),
            Operation::Steal => match steal(thief) {
                Steal::Taken(item) => Some(item),
                Steal::Empty | Steal::Lost | Steal::Kept => None,
            },
        };
        taken.map(number)
    }
}

/// The stall harness: holds the owner or a thief at each step of one operation; the others reach
/// all other items.
fn a_held_thread_hides_nothing<K: Kind>() {
    use Operation::{Pop, Push, Steal};
    let cases = [
        (0, Push),
        (1, Push),
        (2, Push),
        (3, Push),
        (1, Pop),
        (2, Pop),
        (3, Pop),
        (1, Steal),
        (3, Steal),
    ];
    for (before, operation) in cases {
        let all = before + usize::from(operation == Push);
        for steps in 0.. {
            let (owner, thief) = K::pair::<u64>();
            for n in 0..before {
                owner.push_new(item(n));
            }
            let gate = Arc::new(Gate::default());
            let (held, mut taken, late) = thread::scope(|scope| {
                let (thief, gate) = (&thief, &gate);
                let held_one = scope.spawn(move || {
                    stepped::arm(steps, gate);
                    let own = operation.run::<K>(&owner, thief, before);
                    stepped::disarm();
                    own
                });
                let held = gate.wait_until_held();
                let others = take_all(thief);
                gate.open();
                (held, others, held_one.join().unwrap())
            });
            let reached = taken.len();
            assert!(reached + 1 >= all, "step {steps} of {operation:?} hides {taken:?} of {all}");
            taken.extend(late);
            taken.extend(take_all(&thief));
            assert_each_once(taken, all);
            if !held {
                assert!(steps > 0, "the operation has steps");
                break;
            }
        }
    }
}

/// The stall harness where there is a lock: each operation has a step at which the thread that is
/// held keeps everybody else out, whatever they do. That is why such deques are only here to be
/// compared with.
fn a_held_thread_keeps_the_others_waiting<K: WithLock>() {
    for operation in [Operation::Push, Operation::Pop, Operation::Steal] {
        let mut kept = Vec::new();
        for steps in 0.. {
            let (owner, thief) = K::pair::<u64>();
            for n in 0..3 {
                owner.push_new(item(n));
            }
            let gate = Arc::new(Gate::default());
            let (held, mut taken) = thread::scope(|scope| {
                let (thief, gate) = (&thief, &gate);
                let held_one = scope.spawn(move || {
                    stepped::arm(steps, gate);
                    let own = operation.run::<K>(&owner, thief, 3);
                    stepped::disarm();
                    own
                });
                let held = gate.wait_until_held();
                let others = scope.spawn(|| take_all(thief));
                // They finish, or they find the lock taken; then nothing but the held thread can
                // let them in.
                while !others.is_finished() && K::meter(thief).waits() == 0 {
                    thread::yield_now();
                }
                if K::meter(thief).waits() > 0 {
                    assert!(held && !others.is_finished());
                    kept.push(steps);
                }
                gate.open();
                let mut taken = others.join().unwrap();
                taken.extend(held_one.join().unwrap());
                (held, taken)
            });
            taken.extend(take_all(&thief));
            assert_each_once(taken, 3 + usize::from(operation == Operation::Push));
            if !held {
                break;
            }
        }
        assert!(
            !kept.is_empty(),
            "at no step of {operation:?} does it matter which thread is held"
        );
    }
}

fn inbox_take_all(inbox: &Inbox<u64>) -> Vec<usize> {
    std::iter::from_fn(|| inbox.take()).map(number).collect()
}

#[test]
fn the_inbox_is_first_in_first_out() {
    let inbox = Inbox::new();
    assert!(inbox.is_empty());
    assert_eq!(inbox.take(), None);
    for n in 0..100 {
        inbox.send(item(n));
        assert!(!inbox.is_empty());
    }
    assert_eq!(inbox_take_all(&inbox), (0..100).collect::<Vec<_>>());
    assert!(inbox.is_empty());
    inbox.send(item(7));
    drop(inbox); // frees its nodes
}

#[test]
fn the_inbox_keeps_each_senders_order_and_every_item() {
    const SENDERS: usize = 3;
    const ITEMS: usize = 3_000;
    let inbox = Inbox::new();
    let over = AtomicBool::new(false);
    let all = thread::scope(|scope| {
        let takers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut mine = Vec::new();
                    while !over.load(Ordering::Acquire) {
                        mine.extend(inbox_take_all(&inbox));
                    }
                    mine.extend(inbox_take_all(&inbox));
                    mine
                })
            })
            .collect();
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let inbox = &inbox;
                scope.spawn(move || (0..ITEMS).for_each(|n| inbox.send(item(n * SENDERS + sender))))
            })
            .collect();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        over.store(true, Ordering::Release);
        takers.into_iter().map(|taker| taker.join().unwrap()).collect::<Vec<_>>()
    });
    for taken in &all {
        for sender in 0..SENDERS {
            assert!(taken.iter().filter(|&&n| n % SENDERS == sender).is_sorted());
        }
    }
    assert_each_once(all.concat(), SENDERS * ITEMS);
}

#[test]
fn a_held_sender_or_taker_hides_nothing_in_the_inbox() {
    for (before, sends) in [(0, true), (2, true), (1, false), (3, false)] {
        for steps in 0.. {
            let inbox = Inbox::new();
            (0..before).for_each(|n| inbox.send(item(n)));
            let gate = Arc::new(Gate::default());
            let (held, mut taken, late) = thread::scope(|scope| {
                let operation = scope.spawn(|| {
                    stepped::arm(steps, &gate);
                    let own = if sends {
                        inbox.send(item(before));
                        None
                    } else {
                        inbox.take().map(number)
                    };
                    stepped::disarm();
                    own
                });
                let held = gate.wait_until_held();
                // Others go on sending and taking.
                inbox.send(item(before + 1));
                let others = inbox_take_all(&inbox);
                gate.open();
                (held, others, operation.join().unwrap())
            });
            assert!(
                taken.contains(&(before + 1)),
                "step {steps} (sends: {sends}) hides a later item"
            );
            let hidden = (0..before).filter(|n| !taken.contains(n)).count();
            assert!(
                hidden <= usize::from(!sends),
                "step {steps} (sends: {sends}) hides earlier items"
            );
            taken.extend(late);
            taken.extend(inbox_take_all(&inbox));
            if !sends {
                taken.push(before); // was not sent here
            }
            assert_each_once(taken, before + 2);
            if !held {
                break;
            }
        }
    }
}

/// What is not wanted stays, and what the owner did before it pushed the item is seen by the thread
/// that decides.
#[test]
fn a_thief_takes_what_it_wants() {
    let (owner, thief) = chase_lev(false);
    let never = || -> bool { unreachable!("there is nothing") };
    assert_eq!(thief.steal_oldest_if(never), Steal::Empty);
    (0..3).for_each(|n| owner.push_new(item(n)));
    assert_eq!(thief.steal_oldest_if(|| false), Steal::Lost);
    assert_eq!(thief.steal_oldest_if(|| true), Steal::Taken(item(0)));
    // While it decides, the oldest goes, and something else comes to lie there.
    let changes = || {
        assert_eq!(owner.pop_newest(), Some(item(2)));
        assert_eq!(owner.pop_newest(), Some(item(1)));
        (3..6).for_each(|n| owner.push_new(item(n)));
        true
    };
    assert_eq!(thief.steal_oldest_if(changes), Steal::Lost);
    assert_eq!(thief.steal_oldest(), Steal::Taken(item(3)));
}

fn read_all(pinned_tasks: &Reader<u64>) -> Vec<usize> {
    std::iter::from_fn(|| pinned_tasks.take()).map(number).collect()
}

#[test]
fn the_pinned_queue_is_first_in_first_out() {
    let (pinned_queue, pinned_tasks) = pinned_queue();
    assert!(pinned_tasks.is_empty());
    assert_eq!(pinned_tasks.take(), None);
    (0..100).for_each(|n| pinned_queue.send(item(n)));
    // Half of what was fetched is taken, and then more is sent.
    assert_eq!(
        (0..50).map(|_| number(pinned_tasks.take().unwrap())).collect::<Vec<_>>(),
        Vec::from_iter(0..50)
    );
    assert!(!pinned_tasks.is_empty());
    (100..150).for_each(|n| pinned_queue.send(item(n)));
    assert_eq!(read_all(&pinned_tasks), Vec::from_iter(50..150));
    assert!(pinned_tasks.is_empty());
    // What is not taken is freed with it, wherever it lies.
    (0..3).for_each(|n| pinned_queue.send(item(n)));
    assert_eq!(pinned_tasks.take().map(number), Some(0));
    pinned_queue.send(item(3));
    drop(pinned_tasks);
    pinned_queue.send(item(4));
}

/// Against a list, with what is fetched and what is not in all proportions.
#[test]
fn the_pinned_queue_agrees_with_a_list() {
    let mut random = 1_u64;
    let mut choose = |among: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % among
    };
    for _ in 0..200 {
        let ((pinned_queue, pinned_tasks), mut list) = (pinned_queue(), Vec::new());
        for n in 0..60 {
            if choose(2) == 0 {
                pinned_queue.send(item(n));
                list.push(n);
            } else {
                let first = (!list.is_empty()).then(|| list.remove(0));
                assert_eq!(pinned_tasks.take().map(number), first);
            }
            assert_eq!(pinned_tasks.is_empty(), list.is_empty());
        }
        assert_eq!(read_all(&pinned_tasks), list);
    }
}

#[test]
fn the_pinned_queue_keeps_each_senders_order_and_every_item() {
    const SENDERS: usize = 3;
    const ITEMS: usize = 3_000;
    let (pinned_queue, pinned_tasks) = pinned_queue();
    let taken = thread::scope(|scope| {
        for sender in 0..SENDERS {
            let pinned_queue = &pinned_queue;
            scope.spawn(move || {
                (0..ITEMS).for_each(|n| pinned_queue.send(item(n * SENDERS + sender)))
            });
        }
        let mut taken = Vec::new();
        while taken.len() < SENDERS * ITEMS {
            taken.extend(read_all(&pinned_tasks));
        }
        taken
    });
    for sender in 0..SENDERS {
        assert!(taken.iter().filter(|&&n| n % SENDERS == sender).is_sorted());
    }
    assert_each_once(taken, SENDERS * ITEMS);
}

#[test]
fn a_held_sender_hides_nothing_in_the_pinned_queue() {
    for before in [0, 2] {
        for steps in 0.. {
            let (pinned_queue, pinned_tasks) = pinned_queue();
            (0..before).for_each(|n| pinned_queue.send(item(n)));
            let gate = Arc::new(Gate::default());
            let (held, mut taken) = thread::scope(|scope| {
                scope.spawn(|| {
                    stepped::arm(steps, &gate);
                    pinned_queue.send(item(before));
                    stepped::disarm();
                });
                let held = gate.wait_until_held();
                pinned_queue.send(item(before + 1));
                let taken = read_all(&pinned_tasks);
                gate.open();
                (held, taken)
            });
            let others = |n: &usize| *n != before;
            let seen: Vec<_> = taken.iter().copied().filter(others).collect();
            let sent: Vec<_> = (0..before + 2).filter(others).collect();
            assert_eq!(seen, sent, "step {steps} hides something");
            taken.extend(read_all(&pinned_tasks));
            assert_each_once(taken, before + 2);
            if !held {
                break;
            }
        }
    }
}

macro_rules! deque_suite {
    ($($name:ident: $kind:ty, $harness:ident;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn owner_takes_newest_and_thief_oldest() {
                super::owner_takes_newest_and_thief_oldest::<$kind>();
            }
            #[test]
            fn agrees_with_a_vec_deque() {
                super::agrees_with_a_vec_deque::<$kind>();
            }
            #[test]
            fn each_item_is_taken_once() {
                super::each_item_is_taken_once::<$kind>();
            }
            #[test]
            fn $harness() {
                super::$harness::<$kind>();
            }
        }
    )*};
}

deque_suite! {
    chase_lev: ChaseLev, a_held_thread_hides_nothing;
    closed_chase_lev: ClosedChaseLev, a_held_thread_hides_nothing;
    abp_array: AbpArray, a_held_thread_hides_nothing;
    abp_barrier: AbpBarrier, a_held_thread_hides_nothing;
    spinning_lock: Spinning, a_held_thread_keeps_the_others_waiting;
    blocking_lock: Blocking, a_held_thread_keeps_the_others_waiting;
}
