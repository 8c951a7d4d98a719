//! Loom models: at any moment one thread runs tasks under an index, and each thread that wants the
//! index gets it; a replacement that is taken begins, and ends with the pool.
//!
//! The threads do what `worker/index.rs`, `worker/run_loop.rs` and `search/` do with the lock. A
//! thread that is left alone for ever is a deadlock, which loom reports. Two tasks at a time under
//! the index are a race on its cell, which loom reports, too.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::index_lock::{Idle, IndexLock};
use super::replacements::Replacements;
use crate::header::Flag;
use crate::numbers::{Index, Slot};
use crate::primitive::{AtomicUsize, Ordering};
use crate::sleep::Parker;

/// The thread of the worker, a thread that waits for its index, and one more.
const OWN: Slot = Slot::new(0);
const WAITER: Slot = Slot::new(1);
const OTHER: Slot = Slot::new(2);
/// The slot of the only replacement.
const REPLACEMENT: Slot = Slot::new(3);
const INDEX: Index = Index::new(0);

struct Model {
    lock: IndexLock,
    parkers: [Parker; 4],
    /// What belongs to the index. Touched by each task.
    data: UnsafeCell<usize>,
    replacements: Replacements,
    closed: Flag,
    /// The tasks that are left to a replacement, and those that it has run.
    left: AtomicUsize,
    replaced: AtomicUsize,
}

// SAFETY: the lock under test protects `data`, and loom checks that.
unsafe impl Sync for Model {}
// SAFETY: as above.
unsafe impl Send for Model {}

impl Model {
    /// One thread has the index, and runs a task.
    fn new(holder: Slot) -> Arc<Self> {
        Arc::new(Self {
            lock: IndexLock::new(holder),
            parkers: Default::default(),
            data: UnsafeCell::new(0),
            replacements: Replacements::new(1),
            closed: Flag::default(),
            left: AtomicUsize::new(0),
            replaced: AtomicUsize::new(0),
        })
    }

    fn unpark(&self, slot: Slot) {
        self.parkers[slot.get()].unpark();
    }

    fn run_task(&self) {
        // SAFETY: loom checks that no other thread touches it.
        self.data.with_mut(|data| unsafe { *data += 1 });
    }

    fn grant_next(&self, slot: Slot, lose: impl FnOnce()) -> bool {
        self.lock.grant_next(slot, lose).map(|next| self.unpark(next)).is_some()
    }

    /// As `Worker::still_has_index`.
    fn keeps(&self, slot: Slot) -> bool {
        if self.lock.is_held_unclaimed(slot) {
            return true;
        }
        self.lock.end_idle(slot);
        self.lock.is_held_busy(slot) && !self.grant_next(slot, || self.free_replacement_in(slot))
    }

    /// As `Worker::take_index_back`, for a thread that does not give up.
    fn take_back(&self, slot: Slot) {
        if let Some(loser) = self.lock.take_or_claim(slot) {
            if loser.idle == Idle::WithoutTask {
                self.free_replacement_in(loser.slot);
            }
            return self.unpark(loser.slot);
        }
        while !self.lock.is_held_by(slot) {
            self.parkers[slot.get()].park(|| self.lock.is_held_by(slot), None);
        }
    }

    fn free_replacement_in(&self, slot: Slot) {
        if slot == REPLACEMENT {
            self.replacements.put_back(0);
        }
    }

    /// The thread has run its task and has no other one: it searches for ever, or is about to end.
    fn become_idle(&self, slot: Slot) {
        while self.keeps(slot) && !self.lock.begin_idle(slot, Idle::WithoutTask) {}
    }

    /// A thread whose event has come: takes its index back, and goes on with its task.
    fn go_on(&self, slot: Slot) {
        self.take_back(slot);
        self.run_task();
        self.become_idle(slot);
    }

