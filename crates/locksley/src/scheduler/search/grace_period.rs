//! The grace period: a thief leaves a worker's only task to it, if it probably runs that next.

use std::time::Duration;

use super::searcher::Searcher;
use crate::idle::Peers;
use crate::primitive::{Instant, spin_loop};
use crate::scheduler::Worker;

/// About the cost of moving a task between threads. Longer than most polls that wake one task.
const GRACE_PERIOD: Duration = Duration::from_micros(2);
/// The same while other programs want processors. Tasks that share a barrier with a stolen one
/// stall while its thief is preempted.
const GRACE_PERIOD_BESIDE_OTHERS: Duration = Duration::from_micros(100);

impl Searcher {
    /// Returns true if the thief should not steal from the worker in slot `victim`. If its only
    /// task was spawned or made ready by the running one, the thief waits for the grace period. If
    /// another such task has replaced it then, the worker makes progress by itself.
    pub(super) fn leave_to_owner(&mut self, worker: &Worker, victim: usize) -> bool {
        let shared = worker.shared();
        let lone_next_task = || shared.slot(victim).lone_next_task();
        let Some(next) = lone_next_task() else { return false };
        let since = Instant::now();
        let (runnable, awake) = (shared.runnable_threads(), shared.awake());
        let is_shared = is_machine_shared(runnable, awake, shared.processors());
        while lone_next_task() == Some(next) && lasts(since.elapsed(), is_shared) {
            if is_shared { self.yield_to_others(worker) } else { spin_loop() }
        }
        lone_next_task().is_some_and(|now| now != next)
    }
}

/// True if the grace period lasts longer than `elapsed`.
fn lasts(elapsed: Duration, is_shared: bool) -> bool {
    elapsed < if is_shared { GRACE_PERIOD_BESIDE_OTHERS } else { GRACE_PERIOD }
}

/// True if other programs want processors: some of the runnable threads are not the pool's, and
/// some have no processor. False if the system does not tell.
fn is_machine_shared(runnable: Option<usize>, awake: usize, processors: usize) -> bool {
    runnable.is_some_and(|runnable| runnable > awake.max(processors))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::pool::tests::beside_a_held_worker;

    #[test]
    fn a_thief_waits_while_the_next_task_is_the_same() {
        let shortest = beside_a_held_worker(|worker| {
            crate::spawn(|| ());
            let shared = worker.shared();
            let mut searcher = Searcher::new(worker.index(), worker.slot_index(), shared);
            let mut time = || {
                let since = Instant::now();
                assert!(!searcher.leave_to_owner(worker, worker.slot_index()));
                since.elapsed()
            };
            (0..100).map(|_| time()).min()
        });
        assert!(shortest >= Some(GRACE_PERIOD), "{shortest:?}");
    }

    #[test]
    fn the_grace_period_is_longer_beside_other_programs() {
        let nanoseconds = Duration::from_nanos;
        assert!(lasts(nanoseconds(1_999), false) && !lasts(nanoseconds(2_000), false));
        assert!(lasts(nanoseconds(99_999), true) && !lasts(nanoseconds(100_000), true));
    }

    #[test]
    fn a_machine_is_shared_if_threads_of_others_leave_too_few_processors() {
        assert!(!is_machine_shared(None, 1, 1));
        assert!(!is_machine_shared(Some(2), 1, 2), "a processor is left for each thread");
        assert!(is_machine_shared(Some(3), 1, 2));
        assert!(!is_machine_shared(Some(8), 8, 2), "all may be the pool's own");
        assert!(is_machine_shared(Some(9), 8, 2));
    }
}
