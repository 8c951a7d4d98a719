//! Which tasks lie where nobody touches them: what a sentinel looks for.

use std::time::{Duration, Instant};

use crate::scheduler::Shared;

/// What lay in the deques and inboxes when a sentinel began its last timed parks.
#[derive(Debug)]
pub(super) struct Untouched {
    places: Vec<Place>,
    /// The pool's inbox.
    sent: Sent,
    /// Those of the pool's places.
    sent_near: Box<[Sent]>,
    work: Work,
}

/// Whether anybody of the pool runs, wanted only where fewer may be awake than there are.
#[derive(Debug)]
struct Work {
    noted: Instant,
    /// Processor time of all workers until then, where the system tells.
    done: Option<Duration>,
    /// They have hardly run since.
    idle_since: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    /// The index of the oldest task, and that of the next one to be pushed; `None` for a deque that does not tell.
    marks: Option<(i64, i64)>,
    /// How many times the worker had begun to search: since then its deque has not been empty as far as it has looked.
    searches: u32,
    /// For how many timed parks the oldest task has been the same, and since when.
    timed_parks: u32,
    since: Instant,
    /// The worker's inbox.
    sent: Sent,
}

/// Which task was the oldest in an inbox, and since when.
#[derive(Clone, Copy, Debug)]
struct Sent {
    mark: usize,
    since: Instant,
}

/// An owner that pushes and pops all the time never leaves the same marks. But the oldest task of all is one that it has not come to
/// for so many timed parks.
const LONG: u32 = 4;
/// Or it has come to it and to others after it, at the same place, since it pushes and pops faster than anybody looks. So each time that a sentinel goes for one of such an owner, the
/// next one is left to it for twice as long, until it has searched; but for no more timed parks than these.
const LONGEST: u32 = 128;

/// A sentinel that is beyond the pool's size, or what is sent beyond what is allowed, and not only beyond its idle policy's limit, leaves everything to those who are at work; if
/// nobody is, for so long ...
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);
/// ... or if somebody is, but has not come to it for so long. They may wait for it in their own code.
const GREAT_PATIENCE: Duration = Duration::from_secs(10);

impl Work {
    fn note(&mut self, shared: &Shared, now: Instant) {
        // Below the size everything is left for long; else what was sent to all, and only if there is something.
        let sleep = shared.sleep();
        let is_wanted = sleep.is_reduced() || sleep.is_narrowed() && !shared.inbox().is_empty();
        let done = is_wanted.then(|| shared.processor_time()).flatten();
        let is_idle = self
            .done
            .zip(done)
            .is_some_and(|(before, done)| done.saturating_sub(before) * 10 < now - self.noted);
        if !is_idle {
            self.idle_since = now;
        }
        (self.noted, self.done) = (now, done);
    }
}

impl Sent {
    fn note(&mut self, mark: usize, now: Instant) {
        if mark != self.mark {
            *self = Self { mark, since: now };
        }
    }

    fn is_left_alone(&self, mark: usize) -> bool {
        mark == self.mark
    }
}

impl Untouched {
    pub(super) fn new(places: usize) -> Self {
        let since = Instant::now();
        let sent = Sent { mark: 0, since };
        let work = Work { noted: since, done: None, idle_since: since };
        let sent_near = vec![sent; places].into();
        Self { places: Vec::new(), sent, sent_near, work }
    }

    pub(super) fn note(&mut self, shared: &Shared) {
        let now = Instant::now();
        self.work.note(shared, now);
        // The mark does not tell for how long nothing was there.
        let since = if shared.inbox().is_empty() { now } else { self.sent.since };
        self.sent = Sent { since, ..self.sent };
        self.sent.note(shared.inbox().mark(), now);
        for (sent, place_state) in self.sent_near.iter_mut().zip(shared.place_states()) {
            sent.note(place_state.inbox().mark(), now);
        }
        // Here, and not for each worker when it starts: a pool's memory is linear in its workers.
        let sent = Sent { mark: 0, since: now };
        let place = Place { marks: None, searches: 0, timed_parks: 0, since: now, sent };
        self.places.resize(shared.slots_taken(), place);
        for (worker, place) in self.places.iter_mut().enumerate() {
            // In this order: who has begun to search in between has an empty deque, or another task in it.
            let searches = shared.slot(worker).searches();
            let marks = shared.slot(worker).deque().marks();
            let is_same =
                searches == place.searches && marks.map(|it| it.0) == place.marks.map(|it| it.0);
            let is_first = place.marks.is_none();
            let timed_parks =
                if is_same && !is_first { place.timed_parks.saturating_add(1) } else { 0 };
            let since = if is_same { place.since } else { now };
            let mut sent = place.sent;
            sent.note(shared.slot(worker).inbox().mark(), now);
            *place = Place { marks, searches, timed_parks, since, sent };
        }
    }