    /// The thread of a replacement. While it has the index, it runs the tasks that are left, and
    /// sleeps in between.
    fn replace(&self) {
        let is_closed = || self.closed.is_set();
        let has_index = || {
            assert_eq!(self.replacements.index(0), INDEX);
            self.lock.is_held_by(REPLACEMENT)
        };
        let has_task = || self.left.load(Ordering::Acquire) > 0;
        while !is_closed() {
            if has_index() && has_task() {
                if self.lock.end_idle(REPLACEMENT) && self.keeps(REPLACEMENT) {
                    self.left.fetch_sub(1, Ordering::AcqRel);
                    self.run_task();
                    self.replaced.fetch_add(1, Ordering::Release);
                }
                self.become_idle(REPLACEMENT);
            }
            let is_over = || has_index() && has_task() || is_closed();
            self.parkers[REPLACEMENT.get()].park(is_over, None);
        }
    }

    /// As `Worker::give_index_away`. Returns true if a replacement has got the index.
    fn give_away(&self, slot: Slot, start: impl FnOnce()) -> bool {
        self.left.fetch_add(1, Ordering::Release);
        loop {
            if self.grant_next(slot, || ()) {
                return false;
            }
            let Some(number) = self.replacements.take() else {
                if self.lock.begin_idle(slot, Idle::InTask) {
                    return false;
                }
                continue;
            };
            self.replacements.set_index(number, INDEX);
            if self.lock.transfer(slot, REPLACEMENT) {
                self.unpark(REPLACEMENT);
                if self.replaced.load(Ordering::Relaxed) == 0 {
                    start();
                }
                return true;
            }
            self.replacements.put_back(number);
        }
    }

    fn close(&self) {
        self.closed.set();
        self.unpark(REPLACEMENT);
    }
}

fn check(bound: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(model);
}

fn spawn(model: &Arc<Model>, run: impl FnOnce(&Model) + 'static) -> thread::JoinHandle<()> {
    let model = model.clone();
    thread::spawn(move || run(&model))
}

/// The holder ends its task, and searches.
#[test]
fn loom_index_a_claim_is_served_when_the_holder_becomes_idle() {
    check(4, || {
        let model = Model::new(OWN);
        let waiter = spawn(&model, |model| model.go_on(WAITER));
        model.run_task();
        model.become_idle(OWN);
        waiter.join().unwrap();
        // SAFETY: all have ended.
        model.data.with(|tasks| assert_eq!(unsafe { *tasks }, 2));
    });
}

#[test]
fn loom_index_two_claims_are_served() {
    check(2, || {
        let model = Model::new(OWN);
        let waiters = [WAITER, OTHER].map(|slot| spawn(&model, move |model| model.go_on(slot)));
        model.run_task();
        model.become_idle(OWN);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        // SAFETY: all have ended.
        model.data.with(|tasks| assert_eq!(unsafe { *tasks }, 3));
    });
}

/// The holder searches, and finds a task now and then. If it has lost the index, it waits for it.
#[test]
fn loom_index_a_claim_is_served_while_the_holder_searches() {
    check(3, || {
        let model = Model::new(OWN);
        let waiter = spawn(&model, |model| model.go_on(WAITER));
        for _ in 0..2 {
            // As `Search::run` does, whatever the results.
            let is_idle = model.lock.begin_idle(OWN, Idle::WithoutTask);
            if !(is_idle && model.lock.end_idle(OWN)) && !model.keeps(OWN) {
                model.take_back(OWN);
            }
            model.run_task();
        }
        model.become_idle(OWN);
        waiter.join().unwrap();
    });
}

/// The holder blocks. A thread that claims the index at the same time gets it, or the replacement
/// does.
#[test]
fn loom_index_a_claim_is_served_while_the_holder_blocks() {
    check(2, || {
        let model = Model::new(OWN);
        let waiter = spawn(&model, |model| model.go_on(WAITER));
        let mut replacement = None;
        model.give_away(OWN, || replacement = Some(spawn(&model, Model::replace)));
        model.go_on(OWN);
        waiter.join().unwrap();
        model.close();
        replacement.into_iter().for_each(|replacement| replacement.join().unwrap());
    });
}

