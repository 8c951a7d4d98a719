//! How many workers may be awake: what the idle policy says, what the process is allowed, what somebody has chosen.

use super::Shared;
use crate::idle::{Activity, IdlePolicy, Limit, Peers};
use crate::os::{Standing, ThreadAffinity};
use crate::scheduler::allowance::{Allowance, PollBudget};

/// Where so many processors may be used. A borrowed thread counts as awake, though mostly it is about something else.
pub(crate) fn limit_by(
    idle_policy: &dyn IdlePolicy,
    processors: usize,
    borrowed_threads: usize,
) -> Limit {
    let limit = idle_policy.limit(processors);
    Limit { awake: limit.awake.saturating_add(borrowed_threads), ..limit }
}

/// The same, but no more than that, whatever the idle policy says.
pub(crate) fn limit_where_allowed(
    idle_policy: &dyn IdlePolicy,
    workers: usize,
    borrowed_threads: usize,
) -> Limit {
    let limit = limit_by(idle_policy, workers, borrowed_threads);
    Limit { awake: limit.awake.min(workers.saturating_add(borrowed_threads)), ..limit }
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
        self.slots[self.borrowed_threads..self.workers].iter().map(|slot| slot.affinity.get())
    }

    /// Looks what is allowed and what has been used, if that is due. Says whether it has.
    #[inline]
    pub(crate) fn poll_allowance(&self, budget: PollBudget) -> bool {
        self.allowance.as_ref().is_some_and(|allowance| allowance.attend(self, budget))
    }

    /// Whether that is due for who is to sleep.
    pub(crate) fn is_poll_due(&self) -> bool {
        self.allowance.as_ref().is_some_and(Allowance::is_due)
    }

    /// Whether it is time for that, and it takes too long for one who counts as searching.
    pub(crate) fn is_poll_long(&self) -> bool {
        self.allowance.as_ref().is_some_and(|allowance| allowance.takes_long(self.awake()))
    }

    /// What a worker has got up for comes before that.
    pub(crate) fn postpone_poll(&self) {
        if let Some(allowance) = &self.allowance {
            allowance.puts_off_reading();
        }
    }

    /// How many workers are awake.
    pub(crate) fn awake(&self) -> usize {
        self.workers.saturating_sub(self.sleep.snapshot().asleep())
    }

    /// Whether as many others are awake as are allowed, in a pool for which nobody has chosen a number. A idle policy need not ask.
    pub(crate) fn is_over_allowance(&self) -> bool {
        self.follows() && self.is_over_limit()
    }

    /// Whether as many others are awake as the limit allows, and the inbox has nothing for one more.
    pub(crate) fn is_over_limit(&self) -> bool {
        self.sleep.is_over_limit() && !self.is_welcome_to_the_inbox()
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
        limit_where_allowed(self.idle_policy(), workers, self.borrowed_threads)
    }

    /// The limit by what was allowed when the pool was built.
    pub(crate) fn limit_at_first(&self) -> Limit {
        limit_by(self.idle_policy(), self.processors_at_first(), self.borrowed_threads)
    }

    /// How many workers may be at work, beside borrowed threads.
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
        self.is_over_limit()
    }

    fn activity(&self, worker: usize) -> Activity {
        self.slot(worker).activity()
    }

    fn standing(&self, worker: usize, seen_from: usize) -> Standing {
        self.slot(worker).standing(self.slot(seen_from).processor())
    }

    fn runnable_threads(&self) -> Option<usize> {
        Shared::runnable_threads(self)
    }
}
