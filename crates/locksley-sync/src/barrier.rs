//! A barrier for tasks.

use std::future::poll_fn;
use std::task::{Context, Poll};

use super::line::{Place, Waiters};
use locksley_sys::primitive::{AtomicU64, Ordering, const_unless_loom, fence};

/// Where so many tasks wait for each other, again and again.
///
/// - **Cancellation.** A wait that is dropped takes its arrival back, unless all have arrived
///   already: then another must come in its place. No round is ever completed by who is not there.
/// - **Non-blocking.** Whoever comes last lets all others go, and waits for none of them.
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
    /// The round (upper half; it wraps), and how many have arrived in it. A word of its own size on
    /// every machine, so that no wait lasts for as many rounds as there are numbers.
    arrivals: AtomicU64,
    parties: u32,
    line: Waiters,
}

/// What a wait at a [`Barrier`] ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierWaitResult {
    is_leader: bool,
}

impl BarrierWaitResult {
    /// Whether this was the one that came last: one of each round is.
    ///
    /// # Examples
    /// See [`Barrier`].
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.is_leader
    }
}

/// A state of the word `arrivals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arrivals {
    round: u32,
    arrived: u32,
}

impl Arrivals {
    fn of(word: u64) -> Self {
        Self { round: (word >> 32) as u32, arrived: word as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.round) << 32 | u64::from(self.arrived)
    }
}

impl Barrier {
    const_unless_loom! {
        /// A barrier for so many tasks. For 0 it is as for 1: nobody waits.
        ///
        /// # Panics
        /// If they are more than `u32::MAX`.
        ///
        /// # Examples
        /// See [`Barrier`].
        #[must_use]
        pub fn new(parties: usize) -> Self {
            assert!(parties as u64 <= u32::MAX as u64, "more parties than a barrier can count");
            Self {
                arrivals: AtomicU64::new(0),
                parties: parties as u32,
                line: Waiters::new(),
            }
        }
    }

    /// Arrives, and waits until all others have arrived.
    ///
    /// # Examples
    /// See [`Barrier`].
    pub async fn wait(&self) -> BarrierWaitResult {
        let mut arrival = Arrival { barrier: self, stage: Stage::New };
        poll_fn(|context| arrival.poll(context)).await
    }

    fn arrivals(&self) -> Arrivals {
        // Acquire pairs with the release of the one who came last: what all did before they arrived
        // is seen. (Whoever waits sees it by the fences of the line, too, so no model fails without
        // this.)
        Arrivals::of(self.arrivals.load(Ordering::Acquire))
    }

    /// Changes the word, while that is right; returns what it was.
    fn change(&self, mut new: impl FnMut(Arrivals) -> Option<Arrivals>) -> Option<Arrivals> {
        let mut now = self.arrivals();
        loop {
            // AcqRel: who comes last has seen what all others did before they arrived, and hands it
            // to all. (No model fails without the acquire, of this or of the failure: the fence in
            // `arrive` comes after it, and what failed is read again by what does not.)
            let changed = self.arrivals.compare_exchange(
                now.word(),
                new(now)?.word(),
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            match changed {
                Ok(_) => return Some(now),
                Err(word) => now = Arrivals::of(word),
            }
        }
    }

    /// One more has arrived, in this round; the last one begins the next.
    fn after_one_more(&self, now: Arrivals) -> Arrivals {
        let arrived = now.arrived + 1;
        if arrived >= self.parties {
            Arrivals { round: now.round.wrapping_add(1), arrived: 0 }
        } else {
            Arrivals { arrived, ..now }
        }
    }

    /// Lets all go whose round is over.
    fn dismiss(&self) {
        self.line.dismiss_older(|| self.arrivals().round as usize);
    }
}

/// One wait. Dropped before it is over, it takes its arrival back.
struct Arrival<'b> {
    barrier: &'b Barrier,
    stage: Stage<'b>,
}

enum Stage<'b> {
    New,
    Arrived { round: u32, place: Option<Place<'b>> },
    Over,
}

impl Arrival<'_> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<BarrierWaitResult> {
        match &mut self.stage {
            Stage::New => {
                if self.arrive() {
                    return Poll::Ready(BarrierWaitResult { is_leader: true });
                }
            }
            Stage::Arrived { place: Some(place), .. } => {
                if place.poll(context.waker()).is_pending() {
                    return Poll::Pending;
                }
            }
            Stage::Arrived { place: None, .. } | Stage::Over => {
                unreachable!("polled after it was ready")
            }
        }
        let Stage::Arrived { round, place } = &mut self.stage else { unreachable!("it arrived") };
        let round = *round;
        if place.is_none() {
            let joined = self.barrier.line.join(round as usize, context.waker());
            let joined = place.insert(joined);
            // Whoever came last may be held up.
            self.barrier.dismiss();
            if self.barrier.arrivals().round == round && joined.verdict().is_pending() {
                return Poll::Pending;
            }
        }
        self.finish();
        Poll::Ready(BarrierWaitResult { is_leader: false })
    }

    /// Returns whether it came last.
    fn arrive(&mut self) -> bool {
        let barrier = self.barrier;
        let before = barrier.change(|now| Some(barrier.after_one_more(now)));
        let before = before.expect("it is right in every state");
        if barrier.after_one_more(before).round == before.round {
            self.stage = Stage::Arrived { round: before.round, place: None };
            return false;
        }
        self.stage = Stage::Over;
        // Pairs with the fence in `join`: either who joins sees that the round is over, or we see
        // it. (No model fails without this one: each look at the line begins with a fence.)
        fence(Ordering::SeqCst);
        barrier.dismiss();
        true
    }

    /// Is in line no longer, if it was.
    fn finish(&mut self) {
        if let Stage::Arrived { place: Some(mut place), .. } =
            std::mem::replace(&mut self.stage, Stage::Over)
            && place.leave().is_ok()
        {
            self.barrier.dismiss();
        }
    }
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        if let Stage::Arrived { round, .. } = self.stage {
            self.barrier.change(|now| {
                let is_mine = now.round == round;
                is_mine.then(|| Arrivals { arrived: now.arrived - 1, ..now })
            });
            self.finish();
        }
    }
}
