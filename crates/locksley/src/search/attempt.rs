//! One attempt to find work, and a sweep over the whole pool.
//!
//! A thief that finds a deque closed has asked its owner, by that look, to open it. The owner does
//! so at its next push or pop. If it does not for long, the thief opens all closed deques *by
//! force*: by a barrier that interrupts the processors of all workers (`../deque/README.md`).

use std::ptr::NonNull;

use super::{Search, Seeker};
use crate::deque::{Inbox, Steal};
use crate::header::{Found, Job};
use crate::hooks;
use crate::idle::Activity;
use crate::numbers::Slot;
use crate::primitive::{Instant, spin_loop};
use crate::shared::Shared;
use crate::trace::Event;
use crate::tuning::{
    LEFT_BEHIND_SLOTS, MOVE_COST, SHORT_LOOKS, SWEEP_INTERVAL, WAIT_SPIN_BESIDE_OTHERS,
};

impl Search {
    /// Makes one attempt, and counts it if it fails: what was sent to this worker, its place or
    /// all, then one victim. After a sleep, and from time to time, it looks everywhere instead.
    /// From time to time it opens closed deques by force.
    pub(super) fn attempt(&mut self, seeker: Seeker<'_>) -> Option<Found> {
        let sweeps = std::mem::take(&mut self.sweeps);
        let found = if sweeps {
            self.sweep(seeker)
        } else {
            seeker.receive().or_else(|| {
                self.victim = self.victims.choose(seeker, self.failures);
                self.steal(seeker, self.victim?)
            })
        };
        // The look after a sleep does not count: the policy begins anew.
        if found.is_some() || sweeps && self.failures == 0 {
            return found;
        }
        self.failures += 1;
        if self.failures % u64::from(SWEEP_INTERVAL) == 0 {
            // A thief that never sleeps looks everywhere, too.
            (self.forces, self.sweeps) = (true, true);
            // A task that this makes ready lies in the worker's own deque.
            hooks::flush();
        }
        if std::mem::take(&mut self.forces) { self.steal_by_force(seeker) } else { None }
    }

    /// Looks everywhere, for a caller that goes on with something else if it finds nothing, and may
    /// not come back.
    pub(crate) fn search_once(&mut self, seeker: Seeker<'_>) -> Option<Found> {
        self.sweep(seeker).or_else(|| {
            // A caller that repeats this must in the end get what a suspended owner holds.
            let has_asked = self.unanswered.is_some();
            let stolen = self.steal_by_force(seeker);
            stolen.or_else(|| if has_asked { self.sweep(seeker) } else { None })
        })
    }

    /// Looks once into each queue of the pool: near ones before far ones, from a random one on.
    fn sweep(&mut self, seeker: Seeker<'_>) -> Option<Found> {
        let victims = self.victims.all_near_first(seeker);
        let steal = |victim| self.steal(seeker, victim);
        seeker.receive().or_else(|| victims.into_iter().find_map(steal))
    }

    /// Takes the oldest task of a victim, from its deque or its inbox, or what was sent to its
    /// place.
    fn steal(&mut self, seeker: Seeker<'_>, victim: Slot) -> Option<Found> {
        let next = seeker.shared.slot(victim).lone_next_task();
        if next.is_some_and(|next| seeker.wait_for_owner(victim, next)) {
            return None;
        }
        self.steal_at_once(seeker, victim)
    }

    /// Does not leave the victim's only task to it.
    fn steal_at_once(&mut self, seeker: Seeker<'_>, victim: Slot) -> Option<Found> {
        let slot = seeker.shared.slot(victim);
        let mut steal = slot.deque.steal_oldest();
        for _ in 0..SHORT_LOOKS {
            if !matches!(steal, Steal::Closed) {
                break;
            }
            spin_loop();
            steal = slot.deque.steal_oldest();
        }
        match steal {
            Steal::Taken(job) => return Some(seeker.stolen(job, victim)),
            Steal::Closed => self.unanswered = Some(victim),
            Steal::Lost | Steal::Empty => {}
        }
        let stolen = slot.inbox.take().map(|job| seeker.stolen(job, victim));
        let stolen = stolen.or_else(|| seeker.take_out_of_place(victim));
        if stolen.is_none() {
            seeker.counters().failed_steals.increment();
        }
        stolen
    }

    /// Takes a task that a thread without an index has left in its deque: a replacement that has
    /// lost it, or a thread that waits. A worker that always has tasks of its own would not steal
    /// them. Looks into some slots from `first` on.
    pub(crate) fn take_left_behind(&mut self, seeker: Seeker<'_>, first: usize) -> Option<Found> {
        let taken = seeker.shared.slots_taken();
        let slots = (first..first + LEFT_BEHIND_SLOTS.min(taken)).map(|n| Slot::new(n % taken));
        let is_left = |&slot: &Slot| {
            let state = seeker.shared.slot(slot);
            slot != seeker.slot && state.activity() == Activity::Sleeps && !state.has_empty_deque()
        };
        slots.filter(is_left).find_map(|slot| self.steal_at_once(seeker, slot))
    }

