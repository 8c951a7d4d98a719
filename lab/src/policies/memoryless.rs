//! Idle policies without state: Algorithm 1 of the BWS paper, and three that yield never, late, or
//! seldom.

use locksley::idle::{IdleContext, IdlePolicy, Move, Thief};

/// A policy that chooses each move by the [`IdleContext`] alone.
#[derive(Clone, Copy, Debug)]
pub struct Memoryless {
    name: &'static str,
    next: fn(&IdleContext<'_>) -> Move,
}

impl IdlePolicy for Memoryless {
    fn name(&self) -> &'static str {
        self.name
    }

    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(*self)
    }
}

impl Thief for Memoryless {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        (self.next)(context)
    }
}

/// "ABP" of the BWS paper (EuroSys 2012, section 2.3, Algorithm 1), as Cilk++ implements it: a
/// thief yields before each attempt, the first one included. It never lowers its priority and never
/// sleeps, so an idle pool keeps all processors busy.
///
/// Two parts of a pool ignore the policy, and differ from Cilk++. A worker that waits in a join or
/// a scope helps, and parks after 20 or 200 µs, while a replacement searches in its place. And
/// before each yield, a thief with an unanswered open request opens deques by force, and may steal
/// a task that the owner would have run during the yield.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::EXACT_ABP;
///
/// let pool = Pool::builder().workers(2).idle_policy(EXACT_ABP).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub const EXACT_ABP: Memoryless = Memoryless { name: "exact-abp", next: |_| Move::Yield };

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
/// use locksley_lab::policies::NO_YIELD;
///
/// let pool = Pool::builder().workers(2).idle_policy(NO_YIELD).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub const NO_YIELD: Memoryless = Memoryless { name: "no-yield", next: |_| Move::Search };

/// "Delay-yielding" of the BWS paper (EuroSys 2012, section 5.3), after oneTBB's forerunner: when a
/// thief has failed twice as often as there are workers, it yields after each further failure. It
/// never sleeps.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::DELAYED_YIELD;
///
/// let pool = Pool::builder().workers(2).idle_policy(DELAYED_YIELD).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub const DELAYED_YIELD: Memoryless = Memoryless { name: "delayed-yield", next: delayed };

fn delayed(context: &IdleContext<'_>) -> Move {
    if context.failures > 2 * context.workers as u64 { Move::Yield } else { Move::Search }
}

/// "Selective-yielding" of the BWS paper (EuroSys 2012, section 5.3): a thief yields after every
/// 64th failure. It never sleeps.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::SELECTIVE_YIELD;
///
/// let pool = Pool::builder().workers(2).idle_policy(SELECTIVE_YIELD).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub const SELECTIVE_YIELD: Memoryless = Memoryless { name: "selective-yield", next: selective };

const FAILURES: u64 = 64;

fn selective(context: &IdleContext<'_>) -> Move {
    let is_due = context.failures > 0 && context.failures.is_multiple_of(FAILURES);
    if is_due { Move::Yield } else { Move::Search }
}
