//! Loom models: a replacement serves the worker that it is assigned to, and ends with the pool.

use loom::sync::Arc;
use loom::thread;

use super::assignment::{Assigned, Assignment};
use crate::primitive::{AtomicUsize, Ordering};
use crate::scheduler::latch::Flag;

struct Model {
    assignment: Assignment,
    closed: Flag,
    /// A bit for each worker that has been served, and for each that has requested it.
    served: AtomicUsize,
    requested: AtomicUsize,
}

impl Model {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            assignment: Assignment::default(),
            closed: Flag::default(),
            served: AtomicUsize::new(0),
            requested: AtomicUsize::new(0),
        })
    }

    /// The loop of a replacement's thread. Instead of running tasks, it records its worker.
    fn serve(&self) {
        while self.assignment.wait(|| (), || self.closed.is_set()) {
            self.work();
        }
    }

    /// The replacement may be released and assigned again between two looks.
    fn work(&self) {
        while let Some(index) = self.assignment.worker() {
            // Relaxed: the assignment publishes what the worker did before.
            assert!(self.requested.load(Ordering::Relaxed) & 1 << index != 0);
            self.served.fetch_or(1 << index, Ordering::Relaxed);
            thread::yield_now();
        }
    }

    fn request(&self, index: usize) {
        // Relaxed: the assignment publishes it.
        self.requested.fetch_add(1 << index, Ordering::Relaxed);
    }

    fn close(&self) {
        self.closed.set();
        self.assignment.close();
    }
}

fn check(bound: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(model);
}

/// A replacement serves each time it is assigned, parks in between, and ends with the pool.
#[test]
fn loom_assignment_a_replacement_serves_and_parks_repeatedly() {
    check(3, || {
        let model = Model::new();
        model.request(0);
        assert_eq!(model.assignment.try_assign(0), Some(Assigned::NeedsThread));
        let server = model.clone();
        let server = thread::spawn(move || server.serve());
        assert_eq!(model.assignment.try_assign(1), None, "it is assigned already");
        assert!(model.assignment.release(0));
        model.request(1);
        let assigned = model.assignment.try_assign(1);
        assert!(matches!(assigned, Some(Assigned::Woken | Assigned::StillAwake)));
        // No other thread can serve, and it serves under this index.
        while model.served.load(Ordering::Relaxed) & 1 << 1 == 0 {
            thread::yield_now();
        }
        assert!(model.assignment.release(1));
        model.close();
        server.join().unwrap();
    });
}

/// Two workers assign the same replacement at the same time: one of them gets it.
#[test]
fn loom_assignment_only_one_worker_gets_the_replacement() {
    check(2, || {
        let model = Model::new();
        model.request(0);
        assert_eq!(model.assignment.try_assign(0), Some(Assigned::NeedsThread));
        // It is released before its thread starts. A release while it looks is the subject of the
        // other models.
        assert!(model.assignment.release(0));
        let server = model.clone();
        let server = thread::spawn(move || server.serve());
        let other = model.clone();
        let assign = |model: &Model, index| {
            model.request(index);
            let is_assigned = model.assignment.try_assign(index).is_some();
            if is_assigned {
                assert_eq!(model.assignment.try_assign(3), None);
                assert!(model.assignment.release(index));
            }
        };
        let other = thread::spawn(move || assign(&other, 1));
        assign(&model, 2);
        other.join().unwrap();
        model.close();
        server.join().unwrap();
    });
}

/// The pool is closed while the replacement is about to park, or while it is assigned.
#[test]
fn loom_assignment_closing_the_pool_ends_a_replacement() {
    check(3, || {
        let model = Model::new();
        model.request(0);
        assert_eq!(model.assignment.try_assign(0), Some(Assigned::NeedsThread));
        let server = model.clone();
        let server = thread::spawn(move || server.serve());
        let closer = model.clone();
        let closer = thread::spawn(move || closer.close());
        assert!(model.assignment.release(0) || model.closed.is_set(), "only closing releases it");
        closer.join().unwrap();
        server.join().unwrap();
    });
}

/// The replacement ends even if its worker never releases it. A late release does not release the
/// next worker's replacement.
#[test]
fn loom_assignment_closing_the_pool_ends_a_replacement_that_is_not_released() {
    check(3, || {
        let model = Model::new();
        model.request(0);
        assert_eq!(model.assignment.try_assign(0), Some(Assigned::NeedsThread));
        let server = model.clone();
        let server = thread::spawn(move || server.serve());
        model.close();
        server.join().unwrap();
        let assigned = model.assignment.try_assign(1);
        assert!(matches!(assigned, Some(Assigned::Woken | Assigned::StillAwake)));
        assert!(!model.assignment.release(0));
        assert_eq!(model.assignment.worker(), Some(1));
    });
}
