//! Which tasks no worker touches: what a sentinel looks for.

use std::time::Duration;

use crate::deque::Inbox;
use crate::primitive::Instant;
use crate::scheduler::Shared;
use crate::scheduler::job::Job;

/// What lay in the deques and inboxes of a pool when a sentinel began its last timed parks.
#[derive(Debug)]
pub(super) struct Untouched {
    /// By slot.
    slots: Vec<SlotRecord>,
    injector: InboxRecord,
    /// The inboxes of the pool's places.
    pub(super) places: Box<[InboxRecord]>,
    progress: Progress,
}

/// The last time at which workers of the pool ran. Recorded only where fewer may be awake than
/// there are.
#[derive(Debug)]
struct Progress {
    recorded: Instant,
    /// The processor time of all workers until then, where the system tells.
    processor_time: Option<Duration>,
    /// Since then they have hardly run.
    idle_since: Instant,
}

#[derive(Clone, Copy, Debug)]
struct SlotRecord {
    /// The index of the oldest task, and that of the next push; `None` for a deque that does not
    /// tell.
    bounds: Option<(i64, i64)>,
    /// The number of searches that the worker had begun. The deque was not empty since, as far as
    /// the worker has seen.
    searches: u32,
    /// The number of timed parks since which the oldest task is the same.
    timed_parks: u32,
    since: Instant,
    inbox: InboxRecord,
}

/// Which task was the oldest in an inbox, and since when.
#[derive(Clone, Copy, Debug)]
pub(super) struct InboxRecord {
    mark: usize,
    since: Instant,
}

/// The bounds of a busy owner's deque always differ. Its oldest task counts as untouched after this
/// many timed parks.
const MIN_RESCUE_PARKS: u32 = 4;
/// But the owner may have taken that task, and pushed another to the same index. So each such steal
/// doubles the number, up to this. It begins anew when the owner searches.
const MAX_RESCUE_PARKS: u32 = 128;

/// A worker over the pool's size leaves all tasks to the others; one over the send limit, those in
/// the injector. It takes a task if no worker has run for this long.
pub(crate) const RESCUE_FROM_IDLE: Duration = Duration::from_millis(500);
/// It also takes a task that running workers have left for this long: they may wait for it.
const RESCUE_FROM_BUSY: Duration = Duration::from_secs(10);

impl Progress {
    fn record(&mut self, shared: &Shared, now: Instant) {
        // Below the size, everything is left for long; else the injector only, and only if it holds
        // something.
        let sleep = &shared.sleep;
        let has_injected = || sleep.has_send_limit() && !shared.injector.is_empty();
        let is_wanted = sleep.has_reduced_size() || has_injected();
        let time = is_wanted.then(|| shared.processor_time()).flatten();
        let is_idle = self
            .processor_time
            .zip(time)
            .is_some_and(|(before, time)| time.saturating_sub(before) * 10 < now - self.recorded);
        if !is_idle {
            self.idle_since = now;
        }
        (self.recorded, self.processor_time) = (now, time);
    }
}

impl InboxRecord {
    fn record(&mut self, mark: usize, now: Instant) {
        if mark != self.mark {
            *self = Self { mark, since: now };
        }
    }
}

impl Untouched {
    pub(super) fn new(places: usize) -> Self {
        let since = Instant::now();
        let injector = InboxRecord { mark: 0, since };
        let progress = Progress { recorded: since, processor_time: None, idle_since: since };
        Self { slots: Vec::new(), injector, places: vec![injector; places].into(), progress }
    }

