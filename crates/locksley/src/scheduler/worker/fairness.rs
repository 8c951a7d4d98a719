//! Fairness between a worker's queues: its own tasks may wake each other for ever.

use std::time::Duration;

use super::Worker;
use crate::primitive::Instant;
use crate::scheduler::allowance::PollPhase;
use crate::scheduler::search::Found;

/// The number of polls after which a worker looks into its other queues. A prime, as in other
/// schedulers, so that it does not align with patterns in the tasks.
pub(super) const LOOK_ELSEWHERE_AFTER: u32 = 61;

/// Polls shorter than this cost less than sending a task to another worker.
const BRIEF: Duration = Duration::from_micros(2);

impl Worker {
    /// Counts a poll of a task. Every `LOOK_ELSEWHERE_AFTER` polls, makes a task of another queue,
    /// or the oldest of the deque, the next to run: tasks that wake each other would starve these.
    pub(crate) fn end_poll(&self) {
        if self.count_poll() {
            self.look_elsewhere(self.polls.get() / LOOK_ELSEWHERE_AFTER);
        }
    }

    /// Counts a poll. Returns true if it is time to look into the other queues.
    pub(crate) fn count_poll(&self) -> bool {
        let polls = self.polls.get().wrapping_add(1);
        self.polls.set(polls);
        polls.is_multiple_of(LOOK_ELSEWHERE_AFTER)
    }

    /// Makes a waiting job the next to run. Begins with queue `first` of these, and goes on while
    /// they are empty: its inbox, the injector, the old end of its deque, its pinned tasks, the
    /// inbox of its place. A pinned job is marked in addition, and runs before the other one.
    #[cold]
    pub(super) fn look_elsewhere(&self, first: u32) {
        if self.shared.is_in_forked_child() {
            return; // all tasks belong to the parent
        }
        // Includes time without polls: a worker that waits in between has no brief polls.
        let now = Instant::now();
        let looked = self.looked.replace(Some(now));
        let is_brief = |looked| now - looked < BRIEF * LOOK_ELSEWHERE_AFTER;
        self.has_brief_polls.set(looked.is_some_and(is_brief));
        let _ = self.shared.poll_allowance(PollPhase::Working);
        let place_state = self.place_state();
        let queues = if place_state.is_some() { 5 } else { 4 };
        for queue in (0..queues).map(|n| first.wrapping_add(n) % queues) {
            let found = match queue {
                0 => self.receive_from(&self.slot().inbox),
                1 => self.receive_from(&self.shared.injector),
                // The only task runs next in any case, and taking it would open the deque.
                2 if self.shared.config.oldest_first || self.deque.has_at_most_one_item() => None,
                2 => self.take_oldest(),
                3 => {
                    // Only marked: a pushed task could be stolen, and only this worker may run it.
                    self.runs_pinned_next.set(self.has_pinned());
                    None
                }
                _ => place_state.and_then(|place_state| self.receive_from(&place_state.inbox)),
            };
            if let Some(found) = found {
                self.push_real(found.job);
                return;
            }
        }
    }

    /// As [`take_addressed`](Self::take_addressed), but while the place's inbox is not empty, each
    /// call counts as a poll, and every `LOOK_ELSEWHERE_AFTER` polls, the injector or a pinned
    /// task comes first: tasks that send others to the place would starve these.
    pub(super) fn take_addressed_in_turn(&self) -> Option<Found> {
        let inbox = self.place_state().map(|it| &it.inbox);
        let others_first = inbox.is_some_and(|it| !it.is_probably_empty()) && self.count_poll();
        let found = others_first.then(|| match self.polls.get() / LOOK_ELSEWHERE_AFTER % 2 {
            0 => self.take_pinned().or_else(|| self.take_injected()),
            _ => self.take_injected().or_else(|| self.take_pinned()),
        });
        found.flatten().or_else(|| self.take_addressed())
    }
}
