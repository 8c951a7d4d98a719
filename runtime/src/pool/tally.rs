//! What keeps a pool going: one word that counts it.
//!
//! | bits  | field    | counts                                                                        |
//! |-------|----------|-------------------------------------------------------------------------------|
//! | 0–31  | `owed`   | detached closures that have not ended, waits of processes for what is no channel, and 1 for the pool's handle |
//! | 32–63 | `tasks`  | futures that are tasks, and processes on stacks, that have not finished; and 1 while they are being cancelled |
//!
//! When nothing is owed any more, the tasks are cancelled; when there is nothing at all, the pool is closed. The word comes to
//! 0 once: whoever adds to it is counted.

use crate::primitive::{AtomicU64, CachePadded, Ordering};

const ONE_OWED: u64 = 1;
const ONE_TASK: u64 = 1 << 32;

#[derive(Debug)]
pub(super) struct Tally(CachePadded<AtomicU64>);

/// What is left after something has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Left {
    /// Something that is owed.
    Some,
    /// Only tasks.
    Tasks,
    Nothing,
}

impl Left {
    fn of(word: u64) -> Self {
        match (word as u32, word >> 32) {
            (0, 0) => Self::Nothing,
            (0, _) => Self::Tasks,
            _ => Self::Some,
        }
    }
}

impl Tally {
    /// The pool's handle is there.
    pub(super) fn new() -> Self {
        Self(CachePadded::new(AtomicU64::new(ONE_OWED)))
    }

    /// A closure is about to be accepted. `false` if nothing is left: the caller need not be counted itself.
    #[must_use]
    pub(super) fn begin_owed(&self) -> bool {
        self.begin(ONE_OWED)
    }

    /// A closure, or the pool's handle, has ended.
    pub(super) fn end_owed(&self) -> Left {
        self.end(ONE_OWED)
    }

    /// As [`begin_owed`](Self::begin_owed), for a task.
    #[must_use]
    pub(super) fn begin_task(&self) -> bool {
        self.begin(ONE_TASK)
    }

    fn begin(&self, one: u64) -> bool {
        let mut before = self.0.load(Ordering::Relaxed);
        while before != 0 {
            must_have_room(before);
            let after = before + one;
            // Relaxed: its end comes after it is sent, which comes after this.
            match self.0.compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => before = now,
            }
        }
        false
    }

    /// A task has finished.
    pub(super) fn end_task(&self) -> Left {
        self.end(ONE_TASK)
    }

    fn end(&self, one: u64) -> Left {
        // AcqRel: whoever closes the pool has seen the end of all.
        Left::of(self.0.fetch_sub(one, Ordering::AcqRel) - one)
    }
}

/// So many in a field that more would reach into the other, or come to nothing.
const TOO_MANY: u64 = 1 << 31;

fn must_have_room(word: u64) {
    if u64::from(word as u32) > TOO_MANY || word >> 32 > TOO_MANY {
        std::process::abort(); // no memory holds so many
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::{Left, Tally};
    use crate::primitive::{AtomicUsize, Ordering};

    /// What a pool does about it, step by step (`Shared::see_to_the_rest`, `cancel_tasks`, and the job that this sends).
    /// Returns whether this was the end.
    fn see_to(tally: &Tally, left: Left, closing: &AtomicUsize) -> bool {
        match left {
            Left::Some => false,
            Left::Nothing => true,
            Left::Tasks => {
                if closing.load(Ordering::Acquire) == 1 || !tally.begin_task() {
                    return false;
                }
                // Somebody was faster, or the tasks are cancelled: in either case this one ends.
                let _ = closing.swap(1, Ordering::AcqRel);
                see_to(tally, tally.end_task(), closing)
            }
        }
    }

    /// The handle goes, a closure ends, and a task that begins another closure: it all comes to nothing once.
    #[test]
    fn loom_tally_comes_to_nothing_once() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let tally = Arc::new((Tally::new(), AtomicUsize::new(0)));
            assert!(tally.0.begin_owed());
            assert!(tally.0.begin_task());
            let other = tally.clone();
            let closure =
                thread::spawn(move || usize::from(see_to(&other.0, other.0.end_owed(), &other.1)));
            let other = tally.clone();
            let task = thread::spawn(move || {
                let (tally, closing) = &*other;
                assert!(tally.begin_owed());
                let ends = [tally.end_owed(), tally.end_task()];
                ends.iter().filter(|&&left| see_to(tally, left, closing)).count()
            });
            let ends = usize::from(see_to(&tally.0, tally.0.end_owed(), &tally.1));
            assert_eq!(ends + closure.join().unwrap() + task.join().unwrap(), 1);
        });
    }

    /// Whoever ends the last has seen what all did before they ended.
    #[test]
    fn loom_tally_who_closes_has_seen_the_end_of_all() {
        loom::model(|| {
            let shared = Arc::new((Tally::new(), [UnsafeCell::new(0), UnsafeCell::new(0)]));
            assert!(shared.0.begin_owed());
            let end = |(tally, notes): &(Tally, [UnsafeCell<u32>; 2]), own: usize| {
                // SAFETY: loom checks that nobody else uses it.
                notes[own].with_mut(|note| unsafe { *note = 1 });
                let is_end = matches!(tally.end_owed(), Left::Nothing);
                if is_end {
                    // SAFETY: loom checks that nobody writes at the same time.
                    let read = |note: &UnsafeCell<u32>| note.with(|note| unsafe { *note });
                    assert_eq!(notes.each_ref().map(read), [1, 1]);
                }
                usize::from(is_end)
            };
            let there = shared.clone();
            let other = thread::spawn(move || end(&there, 1));
            assert_eq!(end(&shared, 0) + other.join().unwrap(), 1);
        });
    }
}
