//! Hood's policy, after Arora, Blumofe and Plaxton: yield between failed attempts, and then at the lowest priority.

use super::context::IdleContext;
use super::policy::{IdlePolicy, Move, Thief};

/// Hood's policy ("The Performance of Work Stealing in Multiprogrammed Environments", 1998, section 3.2), after Arora,
/// Blumofe and Plaxton (SPAA 1998): a thief yields the processor between failed attempts, and lowers its priority,
/// each only after enough failures to pay for the call. What Hood did not do: after many failures the worker sleeps.
///
/// It does not limit how many workers are awake.
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
    /// Attempts between one yield and the next. An attempt takes about 0.1 µs, a yield about 0.5 µs, and
    /// one at the lowest priority about 3 µs (two virtual processors of a Xeon, nobody else to run).
    pub attempts: u32,
    /// Yields in a row before those that follow are made at the lowest priority; `None`: none is.
    pub lower_after: Option<u32>,
    /// Yields in a row before the worker sleeps; `None`: it never does, and an idle pool keeps all processors busy.
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