    /// Whether the deque of `worker` holds tasks and is as it was, or its oldest task has been there for long. One that does
    /// not tell counts as unchanged.
    pub(super) fn is_left_alone(&self, worker: usize, shared: &Shared, is_over: bool) -> bool {
        let slot = shared.slot(worker);
        // A slot that was taken since is looked at next time.
        let Some(place) = self.places.get(worker) else { return false };
        let now = slot.deque().marks();
        let is_same = place.searches == slot.searches()
            && now.map(|it| it.0) == place.marks.map(|it| it.0)
            && !slot.deque().is_empty();
        if !is_same || is_over {
            return is_same && self.may_help(place.since);
        }
        if now == place.marks {
            return true;
        }
        let patience = slot.patience().unwrap_or(LONG);
        let is_old = place.timed_parks >= patience;
        if is_old {
            slot.is_given_patience(patience.saturating_mul(2).min(LONGEST));
        }
        is_old
    }

    /// Whether nobody has taken anything from the inbox of `worker`.
    pub(super) fn is_inbox_left_alone(
        &self,
        worker: usize,
        shared: &Shared,
        is_over: bool,
    ) -> bool {
        let Some(Place { sent, .. }) = self.places.get(worker) else { return false };
        sent.is_left_alone(shared.slot(worker).inbox().mark())
            && (!is_over || self.may_help(sent.since))
    }

    /// Whether nobody has taken anything from the pool's inbox.
    pub(super) fn is_what_was_sent_left_alone(&self, shared: &Shared, is_over: bool) -> bool {
        self.sent.is_left_alone(shared.inbox().mark())
            && (!is_over || self.sent.since.elapsed() >= PATIENCE && self.may_help(self.sent.since))
    }

    /// Whether nobody has taken anything from the inbox of that place.
    pub(super) fn is_place_left_alone(&self, place: usize, shared: &Shared, is_over: bool) -> bool {
        let sent = &self.sent_near[place];
        sent.is_left_alone(shared.place_states()[place].inbox().mark())
            && (!is_over || self.may_help(sent.since))
    }

