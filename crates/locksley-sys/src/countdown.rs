//! Counting down to the last of several: what joins them, whoever waits and however.

use crate::primitive::{AtomicUsize, Ordering, const_unless_loom};

/// How many have not ended. It tells the last one that it was the last; what is done then is that
/// one's matter: a scope sets a latch, a join counter lets tasks go.
#[derive(Debug)]
pub struct Countdown(AtomicUsize);

impl Countdown {
    const_unless_loom! {
        /// So many that have not ended.
        pub fn new(left: usize) -> Self {
            Self(AtomicUsize::new(left))
        }
    }

    /// How many have not ended. When none has not, what all did before is seen.
    #[inline]
    pub fn left(&self) -> usize {
        // Acquire pairs with the release of the last to end, which had seen what all others did.
        self.0.load(Ordering::Acquire)
    }

    /// One more begins. The caller is one that has not ended.
    #[inline]
    pub fn begin(&self) {
        // Relaxed: its end comes after it is sent, which comes after this.
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        debug_assert!(before > 0, "one began after all had ended");
    }

    /// One ends, that has not ended before. Whether it was the last.
    #[inline]
    #[must_use = "somebody may wait for the last"]
    pub fn end(&self) -> bool {
        // AcqRel: the last one has seen what all others did, and hands it to who waits.
        self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// One ends; `None` if all have. Whether it was the last.
    pub fn try_end(&self) -> Option<bool> {
        // AcqRel, as above.
        self.change(Ordering::AcqRel, |left| left.checked_sub(1)).map(|before| before == 1)
    }

    /// So many more begin; `false` if all have ended, or they are too many.
    pub fn try_add(&self, more: usize) -> bool {
        // Relaxed, as in `begin`.
        let add = |left: usize| if left == 0 { None } else { left.checked_add(more) };
        self.change(Ordering::Relaxed, add).is_some()
    }

    fn change(&self, order: Ordering, new: impl Fn(usize) -> Option<usize>) -> Option<usize> {
        let mut left = self.0.load(Ordering::Relaxed);
        loop {
            match self.0.compare_exchange(left, new(left)?, order, Ordering::Relaxed) {
                Ok(before) => return Some(before),
                Err(now) => left = now,
            }
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::Countdown;

    /// Two write, and end; the last one reads what both have written.
    fn the_last_sees_what_all_did(is_last: fn(&Countdown) -> bool) {
        loom::model(move || {
            let shared = Arc::new((Countdown::new(2), [UnsafeCell::new(0), UnsafeCell::new(0)]));
            let end = move |(left, notes): &(Countdown, [UnsafeCell<u32>; 2]), own: usize| {
                // SAFETY: loom checks that nobody else uses it.
                notes[own].with_mut(|note| unsafe { *note = 1 });
                let last = is_last(left);
                if last {
                    // SAFETY: loom checks that nobody writes at the same time.
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
    fn loom_countdown_the_last_of_those_who_try_sees_what_all_did() {
        the_last_sees_what_all_did(|left| left.try_end() == Some(true));
    }
}
