//! The search in a pool with several places: groups of workers whose processors share a cache or a
//! memory. Each place has an inbox.
//!
//! A thief (a worker that searches) prefers its *home*, its own place. Workers and inboxes of other
//! places are *far*. A thief leaves the tasks of a far inbox to the workers there at first.

use std::time::Duration;

use super::victims::Victims;

use crate::idle::Activity;
use crate::primitive::Instant;
use crate::scheduler::{PlaceState, Worker};

/// A search begins with this many attempts at home for each of the other workers there.
const HOME_ATTEMPTS: u64 = 2;

/// After this many failed attempts in one search, a thief tries each victim that it chooses, near
/// or far. [`Balanced`](crate::idle::Balanced) makes them in 25 µs.
const FAR_AFTER_FAILURES: u64 = 48;

/// After this many attempts without a far victim that the thief was forced to try, the next attempt
/// forces one. Counted over all searches: each may end early, because there is much work at home.
const FAR_AFTER_ATTEMPTS: u64 = 48;

/// A thief takes from a far inbox only if the inbox has held tasks for this long: about twice the
/// time in which a sleeper there wakes up.
const INBOX_GRACE_PERIOD: Duration = Duration::from_micros(100);

/// If a thief has not looked into the inbox for longer than this, and the oldest task is another
/// one, the inbox may have been empty in between. The grace period then begins again.
const MAX_GAP: Duration = INBOX_GRACE_PERIOD.saturating_mul(10);

/// After this many gaps without seeing the inbox empty, a thief takes from it during the grace
/// period, too: more tasks arrive than the workers there take.
const MAX_GAPS: u8 = 2;

/// What a thief remembers for its attempts at far places.
#[derive(Debug, Default)]
pub(super) struct FarSearch {
    /// For each place: the tasks in its inbox when this thief last looked. `None` if it was empty.
    inboxes: Box<[Option<SeenTasks>]>,
    /// Selects the place whose inbox comes next.
    next_other: usize,
    /// The number of attempts since the last one that had to try a far victim, over all searches.
    pub(super) attempts_since_far: u64,
    /// The thief does not sleep before this time: then it may take tasks that it has seen.
    pub(super) awake_until: Option<Instant>,
}

/// Tasks that a thief has seen in a far inbox.
#[derive(Clone, Copy, Debug)]
struct SeenTasks {
    /// Identifies the oldest task.
    oldest_task: usize,
    /// The begin of the grace period.
    since: Instant,
    /// The time of the last look.
    last: Instant,
    /// The number of times that the grace period began again after a gap.
    gaps: u8,
}

impl SeenTasks {
    fn may_be_taken(&self, now: Instant) -> bool {
        now - self.since >= INBOX_GRACE_PERIOD || self.gaps >= MAX_GAPS
    }
}

/// The victim of an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Victim {
    pub(super) slot: usize,
    /// True if the thief tries a far victim without asking [`should_steal_far`].
    pub(super) is_forced: bool,
}

impl FarSearch {
    pub(super) fn new(places: usize) -> Self {
        Self { inboxes: vec![None; places].into(), ..Self::default() }
    }

    /// Called when the thief has found no work and was about to sleep. Makes it stay awake until
    /// the next grace period of an inbox ends.
    pub(super) fn begin_wait(&mut self) {
        let now = Instant::now();
        let ends = self.inboxes.iter().flatten().map(|seen| seen.since + INBOX_GRACE_PERIOD);
        // A grace period that is over does not count: the thief could not take the tasks, or has
        // not looked since.
        self.awake_until = ends.filter(|&end| end > now).min();
    }

    /// Returns true if the wait goes on. The wait ends at `awake_until`, or when all inboxes were
    /// seen empty.
    pub(super) fn keep_waiting(&mut self) -> bool {
        let has_seen_tasks = self.inboxes.iter().any(Option::is_some);
        self.awake_until =
            self.awake_until.filter(|&until| has_seen_tasks && Instant::now() < until);
        self.awake_until.is_some()
    }

