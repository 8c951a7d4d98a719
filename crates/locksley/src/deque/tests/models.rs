//! Loom models of the deques and the inbox: all interleavings of a few operations, with a bounded
//! number of preemptions.

use std::ptr::NonNull;

use loom::thread;

use super::owners::Owner;
use crate::deque::{ChaseLevOwner, ChaseLevThief, Inbox, Steal, chase_lev};
use crate::header::{Job, Kind};
use crate::numbers::Slot;
use crate::primitive::{AtomicBool, Ordering};
use crate::shared::lineage::Lineage;

/// Makes an item that points to a plain number. Loom reports a race if a thread reads the number
/// before it was published.
fn item(number: usize) -> NonNull<loom::cell::UnsafeCell<usize>> {
    NonNull::from(Box::leak(Box::new(loom::cell::UnsafeCell::new(number))))
}

fn number(item: NonNull<loom::cell::UnsafeCell<usize>>) -> usize {
    // SAFETY: made by `item`, and taken once: `assert_each_once` fails otherwise.
    let cell = unsafe { Box::from_raw(item.as_ptr()) };
    // SAFETY: loom checks that no other thread touches it.
    cell.with(|number| unsafe { *number })
}

type Number = loom::cell::UnsafeCell<usize>;

fn steal_one(thief: &ChaseLevThief<Number>) -> Option<usize> {
    let mut steal = thief.steal_oldest();
    if matches!(steal, Steal::Closed) {
        thief.open_by_force();
        steal = thief.steal_oldest();
    }
    match steal {
        Steal::Taken(item) => Some(number(item)),
        Steal::Empty | Steal::Lost | Steal::Closed => None,
    }
}

fn assert_each_once(mut taken: Vec<usize>, count: usize) {
    taken.sort_unstable();
    assert_eq!(taken, (0..count).collect::<Vec<_>>());
}

/// The deque holds `before` items when the thieves start. The owner pushes `pushes` more, and then
/// pops until the deque is empty.
fn owner_against(thieves: usize, before: usize, pushes: usize, steals: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let (owner, thief) = ChaseLevOwner::deque();
        for n in 0..before {
            owner.push_new(item(n));
        }
        let threads: Vec<_> = (0..thieves)
            .map(|_| {
                let thief = thief.clone();
                thread::spawn(move || {
                    (0..steals).filter_map(|_| steal_one(&thief)).collect::<Vec<_>>()
                })
            })
            .collect();
        for n in before..before + pushes {
            owner.push_new(item(n));
        }
        let mut taken: Vec<_> = std::iter::from_fn(|| owner.pop_newest()).map(number).collect();
        for thread in threads {
            taken.extend(thread.join().unwrap());
        }
        assert_eq!(owner.pop_newest().map(number), None);
        assert_each_once(taken, before + pushes);
    });
}

#[test]
fn loom_deque_one_item_one_thief() {
    owner_against(1, 1, 0, 1);
}

#[test]
fn loom_deque_one_item_two_thieves() {
    owner_against(2, 1, 0, 1);
}

#[test]
fn loom_deque_two_items_two_thieves() {
    owner_against(2, 2, 0, 1);
}

#[test]
fn loom_deque_thief_starts_at_an_empty_deque() {
    owner_against(1, 0, 1, 2);
}

#[test]
fn loom_deque_two_pushes_during_a_steal() {
    owner_against(1, 0, 2, 1);
}

#[test]
fn loom_deque_grows_under_one_thief() {
    owner_against(1, 2, 1, 2); // the first ring has two slots
}

#[test]
fn loom_deque_grows_under_two_thieves() {
    owner_against(2, 2, 1, 1);
}

#[test]
fn loom_deque_slots_are_reused_while_a_thief_reads() {
    // Two slots: the third push uses the first item's slot, if a thief has taken that item.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let (owner, thief) = ChaseLevOwner::deque();
        owner.push_new(item(0));
        let first = thief.clone();
        let second = thief.clone();
        let first = thread::spawn(move || steal_one(&first));
        let second = thread::spawn(move || steal_one(&second));
        owner.push_new(item(1));
        let mut taken: Vec<_> = owner.pop_newest().map(number).into_iter().collect();
        owner.push_new(item(2));
        taken.extend(std::iter::from_fn(|| owner.pop_newest()).map(number));
        taken.extend(first.join().unwrap());
        taken.extend(second.join().unwrap());
        assert_each_once(taken, 3);
    });
}

