//! The barrier.

use std::future::poll_fn;
use std::task::{Context, Poll};

use super::wait_queue::{Outcome, Ticket, WaitQueue};
use locksley_sys::primitive::{AtomicU64, Ordering, const_unless_loom, fence};

/// Lets a fixed number of tasks wait until all of them have arrived, any number of times.
///
/// Use it as std's, between the steps of an algorithm.
///
/// - **Cancellable.** A dropped wait takes its arrival back, unless all have arrived. Then another
///   task must arrive instead.
/// - **Lock-free.** The last task to arrive waits for no other.
///
/// # Examples
/// ```
/// use locksley_sync::Barrier;
///
/// let barrier = Barrier::new(3);
/// let leaders: usize = std::thread::scope(|scope| {
///     let waiters: Vec<_> = (0..3)
///         .map(|_| scope.spawn(|| pollster::block_on(barrier.wait()).is_leader()))
///         .collect();
///     waiters.into_iter().map(|waiter| usize::from(waiter.join().unwrap())).sum()
/// });
/// assert_eq!(leaders, 1);
/// ```
#[derive(Debug)]
pub struct Barrier {
    /// An [`Arrivals`]. 64 bits on each target, of which 32 are the generation. It comes again
    /// after 2^32 others.
    arrivals: AtomicU64,
    parties: u32,
    queue: WaitQueue,
}

/// Result of [`Barrier::wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// True for one task of each generation: the last one to arrive.
    ///
    /// # Examples
    /// See [`Barrier`].
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

/// State of the word `arrivals`: the generation in the upper half, which wraps, and the number of
/// tasks that have arrived in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arrivals {
    generation: u32,
    arrived: u32,
}

impl Arrivals {
    fn from_word(word: u64) -> Self {
        Self { generation: (word >> 32) as u32, arrived: word as u32 }
    }

    fn to_word(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.arrived)
    }
}

impl Barrier {
    const_unless_loom! {
        /// Makes a barrier for `parties` tasks. A barrier for 0 is as one for 1: no task waits.
        ///
        /// # Panics
        /// If `parties` is larger than `u32::MAX`.
        ///
        /// # Examples
        /// See [`Barrier`].
        #[must_use]
        #[track_caller]
        pub fn new(parties: usize) -> Self {
            assert!(parties as u64 <= u32::MAX as u64, "more parties than a barrier can count");
            Self {
                arrivals: AtomicU64::new(0),
                parties: parties as u32,
                queue: WaitQueue::new(),
            }
        }
    }

    /// Arrives, and waits until all others have arrived.
    ///
    /// # Examples
    /// See [`Barrier`].
    pub async fn wait(&self) -> BarrierWaitResult {
        let Some(generation) = self.arrive() else {
            return BarrierWaitResult(true);
        };
        let mut wait = Wait { barrier: self, generation, ticket: None };
        poll_fn(|context| wait.poll(context)).await;
        BarrierWaitResult(false)
    }

    fn arrivals(&self) -> Arrivals {
        // Acquire pairs with the release of the last to arrive: what all did before they arrived is
        // visible. (The fences of the queue do that, too, so no model fails without this.)
        Arrivals::from_word(self.arrivals.load(Ordering::Acquire))
    }

    fn generation(&self) -> usize {
        self.arrivals().generation as usize
    }

    /// Changes the word as `new` says, unless that is `None`. Returns the state before.
    fn change(&self, new: impl Fn(Arrivals) -> Option<Arrivals>) -> Option<Arrivals> {
        let mut now = self.arrivals();
        loop {
            // AcqRel: the last to arrive has seen what all did before they arrived, and publishes
            // it. (No model fails without the two acquires: the fence in `arrive` comes after, and
            // a state that failed is read again.)
            let changed = self.arrivals.compare_exchange(
                now.to_word(),
                new(now)?.to_word(),
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            match changed {
                Ok(_) => return Some(now),
                Err(word) => now = Arrivals::from_word(word),
            }
        }
    }

    /// Counts an arrival. Returns the generation to wait for, unless this was the last to arrive.
    fn arrive(&self) -> Option<u32> {
        let is_last = |now: Arrivals| now.arrived + 1 >= self.parties;
        let before = self.change(|now| {
            Some(if is_last(now) {
                Arrivals { generation: now.generation.wrapping_add(1), arrived: 0 }
            } else {
                Arrivals { arrived: now.arrived + 1, ..now }
            })
        })?;
        if !is_last(before) {
            return Some(before.generation);
        }
        // Pairs with the fence in `enqueue`: a wait that begins sees the new generation, or this
        // thread sees the wait. (Each look at the queue begins with a fence, so no model fails
        // without this one.)
        fence(Ordering::SeqCst);
        self.queue.dismiss_past(|| self.generation());
        None
    }
}

/// A wait after its arrival, which it takes back if it is dropped before its generation is over.
struct Wait<'b> {
    barrier: &'b Barrier,
    generation: u32,
    ticket: Option<Ticket>,
}

impl Wait<'_> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Outcome> {
        let Self { barrier, generation, ticket } = self;
        let current = || barrier.generation();
        barrier.queue.poll_generation(ticket, *generation as usize, current, context.waker())
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.barrier.change(|now| {
            let is_current = now.generation == self.generation;
            is_current.then(|| Arrivals { arrived: now.arrived - 1, ..now })
        });
        if let Some(ticket) = &self.ticket {
            // If the wait was dismissed, there is nothing to pass on.
            let current = || self.barrier.generation();
            let _ = self.barrier.queue.cancel_generation(ticket, current);
        }
    }
}
