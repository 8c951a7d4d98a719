//! Half as many hunters as workers that work.

use std::sync::{Arc, Mutex, PoisonError};

use locksley::idle::{Activity, Governor, Hunter, Move, Prospect};

/// "WSGI", work stealing with global information, of the BWS paper (EuroSys 2012, section 5.5): the
/// number of hunters that are awake is kept at half of the number of workers that work. A hunter
/// compares the two after each failure, under a lock, as in the paper. It sleeps if there are too
/// many hunters. It wakes its victim if there are too few and the victim sleeps.
///
/// The pool knows both numbers without a lock. The lock is here because its cost is what the paper
/// measured.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::GlobalInformation;
///
/// let pool = Pool::builder().workers(2).governor(GlobalInformation::default()).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Debug, Default)]
pub struct GlobalInformation {
    comparisons: Arc<Mutex<u64>>,
}

/// Workers that work for each one that hunts.
const RATIO: usize = 2;

impl Governor for GlobalInformation {
    fn name(&self) -> &'static str {
        "global-information"
    }

    fn hunter(&self, _worker: usize, _workers: usize) -> Box<dyn Hunter> {
        Box::new(Informed { comparisons: Arc::clone(&self.comparisons) })
    }
}

struct Informed {
    comparisons: Arc<Mutex<u64>>,
}

impl Hunter for Informed {
    fn next(&mut self, prospect: &Prospect<'_>) -> Move {
        let mut comparisons = self.comparisons.lock().unwrap_or_else(PoisonError::into_inner);
        *comparisons += 1;
        let wanted = prospect.working().div_ceil(RATIO);
        let sleeper = prospect.victim.filter(|&it| prospect.activity(it) == Activity::Sleeps);
        match sleeper {
            _ if prospect.hunting > wanted => Move::Sleep,
            Some(sleeper) if prospect.hunting < wanted => Move::Wake(sleeper),
            _ => Move::Search,
        }
    }
}
