//! The semaphore, without and with a queue.

use std::sync::Arc;
use std::task::{Context, Waker};

use loom::thread;

use super::{Begun, Watched, block_on, keep, model};
use crate::{Permit, Semaphore};

#[test]
fn loom_semaphore_released_while_a_wait_begins() {
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
fn loom_semaphore_released_while_a_wait_is_polled() {
    model(5, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let begun = Begun::new(keep(&semaphore, 1));
        let number = Arc::new(Watched::new());
        let seen = Arc::clone(&number);
        let waits = thread::spawn(move || {
            begun.end();
            // It may see the outcome before it is woken.
            seen.get()
        });
        number.add_one();
        semaphore.add_permits(1);
        assert_eq!(waits.join().unwrap(), 1);
    });
}

#[test]
fn loom_semaphore_two_releases_serve_two() {
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
fn loom_semaphore_permits_synchronize() {
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
fn loom_semaphore_cancelled_while_granted() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let cancelled = Begun::new(keep(&semaphore, 1));
        let cancelled = thread::spawn(move || drop(cancelled));
        semaphore.add_permits(1);
        cancelled.join().unwrap();
        assert_eq!(semaphore.available_permits(), 1);
        assert!(semaphore.try_acquire().is_ok());
    });
}

#[test]
fn loom_semaphore_cancelled_before_the_next() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let cancelled = Begun::new(keep(&semaphore, 1));
        let remains = Begun::new(keep(&semaphore, 1));
        let cancelled = thread::spawn(move || drop(cancelled));
        semaphore.add_permits(1);
        remains.end();
        cancelled.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_cancelled_for_many_before_one_for_few() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(1));
        let cancelled = Begun::new(keep(&semaphore, 2));
        let cancelled = thread::spawn(move || drop(cancelled));
        block_on(keep(&semaphore, 1));
        cancelled.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_swept_while_others_are_served() {
    // The waiter in the middle is cancelled, and swept while the head moves to it and on.
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let cancelled = Begun::new(keep(&semaphore, 1));
        let last = Begun::new(keep(&semaphore, 1));
        let cancelled = thread::spawn(move || drop(cancelled));
        semaphore.add_permits(2);
        cancelled.join().unwrap();
        first.end();
        last.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_two_neighbours_cancelled() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let cancelled = Begun::new(keep(&semaphore, 1));
        let neighbour = Begun::new(keep(&semaphore, 1));
        let last = Begun::new(keep(&semaphore, 1));
        let cancelled = thread::spawn(move || drop(cancelled));
        drop(neighbour);
        cancelled.join().unwrap();
        semaphore.add_permits(2);
        first.end();
        last.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

/// The oldest waiter is cancelled during a sweep.
#[test]
fn loom_semaphore_first_cancelled_while_others_are_swept() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        // It was the single waiter in the semaphore's word.
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
fn loom_semaphore_first_behind_a_count_cancelled_while_others_are_swept() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        // An empty queue, and a permit that was taken there without waiting. The next cancellation
        // sweeps.
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
fn loom_semaphore_enqueued_behind_a_cancelled_one() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let cancelled = Begun::new(keep(&semaphore, 1));
        let cancelled = thread::spawn(move || drop(cancelled));
        let comes = Begun::new(keep(&semaphore, 1));
        cancelled.join().unwrap();
        semaphore.add_permits(2);
        first.end();
        comes.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_single_served_while_another_comes() {
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
fn loom_semaphore_cancelled_for_many_while_another_comes() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let cancelled = Begun::new(keep(&semaphore, 2));
        semaphore.add_permits(1);
        let cancelled = thread::spawn(move || drop(cancelled));
        // What the other was granted comes to this one, before or after the cancellation.
        block_on(keep(&semaphore, 1));
        cancelled.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_served_in_parts_by_two() {
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
fn loom_semaphore_single_while_two_come() {
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
fn loom_semaphore_single_polled_while_another_comes() {
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
fn loom_semaphore_single_closed() {
    model(4, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let waits = Arc::clone(&semaphore);
        let waits = Begun::new(async move { waits.acquire().await.map(Permit::forget).is_ok() });
        let closes = Arc::clone(&semaphore);
        let closes = thread::spawn(move || closes.close());
        semaphore.add_permits(1);
        let is_served = waits.end();
        closes.join().unwrap();
        assert_eq!(semaphore.available_permits(), usize::from(!is_served));
    });
}

#[test]
fn loom_semaphore_closed_while_a_wait_begins() {
    model(4, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let waits = Arc::clone(&semaphore);
        let waits = thread::spawn(move || block_on(waits.acquire()).is_err());
        semaphore.close();
        assert!(waits.join().unwrap());
    });
}

#[test]
fn loom_semaphore_tried_by_two() {
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
fn loom_semaphore_tried_while_one_waits() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let other = Arc::clone(&semaphore);
        let other = thread::spawn(move || other.try_acquire().map(Permit::forget).is_ok());
        semaphore.add_permits(1);
        // The waiter was there first.
        assert!(!other.join().unwrap());
        first.end();
    });
}

#[test]
fn loom_semaphore_single_cancelled_while_closed() {
    model(4, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let cancelled = Begun::new(keep(&semaphore, 1));
        let cancelled = thread::spawn(move || drop(cancelled));
        semaphore.close();
        cancelled.join().unwrap();
        assert!(block_on(semaphore.acquire()).is_err());
    });
}

#[test]
fn loom_semaphore_single_cancelled_while_another_comes() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let cancelled = Begun::new(keep(&semaphore, 1));
        let cancelled = thread::spawn(move || drop(cancelled));
        let comes = Begun::new(keep(&semaphore, 1));
        semaphore.add_permits(1);
        comes.end();
        cancelled.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}