    /// Records what lies in all queues. Called when a sentinel begins a timed park.
    pub(super) fn record(&mut self, shared: &Shared) {
        let now = Instant::now();
        self.progress.record(shared, now);
        if shared.injector.is_empty() {
            // The mark does not tell for how long the injector was empty.
            self.injector.since = now;
        }
        self.injector.record(shared.injector.mark(), now);
        for (inbox, place_state) in self.places.iter_mut().zip(shared.place_states()) {
            inbox.record(place_state.inbox.mark(), now);
        }
        // Here, and not when each worker starts: the memory of a pool is linear in its workers.
        let inbox = InboxRecord { mark: 0, since: now };
        let slot = SlotRecord { bounds: None, searches: 0, timed_parks: 0, since: now, inbox };
        self.slots.resize(shared.slots_taken(), slot);
        for (slot, record) in self.slots.iter_mut().enumerate() {
            record.record(shared, slot, now);
        }
    }

    /// Decides whether a sentinel steals from the deque in `slot`: if the deque holds tasks
    /// and is as it was recorded, or if its oldest task has been there for long. In the latter case
    /// the next one is left to the owner for longer. A deque that does not tell its bounds counts
    /// as unchanged.
    pub(super) fn grant_steal(&self, slot: usize, shared: &Shared, is_over_size: bool) -> bool {
        // A slot that was taken since the record is looked at next time.
        let Some(record) = self.slots.get(slot) else { return false };
        let slot = shared.slot(slot);
        let now = slot.deque.bounds();
        let is_same = record.searches == slot.searches()
            && now.map(|it| it.0) == record.bounds.map(|it| it.0)
            && !slot.deque.is_empty();
        if !is_same || is_over_size {
            return is_same && self.is_left_for_long(record.since);
        }
        if now == record.bounds {
            return true;
        }
        let patience = slot.patience().unwrap_or(MIN_RESCUE_PARKS);
        let is_old = record.timed_parks >= patience;
        if is_old {
            slot.set_patience(patience.saturating_mul(2).min(MAX_RESCUE_PARKS));
        }
        is_old
    }

    /// True if no task was taken from the injector.
    pub(super) fn is_injector_untouched(&self, shared: &Shared, is_over_send_limit: bool) -> bool {
        self.is_untouched(&shared.injector, self.injector, is_over_send_limit)
            && (!is_over_send_limit || self.injector.since.elapsed() >= RESCUE_FROM_IDLE)
    }

    /// The record of the inbox in `slot`. A slot that was taken since has none.
    pub(super) fn inbox_of(&self, slot: usize) -> Option<InboxRecord> {
        self.slots.get(slot).map(|record| record.inbox)
    }

    /// True if no task was taken from the inbox since the `record`.
    pub(super) fn is_untouched(
        &self,
        inbox: &Inbox<Job>,
        record: InboxRecord,
        leaves_all: bool,
    ) -> bool {
        record.mark == inbox.mark() && (!leaves_all || self.is_left_for_long(record.since))
    }

    /// True if even a worker over the size takes what has been there since then.
    fn is_left_for_long(&self, since: Instant) -> bool {
        self.progress.idle_since.elapsed() >= RESCUE_FROM_IDLE
            || since.elapsed() >= RESCUE_FROM_BUSY
    }
}

