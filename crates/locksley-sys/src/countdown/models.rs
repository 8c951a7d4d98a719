//! Models of the countdown, for loom.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::Countdown;

/// Two write, and end; the last one reads what both have written.
fn the_last_sees_what_all_did(is_last: fn(&Countdown) -> bool) {
    loom::model(move || {
        let shared = Arc::new((Countdown::new(2), [UnsafeCell::new(0), UnsafeCell::new(0)]));
        let end = move |(left, notes): &(Countdown, [UnsafeCell<u32>; 2]), own: usize| {
            // SAFETY: loom checks that no other thread uses it.
            notes[own].with_mut(|note| unsafe { *note = 1 });
            let last = is_last(left);
            if last {
                // SAFETY: loom checks that no thread writes at the same time.
                let read = |note: &UnsafeCell<u32>| note.with(|note| unsafe { *note });
                assert_eq!(notes.each_ref().map(read), [1, 1]);
            }
            usize::from(last)
        };
        let there = shared.clone();
        let other = thread::spawn(move || end(&there, 1));
        assert_eq!(end(&shared, 0) + other.join().unwrap(), 1);
        assert_eq!(shared.0.left(), 0);
    });
}

#[test]
fn loom_countdown_the_last_sees_what_all_did() {
    the_last_sees_what_all_did(Countdown::end);
}

#[test]
fn loom_countdown_the_last_to_try_sees_what_all_did() {
    the_last_sees_what_all_did(|left| left.try_end() == Some(true));
}
