//! Each kind of deque, alone and beside thieves.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::abp_array::{Age, CAPACITY};
use super::{AbpArray, BlockingLock, Deque, Locked, SpinningLock};

fn item(number: usize) -> NonNull<u8> {
    NonNull::new(std::ptr::without_provenance_mut(number + 1)).expect("it is not null")
}

fn number(item: NonNull<u8>) -> usize {
    item.addr().get() - 1
}

fn kinds() -> [Box<dyn Deque<u8>>; 3] {
    [
        Box::new(AbpArray::new()),
        Box::new(Locked::<u8, SpinningLock>::new()),
        Box::new(Locked::<u8, BlockingLock>::new()),
    ]
}

#[test]
fn the_owner_takes_the_newest_and_thieves_the_oldest() {
    for deque in kinds() {
        assert!(deque.pop_bottom().is_none() && deque.pop_top().is_none());
        for round in 0..3 {
            (0..5).for_each(|number| deque.push_bottom(item(number)).unwrap());
            assert_eq!(deque.pop_top(), Some(item(0)), "{round}");
            assert_eq!(deque.pop_bottom(), Some(item(4)));
            assert_eq!(deque.pop_top(), Some(item(1)));
            assert_eq!(deque.pop_bottom(), Some(item(3)));
            assert_eq!(deque.pop_bottom(), Some(item(2)));
            assert!(deque.pop_bottom().is_none() && deque.pop_top().is_none());
        }
    }
}

#[test]
fn the_top_takes_an_item_where_the_deque_is_shared() {
    for deque in kinds() {
        (0..2).for_each(|number| deque.push_bottom(item(number)).unwrap());
        let is_shared = deque.is_shared();
        assert_eq!(deque.push_top(item(2)), if is_shared { Ok(()) } else { Err(item(2)) });
        let expected = [2, 0, 1].into_iter().skip(usize::from(!is_shared));
        assert!(std::iter::from_fn(|| deque.pop_top()).map(number).eq(expected));
    }
}

#[test]
fn each_item_is_taken_once_beside_three_thieves() {
    const ITEMS: usize = 20_000;
    for deque in kinds() {
        let is_over = AtomicBool::new(false);
        let (deque, is_over) = (&*deque, &is_over);
        let thief = || {
            let mut taken = Vec::new();
            while !is_over.load(Ordering::Acquire) {
                taken.extend(deque.pop_top().map(number));
            }
            taken
        };
        let mut taken = thread::scope(|scope| {
            let thieves = [(); 3].map(|()| scope.spawn(thief));
            let (mut taken, mut pushed) = (Vec::new(), 0);
            for burst in (1..40).cycle() {
                (0..burst).for_each(|_| {
                    if pushed < ITEMS {
                        deque.push_bottom(item(pushed)).unwrap();
                        pushed += 1;
                    }
                });
                (0..burst / 2).for_each(|_| taken.extend(deque.pop_bottom().map(number)));
                if pushed == ITEMS {
                    break;
                }
            }
            taken.extend(std::iter::from_fn(|| deque.pop_bottom()).map(number));
            is_over.store(true, Ordering::Release);
            thieves.into_iter().for_each(|thief| taken.extend(thief.join().unwrap()));
            taken
        });
        taken.sort_unstable();
        assert!(taken.into_iter().eq(0..ITEMS));
    }
}

#[test]
fn an_age_fits_into_its_word() {
    for (tag, top) in [(0, 0), (5, CAPACITY), ((1 << 44) - 1, (1 << 20) - 1)] {
        let age = Age { tag, top };
        assert_eq!(Age::from_word(age.word()), age);
    }
}

#[test]
fn a_full_array_returns_the_item_until_the_owner_has_emptied_it() {
    let deque = AbpArray::new();
    (0..CAPACITY).for_each(|number| deque.push_bottom(item(number)).unwrap());
    assert_eq!(deque.push_bottom(item(7)), Err(item(7)));
    // A steal makes no room: indices only grow until the owner finds the deque empty.
    assert_eq!(deque.pop_top(), Some(item(0)));
    assert_eq!(deque.push_bottom(item(7)), Err(item(7)));
    while deque.pop_bottom().is_some() {}
    assert_eq!(deque.push_bottom(item(7)), Ok(()));
}

#[test]
fn waits_for_a_lock_are_counted() {
    let deque = Locked::<u8, BlockingLock>::new();
    assert!(deque.lock_wait().is_zero());
    thread::scope(|scope| {
        // A thread may come when the lock is free again.
        while deque.lock_wait().is_zero() {
            let (sender, receiver) = std::sync::mpsc::channel();
            let deque = &deque;
            let holder = scope.spawn(move || {
                deque.with(|_| {
                    sender.send(()).unwrap();
                    thread::sleep(std::time::Duration::from_millis(5));
                });
            });
            receiver.recv().unwrap();
            assert!(deque.pop_top().is_none());
            holder.join().unwrap();
        }
    });
}
