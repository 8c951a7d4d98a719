//! Loom models: a pool is closed once, and its tasks are cancelled before.

use loom::sync::Arc;
use loom::thread;

use super::{Left, Pending};
use crate::primitive::{AtomicUsize, Ordering};

/// What a pool does after an end (`Shared::finish`, `cancel_tasks`, and the job that this sends).
/// True if the pool is closed.
fn finish(pending: &Pending, left: Left, closing: &AtomicUsize) -> bool {
    match left {
        Left::Some => false,
        Left::Nothing => true,
        Left::Tasks => {
            if closing.load(Ordering::Acquire) == 1 || !pending.begin_task() {
                return false;
            }
            // Whether this thread cancels the tasks or another one does: this count ends.
            let _ = closing.swap(1, Ordering::AcqRel);
            finish(pending, pending.end_task(), closing)
        }
    }
}

/// The handle is dropped, a closure ends, and a task starts another closure and ends.
#[test]
fn loom_pending_the_pool_is_closed_once() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let pending = Arc::new((Pending::new(), AtomicUsize::new(0)));
        assert!(pending.0.begin_closure());
        assert!(pending.0.begin_task());
        let other = pending.clone();
        let closure =
            thread::spawn(move || usize::from(finish(&other.0, other.0.end_closure(), &other.1)));
        let other = pending.clone();
        let task = thread::spawn(move || {
            let (pending, closing) = &*other;
            assert!(pending.begin_closure());
            let ends = [pending.end_closure(), pending.end_task()];
            ends.iter().filter(|&&left| finish(pending, left, closing)).count()
        });
        let ends = usize::from(finish(&pending.0, pending.0.end_closure(), &pending.1));
        assert_eq!(ends + closure.join().unwrap() + task.join().unwrap(), 1);
    });
}
