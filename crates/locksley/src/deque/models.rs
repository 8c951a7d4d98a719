//! What the model checker runs: interleavings of a few operations, with up to two, three or five
//! preemptions, under every outcome that the memory model allows. Run with `--cfg loom` (see
//! CONTRIBUTING.md).

use std::ptr::NonNull;

use loom::thread;

use super::Closable as _;
use super::contract::{Kind, Owner, Steal, Thief};
use super::inbox::Inbox;
use super::kinds::{AbpArray, AbpBarrier, ChaseLev};
use super::pinned_queue::pinned_queue;
use super::{ChaseLevOwner, chase_lev};
use crate::primitive::{AtomicBool, Ordering};

/// Items point to numbers that their pusher writes without synchronization of its own: reading one
/// that was not published is a data race that loom reports.
fn item(number: usize) -> NonNull<loom::cell::UnsafeCell<usize>> {
    NonNull::from(Box::leak(Box::new(loom::cell::UnsafeCell::new(number))))
}

fn number(item: NonNull<loom::cell::UnsafeCell<usize>>) -> usize {
    // SAFETY: made by `item`, and taken once: a second take would be reported as a use after free
    // by `assert_each_once`.
    let cell = unsafe { Box::from_raw(item.as_ptr()) };
    // SAFETY: loom checks that no other thread touches it.
    cell.with(|number| unsafe { *number })
}

type Number = loom::cell::UnsafeCell<usize>;

fn steal_one(thief: &impl Thief<Number>) -> Option<usize> {
    let mut steal = thief.steal_oldest();
    if matches!(steal, Steal::Kept) {
        thief.open_by_force();
        steal = thief.steal_oldest();
    }
    match steal {
        Steal::Taken(item) => Some(number(item)),
        Steal::Empty | Steal::Lost | Steal::Kept => None,
    }
}

fn assert_each_once(mut taken: Vec<usize>, count: usize) {
    taken.sort_unstable();
    assert_eq!(taken, (0..count).collect::<Vec<_>>());
}

/// `before` items are there when the thieves come; the owner pushes `pushes` more and then pops
/// until empty.
fn owner_against<K: Kind>(thieves: usize, before: usize, pushes: usize, steals: usize) {
    owner_against_preempted::<K>(3, thieves, before, pushes, steals);
}

fn owner_against_preempted<K: Kind>(
    preemptions: usize,
    thieves: usize,
    before: usize,
    pushes: usize,
    steals: usize,
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let (owner, thief) = K::pair();
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
    owner_against::<ChaseLev>(1, 1, 0, 1);
}

#[test]
fn loom_deque_one_item_two_thieves() {
    owner_against::<ChaseLev>(2, 1, 0, 1);
}

#[test]
fn loom_deque_two_items_two_thieves() {
    owner_against::<ChaseLev>(2, 2, 0, 1);
}

#[test]
fn loom_deque_thief_comes_to_an_empty_deque() {
    owner_against::<ChaseLev>(1, 0, 1, 2);
}

#[test]
fn loom_deque_two_pushes_while_a_thief_comes() {
    owner_against::<ChaseLev>(1, 0, 2, 1);
}

#[test]
fn loom_deque_grows_under_one_thief() {
    owner_against::<ChaseLev>(1, 2, 1, 2); // the first ring has two slots
}

#[test]
fn loom_deque_grows_under_two_thieves() {
    owner_against::<ChaseLev>(2, 2, 1, 1);
}