impl SlotRecord {
    fn record(&mut self, shared: &Shared, slot: usize, now: Instant) {
        let slot = shared.slot(slot);
        // In this order: a worker that begins to search in between has an empty deque, or another
        // task in it.
        let searches = slot.searches();
        let bounds = slot.deque.bounds();
        let is_same =
            searches == self.searches && bounds.map(|it| it.0) == self.bounds.map(|it| it.0);
        let is_counted = is_same && self.bounds.is_some();
        self.timed_parks = if is_counted { self.timed_parks.saturating_add(1) } else { 0 };
        if !is_same {
            self.since = now;
        }
        (self.bounds, self.searches) = (bounds, searches);
        self.inbox.record(slot.inbox.mark(), now);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc::TryRecvError::Empty;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{MAX_RESCUE_PARKS, MIN_RESCUE_PARKS, Untouched};
    use crate::Pool;
    use crate::Spawn;
    use crate::idle::{IdleContext, IdlePolicy, Limit, Move, Thief};
    use crate::pool::tests::{LONGEST, divided, hold};

    /// A policy under which two workers may be awake.
    #[derive(Debug)]
    struct Two;

    impl IdlePolicy for Two {
        fn name(&self) -> &'static str {
            "two"
        }
        fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
            Box::new(Two)
        }
        fn limit(&self, _processors: usize) -> Limit {
            Limit { awake: 2, timed_park: Duration::from_secs(1) }
        }
    }

    /// As with `Balanced`, a worker over the push limit does not search.
    impl Thief for Two {
        fn next(&mut self, context: &IdleContext<'_>) -> Move {
            let may_search = context.failures < 64 && !context.is_over_limit();
            if may_search { Move::Search } else { Move::Sleep }
        }
    }

    /// The sentinel belongs to another place, and takes one task in each timed park of a second,
    /// while the only awake worker of this place is stuck. For all tasks to end in time, it has to
    /// wake the sleepers of this place, and not only a neighbour, which would be another sentinel.
    #[test]
    fn a_sentinel_wakes_the_sleepers_of_a_place_that_it_takes_tasks_from() {
        // If the sentinel's timed park ends just when the last worker falls asleep, that worker may
        // be the next sentinel.
        assert!((0..10).any(|_| is_done_by_a_sentinel_elsewhere()), "there was none elsewhere");
    }

    #[test]
    fn the_injector_is_touched_when_a_task_was_taken_from_it() {
        let pool = Pool::new(1).unwrap();
        let held = hold(&pool, 0);
        pool.spawn(|_| ());
        let shared = pool.shared_now();
        let mut untouched = Untouched::new(0);
        untouched.record(shared);
        assert!(untouched.is_injector_untouched(shared, false));
        assert!(!untouched.is_injector_untouched(shared, true), "it was sent just now");
        assert!(!untouched.is_untouched(&shared.injector, untouched.injector, true));
        drop(held);
        let until = Instant::now() + LONGEST;
        while !shared.injector.is_empty() {
            assert!(Instant::now() < until);
            thread::yield_now();
        }
        assert!(!untouched.is_injector_untouched(shared, false));
    }

    #[test]
    fn workers_count_as_idle_since_they_have_blocked() {
        let pool = Pool::new(2).unwrap();
        pool.resize(1).unwrap();
        let [running, _blocked] = [0, 1].map(|worker| hold(&pool, worker));
        let shared = pool.shared_now();
        if shared.processor_time().is_none() {
            return;
        }
        let mut untouched = Untouched::new(0);
        let mut idle_since = || {
            thread::sleep(Duration::from_millis(10));
            untouched.record(shared);
            untouched.progress.idle_since
        };
        let until = Instant::now() + LONGEST;
        let mut is_idle = || {
            assert!(Instant::now() < until);
            idle_since() == idle_since()
        };
        while !is_idle() {}
        let (_end, ended) = channel::<()>();
        pool.spawn_with(Spawn::At(0), move |_| while ended.try_recv() == Err(Empty) {});
        drop(running);
        while is_idle() {}
    }

    /// Has worker 0 push a task for each message, and report when it has, until the sender is
    /// dropped.
    fn pushes(pool: &Pool) -> (Sender<()>, Receiver<()>) {
        let ((sender, reported), (done, receiver)) = (channel(), channel());
        pool.spawn_with(Spawn::At(0), move |_| {
            for () in reported {
                crate::spawn(|| ());
                done.send(()).unwrap();
            }
        });
        (sender, receiver)
    }

    /// The oldest task of a worker that pushes above it is stolen after some timed parks, and the
    /// next one after twice as many.
    #[test]
    fn a_worker_that_goes_on_pushing_keeps_its_oldest_task_for_longer_each_time() {
        let pool = Pool::new(1).unwrap();
        let shared = pool.shared_now();
        let mut untouched = Untouched::new(0);
        for _ in 0..3 {
            let (sender, receiver) = pushes(&pool);
            let push = || {
                sender.send(()).unwrap();
                receiver.recv_timeout(LONGEST).unwrap();
            };
            push();
            untouched.record(shared);
            assert!(untouched.grant_steal(0, shared, false), "the deque is as it was");
            let (mut timed_parks, mut expected) = (0, MIN_RESCUE_PARKS);
            while timed_parks <= 2 * MAX_RESCUE_PARKS {
                push();
                assert_eq!(
                    untouched.grant_steal(0, shared, false),
                    timed_parks == expected,
                    "{timed_parks}"
                );
                if timed_parks == expected {
                    expected =
                        if 2 * timed_parks > MAX_RESCUE_PARKS { u32::MAX } else { 2 * timed_parks };
                    if expected == u32::MAX {
                        // The patience does not grow any more.
                        assert!(untouched.grant_steal(0, shared, false));
                        break;
                    }
                }
                untouched.record(shared);
                timed_parks += 1;
            }
            assert_eq!(timed_parks, MAX_RESCUE_PARKS);
            // After a search the task is another one, wherever it lies, and the patience is as at
            // first.
            let searches = shared.slot(0).searches();
            drop(sender);
            let until = Instant::now() + LONGEST;
            while shared.slot(0).searches() == searches {
                assert!(Instant::now() < until);
                thread::yield_now();
            }
            let (again, receiver) = pushes(&pool);
            again.send(()).unwrap();
            receiver.recv_timeout(LONGEST).unwrap();
            assert!(!untouched.grant_steal(0, shared, false));
            let searches = shared.slot(0).searches();
            drop(again);
            while shared.slot(0).searches() == searches {
                assert!(Instant::now() < until);
                thread::yield_now();
            }
        }
    }

    /// Returns true if a sentinel of the other place took the first task.
    fn is_done_by_a_sentinel_elsewhere() -> bool {
        const TASKS: usize = 120;
        let pool = divided(&[3, 2]).idle_policy(Two).build().unwrap();
        let _stuck = hold(&pool, 3);
        let snapshot = || pool.shared_now().sleep.snapshot();
        let wait_until = |what: &dyn Fn() -> bool| {
            let until = Instant::now() + LONGEST;
            while !what() {
                assert!(Instant::now() < until, "they do not sleep: {:?}", snapshot());
                thread::yield_now();
            }
        };
        let (sender, receiver) = channel();
        let ((begin, begun), (end, ended)) = (channel(), channel::<()>());
        let ((here, is_here), last) = (channel(), hold(&pool, 4));
        pool.spawn_with(Spawn::At(0), move |_| {
            here.send(()).unwrap();
            begun.recv().unwrap();
            for n in 0..TASKS {
                let sender = sender.clone();
                crate::spawn_with(Spawn::Near(1), move || sender.send(n).unwrap());
            }
            let _ = ended.recv();
        });
        is_here.recv_timeout(LONGEST).unwrap();
        // All workers but 1 and 2 are held. If neither is the sentinel, because another worker was
        // when they fell asleep, they are woken and fall asleep again, the first of them as the
        // sentinel. Then the other worker of the second place falls asleep.
        wait_until(&|| snapshot().asleep() == 2);
        if !snapshot().has_sentinel() {
            pool.resize(5).unwrap();
            wait_until(&|| snapshot().has_sentinel());
        }
        drop(last);
        wait_until(&|| snapshot().asleep() == 3);
        begin.send(()).unwrap();
        let until = Instant::now() + LONGEST;
        let in_time = |_: &usize| {
            let left = until.saturating_duration_since(Instant::now());
            receiver.recv_timeout(left).is_ok()
        };
        let done = (0..TASKS).filter(in_time).count();
        drop(end);
        assert_eq!(done, TASKS);
        let stats = pool.stats();
        [1, 2].iter().any(|&it: &usize| stats.workers[it].out_of_place > 0)
    }
}
