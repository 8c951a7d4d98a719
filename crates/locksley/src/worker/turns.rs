//! When a worker takes up what waits elsewhere, though it has work: what it has may never end.

use super::Worker;
use crate::allowance::Leisure;
use crate::hunt::Found;
use crate::pool::Quarter;

/// After so many polls a worker takes up what waits elsewhere. A prime, as other schedulers have it, so that it does not keep step
/// with what tasks do.
pub(super) const LOOK_ELSEWHERE_AFTER: u32 = 61;

impl Worker {
    /// To be called after each poll of a task. From time to time the worker then takes up what waits elsewhere, or has waited
    /// longest: tasks that wake each other would keep it from that for ever.
    pub(crate) fn has_polled(&self) {
        if self.counts_a_poll() {
            // What is found there does not come after what was polled.
            self.while_aside(|| self.look_elsewhere(self.polls.get() / LOOK_ELSEWHERE_AFTER));
        }
    }

    /// Says whether it is time to look elsewhere.
    pub(super) fn counts_a_poll(&self) -> bool {
        let polls = self.polls.get().wrapping_add(1);
        self.polls.set(polls);
        polls.is_multiple_of(LOOK_ELSEWHERE_AFTER)
    }

    /// Takes one job, in turn from its own inbox, the pool's, the old end of its deque, its mailbox (or what needs a stack) or, if there are
    /// several, its place's inbox, or from the next of these where there is one; and makes it the next to be run, or runs it.
    #[cold]
    fn look_elsewhere(&self, turn: u32) {
        if self.shared.is_lost() {
            return; // what waits is the parent's
        }
        let _ = self.shared.attends_to_allowance(Leisure::HasWork);
        self.doubts.polled(LOOK_ELSEWHERE_AFTER as usize);
        let quarter = self.quarter();
        let places = if quarter.is_some() { 5 } else { 4 };
        for place in (0..places).map(|n| turn.wrapping_add(n) % places) {
            let found = match place {
                0 => self.receive_from(self.seat().inbox()),
                1 => self.receive_from(self.shared.inbox()),
                // That comes next in any case; and to take it would open the deque.
                2 if self.shared.oldest_first() || self.holds_one_at_most() => None,
                2 => self.take_oldest(),
                3 if (turn / places).is_multiple_of(2) => {
                    self.take_mail().or_else(|| self.take_apart())
                }
                3 => self.take_apart().or_else(|| self.take_mail()),
                _ => quarter.and_then(|quarter| self.receive_from(quarter.inbox())),
            };
            match found {
                // Not everybody may run it; or what is pushed would be the last.
                Some(found) if place == 3 || self.shared.oldest_first() => {
                    return self.execute(found);
                }
                Some(found) => return self.push(found.job),
                None => {}
            }
        }
    }

    /// As [`take_addressed`](Self::take_addressed); but from time to time something comes first that was sent to all, or to this worker
    /// alone. Tasks for places that send others would keep it from that for ever.
    pub(super) fn take_addressed_in_turn(&self) -> Option<Found> {
        let inbox = self.quarter().map(Quarter::inbox);
        let others_first = inbox.is_some_and(|it| !it.looks_empty()) && self.counts_a_poll();
        let letter = || self.take_mail();
        let sent = || self.take_sent();
        let found = others_first.then(|| {
            let turn = self.polls.get() / LOOK_ELSEWHERE_AFTER;
            if turn.is_multiple_of(2) { letter().or_else(sent) } else { sent().or_else(letter) }
        });
        found.flatten().or_else(|| self.take_addressed())
    }
}
