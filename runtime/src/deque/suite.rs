//! The tests that every deque passes, against a simple oracle, and those of the inbox.
//!
//! A new deque gets all of them by one line at the end of this file.

use std::collections::VecDeque;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::Pushed;
use super::contract::{Kind, Owner, Steal, Thief};
use super::inbox::Inbox;
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
                    "a lost steal means that somebody else progressed"
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

/// The stall harness: holds the owner or a thief at each step of one operation; the others reach all other items.
fn a_held_thread_hides_nothing<K: Kind>() {
    // (items before, what is held: 0 push, 1 pop, 2 steal)
    for (before, what) in [(0, 0), (1, 0), (2, 0), (3, 0), (1, 1), (2, 1), (3, 1), (1, 2), (3, 2)] {
        let all = before + usize::from(what == 0);
        for steps in 0.. {
            let (owner, thief) = K::pair::<u64>();
            for n in 0..before {
                owner.push_new(item(n));
            }
            let gate = Arc::new(Gate::default());
            let (held, mut taken, late) = thread::scope(|scope| {
                let (thief, gate) = (&thief, &gate);
                let operation = scope.spawn(move || {
                    stepped::arm(steps, gate);
                    let own = match what {
                        0 => {
                            owner.push_new(item(before));
                            None
                        }
                        1 => owner.pop_newest(),
                        _ => match steal(thief) {
                            Steal::Taken(item) => Some(item),
                            Steal::Empty | Steal::Lost | Steal::Kept => None,
                        },
                    };
                    stepped::disarm();
                    own.map(number)
                });
                let held = gate.wait_until_held();
                let others = take_all(thief);
                gate.open();
                (held, others, operation.join().unwrap())
            });
            let reached = taken.len();
            assert!(reached + 1 >= all, "step {steps} of {what} hides {taken:?} of {all}");
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

macro_rules! deque_suite {
    ($($name:ident: $kind:ty;)*) => {$(
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
            fn a_held_thread_hides_nothing() {
                super::a_held_thread_hides_nothing::<$kind>();
            }
        }
    )*};
}

struct ChaseLev;

impl Kind for ChaseLev {
    type Owner<T: 'static> = super::ChaseLevOwner<T>;
    type Thief<T: 'static> = super::ChaseLevThief<T>;
    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>) {
        super::chase_lev(crate::os::heavy_barrier_works())
    }
}

/// The same, closed by its owner whenever it may be.
struct ClosedChaseLev;

struct Closing<T>(super::ChaseLevOwner<T>);

impl<T> Owner<T> for Closing<T> {
    fn push_new(&self, item: NonNull<T>) {
        let (index, done) = self.0.push(item);
        if !done && self.0.at_the_ceiling(index) == Pushed::Openly && self.0.should_close() {
            self.0.close();
        }
    }
    fn pop_newest(&self) -> Option<NonNull<T>> {
        self.0.pop_newest()
    }
}

impl Kind for ClosedChaseLev {
    type Owner<T: 'static> = Closing<T>;
    type Thief<T: 'static> = super::ChaseLevThief<T>;
    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>) {
        let may_close = crate::os::heavy_barrier_works();
        let (owner, thief) = super::chase_lev(may_close);
        if may_close {
            assert!(owner.close(), "no thief is there yet");
        }
        (Closing(owner), thief)
    }
}

deque_suite! {
    chase_lev: ChaseLev;
    closed_chase_lev: ClosedChaseLev;
}
