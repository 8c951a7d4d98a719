//! The semaphore and the mutex against their oracle.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use super::Choices;
use super::polled::Polled;
use crate::{Closed, Mutex, Permit, Semaphore, TryAcquireError};

/// A sequential semaphore: permits, and a queue. A number identifies each waiter.
#[derive(Default)]
struct Oracle {
    available: usize,
    queue: VecDeque<(usize, usize)>,
    /// Granted, and not polled since.
    served: Vec<usize>,
}

impl Oracle {
    fn serve(&mut self) {
        while let Some(&(number, permits)) = self.queue.front()
            && permits <= self.available
        {
            self.available -= permits;
            self.queue.pop_front();
            self.served.push(number);
        }
    }

    /// Returns `true` if it does not wait.
    fn acquire(&mut self, number: usize, permits: usize) -> bool {
        let at_once = self.queue.is_empty() && permits <= self.available;
        if at_once {
            self.available -= permits;
        } else {
            self.queue.push_back((number, permits));
        }
        at_once
    }

    fn give(&mut self, permits: usize) {
        self.available += permits;
        self.serve();
    }

    fn drop_waiter(&mut self, number: usize, permits: usize) {
        if let Some(at) = self.served.iter().position(|&served| served == number) {
            self.served.remove(at);
            self.available += permits;
        } else {
            self.queue.retain(|&(waiting, _)| waiting != number);
        }
        self.serve();
    }
}

struct Waiter<'s> {
    number: usize,
    permits: usize,
    acquire: Polled<'s, Result<Permit<'s>, Closed>>,
}

/// Asserts that the oracle and the semaphore agree. Counting the permits may add a node, so not
/// each call does it.
fn compare(semaphore: &Semaphore, oracle: &Oracle, waiters: &[Waiter<'_>], count: bool) {
    if count {
        assert_eq!(semaphore.available_permits(), oracle.available);
    }
    for waiter in waiters {
        let is_served = oracle.served.contains(&waiter.number);
        assert_eq!(waiter.acquire.is_woken(), is_served, "waiter {}", waiter.number);
    }
}

fn random_schedule(seed: u64, most_at_once: usize) {
    let mut choices = Choices(seed);
    let total = choices.below(4);
    let semaphore = Semaphore::new(total);
    let mut oracle = Oracle { available: total, ..Oracle::default() };
    let mut waiters: Vec<Waiter<'_>> = Vec::new();
    let mut held: Vec<Permit<'_>> = Vec::new();
    // Some schedules mostly acquire, others mostly release or cancel.
    let weights: Vec<usize> = (0..7).map(|_| 1 + choices.below(6)).collect();
    for number in 0..300 {
        let mut at = choices.below(weights.iter().sum());
        let choice = weights.iter().position(|&weight| {
            let here = at < weight;
            at = at.wrapping_sub(weight);
            here
        });
        match choice.unwrap() {
            0 | 1 => {
                let permits = 1 + choices.below(most_at_once);
                let mut acquire = Polled::new(semaphore.acquire_many(permits));
                let polled = acquire.poll();
                assert_eq!(polled.is_ready(), oracle.acquire(number, permits));
                match polled {
                    Poll::Ready(permit) => held.push(permit.unwrap()),
                    Poll::Pending => waiters.push(Waiter { number, permits, acquire }),
                }
            }
            2 if !waiters.is_empty() => {
                let at = choices.below(waiters.len());
                let waiter = &mut waiters[at];
                let served = oracle.served.iter().position(|&served| served == waiter.number);
                let polled = if choices.below(2) == 0 {
                    waiter.acquire.poll()
                } else {
                    waiter.acquire.poll_anew()
                };
                match (polled, served) {
                    (Poll::Pending, None) => {}
                    (Poll::Ready(permit), Some(served)) => {
                        oracle.served.remove(served);
                        held.push(permit.unwrap());
                        waiters.remove(at);
                    }
                    (polled, served) => panic!("{polled:?}, served: {served:?}"),
                }
            }
            3 => {
                if let Some(waiter) = choices.take(&mut waiters) {
                    oracle.drop_waiter(waiter.number, waiter.permits);
                    drop(waiter.acquire);
                }
            }
            4 => {
                if let Some(permit) = choices.take(&mut held) {
                    oracle.give(permit.permits);
                    drop(permit);
                }
            }
            5 => {
                let permits = choices.below(most_at_once + 1);
                let taken = semaphore.try_acquire_many(permits);
                let expected = oracle.queue.is_empty() && permits <= oracle.available;
                assert_eq!(taken.is_ok(), expected);
                match taken {
                    Ok(permit) => {
                        oracle.available -= permits;
                        held.push(permit);
                    }
                    Err(error) => assert_eq!(error, TryAcquireError::NoPermits),
                }
            }
            _ if oracle.available + held.len() < 5 => {
                semaphore.add_permits(1);
                oracle.give(1);
            }
            _ => choices.take(&mut held).into_iter().for_each(Permit::forget),
        }
        compare(&semaphore, &oracle, &waiters, seed % 2 == 0 || choices.below(20) == 0);
    }
    // Granted permits stay granted, and all other waits get an error.
    semaphore.close();
    for waiter in &mut waiters {
        let result = waiter.acquire.finish();
        assert_eq!(result.is_ok(), oracle.served.contains(&waiter.number));
    }
}

#[test]
fn the_semaphore_agrees_with_its_oracle() {
    (0..300).for_each(|seed| random_schedule(seed, 1));
}

#[test]
fn the_semaphore_agrees_with_its_oracle_about_many_permits() {
    (0..300).for_each(|seed| random_schedule(seed, 4));
}

#[test]
fn permits_of_the_largest_number() {
    let semaphore = Semaphore::new(Semaphore::MAX_PERMITS);
    let all = semaphore.try_acquire_many(Semaphore::MAX_PERMITS).unwrap();
    assert_eq!(semaphore.available_permits(), 0);
    assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    let mut waiter = Polled::waiting(semaphore.acquire());
    drop(all);
    drop(waiter.finish());
    // The number of taken permits wraps.
    for _ in 0..40 {
        let some = semaphore.try_acquire_many(Semaphore::MAX_PERMITS - 1).unwrap();
        assert_eq!(semaphore.available_permits(), 1);
        let mut waiter = Polled::waiting(semaphore.acquire_many(2));
        drop(some);
        drop(waiter.finish());
        assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS);
    }
}