    /// Counts an attempt. Returns the far place whose inbox the attempt looks into, if any. In each
    /// attempt, [`next_victim`](Self::next_victim) comes after this.
    ///
    /// Each attempt after those at home looks into a far inbox. If all searches end sooner, the
    /// attempt before one that must try a far victim does.
    pub(super) fn next_place(
        &mut self,
        neighbourhood: &Neighbourhood<'_>,
        failures: u64,
    ) -> Option<usize> {
        self.attempts_since_far += 1;
        let is_at_home = failures < neighbourhood.home_attempts();
        if is_at_home && self.attempts_since_far != FAR_AFTER_ATTEMPTS {
            return None;
        }
        self.next_other = self.next_other.wrapping_add(1);
        let others = &neighbourhood.home.others;
        others.get(self.next_other % others.len().max(1)).copied()
    }

    /// Chooses a random victim.
    pub(super) fn next_victim(
        &mut self,
        victims: &mut Victims,
        neighbourhood: &Neighbourhood<'_>,
        failures: u64,
    ) -> Option<Victim> {
        if self.must_try_far() {
            self.attempts_since_far = 0;
            if let Some(slot) = neighbourhood.random_far(victims) {
                return Some(Victim { slot, is_forced: true });
            }
        }
        let slot = neighbourhood.random_victim(victims, failures)?;
        Some(Victim { slot, is_forced: failures >= FAR_AFTER_FAILURES })
    }

    /// True if the current attempt must try a far victim.
    pub(super) fn must_try_far(&self) -> bool {
        self.attempts_since_far > FAR_AFTER_ATTEMPTS
    }

    /// Looks into a far inbox, and records if it has tasks. Returns true if the thief may take
    /// them: the grace period is over, or has begun again [`MAX_GAPS`] times, or the place has no
    /// workers.
    ///
    /// `at_a_glance` saves time, but overlooks a task whose sender is suspended during the send. So
    /// it forgets recorded tasks only if the oldest task has changed.
    pub(super) fn observe_inbox(
        &mut self,
        place: usize,
        place_state: &PlaceState,
        at_a_glance: bool,
    ) -> bool {
        let inbox = &place_state.inbox;
        if at_a_glance && inbox.is_probably_empty() {
            let oldest_task = inbox.mark();
            self.inboxes[place] =
                self.inboxes[place].filter(|seen| seen.oldest_task == oldest_task);
            return false;
        }
        if inbox.is_empty() {
            self.inboxes[place] = None;
            return false;
        }
        if place_state.workers.is_empty() {
            return true;
        }
        let now = Instant::now();
        self.record_tasks(place, inbox.mark(), now).may_be_taken(now)
    }

    fn record_tasks(&mut self, place: usize, oldest_task: usize, now: Instant) -> &SeenTasks {
        let first = SeenTasks { oldest_task, since: now, last: now, gaps: 0 };
        let seen = self.inboxes[place].get_or_insert(first);
        if seen.oldest_task != oldest_task && now - seen.last > MAX_GAP {
            seen.since = now;
            seen.gaps = seen.gaps.saturating_add(1);
        }
        seen.oldest_task = oldest_task;
        seen.last = now;
        seen
    }
}

/// The victims of one thief, near and far. Replacements count as workers of every home, because
/// they change places.
pub(super) struct Neighbourhood<'q> {
    home: &'q PlaceState,
    /// The slot of the thief.
    thief: usize,
    /// The number of workers of the pool. Replacements have the slots above.
    workers: usize,
    /// The number of slots, of workers and replacements, among which the thief chooses.
    slots: usize,
}

impl<'q> Neighbourhood<'q> {
    pub(super) fn new(worker: &Worker, home: &'q PlaceState, slots: usize) -> Self {
        Self { home, thief: worker.slot_index(), workers: worker.shared().workers, slots }
    }

    /// The number of workers at home and replacements, without the thief, which is one of them.
    fn others_at_home(&self) -> usize {
        self.home.workers.len() + self.slots - self.workers - 1
    }

    fn home_attempts(&self) -> u64 {
        HOME_ATTEMPTS * self.others_at_home() as u64
    }

