//! Yields that are few.

use locksley::idle::{Governor, Hunter, Move, Prospect};

/// "Selective-yielding" of the BWS paper (EuroSys 2012, section 5.3): a hunter yields after every
/// 64th failure. It never sleeps.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::SelectiveYield;
///
/// let pool = Pool::builder().workers(2).governor(SelectiveYield).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectiveYield;

const FAILURES: u64 = 64;

impl Governor for SelectiveYield {
    fn name(&self) -> &'static str {
        "selective-yield"
    }

    fn hunter(&self, _worker: usize, _workers: usize) -> Box<dyn Hunter> {
        Box::new(*self)
    }
}

impl Hunter for SelectiveYield {
    fn next(&mut self, prospect: &Prospect<'_>) -> Move {
        let is_due = prospect.failures > 0 && prospect.failures.is_multiple_of(FAILURES);
        if is_due { Move::Yield } else { Move::Search }
    }
}