#[test]
fn more_is_taken_without_waiting_than_a_node_can_count() {
    // The queue is empty, so all is counted in one node, until its counter is full.
    let semaphore = Semaphore::new(0);
    let first = Polled::waiting(semaphore.acquire());
    drop((Polled::waiting(semaphore.acquire()), first));
    semaphore.add_permits(Semaphore::MAX_PERMITS);
    for _ in 0..10 {
        let mut acquire = Polled::new(semaphore.acquire_many(Semaphore::MAX_PERMITS));
        let Poll::Ready(Ok(permit)) = acquire.poll() else { panic!("there are enough") };
        assert_eq!(semaphore.available_permits(), 0);
        drop(permit);
    }
}

#[test]
#[should_panic(expected = "more permits than `Semaphore::MAX_PERMITS`")]
fn more_permits_than_there_may_be() {
    let semaphore = Semaphore::new(1);
    semaphore.add_permits(Semaphore::MAX_PERMITS);
}

#[test]
fn a_semaphore_is_one_word() {
    let word = size_of::<usize>();
    assert_eq!(size_of::<Semaphore>(), word);
    assert_eq!(size_of::<Mutex<usize>>(), 2 * word);
    #[cfg(target_pointer_width = "64")]
    assert_eq!(size_of::<crate::semaphore::PermitQueue>(), 14 * word);
}

#[test]
fn more_permits_than_there_may_be_in_parts() {
    let overflows = |semaphore: &Semaphore, permits: usize| {
        let add = std::panic::AssertUnwindSafe(|| semaphore.add_permits(permits));
        std::panic::catch_unwind(add).is_err()
    };
    for has_queue in [false, true] {
        let semaphore = Semaphore::new(0);
        if has_queue {
            let first = Polled::waiting(semaphore.acquire());
            drop((Polled::waiting(semaphore.acquire()), first));
        }
        semaphore.add_permits(Semaphore::MAX_PERMITS - 1);
        assert!(overflows(&semaphore, 2));
        semaphore.add_permits(1);
        assert!(overflows(&semaphore, 1) && overflows(&semaphore, Semaphore::MAX_PERMITS));
        assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS, "nothing was added");
        // Taken permits do not count.
        for _ in 0..9 {
            semaphore.try_acquire_many(Semaphore::MAX_PERMITS).unwrap().forget();
            semaphore.add_permits(Semaphore::MAX_PERMITS);
        }
        assert!(overflows(&semaphore, 1));
        semaphore.close();
        assert!(overflows(&semaphore, 1));
    }
}

/// A waker that counts its calls, and panics.
struct Panicking(Arc<AtomicUsize>);

