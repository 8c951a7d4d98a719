//! The tests that a deque passes, whether its owner closes it or not, and those of the inbox.

use std::collections::VecDeque;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::owners::{Closing, Owner};
use crate::deque::{ChaseLevOwner, ChaseLevThief, Inbox, Steal, chase_lev};
use crate::primitive::stepped::{self, Gate};

/// An item that stands for a number. It is never followed.
fn item(number: usize) -> NonNull<u64> {
    NonNull::new(ptr::without_provenance_mut(number * 8 + 8)).unwrap()
}

fn number(item: NonNull<u64>) -> usize {
    item.as_ptr().addr() / 8 - 1
}

/// Steals, from a deque that is opened by force if necessary.
fn steal(thief: &ChaseLevThief<u64>) -> Steal<u64> {
    match thief.steal_oldest() {
        Steal::Closed => {
            thief.open_by_force();
            thief.steal_oldest()
        }
        steal => steal,
    }
}

/// Steals until the deque is empty.
fn take_all(thief: &ChaseLevThief<u64>) -> Vec<usize> {
    let mut taken = Vec::new();
    let mut lost_in_a_row = 0;
    loop {
        match steal(thief) {
            Steal::Taken(item) => taken.push(number(item)),
            Steal::Empty => return taken,
            Steal::Lost | Steal::Closed => {
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

/// A pseudorandom generator (splitmix64, Steele, Lea and Flood 2014).
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % limit
    }
}

fn owner_takes_newest_and_thief_oldest<O: Owner<u64>>() {
    let (owner, thief) = O::deque();
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

fn agrees_with_a_vec_deque<O: Owner<u64>>() {
    for seed in 0..200 {
        let mut choices = Choices(seed);
        let (owner, thief) = O::deque();
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

fn each_item_is_taken_once<O: Owner<u64>>() {
    const ITEMS: usize = 20_000;
    for thieves in [1, 4] {
        let (owner, thief) = O::deque();
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
                // A nearly empty deque makes the owner compete with thieves. A burst makes it grow.
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

/// The operation during which the stall harness holds a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Push,
    Pop,
    Steal,
}

impl Operation {
    /// Runs the operation, in which a push adds item `new`. Returns the item that it took.
    fn run(self, owner: &impl Owner<u64>, thief: &ChaseLevThief<u64>, new: usize) -> Option<usize> {
        let taken = match self {
            Operation::Push => {
                owner.push_new(item(new));
                None
            }
            Operation::Pop => owner.pop_newest(),
            Operation::Steal => match steal(thief) {
                Steal::Taken(item) => Some(item),
                Steal::Empty | Steal::Lost | Steal::Closed => None,
            },
        };
        taken.map(number)
    }
}

/// The stall harness: while the owner or a thief is held at any step of one operation, other
/// threads reach all other items.
fn a_held_thread_hides_nothing<O: Owner<u64>>() {
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
            let (owner, thief) = O::deque();
            for n in 0..before {
                owner.push_new(item(n));
            }
            let gate = Arc::new(Gate::default());
            let (held, mut taken, late) = thread::scope(|scope| {
                let (thief, gate) = (&thief, &gate);
                let held_one = scope.spawn(move || {
                    stepped::arm(steps, gate);
                    let own = operation.run(&owner, thief, before);
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
                // Meanwhile this thread sends and takes.
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
                taken.push(before); // this case does not send it
            }
            assert_each_once(taken, before + 2);
            if !held {
                break;
            }
        }
    }
}

/// An item that is not wanted stays.
#[test]
fn a_thief_takes_only_an_item_that_it_wants() {
    let (owner, thief) = chase_lev(None);
    let never = |_| -> bool { unreachable!("the deque is empty") };
    assert_eq!(thief.steal_oldest_if(never), Steal::Empty);
    (0..3).for_each(|n| owner.push_new(item(n)));
    assert_eq!(thief.steal_oldest_if(|index| index > 0), Steal::Lost);
    assert_eq!(thief.steal_oldest_if(|index| index == 0), Steal::Taken(item(0)));
    // During the decision, the oldest item is popped, and another one takes its slot.
    let changes = |index| {
        assert_eq!(index, 1);
        assert_eq!(owner.pop_newest(), Some(item(2)));
        assert_eq!(owner.pop_newest(), Some(item(1)));
        (3..6).for_each(|n| owner.push_new(item(n)));
        true
    };
    assert_eq!(thief.steal_oldest_if(changes), Steal::Lost);
    assert_eq!(thief.steal_oldest(), Steal::Taken(item(3)));
}

/// A random sequence of operations, compared with a list.
#[test]
fn the_inbox_agrees_with_a_list() {
    let mut random = 1_u64;
    let mut choose = |among: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % among
    };
    for _ in 0..200 {
        let (inbox, mut list) = (Inbox::new(), VecDeque::new());
        for n in 0..60 {
            if choose(2) == 0 {
                inbox.send(item(n));
                list.push_back(n);
            } else {
                assert_eq!(inbox.take().map(number), list.pop_front());
            }
            assert_eq!(inbox.is_empty(), list.is_empty());
        }
        assert!(inbox_take_all(&inbox).into_iter().eq(list));
    }
}

/// A push that makes room in a closed deque overwrites no request: the next push opens it.
#[test]
fn a_request_at_any_step_of_a_push_is_kept() {
    for steps in 0.. {
        let (owner, thief) = chase_lev(Some(2));
        assert!(owner.close() && owner.push(item(0)).is_complete);
        let gate = Arc::new(Gate::default());
        let (held, owner) = thread::scope(|scope| {
            let gate_of_owner = &gate;
            let owner = scope.spawn(move || {
                stepped::arm(steps, gate_of_owner);
                owner.push_new(item(1)); // the first ring has two slots
                stepped::disarm();
                owner
            });
            let held = gate.wait_until_held();
            let _ = thief.request_open();
            gate.open();
            (held, owner.join().unwrap())
        });
        assert!(!owner.push(item(2)).is_complete, "step {steps} loses the request");
        if !held {
            break;
        }
    }
}

macro_rules! deque_suite {
    ($($name:ident: $owner:ty;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn owner_takes_newest_and_thief_oldest() {
                super::owner_takes_newest_and_thief_oldest::<$owner>();
            }
            #[test]
            fn agrees_with_a_vec_deque() {
                super::agrees_with_a_vec_deque::<$owner>();
            }
            #[test]
            fn each_item_is_taken_once() {
                super::each_item_is_taken_once::<$owner>();
            }
            #[test]
            fn a_held_thread_hides_nothing() {
                super::a_held_thread_hides_nothing::<$owner>();
            }
        }
    )*};
}

deque_suite! {
    open_deque: ChaseLevOwner<u64>;
    closed_deque: Closing<u64>;
}
