//! Single-owner state: a network that one thread alone has used needs no fences.
//!
//! | word             | threads that have used the network | a barrier is                        |
//! |------------------|------------------------------------|-------------------------------------|
//! | a thread's mark  | that thread                        | for it, an order for the compiler   |
//! | `LEFT`           | others are about to                | a heavy barrier and a fence         |
//! | `SHARED`         | any                                | a fence                             |
//!
//! The word begins as a thread's mark or as `SHARED`, and never goes back. The README beside this
//! file has the argument.

#[cfg(all(test, loom))]
mod models;

use locksley_sys::os;
use locksley_sys::primitive::{AtomicUsize, Ordering, fence};

const SHARED: usize = 1;
const LEFT: usize = 2;

/// The calling thread's mark: the address of a thread-local.
#[inline]
fn here() -> usize {
    #[cfg(all(test, loom))]
    return super::models::here();
    #[cfg(not(all(test, loom)))]
    {
        locksley_sys::primitive::thread_local! {
            static HERE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
        }
        HERE.with(|here| std::ptr::from_ref(here).addr())
    }
}

pub(super) struct SingleOwner(AtomicUsize);

/// The system has refused a heavy barrier: what other threads did just now may not be seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct BarrierFailed;

impl SingleOwner {
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(SHARED))
    }

    /// The network begins on the calling thread. No barrier was made for it before.
    pub(super) fn begin(&self) {
        self.begin_at(here());
    }

    fn begin_at(&self, here: usize) {
        debug_assert!(here > LEFT);
        if os::heavy_barrier_works() {
            // Relaxed: other threads learn of the network by something that orders memory.
            self.0.store(here, Ordering::Relaxed);
        }
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn is_shared(&self) -> bool {
        self.0.load(Ordering::Relaxed) == SHARED
    }

    /// Orders what comes before it and what comes after it, as seen by all threads that call it: of
    /// two, the second sees what was done before the first.
    #[inline]
    pub(super) fn barrier(&self) -> Result<(), BarrierFailed> {
        self.barrier_at(here())
    }

    #[inline]
    fn barrier_at(&self, here: usize) -> Result<(), BarrierFailed> {
        if self.is_of(here) { Ok(()) } else { self.barrier_of_all() }
    }

    #[inline]
    fn is_of(&self, here: usize) -> bool {
        // For the model checker: its light barrier orders more than a real one.
        if cfg!(loom) && here == 0 {
            return false;
        }
        // Pairs with the heavy barrier in `share`: either what this thread did is seen by the
        // threads that come after that, or this load sees that the network is shared.
        os::light_barrier();
        // Relaxed: if the word is this thread's mark, no other thread has made a barrier since.
        self.0.load(Ordering::Relaxed) == here
    }

    #[inline(never)]
    fn barrier_of_all(&self) -> Result<(), BarrierFailed> {
        // Acquire pairs with the release in `share`: what sees `SHARED` comes after the barrier.
        let found = self.0.load(Ordering::Acquire);
        let shared = if found == SHARED { Ok(()) } else { self.share(found) };
        fence(Ordering::SeqCst);
        shared
    }

    /// Another thread than the owner uses the network.
    #[cold]
    fn share(&self, found: usize) -> Result<(), BarrierFailed> {
        // `SHARED` promises that the heavy barrier was made. `LEFT` comes before it, so that the
        // owner sees that it is due; a thread that finds `LEFT` makes the barrier, too.
        // Relaxed: the heavy barrier orders it. Acquire on failure, as in `barrier_of_all`: another
        // thread may have got through while this one was suspended.
        let left = self.0.compare_exchange(found, LEFT, Ordering::Relaxed, Ordering::Acquire);
        if left == Err(SHARED) {
            return Ok(());
        }
        let is_made = os::heavy_barrier();
        self.0.store(SHARED, Ordering::Release);
        if is_made { Ok(()) } else { Err(BarrierFailed) }
    }
}

#[cfg(all(test, debug_assertions, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::{LEFT, SHARED, SingleOwner};
    use locksley_sys::os;
    use locksley_sys::primitive::Ordering;
    use locksley_sys::primitive::stepped::{self, Gate, wait_for};

    const OWNER: usize = 16;

    #[test]
    fn a_network_is_shared_for_good_after_a_second_thread_has_used_it() {
        let owner = SingleOwner::new();
        let word = || owner.0.load(Ordering::Relaxed);
        assert!(owner.barrier_at(0).is_ok());
        assert_eq!(word(), SHARED);
        owner.begin_at(OWNER);
        let has_owner = os::heavy_barrier_works();
        assert_eq!(owner.is_of(OWNER), has_owner);
        assert!(!owner.is_of(0) && !owner.is_of(OWNER + 1));
        assert!(owner.barrier_at(0).is_ok());
        assert_eq!(word(), SHARED);
        assert!(!owner.is_of(OWNER) && owner.barrier_at(OWNER).is_ok());
        // The former owner completes what another thread has begun.
        owner.0.store(LEFT, Ordering::Relaxed);
        assert_eq!(owner.barrier_at(OWNER).is_ok(), has_owner);
        assert_eq!(word(), SHARED);
    }

    /// The stall harness: a second thread is suspended at each of its steps. The owner and other
    /// threads get through.
    #[test]
    fn others_get_through_while_a_second_thread_is_suspended() {
        let mut times_held = 0;
        for steps in 0..8 {
            let owner = SingleOwner::new();
            owner.begin_at(OWNER);
            let (gate, through) = (Arc::new(Gate::default()), AtomicUsize::new(0));
            let finished = thread::scope(|scope| {
                scope.spawn(|| {
                    stepped::arm(steps, &gate);
                    assert!(owner.barrier_at(0).is_ok());
                    stepped::disarm();
                });
                times_held += usize::from(gate.wait_until_held());
                for here in [OWNER, 0, 0] {
                    let (through, owner) = (&through, &owner);
                    scope.spawn(move || {
                        assert!(owner.barrier_at(here).is_ok());
                        through.fetch_add(1, Ordering::Release);
                    });
                }
                let finished = wait_for(&through, 3);
                gate.open();
                finished
            });
            assert_eq!(finished, 3, "held after {steps} steps");
            assert_eq!(owner.0.load(Ordering::Relaxed), SHARED);
        }
        assert!(times_held > 1, "the harness suspends the thread: {times_held}");
    }
}
