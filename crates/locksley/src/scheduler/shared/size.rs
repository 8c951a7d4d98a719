//! How many workers may be awake: what the governor says, what the process is allowed, what somebody has chosen.

use super::Shared;
use crate::idle::{Activity, Governor, Limit, Peers};
use crate::os::{Standing, ThreadAffinity};
use crate::scheduler::allowance::{Allowance, Leisure};

/// Where so many processors may be used. A guest counts as awake, though mostly it is about something else.
pub(crate) fn limit_by(governor: &dyn Governor, processors: usize, guests: usize) -> Limit {
    let limit = governor.limit(processors);
    Limit { awake: limit.awake.saturating_add(guests), ..limit }
}

/// The same, but no more than that, whatever the governor says.
pub(crate) fn limit_where_allowed(governor: &dyn Governor, workers: usize, guests: usize) -> Limit {
    let limit = limit_by(governor, workers, guests);
    Limit { awake: limit.awake.min(workers.saturating_add(guests)), ..limit }
}

impl Shared {
    /// How many may be used: when the pool was built, or, if nobody has chosen the number of workers, now.
    pub(crate) fn processors(&self) -> usize {
        self.allowance.as_ref().map_or_else(|| self.processors_at_first(), Allowance::awake)
    }

    /// As many as it took to use what was allowed when the pool was built: with a quota rounded down, a pool of two workers would leave a third of
    /// one and a half processors.
    pub(crate) fn processors_at_first(&self) -> usize {
        self.processors.count_up()
    }

    /// Where each worker may run, if its thread has said so.
    pub(crate) fn affinities_of_workers(
        &self,
    ) -> impl ExactSizeIterator<Item = Option<&ThreadAffinity>> + Clone {
        self.seats[self.guests..self.workers].iter().map(|seat| seat.affinity.get())
    }

    /// Looks what is allowed and what has been used, if that is due. Says whether it has.
    #[inline]
    pub(crate) fn attends_to_allowance(&self, leisure: Leisure) -> bool {
        self.allowance.as_ref().is_some_and(|allowance| allowance.attend(self, leisure))
    }

    /// Whether that is due for who is to sleep.
    pub(crate) fn is_to_attend(&self) -> bool {
        self.allowance.as_ref().is_some_and(Allowance::is_due)
    }

    /// Whether it is time for that, and it takes too long for one who counts as hunting.
    pub(crate) fn is_attending_long(&self) -> bool {
        self.allowance.as_ref().is_some_and(|allowance| allowance.takes_long(self.awake()))
    }

    /// What a worker has got up for comes before that.
    pub(crate) fn puts_off_attending(&self) {
        if let Some(allowance) = &self.allowance {
            allowance.puts_off_reading();
        }
    }

    /// How many workers are awake.
    pub(crate) fn awake(&self) -> usize {
        self.workers.saturating_sub(self.sleep.census().asleep())
    }

    /// Whether as many others are awake as are allowed, in a pool for which nobody has chosen a number. A governor need not ask.
    pub(crate) fn is_beyond_what_is_allowed(&self) -> bool {
        self.follows() && self.is_one_too_many()
    }

    /// Whether as many others are awake as the limit allows, and the inbox has nothing for one more.
    pub(crate) fn is_one_too_many(&self) -> bool {
        self.sleep.is_one_too_many() && !self.is_welcome_to_the_inbox()
    }

    /// Returns when who looks at this moment has said all that follows.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn settle_what_is_allowed(&self) {
        self.allowance.iter().for_each(Allowance::settle);
    }

    /// Whether nobody has chosen a number.
    fn follows(&self) -> bool {
        self.allowance.as_ref().is_some_and(|allowance| !allowance.is_chosen())
    }

    /// Whether something is there that one more may do than are allowed.
    fn is_welcome_to_the_inbox(&self) -> bool {
        self.sleep.is_one_more_welcome() && !self.inbox.is_empty() && !self.sleep.leaves_the_inbox()
    }

    /// The limit where nobody has chosen a number, and so many workers are allowed.
    pub(crate) fn limit_where_allowed(&self, workers: usize) -> Limit {
        limit_where_allowed(self.governor(), workers, self.guests)
    }

    /// The limit by what was allowed when the pool was built.
    pub(crate) fn limit_at_first(&self) -> Limit {
        limit_by(self.governor(), self.processors_at_first(), self.guests)
    }

    /// How many workers may be at work, beside guests.
    pub(crate) fn size(&self) -> usize {
        let size = self.sleep.size();
        match &self.allowance {
            Some(allowance) if !allowance.is_chosen() => size.min(allowance.allowed()),
            _ => size,
        }
    }

    /// Somebody has chosen how many.
    pub(crate) fn resize(&self, size: usize) {
        if let Some(allowance) = &self.allowance {
            allowance.ends(self);
        }
        self.sleep.resize(size);
    }

    /// The size that somebody has chosen.
    pub(crate) fn chosen_size(&self) -> Option<usize> {
        (!self.follows()).then(|| self.sleep.size())
    }
}

impl Peers for Shared {
    fn is_over_the_limit(&self) -> bool {
        self.is_one_too_many()
    }

    fn activity(&self, worker: usize) -> Activity {
        self.seat(worker).activity()
    }

    fn standing(&self, worker: usize, seen_from: usize) -> Standing {
        self.seat(worker).standing(self.seat(seen_from).processor())
    }

    fn runnable_threads(&self) -> Option<usize> {
        Shared::runnable_threads(self)
    }
}