/// Runs the owner's operations, one character each: `+` push, `-` pop, `(` close, `)` open.
fn run(script: &str, owner: &ChaseLevOwner<Number>, pushed: &mut usize) -> Vec<usize> {
    let mut taken = Vec::new();
    for step in script.chars() {
        match step {
            '+' => {
                owner.push_new(item(*pushed));
                *pushed += 1;
            }
            '-' => taken.extend(owner.pop_newest().map(number)),
            '(' => drop(owner.close()),
            _ => owner.open(),
        }
    }
    taken
}

/// The owner runs the script `before`, the thieves start, and the owner runs `then`.
fn closing_owner_against(thieves: usize, before: &'static str, then: &'static str) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4 - thieves);
    model.check(move || {
        let (owner, thief) = chase_lev(Some(2));
        let mut pushed = 0;
        let mut taken = run(before, &owner, &mut pushed);
        let threads: Vec<_> = (0..thieves)
            .map(|_| {
                let thief = thief.clone();
                thread::spawn(move || steal_one(&thief))
            })
            .collect();
        taken.extend(run(then, &owner, &mut pushed));
        for thread in threads {
            taken.extend(thread.join().unwrap());
        }
        taken.extend(std::iter::from_fn(|| owner.pop_newest()).map(number));
        assert_each_once(taken, pushed);
    });
}

#[test]
fn loom_deque_closed_with_one_item() {
    closing_owner_against(1, "(+", "-");
}

#[test]
fn loom_deque_closed_with_two_items() {
    closing_owner_against(1, "(++", "--");
}

#[test]
fn loom_deque_closed_against_two_thieves() {
    closing_owner_against(2, "(+", "-");
}

#[test]
fn loom_deque_closed_and_growing() {
    closing_owner_against(1, "(++", "+-"); // the first ring has two slots
}

#[test]
fn loom_deque_is_closed_during_a_steal() {
    closing_owner_against(1, "+", "(-");
}

#[test]
fn loom_deque_is_closed_during_two_steals() {
    closing_owner_against(2, "+", "(-");
}

#[test]
fn loom_deque_is_closed_again_after_an_old_request() {
    closing_owner_against(1, "(+", ")(-");
}

#[test]
fn loom_deque_is_closed_again_with_another_item() {
    closing_owner_against(1, "(+", "-+)(-");
}

fn inbox_model(check: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(check);
}

/// Leapfrogging: a fork runs, and spawns an unrelated task. Then it ends, and the owner begins
/// another one, which forks. The thread that waited for the first fork takes neither task.
#[test]
fn loom_deque_a_waiting_thread_takes_only_descendants() {
    static FORK: Kind = Kind::of_group(|_, _, _| ());
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4);
    model.check(|| {
        let (owner, thief) = chase_lev::<Number>(None);
        let fork = loom::sync::Arc::new(Job::of(&FORK));
        let lineage = loom::sync::Arc::new(Lineage::new());
        fork.mark_stolen(Slot::new(0), owner.bottom());
        let waiter = thread::spawn({
            let (fork, lineage) = (fork.clone(), lineage.clone());
            move || {
                let theft = fork.theft()?;
                let is_wanted = |position| lineage.is_descendant(&fork, theft, position);
                match thief.steal_oldest_if(is_wanted) {
                    Steal::Taken(item) => Some(number(item)),
                    Steal::Empty | Steal::Lost | Steal::Closed => None,
                }
            }
        });
        // What the fork has forked, and takes back. It may be stolen.
        owner.push_new(item(0));
        let taken_back = owner.pop_newest().map(number);
        lineage.end_at(owner.bottom());
        owner.push_new(item(1));
        fork.latch().set();
        lineage.reset();
        owner.push_new(item(2));
        let stolen = waiter.join().unwrap();
        let left = [owner.pop_newest(), owner.pop_newest()].map(|it| it.map(number));
        assert_eq!(left, [Some(2), Some(1)]);
        assert_each_once(taken_back.into_iter().chain(stolen).collect(), 1);
    });
}

