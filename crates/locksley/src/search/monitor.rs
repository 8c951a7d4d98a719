//! When the limit of active workers changes: a worker that has waited for processors lowers it, and
//! the monitor, a sleeping worker, raises it.

use std::time::Duration;

use crate::deque::Inbox;
use crate::header::Job;
use crate::limits::{Evidence, ReadyTime, Sample};
use crate::numbers::Slot;
use crate::primitive::Instant;
use crate::shared::Shared;
use crate::shared::slot::SlotState;
use crate::sleep::Watch;
use crate::tuning::{LOOK_INTERVAL, NO_THEFT, SHARE_PAUSE};

/// How long a worker has waited for processors, as it last looked.
#[derive(Debug)]
pub(super) struct OwnWaits {
    looked: Instant,
    waited: Option<Duration>,
}

impl OwnWaits {
    pub(super) fn new() -> Self {
        Self { looked: Instant::now(), waited: None }
    }

    /// Lowers the limit if this worker, which has no task, has waited for long since it last
    /// looked. It may then be over the limit. Reads a file, at most once each [`LOOK_INTERVAL`] and
    /// only while the limit can come down.
    pub(super) fn lower_limit_if_long(&mut self, shared: &Shared, slot: Slot, now: Instant) {
        let elapsed = now.saturating_duration_since(self.looked);
        if shared.sleep.limit() <= shared.bounds.least() || elapsed < LOOK_INTERVAL {
            return;
        }
        let waited = shared.slot(slot).thread().and_then(|thread| thread.delay.read());
        let before = std::mem::replace(&mut self.waited, waited);
        self.looked = now;
        let waits = before
            .zip(waited)
            .map(|(before, waited)| ReadyTime { elapsed, waited: waited.saturating_sub(before) });
        if waits.is_some_and(ReadyTime::is_long) {
            let limit = shared.bounds.lowered(shared.sleep.limit(), shared.sleep.active());
            shared.set_limit(limit);
        }
    }
}

/// What the monitor remembers from one look to the next.
#[derive(Debug, Default)]
pub(super) struct Monitor {
    looked: Option<Instant>,
    /// `None` if the queue was empty.
    queues: Vec<Option<Seen>>,
    /// Since when the same tasks lie in a queue.
    stuck_since: Option<Instant>,
    /// For how long the sampled workers have run since then, on average.
    ran: Duration,
    sample: Sample,
}

/// Identifies what lies in a queue: both ends of a deque; the oldest task of an inbox, and 0.
type Contents = (i64, i64);

/// What lies in a queue, and since when.
#[derive(Clone, Copy, Debug)]
struct Seen {
    contents: Contents,
    since: Instant,
    /// Since when its oldest task has been the same.
    oldest_since: Instant,
}

impl Seen {
    fn after(before: Option<Self>, contents: Contents, now: Instant) -> Self {
        let same = before.filter(|it| it.contents == contents);
        let same_oldest = before.filter(|it| it.contents.0 == contents.0);
        let since = same.map_or(now, |it| it.since);
        Self { contents, since, oldest_since: same_oldest.map_or(now, |it| it.oldest_since) }
    }
}

fn contents_of_inbox(inbox: &Inbox<Job>) -> Option<Contents> {
    (!inbox.is_empty()).then(|| (inbox.mark() as i64, 0))
}

/// The contents of the deque and of the inbox: tasks that come and go in one hide none in the
/// other.
fn contents_of_slot(slot: &SlotState) -> [Option<Contents>; 2] {
    let ends = (!slot.deque.is_empty()).then(|| slot.deque.bounds());
    [ends, contents_of_inbox(&slot.inbox)]
}

impl Monitor {
    /// Forgets what was seen: a worker is about to sleep, perhaps as the monitor.
    pub(super) fn begin(&mut self) {
        (self.looked, self.stuck_since) = (None, None);
        self.queues.clear();
    }

