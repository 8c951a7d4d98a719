//! A network that only one worker has touched: its processes need no fences among each other.
//!
//! | the word             | who has touched the network            | what a barrier is                                      |
//! |----------------------|----------------------------------------|--------------------------------------------------------|
//! | a worker's address   | that worker alone                      | for that worker nothing but an order for the compiler  |
//! | `LEFT`               | others are about to                    | a heavy one: nobody knows yet that there has been one  |
//! | `SHARED`             | whoever                                | a fence                                                |
//!
//! It begins as a worker's, or as shared, and never goes back. The README beside this file has the argument.

use crate::os;
use crate::primitive::{AtomicUsize, Ordering, fence};

const SHARED: usize = 1;
const LEFT: usize = 2;

pub(super) struct Solitude(AtomicUsize);

/// The heavy barrier that was due could not be made: what others did a moment ago may not be seen.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(super) struct NotMade;

impl Solitude {
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(SHARED))
    }

    /// The network begins at the worker with that address, who is the caller. Nobody has made a barrier for it: others who know it already can but
    /// end it, which takes none of these.
    pub(super) fn begin(&self, here: usize) {
        debug_assert!(here > LEFT);
        debug_assert_eq!(self.0.load(Ordering::Relaxed), SHARED, "as it was made");
        if os::heavy_barrier_works() {
            // Relaxed: whoever comes to know the network does so by something that orders.
            self.0.store(here, Ordering::Relaxed);
        }
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn is_shared(&self) -> bool {
        self.0.load(Ordering::Relaxed) == SHARED
    }

    /// Whether that worker alone has touched it, and what comes before this is ordered with what comes after it, as by a barrier. If not, the
    /// caller makes [one](Self::barrier).
    #[inline]
    pub(super) fn is_of(&self, here: usize) -> bool {
        // For the model checker, whose light barrier orders more than a true one.
        if cfg!(loom) && here == 0 {
            return false;
        }
        // Pairs with the heavy barrier in `share`: either what we did is seen by those who come after that, or we see that it is due.
        os::light_barrier();
        // Relaxed: if it is, whoever else has done something has not made a barrier since, and sees by that what we have done.
        self.0.load(Ordering::Relaxed) == here
    }

    /// What comes before it is ordered with what comes after it, as seen by all who make one for this network: of two the one that is second sees
    /// what was done before the first. The caller has found that it [is not](Self::is_of) its worker's alone.
    pub(super) fn barrier(&self) -> Result<(), NotMade> {
        // Acquire pairs with the release in `share`: who sees that others share it comes after the heavy barrier.
        let found = self.0.load(Ordering::Acquire);
        if found != SHARED {
            self.share(found)?;
        }
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// Somebody else than before has touched it.
    #[cold]
    fn share(&self, found: usize) -> Result<(), NotMade> {
        // Not at once what it will be: who sees that relies on the barrier, and it is made after this, so that the one who has been alone sees
        // that it is not.
        // Relaxed: the heavy barrier orders it. Acquire if it fails, as in `barrier`: who was suspended here may find that others are through.
        let left = self.0.compare_exchange(found, LEFT, Ordering::Relaxed, Ordering::Acquire);
        if left == Err(SHARED) {
            return Ok(());
        }
        let is_made = os::heavy_barrier();
        self.0.store(SHARED, Ordering::Release);
        if is_made {
            return Ok(());
        }
        fence(Ordering::SeqCst);
        Err(NotMade)
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::Solitude;
    use crate::primitive::{AtomicUsize, Ordering};

    const WORKER: usize = 16;

    fn barrier(solitude: &Solitude, here: usize) {
        assert!(solitude.is_of(here) || solitude.barrier().is_ok());
    }

    /// One says something and looks what the other has said; so does the other. At least one of them sees it. A third one, if there is one,
    /// has to do with the network too.
    fn one_of_two_sees_the_other(others: usize) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let all = Arc::new((Solitude::new(), [0; 2].map(AtomicUsize::new)));
            all.0.begin(WORKER);
            let third = (others > 1).then(|| {
                let all = all.clone();
                thread::spawn(move || barrier(&all.0, 0))
            });
            let other = all.clone();
            let other = thread::spawn(move || {
                let (solitude, said) = &*other;
                said[1].store(1, Ordering::Relaxed);
                barrier(solitude, 0);
                said[0].load(Ordering::Relaxed)
            });
            let (solitude, said) = &*all;
            said[0].store(1, Ordering::Relaxed);
            barrier(solitude, WORKER);
            let seen = said[1].load(Ordering::Relaxed);
            assert!(seen + other.join().unwrap() > 0, "neither has seen the other");
            third.map(|third| third.join().unwrap());
        });
    }

    #[test]
    fn loom_kahn_who_comes_to_a_network_and_who_was_alone_see_each_other() {
        one_of_two_sees_the_other(1);
    }

    /// Who finds that somebody else is about to make the barrier does not rely on it.
    #[test]
    fn loom_kahn_who_comes_while_another_one_comes_does_too() {
        one_of_two_sees_the_other(2);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::{LEFT, SHARED, Solitude};
    use crate::os;
    use crate::primitive::Ordering;
    use crate::primitive::stepped::{self, Gate, wait_for};

    #[test]
    fn it_is_shared_for_good_as_soon_as_somebody_else_comes() {
        let solitude = Solitude::new();
        let word = || solitude.0.load(Ordering::Relaxed);
        assert!(!solitude.is_of(0) && solitude.barrier().is_ok());
        assert_eq!(word(), SHARED);
        let here = std::ptr::from_ref(&solitude).addr();
        solitude.begin(here);
        let is_alone = os::heavy_barrier_works();
        assert_eq!(solitude.is_of(here), is_alone);
        assert!(!solitude.is_of(0) && !solitude.is_of(here + 1));
        assert!(solitude.barrier().is_ok());
        assert_eq!(word(), SHARED);
        assert!(!solitude.is_of(here) && solitude.barrier().is_ok());
        // Who was alone helps who has not got through with it.
        solitude.0.store(LEFT, Ordering::Relaxed);
        assert!(!solitude.is_of(here));
        assert_eq!(solitude.barrier().is_ok(), is_alone);
        assert_eq!(word(), SHARED);
    }

    /// The stall harness: who comes to a network is held at any step of that. Who was alone with it, and whoever else comes, get through.
    #[test]
    fn others_get_through_while_one_is_held_that_comes() {
        let mut times_held = 0;
        for steps in 0..8 {
            let solitude = Solitude::new();
            let here = std::ptr::from_ref(&solitude).addr();
            solitude.begin(here);
            let get_through = |here| solitude.is_of(here) || solitude.barrier().is_ok();
            let (gate, through) = (Arc::new(Gate::default()), AtomicUsize::new(0));
            let finished = thread::scope(|scope| {
                scope.spawn(|| {
                    stepped::arm(steps, &gate);
                    assert!(get_through(0));
                    stepped::disarm();
                });
                times_held += usize::from(gate.wait_until_held());
                for here in [here, 0, 0] {
                    let (through, get_through) = (&through, &get_through);
                    scope.spawn(move || {
                        assert!(get_through(here));
                        through.fetch_add(1, Ordering::Release);
                    });
                }
                let finished = wait_for(&through, 3);
                gate.open();
                finished
            });
            assert_eq!(finished, 3, "held after {steps} steps");
            assert_eq!(solitude.0.load(Ordering::Relaxed), SHARED);
        }
        assert!(times_held > 1, "the harness holds who comes: {times_held}");
    }
}
