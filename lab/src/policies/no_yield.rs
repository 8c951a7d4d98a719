//! No yields: non-blocking deques alone.

use locksley::idle::{Governor, Hunter, Move, Prospect};

/// The "naive non-blocking" work stealer of Hood's study ("The Performance of Work Stealing in
/// Multiprogrammed Environments", 1998, section 4): a hunter never yields, lowers its priority or
/// sleeps.
///
/// With more workers than processors, hunters keep the worker that has work off the processors. An
/// idle pool keeps all processors busy.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::NoYield;
///
/// let pool = Pool::builder().workers(2).governor(NoYield).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoYield;

impl Governor for NoYield {
    fn name(&self) -> &'static str {
        "no-yield"
    }

    fn hunter(&self, _worker: usize, _workers: usize) -> Box<dyn Hunter> {
        Box::new(*self)
    }
}

impl Hunter for NoYield {
    fn next(&mut self, _prospect: &Prospect<'_>) -> Move {
        Move::Search
    }
}