/// The thread of the worker, its replacement and a thread that waits for the index from before.
#[test]
fn loom_index_three_threads_take_turns() {
    check(2, || {
        let model = Model::new(OWN);
        let mut replacement = None;
        assert!(model.give_away(OWN, || replacement = Some(spawn(&model, Model::replace))));
        let waiter = spawn(&model, |model| model.go_on(WAITER));
        model.go_on(OWN);
        waiter.join().unwrap();
        model.close();
        replacement.unwrap().join().unwrap();
    });
}

/// A thread gives up waiting while the holder passes the lock on. Another claim is behind it.
#[test]
fn loom_index_a_withdrawn_claim_blocks_no_other() {
    check(2, || {
        let model = Model::new(OWN);
        let other = spawn(&model, |model| model.go_on(OTHER));
        let waiter = spawn(&model, |model| {
            if model.lock.take_or_claim(WAITER).is_some() || !model.lock.withdraw(WAITER) {
                // It has the lock, at once or just now.
                assert!(model.lock.is_held_by(WAITER));
                model.run_task();
                model.become_idle(WAITER);
            }
        });
        model.run_task();
        model.become_idle(OWN);
        waiter.join().unwrap();
        other.join().unwrap();
    });
}

/// A worker leaves its index twice in a row. No other thread can run the task that it waits for.
#[test]
fn loom_replacement_one_that_has_lost_its_index_is_sent_out_again() {
    check(2, || {
        let model = Model::new(OWN);
        let mut replacement = None;
        for round in 1..=2 {
            // It has never been taken, or its thread has yet to notice that it is free.
            assert!(model.give_away(OWN, || replacement = Some(spawn(&model, Model::replace))));
            while model.replaced.load(Ordering::Acquire) < round {
                thread::yield_now();
            }
            model.take_back(OWN);
            model.run_task();
        }
        model.close();
        replacement.unwrap().join().unwrap();
    });
}

/// Three workers want the same two replacements. One thread takes both and puts them back in
/// another order meanwhile.
#[test]
fn loom_replacement_one_thread_takes_it() {
    check(3, || {
        let all = Arc::new(Replacements::new(2));
        let taken = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let others = [(); 2].map(|()| {
            let (all, taken) = (all.clone(), taken.clone());
            thread::spawn(move || {
                let number = all.take()?;
                assert_eq!(taken[number].fetch_add(1, Ordering::Relaxed), 0, "it is taken");
                taken[number].fetch_sub(1, Ordering::Relaxed);
                all.put_back(number);
                Some(number)
            })
        });
        let (first, second) = (all.take(), all.take());
        let own: Vec<_> = first.into_iter().chain(second).collect();
        for &number in &own {
            assert_eq!(taken[number].fetch_add(1, Ordering::Relaxed), 0, "it is taken");
        }
        for number in own {
            taken[number].fetch_sub(1, Ordering::Relaxed);
            all.put_back(number);
        }
        others.into_iter().for_each(|other| _ = other.join().unwrap());
        let mut left = [all.take().unwrap(), all.take().unwrap()];
        left.sort_unstable();
        assert_eq!((left, all.take()), ([0, 1], None));
    });
}

/// The pool is closed while a replacement is about to park, or is taken.
#[test]
fn loom_replacement_closing_the_pool_ends_it() {
    check(3, || {
        let model = Model::new(OWN);
        let mut replacement = None;
        assert!(model.give_away(OWN, || replacement = Some(spawn(&model, Model::replace))));
        let closer = spawn(&model, Model::close);
        model.take_back(OWN);
        model.run_task();
        closer.join().unwrap();
        replacement.unwrap().join().unwrap();
    });
}
