//! What keeps a pool going: two words that count it.
//!
//! | word, bits      | field     | counts                                                                        |
//! |-----------------|-----------|-------------------------------------------------------------------------------|
//! | first, 0–31     | `owed`    | detached closures that have not ended, and 1 for the pool's handle            |
//! | first, 32–63    | `tasks`   | futures that are tasks, and processes on stacks, that have not finished; and 1 while they are being cancelled |
//! | second, 0       | `ALONE`   | whether nothing was owed once: the waits that begin after that are not counted |
//! | second, 1–63    | `foreign` | waits of processes, which are tasks, for what is no channel                   |
//!
//! When nothing is owed any more, and the waits that began before have ended, the tasks are cancelled; when there is nothing at all, the pool is
//! closed. The first word comes to 0 once: whoever adds to it is counted.
//!
//! *Tasks are cancelled in time.* After `ALONE` is set the second word only falls, to `ALONE` alone when the last of the waits ends that began before. So waits of
//! processes that overlap without end put nothing off.
//! *And not too early.* A wait that is counted began before `ALONE` was set, so whoever sets it, and whoever finds it set, sees the wait until it has ended.
//! *By somebody.* Who ends the last of what is owed changes the first word and then the second one; who ends the last of the waits, the second one and
//! then reads the first. The changes of the second word come one after the other: if that of who ends a wait is second, it has acquired that nothing is owed
//! any more; if it is first, the other one finds that no wait is left.
//!
//! Rejected: to fail the networks first, when nothing is owed, and to cancel other futures when no process waits for something foreign. What it waits for may
//! be the matter of another process of its own network; and processes that wait for foreign things by turns, and never at a channel, would still put cancelling off.

use crate::primitive::{AtomicU64, CachePadded, Ordering};

const ONE_OWED: u64 = 1;
const ONE_TASK: u64 = 1 << 32;
const ALONE: u64 = 1;
const ONE_FOREIGN: u64 = 1 << 1;

#[derive(Debug)]
pub(super) struct Tally {
    word: CachePadded<AtomicU64>,
    foreign: CachePadded<AtomicU64>,
}

/// What is left after something has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Left {
    /// Something that is owed, or it is not for the caller to say.
    Some,
    /// Only tasks: they are to be cancelled.
    Tasks,
    Nothing,
}

impl Tally {
    /// The pool's handle is there.
    pub(super) fn new() -> Self {
        let padded = |word| CachePadded::new(AtomicU64::new(word));
        Self { word: padded(ONE_OWED), foreign: padded(0) }
    }

    /// A closure is about to be accepted. `false` if nothing is left: the caller need not be counted itself.
    #[must_use]
    pub(super) fn begin_owed(&self) -> bool {
        self.begin(ONE_OWED)
    }

    /// A closure, or the pool's handle, has ended.
    pub(super) fn end_owed(&self) -> Left {
        match self.end(ONE_OWED) {
            0 => Left::Nothing,
            word if word as u32 > 0 => Left::Some,
            // AcqRel pairs with that in `end_foreign`, which comes before or after.
            _ if self.foreign.fetch_or(ALONE, Ordering::AcqRel) <= ALONE => Left::Tasks,
            _ => Left::Some,
        }
    }

    /// As [`begin_owed`](Self::begin_owed), for a task.
    #[must_use]
    pub(super) fn begin_task(&self) -> bool {
        self.begin(ONE_TASK)
    }

