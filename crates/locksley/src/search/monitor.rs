//! When the limit of active workers changes: a worker that has waited for processors lowers it, and
//! the monitor, a sleeping worker, raises it.

use std::time::Duration;

use crate::deque::Inbox;
use crate::header::Job;
use crate::limits::{Evidence, ReadyTime};
use crate::numbers::Slot;
use crate::primitive::Instant;
use crate::shared::Shared;
use crate::shared::slot::SlotState;
use crate::sleep::Watch;
use crate::tuning::{LOOK_INTERVAL, NO_PROGRESS};

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
    /// looked. It is then over the limit. Reads a file, at most once each [`LOOK_INTERVAL`] and
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
    /// What lies in each queue, and since when; `None` if it was empty.
    queues: Vec<Option<(Contents, Instant)>>,
    /// The sampled workers, and how long they had run or waited for a processor.
    busy: (Vec<usize>, Option<Duration>),
}

/// Identifies what lies in a queue: both ends of a deque, and the oldest task of an inbox.
type Contents = (Option<(i64, i64)>, Option<usize>);

fn contents_of_inbox(inbox: &Inbox<Job>) -> Option<usize> {
    (!inbox.is_empty()).then(|| inbox.mark())
}

fn contents_of_slot(slot: &SlotState) -> Option<Contents> {
    let ends = (!slot.deque.is_empty()).then(|| slot.deque.bounds());
    let inbox = contents_of_inbox(&slot.inbox);
    (ends.is_some() || inbox.is_some()).then_some((ends, inbox))
}

impl Monitor {
    /// Forgets what was seen: a worker is about to sleep, perhaps as the monitor.
    pub(super) fn begin(&mut self) {
        self.looked = None;
        self.queues.clear();
    }

    /// Looks at the pool, and raises the limit if the active workers block while tasks wait.
    pub(super) fn watch(&mut self, shared: &Shared) -> Watch {
        if shared.sleep.active() == 0 {
            return Watch::Retire;
        }
        let now = Instant::now();
        shared.follow_grant(now);
        let elapsed = self.looked.replace(now).map(|looked| now - looked);
        let stuck = self.record_queues(shared, now);
        let busy = stuck.map_or_else(Default::default, |_| shared.sample_busy());
        let before = std::mem::replace(&mut self.busy, busy);
        let Some((stuck, elapsed)) = stuck.zip(elapsed) else { return Watch::Continue };
        // Other workers than before are compared the next time.
        let is_comparable = before.0 == self.busy.0;
        let evidence = Evidence {
            stuck,
            elapsed,
            sampled: self.busy.0.len() as u32,
            busy: before.1.zip(self.busy.1).map(|(before, busy)| busy.saturating_sub(before)),
        };
        if is_comparable && evidence.calls_for_more() {
            if evidence.stuck >= NO_PROGRESS {
                shared.share.pause(now);
                shared.bounds.set_share(usize::MAX, shared.sleep.limit());
            }
            let limit = shared.bounds.raised(shared.sleep.limit());
            shared.set_limit(limit);
        }
        Watch::Continue
    }

    /// Records what lies in all queues. Returns for how long one of them has held the same tasks.
    fn record_queues(&mut self, shared: &Shared, now: Instant) -> Option<Duration> {
        let places = shared.place_states().iter().map(|there| contents_of_inbox(&there.inbox));
        let injector = contents_of_inbox(&shared.injector);
        let inboxes = std::iter::once(injector).chain(places);
        let inboxes = inboxes.map(|oldest| Some((None, Some(oldest?))));
        let before = std::mem::take(&mut self.queues);
        let mut before = before.into_iter();
        let queues = inboxes.chain(shared.taken().map(contents_of_slot)).map(|contents| {
            let before = before.next().flatten();
            let contents = contents?;
            let same = before.filter(|(before, _)| *before == contents);
            Some((contents, same.map_or(now, |(_, since)| since)))
        });
        self.queues = queues.collect();
        let stuck = self.queues.iter().flatten().map(|(_, since)| now - *since).max();
        stuck.filter(|stuck| !stuck.is_zero())
    }
}
