//! Yields that come late.

use locksley::idle::{Governor, Hunter, Move, Prospect};

/// "Delay-yielding" of the BWS paper (EuroSys 2012, section 5.3), after oneTBB's forerunner: when a
/// hunter has failed twice as often as there are workers, it yields after each further failure. It
/// never sleeps.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::DelayedYield;
///
/// let pool = Pool::builder().workers(2).governor(DelayedYield).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayedYield;

impl Governor for DelayedYield {
    fn name(&self) -> &'static str {
        "delayed-yield"
    }

    fn hunter(&self, _worker: usize, _workers: usize) -> Box<dyn Hunter> {
        Box::new(*self)
    }
}

impl Hunter for DelayedYield {
    fn next(&mut self, prospect: &Prospect<'_>) -> Move {
        if prospect.failures > 2 * prospect.workers as u64 { Move::Yield } else { Move::Search }
    }
}
