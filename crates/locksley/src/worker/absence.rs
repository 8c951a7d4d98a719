//! A worker that is in a call which blocks, and one that stands in for it.

use super::Worker;
use crate::hunt::Activity;

impl Worker {
    /// Is about to call something that blocks; `false` if it has been already. If its time was none of the pool's, it is not meanwhile.
    pub(crate) fn goes_away(&self, is_elsewhere: bool) -> bool {
        // Also if it has been: this may be another process than the one that was in that call, or one that has done something since.
        // Nobody else looks at what it has noted, or pays for the process that it is in.
        self.doubts.settle();
        self.payer.pay();
        // For those who look there, to find it open.
        self.deque.open();
        let goes_away = !self.is_away.replace(true);
        if goes_away {
            self.is_seen_to(Activity::Sleeps, is_elsewhere);
        }
        goes_away
    }

    /// The call that blocks is over.
    pub(crate) fn is_back(&self, is_elsewhere: bool) {
        self.is_away.set(false);
        self.is_seen_to(Activity::Works, is_elsewhere);
    }

    fn is_seen_to(&self, activity: Activity, is_elsewhere: bool) {
        self.seat().does(activity);
        if is_elsewhere {
            self.seat().spends_time_on(None);
        }
    }

    pub(crate) fn takes_number(&self, number: usize) {
        self.number.set(number);
        if let Some(neighbours) = self.shared.neighbours_of(number) {
            self.summons.has_neighbours(neighbours);
        }
    }

    /// A stand-in works no more. It leaves what it has not run where it is, within reach of all; and says so.
    pub(crate) fn steps_down(&self) {
        // It may not come back to look at what it has noted.
        self.doubts.settle();
        self.deque.open();
        if self.has_own_tasks() || !self.seat().inbox().is_empty() {
            self.shared.sleep().work_was_sent();
        }
    }
}