    /// A random victim. The first attempts are at home. Later ones choose home with probability
    /// 1/2, the nearest ring of far workers with 1/4, and so on.
    ///
    /// Victims are chosen at random and not in turn, because a policy may consider only each n-th
    /// victim, and must come to all of them.
    fn random_victim(&self, victims: &mut Victims, failures: u64) -> Option<usize> {
        let rings = &self.home.rings;
        // Distance 0 is home.
        let distance = match self.others_at_home() {
            0 if rings.is_empty() => return None,
            0 => 1 + victims.random_geometric(rings.len()),
            _ if failures < self.home_attempts() => 0,
            _ => victims.random_geometric(1 + rings.len()),
        };
        let Some(ring) = distance.checked_sub(1) else { return Some(self.random_at_home(victims)) };
        Some(rings[ring][victims.below(rings[ring].len())])
    }

    /// A random worker at home other than the thief. There must be one.
    fn random_at_home(&self, victims: &mut Victims) -> usize {
        let at_home = &self.home.workers;
        let slot_at = |position: usize| match position.checked_sub(at_home.len()) {
            Some(replacement) => self.workers + replacement,
            None => at_home.start + position,
        };
        let others = self.others_at_home();
        // If it is the thief, the last one takes its place.
        let chosen = slot_at(victims.below(others));
        if chosen == self.thief { slot_at(others) } else { chosen }
    }

    fn random_far(&self, victims: &mut Victims) -> Option<usize> {
        let rings = &self.home.rings;
        let count: usize = rings.iter().map(|ring| ring.len()).sum();
        if count == 0 {
            return None;
        }
        rings.iter().flatten().copied().nth(victims.below(count))
    }
}

/// All other workers, the nearest first. Equally near workers come in order, beginning with the one
/// that `random` selects.
pub(super) fn by_distance<'w>(
    worker: &'w Worker,
    random: usize,
) -> impl Iterator<Item = usize> + use<'w> {
    let shared = worker.shared();
    let (thief, slots) = (worker.slot_index(), shared.slots_taken());
    let (home, replacements, rings) = match worker.place_state() {
        None => (0..slots, slots..slots, &[][..]),
        Some(home) => (home.workers.clone(), shared.workers..slots, &home.rings[..]),
    };
    let rotated = move |count: usize| (0..count).map(move |n| (n + random) % count);
    let near = rotated(home.len()).map(move |position| home.start + position);
    let far = rings.iter().flat_map(move |ring| rotated(ring.len()).map(|at| ring[at]));
    near.chain(replacements).chain(far).filter(move |&victim| victim != thief)
}

/// True if `victim` is a worker of another place.
pub(super) fn is_far(worker: &Worker, victim: usize) -> bool {
    worker.shared().place_of(victim).is_some_and(|place| place != worker.place())
}

/// True if a far victim has more than one task, and none of the workers of its place searches: they
/// are nearer.
pub(super) fn should_steal_far(worker: &Worker, victim: usize) -> bool {
    let shared = worker.shared();
    if !shared.slot(victim).deque.has_several_items() {
        return false;
    }
    let place = shared.place_of(victim).and_then(|place| shared.place_states().get(place));
    !place.is_some_and(|place| {
        place.workers.clone().any(|near| shared.slot(near).activity() == Activity::Searches)
    })
}

