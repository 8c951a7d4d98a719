//! The semaphore, alone and in a crowd.

use std::sync::Arc;
use std::task::{Context, Waker};

use loom::thread;

use super::{Begun, Watched, block_on, keep, model};
use crate::{Permit, Semaphore};

#[test]
fn loom_semaphore_a_permit_comes_while_one_begins_to_wait() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let waits = keep(&semaphore, 1);
        let waits = thread::spawn(move || block_on(waits));
        semaphore.add_permits(1);
        waits.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_a_permit_comes_while_one_looks_again() {
    model(5, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let begun = Begun::new(keep(&semaphore, 1));
        let number = Arc::new(Watched::new());
        let seen = Arc::clone(&number);
        let waits = thread::spawn(move || {
            begun.end();
            // It may have looked before it was woken.
            seen.get()
        });
        number.add_one();
        semaphore.add_permits(1);
        assert_eq!(waits.join().unwrap(), 1);
    });
}

#[test]
fn loom_semaphore_two_givers_serve_two() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let second = Begun::new(keep(&semaphore, 1));
        let giver = Arc::clone(&semaphore);
        let giver = thread::spawn(move || giver.add_permits(1));
        semaphore.add_permits(1);
        first.end();
        giver.join().unwrap();
        second.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_what_was_done_under_a_permit_is_seen_under_the_next() {
    model(4, || {
        let semaphore = Arc::new(Semaphore::new(1));
        let number = Arc::new(Watched::new());
        let work = |semaphore: Arc<Semaphore>, number: Arc<Watched>| {
            let permit: Permit<'_> = block_on(semaphore.acquire()).unwrap();
            number.add_one();
            drop(permit);
        };
        let other = (Arc::clone(&semaphore), Arc::clone(&number));
        let other = thread::spawn(move || work(other.0, other.1));
        work(Arc::clone(&semaphore), Arc::clone(&number));
        other.join().unwrap();
        assert_eq!(number.get(), 2);
        assert_eq!(semaphore.available_permits(), 1);
    });
}

#[test]
fn loom_semaphore_one_that_leaves_takes_no_permit_with_it() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let leaves = Begun::new(keep(&semaphore, 1));
        let leaves = thread::spawn(move || drop(leaves));
        semaphore.add_permits(1);
        leaves.join().unwrap();
        assert_eq!(semaphore.available_permits(), 1);
        assert!(semaphore.try_acquire().is_ok());
    });
}

