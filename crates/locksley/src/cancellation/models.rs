use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::Cancellation;

/// A thread that finds a child cancelled sees what was written before the outermost token was
/// cancelled.
#[test]
fn loom_cancellation_publishes_what_was_done_before() {
    loom::model(|| {
        let reason = Arc::new(UnsafeCell::new(0));
        let outer = Cancellation::new();
        let inner = outer.child();
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let (reason, inner) = (reason.clone(), inner.clone());
                thread::spawn(move || {
                    if inner.is_cancelled() {
                        // SAFETY: loom checks that no thread writes at the same time.
                        reason.with(|reason| assert_eq!(unsafe { *reason }, 7));
                    }
                })
            })
            .collect();
        // SAFETY: as above.
        reason.with_mut(|reason| unsafe { *reason = 7 });
        outer.cancel();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}
