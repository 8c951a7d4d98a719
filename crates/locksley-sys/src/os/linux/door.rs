//! A door to something that will go away: visitors hold it open, and its owner waits for them.
//!
//! The word holds the number of visitors, and whether the door is closed. A visitor counts itself
//! in *before* it looks whether the door is closed. The owner looks at the count *after* closing.
//! Both change the same word, so one of the two sees the other.

use crate::primitive::{AtomicU32, Ordering};

const CLOSED: u32 = 1 << 31;
const VISITORS: u32 = CLOSED - 1;

#[derive(Debug)]
pub(super) struct Door(AtomicU32);

/// While this lives, the door's owner waits.
#[derive(Debug)]
pub(super) struct Visit<'a>(&'a Door);

impl Door {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Begins a visit, unless the door is closed.
    pub(super) fn enter(&self) -> Option<Visit<'_>> {
        // Relaxed: what is read under the door was there before it; and what is done there ends
        // before the release in `drop`.
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        let visit = Visit(self);
        (before & CLOSED == 0).then_some(visit)
    }

    /// Ends all visits: returns when there are no visitors, and will be none.
    pub(super) fn close(&self) {
        // Acquire pairs with the release at the end of a visit: what was visited may go away.
        let mut word = self.0.fetch_or(CLOSED, Ordering::Acquire);
        while word & VISITORS != 0 {
            crate::os::yield_now();
            word = self.0.load(Ordering::Acquire);
        }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_closed_door_admits_no_visitor() {
        let door = Door::new();
        assert!(door.enter().is_some());
        door.close();
        assert!(door.enter().is_none());
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::Door;

    /// Something that is written when it goes away, and read by visitors.
    struct House {
        door: Door,
        inside: UnsafeCell<u32>,
    }

    #[test]
    fn loom_door_no_visitor_sees_what_has_gone() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| {
            let house = Arc::new(House { door: Door::new(), inside: UnsafeCell::new(0) });
            let visitors: Vec<_> = (0..2)
                .map(|_| {
                    let house = house.clone();
                    thread::spawn(move || {
                        let Some(_visit) = house.door.enter() else { return };
                        // SAFETY: loom checks that no thread writes at the same time.
                        house.inside.with(|inside| assert_eq!(unsafe { *inside }, 0));
                    })
                })
                .collect();
            house.door.close();
            // SAFETY: loom checks that no other thread reads or writes at the same time.
            house.inside.with_mut(|inside| unsafe { *inside = 1 });
            visitors.into_iter().for_each(|visitor| visitor.join().unwrap());
        });
    }
}
