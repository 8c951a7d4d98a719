//! What the model checker runs: a stack is given back once, to its worker, and sees what was done before. Run with `--cfg loom`
//! (see CONTRIBUTING.md).
//!
//! A model has no stacks: its waiter goes round in a loop instead of leaving, and goes on when its node has come back.

use std::ptr::NonNull;

use loom::sync::Arc;
use loom::thread;

use super::node::{Node, Ready, Returns};
use crate::hunt::Limit;
use crate::latch::{Flag, IsSet};
use crate::primitive::{AtomicUsize, Ordering, UnsafeCell};
use crate::sleep::Sleep;

/// A node that is freed at the end of a model.
struct Waiter(NonNull<Node>);

impl Waiter {
    fn new() -> Self {
        Self(NonNull::from(Box::leak(Box::new(Node::new()))))
    }

    /// Waits until the flag is set, and comes back by way of `returns`.
    fn wait(&self, flag: &Flag, ready: &Ready, returns: &Returns) {
        // SAFETY: it does nothing with the node until it has come back.
        if let Err(IsSet) = unsafe { flag.await_by(self.0) } {
            return;
        }
        assert_eq!(come_back(ready, returns), self.0, "nobody else waits");
        assert!(flag.is_set());
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // SAFETY: made by `new`; whoever had it has given it back.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// The next stack to come back.
fn come_back(ready: &Ready, returns: &Returns) -> NonNull<Node> {
    loop {
        if let Some(node) = ready.take(returns) {
            return node;
        }
        thread::yield_now();
    }
}

/// What one thread writes and another reads.
struct Note(UnsafeCell<usize>);

// SAFETY: loom checks that no two threads use it at a time.
unsafe impl Sync for Note {}
// SAFETY: as above.
unsafe impl Send for Note {}

impl Note {
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn write(&self, number: usize) {
        // SAFETY: loom checks that nobody else uses it.
        self.0.with_mut(|note| unsafe { *note = number });
    }

    fn read(&self) -> usize {
        // SAFETY: loom checks that nobody else uses it.
        self.0.with_mut(|note| unsafe { *note })
    }
}

fn set(flag: &Flag, returns: &Returns) {
    if let Some(node) = flag.set_for_stacks() {
        // SAFETY: just taken from the flag; all nodes are of one worker here.
        unsafe { returns.send(node) };
    }
}

/// A job in its creator's frame, whose header says how to run it until it is set.
#[test]
fn loom_stack_waits_for_a_fork_that_a_thief_runs() {
    const KIND: *mut () = std::ptr::without_provenance_mut(64);
    loom::model(|| {
        let fork = Arc::new((Flag::holding(KIND), Note::new(), Returns::new()));
        let thief = {
            let fork = fork.clone();
            thread::spawn(move || {
                let (header, result, returns) = &*fork;
                // SAFETY: this thread alone sets it.
                assert_eq!(unsafe { header.held() }, KIND, "whether anybody waits or not");
                result.write(7);
                set(header, returns);
            })
        };
        let (header, result, returns) = &*fork;
        let waiter = Waiter::new();
        waiter.wait(header, &Ready::new(), returns);
        assert_eq!(result.read(), 7);
        thief.join().unwrap();
        assert!(returns.is_empty(), "it comes back once");
    });
}

/// Whoever looks, instead of leaving a stack there, sees what was done too; in whichever way the flag was set.
#[test]
fn loom_flag_that_is_seen_to_be_set_shows_what_was_done() {
    for for_stacks in [false, true] {
        loom::model(move || {
            let shared = Arc::new((Flag::new(), Note::new()));
            let setter = shared.clone();
            let setter = thread::spawn(move || {
                setter.1.write(7);
                if for_stacks {
                    assert!(setter.0.set_for_stacks().is_none());
                } else {
                    setter.0.set();
                }
            });
            if shared.0.is_set() {
                assert_eq!(shared.1.read(), 7);
            }
            setter.join().unwrap();
        });
    }
}

/// Two stacks of one worker, given back by two threads.
#[test]
fn loom_stacks_come_back_once_each() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new(([Flag::new(), Flag::new()], Returns::new()));
        let notes = Arc::new([Note::new(), Note::new()]);
        let setters = [0, 1].map(|n| {
            let (shared, notes) = (shared.clone(), notes.clone());
            thread::spawn(move || {
                notes[n].write(n + 1);
                set(&shared.0[n], &shared.1);
            })
        });
        let (flags, returns) = &*shared;
        let waiters = [Waiter::new(), Waiter::new()];
        let ready = Ready::new();
        let mut waiting = Vec::new();
        for (n, waiter) in waiters.iter().enumerate() {
            // SAFETY: it does nothing with the node until it has come back.
            match unsafe { flags[n].await_by(waiter.0) } {
                Ok(()) => waiting.push(n),
                Err(IsSet) => assert_eq!(notes[n].read(), n + 1),
            }
        }
        while !waiting.is_empty() {
            let node = come_back(&ready, returns);
            let n = waiting.iter().position(|&n| waiters[n].0 == node).expect("it waits");
            let n = waiting.swap_remove(n);
            assert!(flags[n].is_set());
            assert_eq!(notes[n].read(), n + 1);
        }
        for setter in setters {
            setter.join().unwrap();
        }
        assert!(ready.is_empty() && returns.is_empty());
    });
}

/// The worker falls asleep while its stack is given back.
#[test]
fn loom_stack_comes_back_to_a_sleeping_worker() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new((Flag::new(), Returns::new(), Sleep::new(1, Limit::NONE)));
        let setter = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (flag, returns, sleep) = &*shared;
                set(flag, returns);
                sleep.wake(0);
            })
        };
        let (flag, returns, sleep) = &*shared;
        let waiter = Waiter::new();
        // SAFETY: it does nothing with the node until it has come back.
        if unsafe { flag.await_by(waiter.0) }.is_ok() {
            let ready = Ready::new();
            sleep.begins_to_hunt();
            while ready.take(returns).is_none() {
                sleep.sleep(0, |_| !returns.is_empty());
            }
        }
        assert!(flag.is_set());
        setter.join().unwrap();
    });
}

/// A signal that is given again and again: whoever waits for it sees what was done before the last time.
#[test]
fn loom_no_signal_is_lost() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new((Flag::new(), Returns::new()));
        let done = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let wakers = [0, 1].map(|n| {
            let (shared, done) = (shared.clone(), done.clone());
            thread::spawn(move || {
                // Relaxed: it is the signal that hands it over.
                done[n].store(1, Ordering::Relaxed);
                set(&shared.0, &shared.1);
            })
        });
        let (flag, returns) = &*shared;
        let (waiter, ready) = (Waiter::new(), Ready::new());
        while done.iter().any(|done| done.load(Ordering::Relaxed) == 0) {
            waiter.wait(flag, &ready, returns);
            flag.clear();
        }
        for waker in wakers {
            waker.join().unwrap();
        }
        assert!(returns.is_empty());
    });
}
