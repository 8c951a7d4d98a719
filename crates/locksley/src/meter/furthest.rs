//! The course of the longest path that has arrived somewhere.

use std::fmt;
use std::ptr::{self, NonNull};

use super::course::Course;
use crate::primitive::{AtomicPtr, Ordering, UnsafeCell};

/// One place for one arrival, which is passed on: who arrives takes out what is there, and puts back the longer of the two.
///
/// Whoever has taken something out has it alone, so it may be read, changed and freed. Nobody waits: if somebody else has put something there
/// meanwhile, that is taken out in its turn; each such failure is another one's success. So at any time each arrival, or a longer one, is there
/// or in the hand of somebody whose call has not returned; and there when all calls have.
pub(super) struct Furthest(AtomicPtr<Arrival>);

/// A path's length and course.
type Path = (i64, Course);

/// Belongs to whoever has taken it out, or has made it.
struct Arrival(UnsafeCell<Path>);

impl Arrival {
    fn span(&self) -> i64 {
        // SAFETY: the caller has taken it out, so nobody else uses it.
        self.0.with(|path| unsafe { (*path).0 })
    }

    fn course(&self) -> Course {
        // SAFETY: as above.
        self.0.with(|path| unsafe { (*path).1 })
    }

    fn becomes(&self, new: Path) {
        // SAFETY: as above.
        self.0.with_mut(|path| unsafe { *path = new });
    }
}

impl Furthest {
    pub(super) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// A path of that length arrives.
    pub(super) fn arrive(&self, span: i64, course: &Course) {
        let new = (span, *course);
        self.put(match self.take() {
            Some(there) if there.span() >= span => there,
            Some(there) => {
                there.becomes(new);
                there
            }
            None => Box::new(Arrival(UnsafeCell::new(new))),
        });
    }

    /// The longest that has arrived; `None` if there is none, or somebody has it just now.
    pub(super) fn longest(&self) -> Option<Path> {
        let there = self.take()?;
        let longest = (there.span(), there.course());
        self.put(there);
        Some(longest)
    }

    fn take(&self) -> Option<Box<Arrival>> {
        // Acquire pairs with the release in `put`: what lies there is seen.
        let there = NonNull::new(self.0.swap(ptr::null_mut(), Ordering::Acquire))?;
        // SAFETY: made of a box in `put`, and nobody else finds it there any more.
        Some(unsafe { Box::from_raw(there.as_ptr()) })
    }

    fn put(&self, mut longest: Box<Arrival>) {
        loop {
            let word = Box::into_raw(longest);
            // Release pairs with the acquire in `take`.
            let put = Ordering::Release;
            if self.0.compare_exchange(ptr::null_mut(), word, put, Ordering::Relaxed).is_ok() {
                return;
            }
            // SAFETY: made of a box just now, and nobody has seen it.
            longest = unsafe { Box::from_raw(word) };
            if let Some(other) = self.take()
                && other.span() > longest.span()
            {
                longest = other;
            }
        }
    }
}

impl Drop for Furthest {
    #[inline]
    fn drop(&mut self) {
        // Relaxed: whoever drops it has it alone.
        if !self.0.load(Ordering::Relaxed).is_null() {
            drop(self.take());
        }
    }
}

impl fmt::Debug for Furthest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Furthest")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::meter::course::Part;
    use crate::meter::site::Site;
    use crate::primitive::stepped::{self, Gate};

    fn course(ticks: i64) -> Course {
        Course::of(Part { site: Some(Site::here()), ticks }, Default::default())
    }

    /// A thread that is held with the longest in its hand keeps nobody waiting; and when it goes on, that is there again.
    #[test]
    fn who_is_held_keeps_nobody_waiting() {
        for held in [20, 5] {
            for steps in 0.. {
                let (furthest, gate) = (Furthest::new(), std::sync::Arc::new(Gate::default()));
                furthest.arrive(10, &course(10));
                let done = AtomicUsize::new(0);
                let was_held = std::thread::scope(|scope| {
                    scope.spawn(|| {
                        stepped::arm(steps, &gate);
                        furthest.arrive(held, &course(held));
                        stepped::disarm();
                    });
                    let was_held = gate.wait_until_held();
                    scope.spawn(|| {
                        for ticks in [3, 12, 4] {
                            furthest.arrive(ticks, &course(ticks));
                            done.fetch_add(1, Ordering::Release);
                        }
                        furthest.longest().expect("a call has returned since");
                        done.fetch_add(1, Ordering::Release);
                    });
                    let got_through = stepped::wait_for(&done, 4);
                    gate.open();
                    assert_eq!(got_through, 4, "after {steps} steps");
                    was_held
                });
                assert_eq!(furthest.longest().unwrap().1.here().ticks, held.max(12));
                if !was_held {
                    assert!(steps >= 2, "there are steps: {steps}");
                    break;
                }
            }
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::meter::course::Part;

    fn course(ticks: i64) -> Course {
        Course::of(Part { site: None, ticks }, Default::default())
    }

    /// Whoever comes first: when all calls have returned, the longest is there, whole.
    #[test]
    fn loom_furthest_the_longest_stays() {
        for spans in [[2, 3], [3, 2], [5, 3], [2, 2]] {
            loom::model(move || {
                let furthest = Arc::new(Furthest::new());
                furthest.arrive(1, &course(1));
                let there = furthest.clone();
                let other = thread::spawn(move || there.arrive(spans[1], &course(spans[1])));
                furthest.arrive(spans[0], &course(spans[0]));
                // Or else the other one has it in hand.
                if let Some((_, seen)) = furthest.longest() {
                    assert!(seen.here().ticks >= spans[0]);
                }
                other.join().unwrap();
                let longest = spans[0].max(spans[1]);
                assert_eq!(furthest.longest().unwrap().1.here().ticks, longest);
            });
        }
    }
}