impl Wake for Panicking {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        std::panic::resume_unwind(Box::new("panicking"));
    }
}

#[test]
fn a_waker_that_panics_keeps_no_task_waiting() {
    let calls = Arc::new(AtomicUsize::new(0));
    let panicking = Waker::from(Arc::new(Panicking(Arc::clone(&calls))));
    let semaphore = Semaphore::new(0);
    let mut first = Box::pin(semaphore.acquire());
    let mut second = Box::pin(semaphore.acquire());
    for wait in [&mut first, &mut second] {
        assert!(wait.as_mut().poll(&mut Context::from_waker(&panicking)).is_pending());
    }
    let mut last = Polled::waiting(semaphore.acquire());
    let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(3)));
    assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), "panicking");
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    drop(last.finish());
    // A single waiter has its permit, too.
    let semaphore = Semaphore::new(0);
    let mut single = Box::pin(semaphore.acquire());
    let context = &mut Context::from_waker(&panicking);
    assert!(single.as_mut().poll(context).is_pending());
    let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(1)));
    assert!(panicked.is_err());
    assert!(matches!(single.as_mut().poll(context), Poll::Ready(Ok(_))));
    // During another panic, a second one would end the process.
    let semaphore = Semaphore::new(1);
    let permit = semaphore.try_acquire().unwrap();
    let mut waiting = Box::pin(semaphore.acquire());
    assert!(waiting.as_mut().poll(context).is_pending());
    let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let _permit = permit;
        std::panic::resume_unwind(Box::new("first"));
    }));
    assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), "first");
    assert!(matches!(waiting.as_mut().poll(context), Poll::Ready(Ok(_))));
}

/// A forgotten wait stays in the queue, and in a semaphore's word.
#[test]
fn a_forgotten_wait_is_not_freed_under_others() {
    let semaphore = Semaphore::new(0);
    let (forgotten, mut next) = (Box::pin(semaphore.acquire()), Polled::new(semaphore.acquire()));
    let mut forgotten = std::mem::ManuallyDrop::new(forgotten);
    assert!(forgotten.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert!(next.poll().is_pending());
    semaphore.add_permits(1);
    assert!(!next.is_woken());
    semaphore.add_permits(1);
    drop(next.finish());
    let semaphore = Semaphore::new(0);
    let mut forgotten = std::mem::ManuallyDrop::new(Box::pin(semaphore.acquire_many(2)));
    assert!(forgotten.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    semaphore.add_permits(1);
}

#[test]
fn cancelled_nodes_do_not_accumulate() {
    // The first two keep waiting, while many behind them are cancelled.
    let semaphore = Semaphore::new(0);
    let first = Polled::waiting(semaphore.acquire());
    let second = Polled::waiting(semaphore.acquire());
    // SAFETY: there is no other thread.
    let nodes = || unsafe { semaphore.node_count() };
    for _ in 0..1000 {
        let others: Vec<_> = (0..3).map(|_| Polled::waiting(semaphore.acquire())).collect();
        drop(others);
        // The head, the two waiters, the newest node, and three cancellations until the next sweep.
        assert!(nodes() <= 1 + 2 + 1 + 3, "{} nodes", nodes());
    }
    drop((first, second));
    assert_eq!(nodes(), 1);
    assert_eq!(semaphore.available_permits(), 0);
}

#[test]
fn the_mutex_goes_in_order() {
    let mutex = Mutex::new(Vec::new());
    let guard = mutex.try_lock().unwrap();
    let mut waiters: Vec<_> = (0..5).map(|_| Polled::waiting(mutex.lock())).collect();
    drop(guard);
    assert!(mutex.try_lock().is_none(), "granted to the first");
    drop(waiters.remove(1));
    for (n, waiter) in waiters.iter_mut().enumerate() {
        waiter.finish().push(n);
    }
    // A wait that was granted the lock is dropped, and no other waits.
    let guard = mutex.try_lock().unwrap();
    let granted = Polled::waiting(mutex.lock());
    drop(guard);
    assert!(granted.is_woken());
    drop(granted);
    assert_eq!(format!("{mutex:?}"), "Mutex { value: [0, 1, 2, 3] }");
}

#[test]
fn a_panic_unlocks_and_does_not_poison() {
    let mutex = Mutex::new(1);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut guard = mutex.try_lock().unwrap();
        *guard = 2;
        std::panic::resume_unwind(Box::new("test"));
    }));
    assert!(panicked.is_err());
    assert_eq!(*mutex.try_lock().unwrap(), 2);
}
