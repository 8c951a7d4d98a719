//! What the model checker runs: a pool is closed once, and its tasks are cancelled in time.

use loom::sync::Arc;
use loom::thread;

use super::{Left, Pending};
use crate::primitive::{AtomicUsize, Ordering};

/// What a pool does about it, step by step (`Shared::see_to_the_rest`, `cancel_tasks`, and the job that this sends).
/// Returns whether this was the end.
fn see_to(pending: &Pending, left: Left, closing: &AtomicUsize) -> bool {
    match left {
        Left::Some => false,
        Left::Nothing => true,
        Left::Tasks => {
            if closing.load(Ordering::Acquire) == 1 || !pending.begin_task() {
                return false;
            }
            // Somebody was faster, or the tasks are cancelled: in either case this one ends.
            let _ = closing.swap(1, Ordering::AcqRel);
            see_to(pending, pending.end_task(), closing)
        }
    }
}

/// The handle goes, a closure ends, and a task that begins another closure: it all comes to nothing once.
#[test]
fn loom_pending_comes_to_nothing_once() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let pending = Arc::new((Pending::new(), AtomicUsize::new(0)));
        assert!(pending.0.begin_owed());
        assert!(pending.0.begin_task());
        let other = pending.clone();
        let closure =
            thread::spawn(move || usize::from(see_to(&other.0, other.0.end_owed(), &other.1)));
        let other = pending.clone();
        let task = thread::spawn(move || {
            let (pending, closing) = &*other;
            assert!(pending.begin_owed());
            let ends = [pending.end_owed(), pending.end_task()];
            ends.iter().filter(|&&left| see_to(pending, left, closing)).count()
        });
        let ends = usize::from(see_to(&pending.0, pending.0.end_owed(), &pending.1));
        assert_eq!(ends + closure.join().unwrap() + task.join().unwrap(), 1);
    });
}