#[test]
fn loom_deque_slots_are_used_again_while_a_thief_reads() {
    // Two slots: the third push goes where the first item was, if a thief has taken it.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let (owner, thief) = ChaseLev::pair();
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

#[test]
fn loom_abp_array_one_item_one_thief() {
    owner_against::<AbpArray>(1, 1, 0, 1);
}

#[test]
fn loom_abp_array_one_item_two_thieves() {
    owner_against::<AbpArray>(2, 1, 0, 1);
}

#[test]
fn loom_abp_array_two_items_two_thieves() {
    owner_against::<AbpArray>(2, 2, 0, 1);
}

#[test]
fn loom_abp_array_thief_comes_to_an_empty_deque() {
    owner_against::<AbpArray>(1, 0, 2, 2);
}

#[test]
fn loom_abp_array_last_item_above_the_first_slot() {
    // A thief that sees the new beginning, and `bottom` as it was before, would take the first
    // slot's item again. Three preemptions do not show it.
    owner_against_preempted::<AbpArray>(5, 1, 2, 0, 3);
}

#[test]
fn loom_abp_array_begins_again_while_a_thief_comes() {
    // The owner empties the deque and fills the first slots anew: the tag tells a thief that its
    // `top` is an old one.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let (owner, thief) = AbpArray::pair();
        owner.push_new(item(0));
        let thief =
            thread::spawn(move || (0..2).filter_map(|_| steal_one(&thief)).collect::<Vec<_>>());
        let mut taken: Vec<_> = owner.pop_newest().map(number).into_iter().collect();
        owner.push_new(item(1));
        owner.push_new(item(2));
        taken.extend(owner.pop_newest().map(number));
        taken.extend(std::iter::from_fn(|| owner.pop_newest()).map(number));
        taken.extend(thief.join().unwrap());
        assert_each_once(taken, 3);
    });
}

#[test]
fn loom_abp_barrier_one_item_two_thieves() {
    owner_against::<AbpBarrier>(2, 1, 0, 1);
}

#[test]
fn loom_abp_barrier_two_items_two_thieves() {
    owner_against::<AbpBarrier>(2, 2, 0, 1);
}

#[test]
fn loom_abp_barrier_last_item_above_the_first_slot() {
    owner_against_preempted::<AbpBarrier>(5, 1, 2, 0, 3);
}

/// What an owner does that may close its deque, one pinned task each: `+` push, `-` pop, `(` close, `)`
/// open.
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

/// The owner does one thing before the thieves come, and another while they steal.
fn closing_owner_against(thieves: usize, before: &'static str, then: &'static str) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4 - thieves);
    model.check(move || {
        let (owner, thief) = chase_lev(true);
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
fn loom_deque_is_closed_while_a_thief_comes() {
    closing_owner_against(1, "+", "(-");
}

#[test]
fn loom_deque_is_closed_while_two_thieves_come() {
    closing_owner_against(2, "+", "(-");
}

#[test]
fn loom_deque_is_closed_again_after_an_old_question() {
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

/// Leapfrogging: the owner says what it is about, and changes that after it has taken back what it
/// pushed meanwhile. A thief that wants only what was pushed before the change gets nothing else,
/// though it reads the word without any ordering.
#[test]
fn loom_deque_what_is_stolen_is_what_was_wanted() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4);
    model.check(|| {
        let (owner, thief) = chase_lev::<Number>(false);
        let is_about_it = loom::sync::Arc::new(AtomicBool::new(true));
        let about = is_about_it.clone();
        let thief = thread::spawn(move || {
            let is_wanted = || about.load(Ordering::Relaxed);
            match thief.steal_oldest_if(is_wanted) {
                Steal::Taken(item) => Some(number(item)),
                Steal::Empty | Steal::Lost | Steal::Kept => None,
            }
        });
        owner.push_new(item(0));
        let taken_back = owner.pop_newest().map(number);
        is_about_it.store(false, Ordering::Relaxed);
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
fn loom_inbox_what_was_sent_before_is_seen() {
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

#[test]
fn loom_pinned_queue_two_senders() {
    inbox_model(|| {
        let (pinned_queue, pinned_tasks) = pinned_queue();
        let other = pinned_queue.clone();
        let other = thread::spawn(move || other.send(item(2)));
        // Not this thread: loom would have it look before there is anything.
        let reader = thread::spawn(move || {
            let taken: Vec<_> = (0..3).filter_map(|_| pinned_tasks.take()).map(number).collect();
            (taken, pinned_tasks)
        });
        pinned_queue.send(item(0));
        pinned_queue.send(item(1));
        other.join().unwrap();
        let (mut taken, pinned_tasks) = reader.join().unwrap();
        taken.extend(std::iter::from_fn(|| pinned_tasks.take()).map(number));
        assert!(pinned_tasks.is_empty());
        assert!(taken.iter().filter(|&&n| n < 2).is_sorted());
        assert_each_once(taken, 3);
    });
}