#[cfg(all(test, debug_assertions, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;
    use crate::Spawn;
    use crate::deque::Inbox;
    use crate::pool::tests::{LONGEST, divided, hold, on_worker};
    use crate::primitive::CachePadded;
    use crate::primitive::stepped::{self, Gate};

    #[test]
    fn a_sweep_goes_to_all_others_and_the_nearest_first() {
        let pool = divided(&[2, 3]).build().unwrap();
        let (here, orders) = std::sync::mpsc::channel();
        pool.spawn_with(Spawn::At(3), move |_| {
            let order = |random| on_worker(|worker| by_distance(worker, random).collect());
            here.send([0, 1].map(order)).unwrap();
        });
        let orders: [Vec<usize>; 2] = orders.recv_timeout(LONGEST).unwrap();
        assert_eq!(orders, [[2, 4, 0, 1], [4, 2, 1, 0]]);
    }

    /// A policy may consider only each n-th victim.
    #[test]
    fn all_other_workers_are_among_every_nth_victim() {
        pools(|shape, place_states, slots_taken| {
            let workers: usize = shape.iter().sum();
            for (thief, home) in homes(place_states, workers) {
                let neighbourhood = Neighbourhood { home, thief, workers, slots: slots_taken };
                for period in 1..=8 {
                    for phase in 0..period {
                        let mut victims = Victims::new(thief);
                        let mut seen = vec![false; slots_taken];
                        for failures in 0..4000 {
                            let victim =
                                neighbourhood.random_victim(&mut victims, failures).unwrap();
                            seen[victim] |= failures % period == phase;
                        }
                        let all = (0..slots_taken).all(|slot| seen[slot] == (slot != thief));
                        assert!(all, "{shape:?} {thief}, {phase} of {period}: {seen:?}");
                    }
                }
            }
        });
    }

    #[test]
    fn home_comes_first_and_each_ring_twice_as_often_as_the_next() {
        pools(|shape, place_states, slots_taken| {
            let workers: usize = shape.iter().sum();
            for (thief, home) in homes(place_states, workers) {
                let neighbourhood = Neighbourhood { home, thief, workers, slots: slots_taken };
                let mut victims = Victims::new(thief);
                let home_attempts = neighbourhood.home_attempts();
                let rings = &home.rings;
                let ring_of = |victim: usize| rings.iter().position(|it| it.contains(&victim));
                for failures in 0..home_attempts {
                    let victim = neighbourhood.random_victim(&mut victims, failures).unwrap();
                    assert_eq!(ring_of(victim), None);
                }
                let mut times = vec![0; 1 + rings.len()];
                for failures in home_attempts..home_attempts + 16_384 {
                    let victim = neighbourhood.random_victim(&mut victims, failures).unwrap();
                    times[ring_of(victim).map_or(0, |ring| 1 + ring)] += 1;
                }
                let is_alone = home_attempts == 0;
                let times = &times[usize::from(is_alone)..];
                for (ring, &times) in times.iter().enumerate() {
                    let last = usize::from(ring + 1 == rings.len() + usize::from(!is_alone));
                    let expected = 16_384 >> (ring + 1 - last);
                    assert!((expected * 9 / 10..=expected * 11 / 10).contains(&times), "{shape:?}");
                }
            }
        });
    }

    /// Each worker, with its home.
    fn homes(
        place_states: &[CachePadded<PlaceState>],
        workers: usize,
    ) -> impl Iterator<Item = (usize, &PlaceState)> {
        (0..workers).filter_map(|thief| {
            let is_home = |it: &&CachePadded<PlaceState>| it.workers.contains(&thief);
            Some((thief, &**place_states.iter().find(is_home)?))
        })
    }

    /// Returns true if the thief may take the tasks.
    fn look_at(far: &mut FarSearch, place: usize, oldest_task: usize, now: Instant) -> bool {
        far.record_tasks(place, oldest_task, now).may_be_taken(now)
    }

    #[test]
    fn a_thief_waits_for_the_end_of_a_grace_period() {
        let mut far = FarSearch::new(2);
        assert!(!far.keep_waiting(), "it has seen no task");
        far.begin_wait();
        assert!(!far.keep_waiting(), "it has seen no task");
        let now = Instant::now();
        assert!(!look_at(&mut far, 1, 7, now));
        far.begin_wait();
        while far.keep_waiting() {}
        assert!(now.elapsed() >= INBOX_GRACE_PERIOD);
        assert!(look_at(&mut far, 1, 7, Instant::now()));
        assert!(!far.keep_waiting(), "the grace period is over");
    }

    #[test]
    fn a_thief_does_not_wait_for_old_or_taken_tasks_or_in_another_search() {
        let mut far = FarSearch::new(3);
        let now = Instant::now();
        // `before` stays too long ago, and `later` in the future, however long this thread is
        // suspended.
        let (before, later) =
            (now.checked_sub(INBOX_GRACE_PERIOD).unwrap(), now + Duration::from_secs(3600));
        let seen = |since| Some(SeenTasks { oldest_task: 1, since, last: since, gaps: 0 });
        far.inboxes[1] = seen(before);
        far.begin_wait();
        assert!(!far.keep_waiting(), "the grace period is over");
        far.inboxes[2] = seen(later);
        far.begin_wait();
        assert!(far.keep_waiting(), "the grace period is over for one place only");
        far.awake_until = None;
        assert!(!far.keep_waiting(), "that was another search");
        far.begin_wait();
        far.inboxes = [None; 3].into();
        assert!(!far.keep_waiting(), "the tasks are gone");
    }

    #[test]
    fn tasks_may_be_taken_after_the_grace_period() {
        let start = Instant::now();
        let mut far = FarSearch::new(2);
        let mut look = |place, oldest_task, micros| {
            look_at(&mut far, place, oldest_task, start + Duration::from_micros(micros))
        };
        assert!(!look(0, 1, 0));
        assert!(!look(0, 1, 99));
        assert!(look(0, 1, 100), "the oldest task is the same");
        assert!(look(0, 2, 150), "the inbox was never empty");
        assert!(!look(1, 2, 150), "place 0 does not count");
        assert!(look(0, 2, 9000), "the oldest task is the same after a gap");
        assert!(look(0, 3, 10_000), "the inbox was probably not empty in a short gap");
        assert!(!look(0, 4, 11_001), "the inbox may have been empty in the gap");
        assert!(!look(0, 4, 11_100));
        assert!(look(0, 4, 11_101));
    }

    /// Beside busy programs, a thief that yields looks once in some milliseconds.
    #[test]
    fn tasks_may_be_taken_from_an_inbox_that_is_never_seen_empty() {
        let start = Instant::now();
        let mut far = FarSearch::new(1);
        let look = |far: &mut _, oldest_task, millis| {
            look_at(far, 0, oldest_task, start + Duration::from_millis(millis))
        };
        assert!(!look(&mut far, 1, 0));
        assert!(!look(&mut far, 2, 4));
        assert!(look(&mut far, 3, 8), "its workers take one task at a time");
        assert!(look(&mut far, 4, 12));
        far.inboxes[0] = None;
        assert!(!look(&mut far, 5, 16) && !look(&mut far, 6, 20), "the inbox was empty in between");
    }

    /// A glance overlooks a task whose sender is suspended during the send. If an earlier look has
    /// seen the task, and no worker has taken it, it still counts as seen.
    #[test]
    fn a_glance_forgets_only_tasks_that_were_taken() {
        let mut overlooked = 0;
        for steps in 0.. {
            let pool = divided(&[1, 1]).build().unwrap();
            let _held = [0, 1].map(|worker| hold(&pool, worker));
            let gate = Arc::new(Gate::default());
            let (is_held, seen) = thread::scope(|scope| {
                scope.spawn(|| {
                    stepped::arm(steps, &gate);
                    pool.spawn_with(Spawn::Near(1), |_| ());
                    stepped::disarm();
                });
                let is_held = gate.wait_until_held();
                let seen = seen_at_a_glance(&pool.shared_now().place_states()[1]);
                gate.open();
                (is_held, seen)
            });
            if let Some(seen) = seen {
                overlooked += 1;
                let [first, is_there, is_taken] = seen;
                assert!(first.is_some() && is_there == first, "it is still there: {seen:?}");
                assert_eq!(is_taken, None, "it was taken");
            }
            if !is_held {
                break;
            }
        }
        assert!(overlooked > 0, "a sender is held where a glance overlooks what it sends");
    }

    /// `None` if a glance overlooks no task. Otherwise the begin of the grace period, if there is
    /// one: after a full look, after a glance, and after a glance when the seen task was taken.
    fn seen_at_a_glance(place_state: &PlaceState) -> Option<[Option<Instant>; 3]> {
        let inbox = &place_state.inbox;
        if !inbox.is_probably_empty() || inbox.is_empty() {
            return None;
        }
        let mut far = FarSearch::new(1);
        let mut since = |at_a_glance, is_another: bool| {
            if is_another && let Some(seen) = &mut far.inboxes[0] {
                seen.oldest_task = 0;
            }
            let may_take = far.observe_inbox(0, place_state, at_a_glance);
            far.inboxes[0].map(|seen| seen.since).filter(|_| !may_take)
        };
        Some([since(false, false), since(true, false), since(true, true)])
    }

    /// Calls `check` for pools of several shapes, with up to two replacements: with the shape, the
    /// places, and the number of slots taken.
    fn pools(check: impl Fn(&[usize], &[CachePadded<PlaceState>], usize) + Sync) {
        for shape in [&[1, 1][..], &[1, 3], &[2, 2, 1], &[3, 1, 2, 2]] {
            let pool = divided(shape).build().unwrap();
            for replacements in 0..3 {
                let slots_taken = pool.workers() + replacements;
                pool.install(|w| check(shape, w.shared().place_states(), slots_taken));
            }
        }
    }

    #[test]
    fn all_workers_but_the_thief_are_tried() {
        pools(|shape, place_states, slots_taken| {
            let workers: usize = shape.iter().sum();
            for home in place_states {
                let thiefs = home.workers.clone().chain(workers..slots_taken);
                for thief in thiefs {
                    let neighbourhood = Neighbourhood { home, thief, workers, slots: slots_taken };
                    let mut victims = Victims::new(thief);
                    let mut near = vec![false; slots_taken];
                    let mut far = near.clone();
                    for _ in 0..1000 {
                        if neighbourhood.others_at_home() > 0 {
                            near[neighbourhood.random_victim(&mut victims, 0).unwrap()] = true;
                        }
                        far[neighbourhood.random_far(&mut victims).unwrap()] = true;
                    }
                    for (slot, (&near, &far)) in near.iter().zip(&far).enumerate() {
                        let is_here = slot >= workers || home.workers.contains(&slot);
                        assert_eq!(near, is_here && slot != thief, "{shape:?} {thief} {slot}");
                        assert_eq!(far, !is_here, "{shape:?} {thief} {slot}");
                    }
                }
            }
        });
    }

    #[test]
    fn the_only_worker_of_a_pool_has_no_victim() {
        let (inbox, rings) = (Inbox::new(), Box::default());
        let home = PlaceState { workers: 0..1, inbox, others: Box::default(), rings };
        let neighbourhood = Neighbourhood { home: &home, thief: 0, workers: 1, slots: 1 };
        let mut victims = Victims::new(0);
        assert_eq!(neighbourhood.random_victim(&mut victims, 0), None);
        assert_eq!(neighbourhood.random_far(&mut victims), None);
    }

    /// All searches end with their first attempt.
    #[test]
    fn far_workers_are_tried_even_if_all_searches_are_short() {
        pools(|shape, place_states, slots_taken| {
            let workers: usize = shape.iter().sum();
            for (thief, home) in homes(place_states, workers) {
                let neighbourhood = Neighbourhood { home, thief, workers, slots: slots_taken };
                let (mut search, mut victims) =
                    (FarSearch::new(place_states.len()), Victims::new(thief));
                let (mut places, mut far) = (vec![0; place_states.len()], vec![0; slots_taken]);
                for _ in 0..100_000 {
                    if let Some(place) = search.next_place(&neighbourhood, 0) {
                        places[place] += 1;
                    }
                    let victim = search.next_victim(&mut victims, &neighbourhood, 0);
                    if let Some(Victim { slot, is_forced: true }) = victim {
                        far[slot] += 1;
                    }
                }
                for (place, there) in place_states.iter().enumerate() {
                    let is_here = there.workers.contains(&thief);
                    assert_eq!(places[place] > 100, !is_here, "{shape:?} {thief}: {places:?}");
                    for slot in there.workers.clone() {
                        assert_eq!(far[slot] > 100, !is_here, "{shape:?} {thief}: {far:?}");
                    }
                }
                let most = 100_000 / FAR_AFTER_ATTEMPTS as i32;
                assert!(far.iter().sum::<i32>() <= most, "home comes first: {far:?}");
                let is_alone = home.workers.len() == 1;
                assert!(is_alone || places.iter().sum::<i32>() <= most, "so here: {places:?}");
            }
        });
    }
}
