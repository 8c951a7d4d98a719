//! Yields that are few.

use locksley::idle::{IdleContext, IdlePolicy, Move, Thief};

/// "Selective-yielding" of the BWS paper (EuroSys 2012, section 5.3): a thief yields after every
/// 64th failure. It never sleeps.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::SelectiveYield;
///
/// let pool = Pool::builder().workers(2).idle_policy(SelectiveYield).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectiveYield;

const FAILURES: u64 = 64;

impl IdlePolicy for SelectiveYield {
    fn name(&self) -> &'static str {
        "selective-yield"
    }

    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(*self)
    }
}

impl Thief for SelectiveYield {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        let is_due = context.failures > 0 && context.failures.is_multiple_of(FAILURES);
        if is_due { Move::Yield } else { Move::Search }
    }
}
