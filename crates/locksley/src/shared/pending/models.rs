//! A loom model: a pool is closed once.

use loom::sync::Arc;
use loom::thread;

use super::{Left, Pending};

/// The handle is dropped, a closure ends, and a task starts another closure and ends.
#[test]
fn loom_pending_the_pool_is_closed_once() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let pending = Arc::new(Pending::new());
        assert!(pending.begin_closure());
        assert!(pending.begin_task());
        let other = pending.clone();
        let closure = thread::spawn(move || [other.end_closure()]);
        let other = pending.clone();
        let task = thread::spawn(move || {
            assert!(other.begin_closure());
            [other.end_closure(), other.end_task()]
        });
        let handle = [pending.end_closure()];
        let ends = [&handle[..], &closure.join().unwrap(), &task.join().unwrap()].concat();
        assert_eq!(ends.iter().filter(|&&left| left == Left::Nothing).count(), 1);
    });
}
