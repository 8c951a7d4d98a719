//! A call into a pool: a worker runs the task, and the calling thread waits.

use std::cell::Cell;
use std::sync::Arc;

use crate::job::StackJob;
use crate::job::latch::Latch;
use crate::primitive::Instant;
use crate::shared::Shared;
use crate::tuning::WAIT_SPIN;
use crate::unwind;
use crate::worker::Worker;

crate::primitive::thread_local! {
    /// True if the task of this thread's last call from outside of a pool took less than
    /// [`WAIT_SPIN`]. Calls that the thread ran itself, as a guest, or that panicked, do not count.
    // Shuttle's threads seldom make more than one call.
    static MAKES_BRIEF_CALLS: Cell<bool> = const { Cell::new(cfg!(shuttle)) };
}

/// Runs a task on a worker of the pool while the calling thread waits.
pub(super) fn send_and_wait<F, R>(pool: &Arc<Shared>, current: Option<&Worker>, task: F) -> R
where
    F: FnOnce(&Worker) -> R + Send,
    R: Send,
{
    let latch = Latch::new(current);
    let timed = |worker: &Worker| {
        let begun = Instant::now();
        let result = task(worker);
        (result, begun.elapsed())
    };
    // The only part that the latch counts.
    let job = StackJob::new(timed, &latch);
    let spins = current.is_none() && is_spin_shorter_now(pool);
    pool.send(current, job.as_job());
    if spins {
        latch.spin(WAIT_SPIN);
    }
    latch.wait(current, |worker, event| worker.wait_for_others(event));
    // SAFETY: the latch is set, which is the last step of the job.
    let ended = unsafe { job.take_result() };
    let (result, took) = ended.unwrap_or_else(|payload| unwind::resume(payload));
    if current.is_none() {
        MAKES_BRIEF_CALLS.with(|it| it.set(took < WAIT_SPIN));
    }
    result
}

fn is_spin_shorter_now(pool: &Shared) -> bool {
    let is_brief = MAKES_BRIEF_CALLS.with(Cell::get);
    is_spin_shorter(is_brief, pool.sleep.has_searching_worker(), pool.processors())
}

/// True if it is probably shorter to spin than to park and be woken: the task is brief, and a
/// worker searches. (One that sleeps may be woken on the caller's processor, where the spin would
/// keep it from running.) `processors` is 0 if it is not known.
fn is_spin_shorter(is_task_brief: bool, has_searching_worker: bool, processors: usize) -> bool {
    is_task_brief && has_searching_worker && processors != 1
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_caller_spins_for_a_brief_task_if_a_worker_searches() {
        assert!(is_spin_shorter(true, true, 2));
        assert!(is_spin_shorter(true, true, 0), "it is not known");
        assert!(!is_spin_shorter(false, true, 2));
        assert!(!is_spin_shorter(true, false, 2));
        assert!(!is_spin_shorter(true, true, 1));
    }

    #[test]
    fn a_thread_makes_brief_calls_after_a_task_shorter_than_a_spin() {
        let pool = crate::Pool::builder().workers(1).own_threads_only().build().unwrap();
        let is_brief = || MAKES_BRIEF_CALLS.with(Cell::get);
        assert_eq!(is_brief(), cfg!(shuttle), "no call yet: many threads may call at once");
        // A worker may be suspended within a task.
        let becomes_brief = (0..1000).any(|_| {
            pool.install(|_| ());
            is_brief()
        });
        assert!(becomes_brief);
        pool.install(|_| std::thread::sleep(WAIT_SPIN));
        assert!(!is_brief());
    }
}