#[test]
fn loom_semaphore_one_that_leaves_lets_the_next_have_it() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let leaves = Begun::new(keep(&semaphore, 1));
        let stays = Begun::new(keep(&semaphore, 1));
        let leaves = thread::spawn(move || drop(leaves));
        semaphore.add_permits(1);
        stays.end();
        leaves.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_one_that_needs_many_leaves_and_one_that_needs_few_comes() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(1));
        let leaves = Begun::new(keep(&semaphore, 2));
        let leaves = thread::spawn(move || drop(leaves));
        block_on(keep(&semaphore, 1));
        leaves.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_swept_while_others_are_served() {
    // The one in the middle leaves, and is taken out while the head of the line comes to it, and
    // goes on.
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let leaves = Begun::new(keep(&semaphore, 1));
        let last = Begun::new(keep(&semaphore, 1));
        let leaves = thread::spawn(move || drop(leaves));
        semaphore.add_permits(2);
        leaves.join().unwrap();
        first.end();
        last.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_two_neighbours_leave() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let leaves = Begun::new(keep(&semaphore, 1));
        let neighbour = Begun::new(keep(&semaphore, 1));
        let last = Begun::new(keep(&semaphore, 1));
        let leaves = thread::spawn(move || drop(leaves));
        drop(neighbour);
        leaves.join().unwrap();
        semaphore.add_permits(2);
        first.end();
        last.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

/// The oldest leaves while somebody sweeps, whose place says what was taken at the head.
#[test]
fn loom_semaphore_the_first_leaves_while_others_are_swept() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        // It was alone: before it, as much was given back as it takes.
        let first = Begun::new(keep(&semaphore, 1));
        let second = Begun::new(keep(&semaphore, 1));
        let last = Begun::new(keep(&semaphore, 1));
        let first = thread::spawn(move || drop(first));
        drop(second);
        first.join().unwrap();
        semaphore.add_permits(1);
        last.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_the_first_behind_what_was_taken_leaves_while_others_are_swept() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        // A line where nobody stands, and a permit that was taken there without waiting.
        // These have left in their turn, so the next who leaves sweeps.
        let comes = Begun::new(keep(&semaphore, 1));
        drop((comes, Begun::new(keep(&semaphore, 1))));
        semaphore.add_permits(1);
        let held = semaphore.try_acquire().unwrap();
        let first = Begun::new(keep(&semaphore, 1));
        let second = Begun::new(keep(&semaphore, 1));
        let mut last = Begun::new(keep(&semaphore, 1));
        let first = thread::spawn(move || drop(first));
        drop(second);
        first.join().unwrap();
        let polled = last.0.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "the permit is held");
        assert_eq!(semaphore.available_permits(), 0);
        drop(held);
        last.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_one_comes_behind_one_that_leaves() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let leaves = Begun::new(keep(&semaphore, 1));
        let leaves = thread::spawn(move || drop(leaves));
        let comes = Begun::new(keep(&semaphore, 1));
        leaves.join().unwrap();
        semaphore.add_permits(2);
        first.end();
        comes.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_alone_and_served_while_another_comes() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let comes = keep(&semaphore, 1);
        let comes = thread::spawn(move || block_on(comes));
        semaphore.add_permits(1);
        first.end();
        semaphore.add_permits(1);
        comes.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_alone_and_leaves_while_another_comes() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let leaves = Begun::new(keep(&semaphore, 2));
        semaphore.add_permits(1);
        let leaves = thread::spawn(move || drop(leaves));
        // What the other had been given comes to this one, whether it left before or after.
        block_on(keep(&semaphore, 1));
        leaves.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_alone_and_served_in_parts_by_two() {
    model(4, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let waits = Begun::new(keep(&semaphore, 2));
        let number = Arc::new([Watched::new(), Watched::new()]);
        let other = (Arc::clone(&semaphore), Arc::clone(&number));
        let other = thread::spawn(move || {
            other.1[0].add_one();
            other.0.add_permits(1);
        });
        number[1].add_one();
        semaphore.add_permits(1);
        waits.end();
        assert_eq!(number[0].get() + number[1].get(), 2);
        other.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_alone_while_two_come() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let comes = keep(&semaphore, 1);
        let comes = thread::spawn(move || {
            let mut comes = Box::pin(comes);
            let polled = comes.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
            Begun(comes)
        });
        let second = Begun::new(keep(&semaphore, 1));
        let comes = comes.join().unwrap();
        semaphore.add_permits(3);
        first.end();
        second.end();
        comes.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_alone_and_looks_again_while_another_comes() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let first = thread::spawn(move || first.end());
        let second = Begun::new(keep(&semaphore, 1));
        semaphore.add_permits(2);
        first.join().unwrap();
        second.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_alone_and_closed() {
    model(4, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let alone = Arc::clone(&semaphore);
        let alone = Begun::new(async move { alone.acquire().await.map(Permit::forget).is_ok() });
        let closes = Arc::clone(&semaphore);
        let closes = thread::spawn(move || closes.close());
        semaphore.add_permits(1);
        let is_served = alone.end();
        closes.join().unwrap();
        assert_eq!(semaphore.available_permits(), usize::from(!is_served));
    });
}

#[test]
fn loom_semaphore_closed_while_one_begins_to_wait() {
    model(4, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let waits = Arc::clone(&semaphore);
        let waits = thread::spawn(move || block_on(waits.acquire()).is_err());
        semaphore.close();
        assert!(waits.join().unwrap());
    });
}

#[test]
fn loom_semaphore_taken_without_waiting_by_two() {
    model(5, || {
        let semaphore = Arc::new(Semaphore::new(1));
        let try_to = |semaphore: &Semaphore| {
            let permit = semaphore.try_acquire();
            permit.map(Permit::forget).is_ok()
        };
        let other = Arc::clone(&semaphore);
        let other = thread::spawn(move || try_to(&other));
        let here = try_to(&semaphore);
        assert!(here != other.join().unwrap(), "one of the two gets it");
    });
}

#[test]
fn loom_semaphore_taken_without_waiting_while_one_waits() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let other = Arc::clone(&semaphore);
        let other = thread::spawn(move || other.try_acquire().map(Permit::forget).is_ok());
        semaphore.add_permits(1);
        // It was there first.
        assert!(!other.join().unwrap());
        first.end();
    });
}
