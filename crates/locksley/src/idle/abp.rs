//! Hood's policy: yield between failed attempts, and later at the lowest priority.

use super::policy::{IdleContext, IdlePolicy, Move, Thief};

/// Hood's policy: a thief yields between failed attempts, and later lowers its priority to yield.
///
/// Both calls come only after enough failures to pay for them. Unlike in Hood, a worker sleeps
/// after many failures. The policy sets no limit on the number of active workers. Use it to compare
/// with [`Balanced`](super::Balanced), or where the kernel tells nothing about other threads.
///
/// Sources: Blumofe and Papadopoulos, "The Performance of Work Stealing in Multiprogrammed
/// Environments", 1998, section 3.2, after Arora, Blumofe and Plaxton, SPAA 1998.
///
/// # Examples
/// ```
/// use locksley::{Pool, idle::Abp};
///
/// let patient = Abp { sleep_after: Some(4096), ..Abp::default() };
/// let pool = Pool::builder().workers(2).idle_policy(patient).build()?;
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abp {
    /// The number of attempts between two yields. An attempt takes about 0.1 µs, a yield 0.5 µs,
    /// and a yield at the lowest priority 3 µs (measured on a virtual Xeon without other programs).
    pub attempts: u32,
    /// The number of yields in a row after which yields are made at the lowest priority; `None`:
    /// never.
    pub lower_after: Option<u32>,
    /// The number of yields in a row after which the worker sleeps; `None`: never, so an idle pool
    /// keeps all its processors busy.
    pub sleep_after: Option<u32>,
}

impl Default for Abp {
    fn default() -> Self {
        Self { attempts: 64, lower_after: Some(8), sleep_after: Some(64) }
    }
}

impl IdlePolicy for Abp {
    fn name(&self) -> &'static str {
        "abp"
    }

    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(*self)
    }
}

impl Thief for Abp {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        let attempts = u64::from(self.attempts.max(1));
        let yields = context.failures / attempts;
        if self.sleep_after.is_some_and(|sleep_after| yields > u64::from(sleep_after)) {
            Move::Sleep
        } else if context.failures == 0 || !context.failures.is_multiple_of(attempts) {
            Move::Search
        } else if self.lower_after.is_some_and(|lower_after| yields > u64::from(lower_after)) {
            Move::YieldLowered
        } else {
            Move::Yield
        }
    }
}