    /// Whether one that is beyond the size takes what has been there since then.
    fn may_help(&self, since: Instant) -> bool {
        self.work.idle_since.elapsed() >= PATIENCE || since.elapsed() >= GREAT_PATIENCE
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{LONG, LONGEST, Untouched};
    use crate::Pool;
    use crate::Spawn;
    use crate::idle::{IdleContext, IdlePolicy, Limit, Move, Thief};
    use crate::pool::trial::{LONGEST as SOON, divided, hold};

    /// Two may be awake.
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

    /// Who is over the limit does not look around, as with `Balanced`.
    impl Thief for Two {
        fn next(&mut self, context: &IdleContext<'_>) -> Move {
            let may_search = context.failures < 64 && !context.is_over_limit();
            if may_search { Move::Search } else { Move::Sleep }
        }
    }

    /// The sentinel is of another place, and takes one in each timed park: all of them would take it longer than anybody waits here. When it leaves, it wakes a
    /// neighbour, who is another sentinel; so it also has to wake who is at home there.
    #[test]
    fn what_lies_where_who_is_awake_is_stuck_does_not_wait_for_a_timed_park_each() {
        // If the sentinel's timed park is over just when the last one falls asleep, that one may be the next sentinel.
        assert!((0..10).any(|_| is_done_by_a_sentinel_elsewhere()), "there was none elsewhere");
    }

    /// A worker that pushes a task whenever it is told to, and says when it has, until the sender is dropped.
    fn pushes(pool: &Pool) -> (Sender<()>, Receiver<()>) {
        let ((sender, reported), (done, receiver)) = (channel(), channel());
        pool.spawn_with(Spawn::At(0), move |w| {
            for () in reported {
                w.spawn(|_| ());
                done.send(()).unwrap();
            }
        });
        (sender, receiver)
    }

    /// The oldest task of a worker that pushes above it is taken from it after some timed parks, and the next one after twice as many.
    #[test]
    fn who_goes_on_pushing_is_left_the_oldest_for_longer_each_time() {
        let pool = Pool::new(1).unwrap();
        let shared = pool.shared_now();
        let mut untouched = Untouched::new(0);
        for _ in 0..3 {
            let (sender, receiver) = pushes(&pool);
            let push = || {
                sender.send(()).unwrap();
                receiver.recv_timeout(SOON).unwrap();
            };
            push();
            untouched.note(shared);
            assert!(untouched.is_left_alone(0, shared, false), "nobody has touched it");
            let (mut timed_parks, mut expected) = (0, LONG);
            while timed_parks <= 2 * LONGEST {
                push();
                assert_eq!(
                    untouched.is_left_alone(0, shared, false),
                    timed_parks == expected,
                    "{timed_parks}"
                );
                if timed_parks == expected {
                    expected = if 2 * timed_parks > LONGEST { u32::MAX } else { 2 * timed_parks };
                    if expected == u32::MAX {
                        // As long as that, and no longer.
                        assert!(untouched.is_left_alone(0, shared, false));
                        break;
                    }
                }
                untouched.note(shared);
                timed_parks += 1;
            }
            assert_eq!(timed_parks, LONGEST);
            // What is there after a search is another task, wherever it lies; and there is patience as at first.
            let searches = shared.slot(0).searches();
            drop(sender);
            let until = Instant::now() + SOON;
            while shared.slot(0).searches() == searches {
                assert!(Instant::now() < until);
                thread::yield_now();
            }
            let (again, receiver) = pushes(&pool);
            again.send(()).unwrap();
            receiver.recv_timeout(SOON).unwrap();
            assert!(!untouched.is_left_alone(0, shared, false));
            let searches = shared.slot(0).searches();
            drop(again);
            while shared.slot(0).searches() == searches {
                assert!(Instant::now() < until);
                thread::yield_now();
            }
        }
    }

    /// Whether what was done was begun by a sentinel of the other place.
    fn is_done_by_a_sentinel_elsewhere() -> bool {
        const TASKS: usize = 120;
        let pool = divided(&[3, 2]).idle_policy(Two).build().unwrap();
        let _stuck = hold(&pool, 3);
        let snapshot = || pool.shared_now().sleep().snapshot();
        let wait_until = |what: &dyn Fn() -> bool| {
            let until = Instant::now() + SOON;
            while !what() {
                assert!(Instant::now() < until, "they do not sleep: {:?}", snapshot());
                thread::yield_now();
            }
        };
        let (sender, receiver) = channel();
        let ((begin, begun), (end, ended)) = (channel(), channel::<()>());
        let ((here, is_here), last) = (channel(), hold(&pool, 4));
        pool.spawn_with(Spawn::At(0), move |w| {
            here.send(()).unwrap();
            begun.recv().unwrap();
            for n in 0..TASKS {
                let sender = sender.clone();
                w.spawn_with(Spawn::Near(1), move |_| sender.send(n).unwrap());
            }
            let _ = ended.recv();
        });
        is_here.recv_timeout(SOON).unwrap();
        // All but workers 1 and 2 are held. If neither is the sentinel, since another one was when they fell asleep, they get up and fall asleep again: the
        // first as the sentinel. Then the other one of the second place falls asleep.
        wait_until(&|| snapshot().asleep() == 2);
        if !snapshot().has_sentinel() {
            pool.resize(5).unwrap();
            wait_until(&|| snapshot().has_sentinel());
        }
        drop(last);
        wait_until(&|| snapshot().asleep() == 3);
        begin.send(()).unwrap();
        let until = Instant::now() + SOON;
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