    /// Opens all closed deques if a request of this thief was not answered, and steals from that
    /// victim. The owner may be suspended, or run one long task. Called at the latest before this
    /// thief gives up its processor.
    ///
    /// It steals at once: on one processor, the owner may close the deque again when it runs.
    fn steal_by_force(&mut self, seeker: Seeker<'_>) -> Option<Found> {
        let victim = self.unanswered.take()?;
        seeker.shared.open_deques(&mut self.open_requests);
        self.steal(seeker, victim)
    }
}

impl<'s> Seeker<'s> {
    /// The grace period: a thief leaves a worker's only task to it, if it probably runs that next.
    /// Returns true if another such task has replaced it then: the worker makes progress by itself.
    ///
    /// While other programs want processors, the period is longer, and the thief yields: tasks that
    /// share a barrier with a stolen one stall while its thief is preempted.
    fn wait_for_owner(self, victim: Slot, next: u64) -> bool {
        let lone_next_task = || self.shared.slot(victim).lone_next_task();
        let (since, is_quiet) = (Instant::now(), self.shared.machine.is_quiet());
        let grace = if is_quiet { MOVE_COST } else { WAIT_SPIN_BESIDE_OTHERS };
        while lone_next_task() == Some(next) && since.elapsed() < grace {
            if is_quiet { spin_loop() } else { self.yield_to_others() }
        }
        lone_next_task().is_some_and(|now| now != next)
    }

