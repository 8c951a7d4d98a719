//! The non-blocking deque under the model checker.

use std::ptr::NonNull;
use std::sync::Arc;

use loom::thread;

use super::{AbpArray, Deque};

type Number = u8;

/// Pointers that are never followed stand for numbers.
fn item(number: usize) -> NonNull<Number> {
    NonNull::new(std::ptr::without_provenance_mut(number + 1)).expect("it is not null")
}

fn number(item: NonNull<Number>) -> usize {
    item.addr().get() - 1
}

fn assert_each_once(mut taken: Vec<usize>, number: usize) {
    taken.sort_unstable();
    assert!(taken.into_iter().eq(0..number));
}

fn pop_all(deque: &AbpArray<Number>) -> Vec<usize> {
    std::iter::from_fn(|| deque.pop_bottom()).map(number).collect()
}

/// The owner pushes `before` items, the thieves start, and the owner pushes `then` more and pops
/// `pops`. Each thief tries `attempts` times.
fn owner_against(thieves: usize, attempts: usize, [before, then, pops]: [usize; 3], bound: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(bound);
    model.check(move || {
        let deque = Arc::new(AbpArray::new());
        let push = |number| deque.push_bottom(item(number)).unwrap();
        (0..before).for_each(push);
        let thieves: Vec<_> = (0..thieves)
            .map(|_| {
                let deque = deque.clone();
                thread::spawn(move || {
                    (0..attempts).filter_map(|_| deque.pop_top()).map(number).collect::<Vec<_>>()
                })
            })
            .collect();
        (before..before + then).for_each(push);
        let mut taken: Vec<_> = (0..pops).filter_map(|_| deque.pop_bottom()).map(number).collect();
        taken.extend(thieves.into_iter().flat_map(|thief| thief.join().unwrap()));
        taken.extend(pop_all(&deque));
        assert_each_once(taken, before + then);
    });
}

#[test]
fn loom_abp_array_one_item_two_thieves() {
    owner_against(2, 1, [1, 0, 1], 4);
}

#[test]
fn loom_abp_array_two_items_two_thieves() {
    owner_against(2, 1, [2, 0, 1], 3);
}

#[test]
fn loom_abp_array_thief_starts_at_an_empty_deque() {
    owner_against(1, 2, [0, 2, 2], 4);
}

#[test]
fn loom_abp_array_last_item_above_the_first_slot() {
    // A thief that saw the reset and an older `bottom` would take the first item again. It needs
    // more than three preemptions to fail.
    owner_against(1, 1, [2, 0, 3], 5);
}

#[test]
fn loom_abp_array_is_reset_during_a_steal() {
    // The owner empties the deque and uses the first slots again: the tag shows a thief that its
    // `top` is old.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let deque = Arc::new(AbpArray::new());
        let push = |number| deque.push_bottom(item(number)).unwrap();
        push(0);
        let thief = deque.clone();
        let thief = thread::spawn(move || {
            (0..2).filter_map(|_| thief.pop_top()).map(number).collect::<Vec<_>>()
        });
        let mut taken: Vec<_> = deque.pop_bottom().map(number).into_iter().collect();
        push(1);
        push(2);
        taken.extend(deque.pop_bottom().map(number));
        taken.extend(pop_all(&deque));
        taken.extend(thief.join().unwrap());
        assert_each_once(taken, 3);
    });
}
