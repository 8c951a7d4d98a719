//! Half as many thieves as workers that work.

use std::sync::{Arc, Mutex, PoisonError};

use locksley::idle::{Activity, IdleContext, IdlePolicy, Move, Thief};

/// "WSGI", work stealing with global information, of the BWS paper (EuroSys 2012, section 5.5): the
/// number of thieves that are awake is kept at half of the number of workers that work. A thief
/// compares the two after each failure, under a lock, as in the paper. It sleeps if there are too
/// many thieves. It wakes its victim if there are too few and the victim sleeps.
///
/// The pool knows both numbers without a lock. The lock is here because its cost is what the paper
/// measured.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::GlobalInformation;
///
/// let pool = Pool::builder().workers(2).idle_policy(GlobalInformation::default()).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct GlobalInformation {
    comparisons: Arc<Mutex<u64>>,
}

/// Workers that work for each one that searches.
const RATIO: usize = 2;

impl IdlePolicy for GlobalInformation {
    fn name(&self) -> &'static str {
        "global-information"
    }

    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(self.clone())
    }
}

impl Thief for GlobalInformation {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        let mut comparisons = self.comparisons.lock().unwrap_or_else(PoisonError::into_inner);
        *comparisons += 1;
        let (searching, asleep) = (context.searching(), context.asleep());
        let sleeper = context.victim.filter(|&it| context.activity(it) == Activity::Sleeps);
        next(context.workers, searching, asleep, sleeper)
    }
}

/// What a thief does when so many of the `workers` search and sleep. `sleeper` is its last victim,
/// if that sleeps.
pub(super) fn next(
    workers: usize,
    searching: usize,
    asleep: usize,
    sleeper: Option<usize>,
) -> Move {
    let working = workers.saturating_sub(asleep + searching);
    let wanted = working.div_ceil(RATIO);
    match sleeper {
        _ if searching > wanted => Move::Sleep,
        Some(sleeper) if searching < wanted => Move::Wake(sleeper),
        _ => Move::Search,
    }
}