/// The owner changes its note after it has popped what it pushed under the old note.
/// A thief that wants items of the old note gets no other, although it reads the note without
/// ordering.
#[test]
fn loom_deque_a_thief_takes_only_an_item_that_it_wants() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4);
    model.check(|| {
        let (owner, thief) = chase_lev::<Number>(None);
        let is_noted = loom::sync::Arc::new(AtomicBool::new(true));
        let note = is_noted.clone();
        let thief = thread::spawn(move || {
            let is_wanted = |_| note.load(Ordering::Relaxed);
            match thief.steal_oldest_if(is_wanted) {
                Steal::Taken(item) => Some(number(item)),
                Steal::Empty | Steal::Lost | Steal::Closed => None,
            }
        });
        owner.push_new(item(0));
        let taken_back = owner.pop_newest().map(number);
        is_noted.store(false, Ordering::Relaxed);
        owner.push_new(item(1));
        let stolen = thief.join().unwrap();
        assert_eq!(owner.pop_newest().map(number), Some(1));
        assert_each_once(taken_back.into_iter().chain(stolen).collect(), 1);
    });
}

#[test]
fn loom_inbox_two_senders_one_taker() {
    inbox_model(|| {
        let inbox = loom::sync::Arc::new(Inbox::new());
        let senders: Vec<_> = (0..2)
            .map(|n| {
                let inbox = inbox.clone();
                thread::spawn(move || inbox.send(item(n)))
            })
            .collect();
        let mut taken: Vec<_> = inbox.take().map(number).into_iter().collect();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        taken.extend(std::iter::from_fn(|| inbox.take()).map(number));
        assert!(inbox.is_empty());
        assert_each_once(taken, 2);
    });
}

#[test]
fn loom_inbox_two_takers() {
    inbox_model(|| {
        let inbox = loom::sync::Arc::new(Inbox::new());
        inbox.send(item(0));
        inbox.send(item(1));
        let other = inbox.clone();
        let other = thread::spawn(move || other.take().map(number));
        let mut taken: Vec<_> = inbox.take().map(number).into_iter().collect();
        taken.extend(other.join().unwrap());
        taken.extend(inbox.take().map(number));
        assert_each_once(taken, 2);
    });
}

/// One taker finds the inbox full, and the other one empties it. Then a sender has linked its node,
/// and has not advanced the tail yet.
#[test]
fn loom_inbox_two_takers_and_a_sender() {
    inbox_model(|| {
        let inbox = loom::sync::Arc::new(Inbox::new());
        inbox.send(item(0));
        let sender = inbox.clone();
        let sender = thread::spawn(move || sender.send(item(1)));
        let other = inbox.clone();
        let other = thread::spawn(move || other.take().map(number));
        let mut taken: Vec<_> = inbox.take().map(number).into_iter().collect();
        taken.extend(other.join().unwrap());
        sender.join().unwrap();
        taken.extend(std::iter::from_fn(|| inbox.take()).map(number));
        assert_each_once(taken, 2);
    });
}

#[test]
fn loom_inbox_nodes_are_freed_while_another_takes() {
    inbox_model(|| {
        let inbox = loom::sync::Arc::new(Inbox::new());
        inbox.send(item(0));
        let other = inbox.clone();
        let other = thread::spawn(move || {
            other.send(item(1));
            other.take().map(number)
        });
        let mut taken: Vec<_> = inbox.take().map(number).into_iter().collect();
        taken.extend(inbox.take().map(number));
        taken.extend(other.join().unwrap());
        taken.extend(std::iter::from_fn(|| inbox.take()).map(number));
        assert_each_once(taken, 2);
    });
}

#[test]
fn loom_inbox_a_linked_item_is_seen() {
    inbox_model(|| {
        let inbox = loom::sync::Arc::new(Inbox::new());
        inbox.send(item(0));
        let other = inbox.clone();
        let sender = thread::spawn(move || other.send(item(1)));
        assert!(!inbox.is_empty());
        assert_eq!(inbox.take().map(number), Some(0));
        sender.join().unwrap();
        assert_eq!(inbox.take().map(number), Some(1));
    });
}

/// A sender may be suspended between its two steps, and another one makes the second for it.
#[test]
fn loom_inbox_an_item_whose_sending_has_ended_is_seen() {
    inbox_model(|| {
        let shared = loom::sync::Arc::new((Inbox::new(), [(); 2].map(|()| AtomicBool::new(false))));
        let senders = [0, 1].map(|n| {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.0.send(item(n));
                shared.1[n].store(true, Ordering::Release);
            })
        });
        let (inbox, ended) = &*shared;
        let has_any_ended = ended.iter().any(|ended| ended.load(Ordering::Acquire));
        let mut taken = Vec::new();
        if has_any_ended {
            assert!(!inbox.is_empty());
            taken.push(number(inbox.take().unwrap()));
        }
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        taken.extend(std::iter::from_fn(|| inbox.take()).map(number));
        assert_each_once(taken, 2);
    });
}