    fn begin(&self, one: u64) -> bool {
        let mut before = self.word.load(Ordering::Relaxed);
        while before != 0 {
            must_have_room(before);
            let after = before + one;
            // Relaxed: its end comes after it is sent, which comes after this.
            match self.word.compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => before = now,
            }
        }
        false
    }

    /// A task has finished. Whether others are left is no matter: they are cancelled when nothing is owed any more, and later ones find that.
    pub(super) fn end_task(&self) -> Left {
        if self.end(ONE_TASK) == 0 { Left::Nothing } else { Left::Some }
    }

    fn end(&self, one: u64) -> u64 {
        // AcqRel: whoever closes the pool has seen the end of all.
        let after = self.word.fetch_sub(one, Ordering::AcqRel) - one;
        debug_assert!(
            after > 0 || self.foreign.load(Ordering::Relaxed) <= ALONE,
            "who waits is a task"
        );
        after
    }

    /// A process, which is a task, is about to wait for what is no channel. Says whether that is counted.
    #[must_use]
    pub(super) fn begin_foreign(&self) -> bool {
        let mut before = self.foreign.load(Ordering::Relaxed);
        while before & ALONE == 0 {
            let after = before + ONE_FOREIGN;
            // Relaxed: what counts is whether it comes before `ALONE` is set.
            match self.foreign.compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(now) => before = now,
            }
        }
        false
    }

    /// A wait that was counted has ended.
    pub(super) fn end_foreign(&self) -> Left {
        // AcqRel pairs with that in `end_owed`, which comes before or after.
        if self.foreign.fetch_sub(ONE_FOREIGN, Ordering::AcqRel) - ONE_FOREIGN != ALONE {
            return Left::Some;
        }
        // Relaxed: if nothing was owed when `ALONE` was set, that has been acquired. Meanwhile something may be owed again, whose end comes after this one.
        if self.word.load(Ordering::Relaxed) as u32 == 0 { Left::Tasks } else { Left::Some }
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

    /// So many processes wait so often for what is no channel. The handle goes, and with it a closure ends, if there is one. The tasks, of which one does not
    /// end by itself, are cancelled, but not while a wait is under way that was counted.
    fn waits_of_processes(processes: usize, waits: usize, has_closure: bool) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let shared = Arc::new((Tally::new(), AtomicUsize::new(0)));
            assert!(shared.0.begin_task());
            let process = move |shared: Arc<(Tally, AtomicUsize)>| {
                let (tally, closing) = &*shared;
                for _ in 0..waits {
                    if tally.begin_foreign() {
                        assert_eq!(closing.load(Ordering::Relaxed), 0, "too early");
                        assert!(!see_to(tally, tally.end_foreign(), closing));
                    }
                }
                assert!(!see_to(tally, tally.end_task(), closing));
            };
            let mut threads = Vec::new();
            for _ in 0..processes {
                assert!(shared.0.begin_task());
                let shared = shared.clone();
                threads.push(thread::spawn(move || process(shared)));
            }
            if has_closure {
                assert!(shared.0.begin_owed());
                let shared = shared.clone();
                threads.push(thread::spawn(move || {
                    assert!(!see_to(&shared.0, shared.0.end_owed(), &shared.1));
                }));
            }
            assert!(!see_to(&shared.0, shared.0.end_owed(), &shared.1));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(shared.1.load(Ordering::Relaxed), 1, "never");
        });
    }

    #[test]
    fn loom_tally_tasks_are_cancelled_after_the_waits_that_count() {
        waits_of_processes(1, 2, true);
    }

    #[test]
    fn loom_tally_tasks_are_cancelled_after_waits_that_overlap() {
        waits_of_processes(2, 1, false);
    }

    /// The process begins a closure when nothing else is owed any more: then that is waited for, too, or the tasks are cancelled already.
    #[test]
    fn loom_tally_what_is_owed_again_is_no_reason_to_cancel_nothing() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let shared = Arc::new((Tally::new(), AtomicUsize::new(0)));
            assert!(shared.0.begin_task() && shared.0.begin_foreign());
            let there = shared.clone();
            let closure = thread::spawn(move || {
                let (tally, closing) = &*there;
                assert!(tally.begin_owed());
                assert!(!see_to(tally, tally.end_owed(), closing));
            });
            let there = shared.clone();
            let process = thread::spawn(move || {
                let (tally, closing) = &*there;
                assert!(!see_to(tally, tally.end_foreign(), closing));
            });
            assert!(!see_to(&shared.0, shared.0.end_owed(), &shared.1));
            closure.join().unwrap();
            process.join().unwrap();
            assert_eq!(shared.1.load(Ordering::Relaxed), 1, "never");
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
