//! On which processors workers run: a thief moves a preempted peer to its own processor, or itself
//! away from a peer.

use crate::idle::Activity;
use crate::os::{self, Assists, RunState};
use crate::scheduler::Worker;

/// Has `peer`, which does not run, wait for this worker's processor. Returns true if it does.
pub(super) fn bring_here(worker: &Worker, peer: usize) -> bool {
    let here = worker.slot().processor();
    let slot = worker.shared().slot(peer);
    match slot.run_state(here) {
        RunState::WaitsHere => true,
        RunState::WaitsElsewhere => here.is_some_and(|here| {
            let sleep = &worker.shared().sleep;
            let epoch = sleep.unrestricted_epoch(peer);
            let pulled =
                epoch.is_some() && slot.pull(here, || sleep.unrestricted_epoch(peer) == epoch);
            worker.counters().pulls.add(u64::from(pulled));
            pulled
        }),
        _ => false,
    }
}

/// Moves this worker to a processor on which no awake peer ran last, if there is one; to one of its
/// own place if possible.
pub(super) fn move_away(worker: &Worker) {
    let (shared, slot) = (worker.shared(), worker.slot_index());
    let is_free =
        |processor: &usize| shared.can_run_on(slot, *processor) && !is_taken(*processor, worker);
    let all = || shared.processor_ids().iter().copied();
    let here = all()
        .find(|it| worker.shared().places().sets()[worker.place()].contains(*it) && is_free(it));
    if let Some(free) = here.or_else(|| all().find(is_free))
        && worker.slot().processor() != Some(free)
        && shared.config.assists.has(Assists::MOVES)
        && shared.sleep.unrestricted_epoch(slot).is_some()
    {
        worker.counters().moves.add(u64::from(os::move_this_thread(free)));
    }
}

/// Moves a woken worker away from the processor of a peer while another processor is idle. The
/// kernel wakes a thread where it ran last if all other processors seem busy, and balances only
/// milliseconds later.
pub(super) fn move_out_of_the_way(worker: &Worker) {
    let shared = worker.shared();
    let is_in_the_way = || worker.slot().processor().is_some_and(|here| is_taken(here, worker));
    if is_in_the_way() && shared.sleep.is_another_processor_idle() {
        move_away(worker);
    }
}

/// Moves this worker away from the processor on which its victim ran, if another one is idle: the
/// victim has work, and waits for this processor.
pub(super) fn leave_its_processor(worker: &Worker, victim: usize) {
    let slot = worker.shared().slot(victim);
    let is_here = || {
        let here = worker.slot().processor();
        here.is_some() && slot.processor() == here
    };
    if is_here() && !slot.deque.is_empty() && worker.shared().sleep.is_another_processor_idle() {
        move_away(worker);
    }
}

/// True if an awake peer ran last on `processor`.
pub(super) fn is_taken(processor: usize, worker: &Worker) -> bool {
    let shared = worker.shared();
    (0..shared.slots_taken()).any(|peer| {
        let slot = shared.slot(peer);
        peer != worker.slot_index()
            && slot.activity() != Activity::Sleeps
            && slot.processor() == Some(processor)
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::pool::tests::beside_a_held_worker;
    use crate::scheduler::Slot;

    /// The other worker, when it has blocked: until then it may change its processor. `None` where
    /// the system does not tell.
    fn blocked_peer(worker: &Worker) -> Option<&Slot> {
        let peer = worker.shared().slot(1);
        loop {
            match peer.run_state(worker.slot().processor()) {
                RunState::Blocked => return Some(peer),
                RunState::Unknown => return None,
                _ => std::thread::yield_now(),
            }
        }
    }

    #[test]
    fn a_processor_is_taken_by_an_awake_peer_that_ran_there_last() {
        let taken = beside_a_held_worker(|worker| {
            let peer = blocked_peer(worker)?;
            let there = peer.processor()?;
            Some([Activity::Works, Activity::Searches, Activity::Sleeps].map(|activity| {
                peer.set_activity(activity);
                [there, usize::MAX].map(|processor| is_taken(processor, worker))
            }))
        });
        let expected = [[true, false], [true, false], [false, false]];
        assert!(taken.is_none_or(|taken| taken == expected), "{taken:?}");
    }

    #[test]
    fn no_processor_is_given_to_a_peer_that_is_blocked() {
        let is_given = |worker: &_| blocked_peer(worker).is_some() && bring_here(worker, 1);
        assert!(!beside_a_held_worker(is_given));
    }
}
