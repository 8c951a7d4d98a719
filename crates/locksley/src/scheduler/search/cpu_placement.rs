//! On which processors workers run, where thieves have a say in it: they bring peers to theirs, and go elsewhere themselves.

use crate::idle::Activity;
use crate::os::{self, Standing};
use crate::scheduler::Worker;

/// Has `peer`, which does not run, wait for this worker's processor. Says whether it does.
pub(super) fn bring_here(worker: &Worker, peer: usize) -> bool {
    let here = worker.slot().processor();
    let slot = worker.shared().slot(peer);
    match slot.standing(here) {
        Standing::WaitsHere => true,
        Standing::WaitsElsewhere => here.is_some_and(|here| {
            let sleep = worker.shared().sleep();
            let round = sleep.whole(peer);
            let pulled = round.is_some() && slot.pull(here, || sleep.whole(peer) == round);
            worker.counters().pulls.add(u64::from(pulled));
            pulled
        }),
        _ => false,
    }
}

/// Goes to a processor where no peer that is awake was last, if there is one; to one of its place, if it can.
pub(super) fn move_away(worker: &Worker) {
    let (shared, slot) = (worker.shared(), worker.slot_index());
    let is_free =
        |processor: &usize| shared.may_run_on(slot, *processor) && !is_taken(*processor, worker);
    let all = || shared.processor_ids().iter().copied();
    let here = all().find(|it| shared.is_in_place(worker.place(), *it) && is_free(it));
    if let Some(free) = here.or_else(|| all().find(is_free))
        && worker.slot().processor() != Some(free)
        && shared.moves_workers()
        && shared.sleep().whole(slot).is_some()
    {
        worker.counters().moves.add(u64::from(os::move_this_thread(free)));
    }
}

/// A worker that was woken where a peer with work ran takes that one's processor, or its turn there, while another one idles: the kernel wakes threads where they were last if
/// all other processors are taken just then, or seem to be, and moves nobody before the next balancing, some milliseconds later.
pub(super) fn move_out_of_the_way(worker: &Worker) {
    let shared = worker.shared();
    let is_in_the_way = || worker.slot().processor().is_some_and(|here| is_taken(here, worker));
    if is_in_the_way() && shared.sleep().is_another_processor_free() {
        move_away(worker);
    }
}

/// A worker that is about to steal where its victim ran goes elsewhere first, if a processor is free: the victim has work, and waits for this one.
pub(super) fn leave_its_processor(worker: &Worker, victim: usize) {
    let slot = worker.shared().slot(victim);
    let is_here = || {
        let here = worker.slot().processor();
        here.is_some() && slot.processor() == here
    };
    let sleep = worker.shared().sleep();
    if sleep.spreads() && !slot.deque().is_empty() && is_here() && sleep.is_another_processor_free()
    {
        move_away(worker);
    }
}

/// Whether a peer that is awake was last on `processor`.
pub(super) fn is_taken(processor: usize, worker: &Worker) -> bool {
    let shared = worker.shared();
    (0..shared.slots_taken()).any(|peer| {
        let slot = shared.slot(peer);
        peer != worker.slot_index()
            && slot.activity() != Activity::Sleeps
            && slot.processor() == Some(processor)
    })
}