    pub(super) fn counters(self) -> &'s crate::stats::Counters {
        &self.shared.slot(self.slot).counters
    }

    /// Takes what was sent to the worker with this index, to its place, or to all.
    pub(crate) fn receive(self) -> Option<Found> {
        self.take_addressed().or_else(|| self.take_injected())
    }

    /// Takes what was sent to all.
    pub(crate) fn take_injected(self) -> Option<Found> {
        self.take(&self.shared.injector)
    }

    /// The inboxes of the worker with this index, and of its place.
    fn inboxes(self) -> impl Iterator<Item = &'s Inbox<Job>> {
        let shared: &'s Shared = self.shared;
        let own = &shared.slot(self.index.slot()).inbox;
        let here = shared.place_states().get(shared.place_of(self.index).get());
        std::iter::once(own).chain(here.map(|here| &here.inbox))
    }

    /// Takes what was sent to the worker with this index.
    pub(crate) fn take_from_inbox(self) -> Option<Found> {
        self.take(&self.shared.slot(self.index.slot()).inbox)
    }

    /// Takes what was sent to the worker with this index, or to its place.
    pub(crate) fn take_addressed(self) -> Option<Found> {
        self.inboxes().find_map(|inbox| self.take(inbox))
    }

    /// True if there is something that was sent to the worker with this index, or to its place.
    pub(crate) fn is_addressed(self) -> bool {
        self.inboxes().any(|inbox| !inbox.is_empty())
    }

    /// Takes what was sent to the place of `victim`, if that is another one.
    fn take_out_of_place(self, victim: Slot) -> Option<Found> {
        let there = self.shared.place_of_slot(victim)?;
        let is_elsewhere = there != self.shared.place_of(self.index);
        let place_state = self.shared.place_states().get(there.get()).filter(|_| is_elsewhere)?;
        let found = self.take(&place_state.inbox)?;
        self.counters().out_of_place.increment();
        Some(found)
    }

    fn take(self, inbox: &Inbox<Job>) -> Option<Found> {
        let job = inbox.take()?;
        self.counters().received.increment();
        Some(Found { job, from: self.slot })
    }

    /// Counts a task that was taken from another worker.
    pub(crate) fn stolen(self, job: NonNull<Job>, victim: Slot) -> Found {
        let shared = self.shared;
        self.counters().steals.increment();
        shared.trace(|| Event::Steals {
            victim: victim.get(),
            left: shared.slot(victim).deque_len(),
        });
        let own = shared.place_of(self.index);
        let is_elsewhere = shared.place_of_slot(victim).is_some_and(|place| place != own);
        self.counters().out_of_place.add(u64::from(is_elsewhere));
        Found { job, from: victim }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use crate::idle::test_policies::RESTLESS;
    use crate::job::HeapJob;
    use crate::numbers::{Index, Slot};
    use crate::pool::tests::{LONGEST, divided, hold, on_worker};
    use crate::search::{Search, Seeker};
    use crate::sleep::WakeToken;
    use crate::{Pool, Spawn, Worker};

    /// Where a task waits while worker 0 is held.
    #[derive(Clone, Copy, Debug)]
    enum Queue {
        Injector,
        DequeOfTheHeldWorker,
        InboxOfTheHeldWorker,
        InboxOfThisWorker,
        PinnedQueueOfThisWorker,
        InboxOfItsPlace,
    }

    /// Puts a task into the queue, which worker 1 has to find. Returns the number of steals for it.
    fn find(pool: &Pool, queue: Queue) -> u64 {
        let steals = || pool.stats().workers[1].steals;
        let before = steals();
        let (here, is_found) = channel();
        let task = || {
            let here = here.clone();
            move |worker: &Worker| here.send(worker.index()).unwrap()
        };
        let _held = match queue {
            Queue::DequeOfTheHeldWorker => push_and_hold(pool, task()),
            _ => hold(pool, 0),
        };
        let send_to_inbox = |worker| {
            // SAFETY: sent once, here; the task borrows nothing and does not unwind.
            let job = unsafe { HeapJob::into_job(None, task()) };
            pool.shared_now().send_ready(None, Index::new(worker), job);
        };
        match queue {
            Queue::DequeOfTheHeldWorker => {}
            Queue::Injector => pool.spawn(task()),
            Queue::PinnedQueueOfThisWorker => pool.spawn_with(Spawn::At(1), task()),
            Queue::InboxOfItsPlace => pool.spawn_with(Spawn::Near(0), task()),
            Queue::InboxOfThisWorker => send_to_inbox(1),
            Queue::InboxOfTheHeldWorker => send_to_inbox(0),
        }
        assert_eq!(is_found.recv_timeout(LONGEST), Ok(1), "{queue:?}");
        steals() - before
    }

    /// Has worker 0 push a task, and then wait for the drop of the returned sender.
    fn push_and_hold(pool: &Pool, task: impl FnOnce(&Worker) + Send + 'static) -> Sender<()> {
        let (go_on, released) = channel();
        pool.spawn_with(Spawn::At(0), move |_| {
            crate::spawn(|| on_worker(task));
            let _ = released.recv();
        });
        go_on
    }

    #[test]
    fn a_search_remembers_its_victim() {
        // Of so many workers, chance hardly chooses the same.
        let pool = Pool::builder().workers(16).build().unwrap();
        let _held: Vec<_> = (1..16).map(|worker| hold(&pool, worker)).collect();
        let _also_held = push_and_hold(&pool, |_| ());
        while pool.shared_now().slot(Slot::new(0)).deque_len() == 0 {
            std::thread::yield_now();
        }
        let (shared, wake_token) = (pool.shared_now(), &WakeToken::new(0..usize::MAX));
        let (index, slot, victim) = (Index::new(1), Slot::new(1), Slot::new(0));
        let seeker = Seeker { shared, slot, index, wake_token, idle: None };
        let mut search = Search::new(seeker);
        search.begin(seeker);
        let found = search.steal(seeker, victim);
        search.end(seeker, found);
        shared.inject(found.unwrap().job);
        assert_eq!(search.victims.choose(seeker, 0), Some(victim));
    }

    /// The worker of that place may be suspended, and a sweep may be far off.
    #[test]
    fn a_steal_looks_into_the_inbox_of_the_victims_place() {
        let pool = divided(&[1, 2]).build().unwrap();
        let _held = [0, 1, 2].map(|worker| hold(&pool, worker));
        let (shared, wake_token) = (pool.shared_now(), &WakeToken::new(0..usize::MAX));
        let found = |thief, victim| {
            let (index, slot) = (Index::new(thief), Slot::new(thief));
            let seeker = Seeker { shared, slot, index, wake_token, idle: None };
            let found = Search::new(seeker).steal(seeker, Slot::new(victim))?;
            shared.inject(found.job);
            Some(found.from.get())
        };
        pool.spawn_with(Spawn::Near(1), |_| ());
        // The first step of a search looks into the inbox of the own place.
        assert_eq!(
            [found(1, 0), found(1, 2), found(0, 1), found(0, 2)],
            [None, None, Some(0), None]
        );
    }

    /// Without sleeps, only the sweep after some failures finds some of these.
    #[test]
    fn a_thief_that_never_sleeps_finds_what_waits_anywhere() {
        use Queue::*;
        for pool in [Pool::builder().workers(2), divided(&[2])] {
            let pool = pool.idle_policy(RESTLESS).build().unwrap();
            for queue in [Injector, InboxOfThisWorker, PinnedQueueOfThisWorker, InboxOfItsPlace] {
                assert_eq!(find(&pool, queue), 0, "{queue:?}");
            }
            for queue in [DequeOfTheHeldWorker, InboxOfTheHeldWorker] {
                assert_eq!(find(&pool, queue), 1, "{queue:?}");
            }
        }
    }
}
