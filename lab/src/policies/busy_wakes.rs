//! BWS without its economy: workers that have work wake workers that sleep.

use locksley::idle::{Bws, IdleContext, IdlePolicy, Move, Thief};

/// The "downgraded BWS" of the paper (EuroSys 2012, section 5.5): a worker that pushes a task wakes
/// two sleepers if there are any, and a thief sleeps when it has failed too often.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::BusyWakes;
///
/// let pool = Pool::builder().workers(2).idle_policy(BusyWakes::default()).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Debug)]
pub struct BusyWakes {
    sleep_threshold: u64,
}

impl Default for BusyWakes {
    /// With the paper's threshold, 64.
    fn default() -> Self {
        Self { sleep_threshold: Bws::SLEEP_THRESHOLD.into() }
    }
}

impl IdlePolicy for BusyWakes {
    fn name(&self) -> &'static str {
        "bws-busy-wakes"
    }

    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(Downgraded { sleep_threshold: self.sleep_threshold })
    }

    fn wakes_with_every_push(&self) -> usize {
        2
    }
}

struct Downgraded {
    sleep_threshold: u64,
}

impl Thief for Downgraded {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        if context.failures > self.sleep_threshold { Move::Sleep } else { Move::Search }
    }
}