    /// Looks at the pool, and raises the limit if the active workers block while tasks wait.
    pub(super) fn watch(&mut self, shared: &Shared) -> Watch {
        if shared.sleep.active() == 0 {
            return Watch::Retire;
        }
        let now = Instant::now();
        let divides = shared.share.is_asked_for();
        if divides {
            // Workers that have tasks do not look at what others want. The monitor counts as
            // asleep, but runs now.
            shared.machine.sample(now, || shared.sleep.active() + 1);
            shared.follow_grant(now);
        }
        let elapsed = self.looked.replace(now).map(|looked| now - looked);
        let stuck_since = self.record_queues(shared, now);
        let oldest_since = self.queues.iter().flatten().map(|it| it.oldest_since).min();
        let bounds = &shared.bounds;
        let is_held_to_share =
            divides && shared.sleep.limit() < bounds.granted().min(bounds.most());
        if is_held_to_share && oldest_since.is_some_and(|since| now - since >= NO_THEFT) {
            // A running task may wait for the oldest one. What it forks meanwhile changes the other
            // end of its deque.
            self.pause_share(shared, now, NO_THEFT);
        }
        let sample = stuck_since.map_or_else(Sample::default, |_| shared.sample());
        let before = std::mem::replace(&mut self.sample, sample);
        let was_stuck_since = std::mem::replace(&mut self.stuck_since, stuck_since);
        if stuck_since.is_none() || was_stuck_since != stuck_since {
            self.ran = Duration::ZERO;
        }
        // If other workers are sampled, they are compared the next time.
        let is_comparable = stuck_since.is_some() && before.workers == self.sample.workers;
        let Some(elapsed) = elapsed.filter(|_| is_comparable) else { return Watch::Continue };
        let times = self.sample.since(&before, elapsed);
        self.ran += times.map_or(elapsed, |times| times.ran);
        let evidence = Evidence { elapsed, times, ran: self.ran };
        if evidence.calls_for_more() {
            let active = shared.sleep.active();
            let Some(limit) = bounds.raised(shared.sleep.limit(), active) else {
                return Watch::Wake;
            };
            if is_held_to_share && evidence.is_without_progress() {
                self.pause_share(shared, now, SHARE_PAUSE);
            }
            // The pause may have raised it further.
            shared.set_limit(limit.max(shared.sleep.limit()));
        }
        Watch::Continue
    }

    /// Lets the limit rise above the pool's share for a while.
    fn pause_share(&self, shared: &Shared, now: Instant, pause: Duration) {
        shared.share.pause(now + pause);
        shared.raise_limit(shared.bounds.set_share(usize::MAX, shared.sleep.limit()));
    }

    /// Records what lies in all queues. Returns since when one of them has held the same tasks, if
    /// one has since the last look.
    fn record_queues(&mut self, shared: &Shared, now: Instant) -> Option<Instant> {
        let places = shared.place_states().iter().map(|there| contents_of_inbox(&there.inbox));
        let injector = contents_of_inbox(&shared.injector);
        let inboxes = std::iter::once(injector).chain(places);
        let before = std::mem::take(&mut self.queues);
        let mut before = before.into_iter();
        let queues = inboxes.chain(shared.taken().flat_map(contents_of_slot)).map(|contents| {
            let before = before.next().flatten();
            Some(Seen::after(before, contents?, now))
        });
        self.queues = queues.collect();
        let since = self.queues.iter().flatten().map(|it| it.since).min();
        since.filter(|&since| since < now)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Worker;
    use crate::header::Found;
    use crate::job::HeapJob;
    use crate::pool::tests::beside_a_held_worker;

    /// Sends a task to the worker's inbox, and runs it after a look at the queues. Returns true if
    /// the same tasks as at the look before lay in one of them.
    fn look_while_a_task_comes(worker: &Worker, monitor: &mut Monitor, millis: u64) -> bool {
        let inbox = &worker.state().inbox;
        // SAFETY: run once, below; the task borrows nothing, and does not unwind.
        inbox.send(unsafe { HeapJob::into_job(None, |_| ()) });
        let now = Instant::now() + Duration::from_millis(millis);
        let is_stuck = monitor.record_queues(worker.shared(), now).is_some();
        worker.execute(Found { job: inbox.take().unwrap(), from: Slot::new(0) });
        is_stuck
    }

    #[test]
    fn tasks_that_come_and_go_in_an_inbox_hide_none_in_a_deque() {
        let is_stuck = beside_a_held_worker(|worker| {
            let mut monitor = Monitor::default();
            let mut look = |millis| look_while_a_task_comes(worker, &mut monitor, millis);
            let before = [look(0), look(10)];
            crate::spawn(|| ());
            (before, [look(20), look(30)])
        });
        assert_eq!(is_stuck, ([false, false], [false, true]));
    }
}
