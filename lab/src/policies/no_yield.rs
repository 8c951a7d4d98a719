//! No yields: non-blocking deques alone.

use locksley::idle::{IdleContext, IdlePolicy, Move, Thief};

/// The "naive non-blocking" work stealer of Hood's study ("The Performance of Work Stealing in
/// Multiprogrammed Environments", 1998, section 4): a thief never yields, lowers its priority or
/// sleeps.
///
/// With more workers than processors, thieves keep the worker that has work off the processors. An
/// idle pool keeps all processors busy.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::NoYield;
///
/// let pool = Pool::builder().workers(2).idle_policy(NoYield).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoYield;

impl IdlePolicy for NoYield {
    fn name(&self) -> &'static str {
        "no-yield"
    }

    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(*self)
    }
}

impl Thief for NoYield {
    fn next(&mut self, _context: &IdleContext<'_>) -> Move {
        Move::Search
    }
}
