//! The condition variable against its oracle.

use std::task::Poll;

use super::Choices;
use super::polled::Polled;
use crate::{Condvar, Mutex, MutexGuard};

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Waiting,
    NotifiedAlone,
    NotifiedWithAll,
}

struct Waiter<'c> {
    state: State,
    wait: Polled<'c, MutexGuard<'c, u32>>,
}

/// Notifies the oldest waiter in the vector.
fn notify_one(waiters: &mut [Waiter<'_>]) {
    if let Some(oldest) = waiters.iter_mut().find(|waiter| waiter.state == State::Waiting) {
        oldest.state = State::NotifiedAlone;
    }
}

#[test]
fn the_condition_variable_agrees_with_its_oracle() {
    for seed in 0..400 {
        let mut choices = Choices(seed);
        let (mutex, condvar) = (Mutex::new(0), Condvar::new());
        let mut waiters: Vec<Waiter<'_>> = Vec::new();
        for _ in 0..200 {
            match choices.below(6) {
                0 | 1 => {
                    let guard = mutex.try_lock().expect("unlocked between the steps");
                    let wait = Polled::waiting(condvar.wait(guard));
                    assert!(mutex.try_lock().is_some(), "a wait unlocks");
                    waiters.push(Waiter { state: State::Waiting, wait });
                }
                2 => {
                    condvar.notify_one();
                    notify_one(&mut waiters);
                }
                3 if choices.below(4) == 0 => {
                    condvar.notify_all();
                    for waiter in &mut waiters {
                        if waiter.state == State::Waiting {
                            waiter.state = State::NotifiedWithAll;
                        }
                    }
                }
                4 if !waiters.is_empty() => {
                    let mut at = waiters.remove(choices.below(waiters.len()));
                    // It may find the mutex locked, and be dropped while it waits for that.
                    if choices.below(2) == 0 {
                        let guard = mutex.try_lock().unwrap();
                        assert!(at.wait.poll().is_pending());
                        drop(guard);
                    }
                    drop(at.wait);
                    if at.state == State::NotifiedAlone {
                        notify_one(&mut waiters);
                    }
                }
                _ if !waiters.is_empty() => {
                    let at = choices.below(waiters.len());
                    match (waiters[at].wait.poll(), waiters[at].state) {
                        (Poll::Pending, State::Waiting) => {}
                        (Poll::Ready(mut guard), State::NotifiedAlone | State::NotifiedWithAll) => {
                            *guard += 1;
                            drop(guard);
                            waiters.remove(at);
                        }
                        (polled, state) => panic!("{polled:?} {state:?}"),
                    }
                }
                _ => {}
            }
            for waiter in &waiters {
                assert_eq!(waiter.wait.is_woken(), waiter.state != State::Waiting);
            }
        }
    }
}

#[test]
fn no_notification_is_kept_for_later() {
    let (mutex, condvar) = (Mutex::new(()), Condvar::new());
    condvar.notify_one();
    condvar.notify_all();
    let wait = Polled::waiting(condvar.wait(mutex.try_lock().unwrap()));
    assert!(!wait.is_woken());
}

#[test]
fn wait_while_waits_while() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    let mut wait = Polled::waiting(condvar.wait_while(mutex.try_lock().unwrap(), |n| *n < 2));
    for n in 1..=2 {
        *mutex.try_lock().unwrap() = n;
        condvar.notify_one();
        assert!(wait.is_woken());
        assert_eq!(wait.poll_anew().is_ready(), n == 2);
    }
}
