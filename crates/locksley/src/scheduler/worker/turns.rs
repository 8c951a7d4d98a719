//! When a worker that has work takes up what waits elsewhere: its own work may never end.

use super::Worker;
use crate::scheduler::PlaceState;
use crate::scheduler::allowance::PollBudget;
use crate::scheduler::search::Found;

/// After so many polls a worker takes up what waits elsewhere. A prime, as in other schedulers, so
/// that it does not keep step with what tasks do.
pub(super) const LOOK_ELSEWHERE_AFTER: u32 = 61;

impl Worker {
    /// Counts a poll of a task. From time to time the worker then takes up what waits elsewhere, or
    /// has waited longest: tasks that wake each other would keep it from that for ever.
    pub(crate) fn end_poll(&self) {
        if self.counts_a_poll() {
            self.look_elsewhere(self.polls.get() / LOOK_ELSEWHERE_AFTER);
        }
    }

    /// Counts a poll. Says whether it is time to look elsewhere.
    pub(crate) fn counts_a_poll(&self) -> bool {
        let polls = self.polls.get().wrapping_add(1);
        self.polls.set(polls);
        polls.is_multiple_of(LOOK_ELSEWHERE_AFTER)
    }

    /// Takes one job, in turn from its own inbox, the pool's, the old end of its deque, its pinned queue
    /// or, if there are several, its place's inbox, or from the next of these that has one; and makes
    /// it the next to be run.
    #[cold]
    fn look_elsewhere(&self, turn: u32) {
        if self.shared.is_lost() {
            return; // what waits is the parent's
        }
        let _ = self.shared.poll_allowance(PollBudget::HasWork);
        let place_state = self.place_state();
        let places = if place_state.is_some() { 5 } else { 4 };
        for place in (0..places).map(|n| turn.wrapping_add(n) % places) {
            let found = match place {
                0 => self.receive_from(self.slot().inbox()),
                1 => self.receive_from(self.shared.inbox()),
                // That comes next in any case; and to take it would open the deque.
                2 if self.shared.oldest_first() || self.holds_one_at_most() => None,
                2 => self.take_oldest(),
                3 => {
                    // Only this worker may run it, and not on top of a frame that waits.
                    self.owes_pinned.set(self.has_pinned());
                    None
                }
                _ => place_state.and_then(|place_state| self.receive_from(place_state.inbox())),
            };
            if let Some(found) = found {
                self.push_real(found.job);
                return;
            }
        }
    }

    /// As [`take_addressed`](Self::take_addressed); but from time to time something comes first that was
    /// sent to all, or to this worker alone. Tasks for places that send others would keep it from that
    /// for ever.
    pub(super) fn take_addressed_in_turn(&self) -> Option<Found> {
        let inbox = self.place_state().map(PlaceState::inbox);
        let others_first = inbox.is_some_and(|it| !it.looks_empty()) && self.counts_a_poll();
        let pinned_task = || self.take_pinned();
        let sent = || self.take_sent();
        let found = others_first.then(|| {
            let turn = self.polls.get() / LOOK_ELSEWHERE_AFTER;
            if turn.is_multiple_of(2) {
                pinned_task().or_else(sent)
            } else {
                sent().or_else(pinned_task)
            }
        });
        found.flatten().or_else(|| self.take_addressed())
    }
}
