use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
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

/// A hook of a child is added while the child and its parent are cancelled.
#[test]
fn loom_cancellation_calls_a_hook_once() {
    loom::model(|| {
        let calls = Arc::new(AtomicUsize::new(0));
        let outer = Cancellation::new();
        let inner = outer.child();
        let other = thread::spawn(move || outer.cancel());
        let counted = calls.clone();
        let hook = inner.on_cancel(move || _ = counted.fetch_add(1, Ordering::Relaxed));
        inner.cancel();
        other.join().unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        drop(hook);
    });
}

/// A hook is removed while its token is cancelled: it is called or dropped, and the token is freed.
#[test]
fn loom_cancellation_drops_a_hook_once() {
    loom::model(|| {
        let calls = Arc::new(AtomicUsize::new(0));
        let token = Cancellation::new();
        let counted = calls.clone();
        let hook = token.on_cancel(move || _ = counted.fetch_add(1, Ordering::Relaxed));
        let other = token.clone();
        let other = thread::spawn(move || other.cancel());
        drop(hook);
        other.join().unwrap();
        assert!(calls.load(Ordering::Relaxed) <= 1);
        assert_eq!(std::sync::Arc::strong_count(&token.0), 1);
    });
}
