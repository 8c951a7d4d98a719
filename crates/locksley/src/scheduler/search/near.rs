//! Where a thief looks in a pool with several places: near before far, and not at once for tasks
//! that workers there are about to take.

use std::time::{Duration, Instant};

use super::victims::Victims;

use crate::idle::Activity;
use crate::scheduler::PlaceState;
use crate::scheduler::Worker;

/// A thief makes this many attempts for each other worker of its own place before it tries another
/// place.
const HOME_ATTEMPTS: u64 = 2;

/// After this many attempts in one search, a thief tries every victim, wherever it is:
/// [`Balanced`](crate::idle::Balanced) makes them in 25 µs. After as many without a far one,
/// counted over all searches, it tries a far one in any case.
const FAR_AFTER: u64 = 48;

/// The inbox of another place is left alone until it has held something for this long: about twice
/// the time in which a sleeper there wakes up.
const LEAVE_FOR: Duration = Duration::from_micros(100);

/// A thief that did not look for longer than this cannot tell that the inbox was never empty.
const MAX_GAP: Duration = LEAVE_FOR.saturating_mul(10);

/// But after this many such gaps, without ever seeing the inbox empty, it takes from it: the
/// workers there have more than they take.
const MAX_GAPS: u8 = 2;

/// What a thief has seen of other places.
#[derive(Debug)]
pub(super) struct Near {
    /// By place: what the inbox held whenever this thief looked; `None` if it was empty.
    seen: Box<[Option<Seen>]>,
    /// Which of the other places comes next.
    turn: usize,
    /// Attempts since the last far one that was made in any case, over all searches: a search may
    /// always end sooner, where there is much work at home.
    pub(super) since_far: u64,
    /// Until then the thief stays awake for what it has left to another place.
    waits_until: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Identifies the oldest task.
    mark: usize,
    /// When the inbox was first seen to hold something.
    since: Instant,
    /// When the thief looked last.
    last: Instant,
    gaps: u8,
}

impl Near {
    pub(super) fn new(places: usize) -> Self {
        Self { seen: vec![None; places].into(), turn: 0, since_far: 0, waits_until: None }
    }

    pub(super) fn begin_search(&mut self) {
        self.waits_until = None;
    }

    /// The thief was about to sleep. It stays awake until it may take what it has left to others.
    pub(super) fn begin_wait(&mut self) {
        let now = Instant::now();
        let ends = self.seen.iter().flatten().map(|seen| seen.since + LEAVE_FOR);
        // What was seen longer ago is out of date, or could not be taken.
        self.waits_until = ends.filter(|&end| end > now).min();
    }

    /// Ends the wait if its time is over, or if nothing is left that the thief has seen. Returns
    /// true if the wait goes on.
    pub(super) fn keep_waiting(&mut self) -> bool {
        let is_left = self.seen.iter().any(Option::is_some);
        self.waits_until = self.waits_until.filter(|&until| is_left && Instant::now() < until);
        self.waits_until.is_some()
    }

    /// The other place that this attempt looks at, if any: after all attempts at home, and once
    /// in [`FAR_AFTER`] attempts if searches always end sooner.
    pub(super) fn next_place(
        &mut self,
        around: &Neighbourhood<'_>,
        failures: u64,
    ) -> Option<usize> {
        self.since_far += 1;
        if failures < around.attempts_at_home() && self.since_far != FAR_AFTER {
            return None;
        }
        self.turn = self.turn.wrapping_add(1);
        let others = &around.place_state.others;
        others.get(self.turn % others.len().max(1)).copied()
    }

    /// A random victim, and whether to try it in any case if it is far.
    pub(super) fn next_victim(
        &mut self,
        victims: &mut Victims,
        around: &Neighbourhood<'_>,
        failures: u64,
    ) -> Option<(usize, bool)> {
        if self.is_far_due() {
            self.since_far = 0;
            if let Some(far) = around.any_far(victims) {
                return Some((far, true));
            }
        }
        Some((around.victim(victims, failures)?, failures >= FAR_AFTER))
    }

    /// True if the next victim is a far one in any case.
    pub(super) fn is_far_due(&self) -> bool {
        self.since_far > FAR_AFTER
    }

    /// Records whether the inbox of another place holds something. Returns true if its workers have
    /// left that alone for long enough. Called whenever this thief looks there.
    pub(super) fn observe_inbox(
        &mut self,
        place: usize,
        place_state: &PlaceState,
        at_a_glance: bool,
    ) -> bool {
        let inbox = &place_state.inbox;
        if at_a_glance && inbox.is_probably_empty() {
            // A glance overlooks what a suspended sender has added. If no task was taken, what was
            // seen is still there.
            let mark = inbox.mark();
            self.seen[place] = self.seen[place].filter(|seen| seen.mark == mark);
            return false;
        }
        if inbox.is_empty() {
            self.seen[place] = None;
            return false;
        }
        place_state.workers.is_empty() || self.record_seen(place, inbox.mark(), Instant::now())
    }

    fn record_seen(&mut self, place: usize, mark: usize, now: Instant) -> bool {
        let first = Seen { mark, since: now, last: now, gaps: 0 };
        let seen = self.seen[place].get_or_insert(first);
        if seen.mark != mark && now - seen.last > MAX_GAP {
            seen.since = now;
            seen.gaps = seen.gaps.saturating_add(1);
        }
        (seen.mark, seen.last) = (mark, now);
        now - seen.since >= LEAVE_FOR || seen.gaps >= MAX_GAPS
    }
}

/// Which workers are near and which are far, as seen from one slot.
pub(super) struct Neighbourhood<'q> {
    place_state: &'q PlaceState,
    /// The slot of the thief.
    own: usize,
    workers: usize,
    slots_taken: usize,
}

impl<'q> Neighbourhood<'q> {
    pub(super) fn of(worker: &Worker, place_state: &'q PlaceState) -> Self {
        let shared = worker.shared();
        let (workers, slots_taken) = (shared.workers, shared.slots_taken());
        Self { place_state, own: worker.slot_index(), workers, slots_taken }
    }

    /// The position of the thief among the workers of this place. Replacements count as workers of
    /// every place, since their place changes.
    fn own_position(&self) -> Option<usize> {
        let here = &self.place_state.workers;
        let replacement = self.own.checked_sub(self.workers);
        here.binary_search(&self.own).ok().or_else(|| Some(here.len() + replacement?))
    }

    fn others_at_home(&self) -> usize {
        let at_home = self.place_state.workers.len() + self.slots_taken - self.workers;
        at_home - usize::from(self.own_position().is_some())
    }

    fn attempts_at_home(&self) -> u64 {
        HOME_ATTEMPTS * self.others_at_home() as u64
    }

    /// A random victim: of the own place in the first attempts; later of each ring twice as often
    /// as of the next one. At random and not in turn, so that a policy which considers only each
    /// n-th victim comes to all of them.
    fn victim(&self, victims: &mut Victims, failures: u64) -> Option<usize> {
        let rings = &self.place_state.rings;
        let ring = match self.others_at_home() {
            0 if rings.is_empty() => return None,
            0 => 1 + victims.halving(rings.len()),
            _ if failures < self.attempts_at_home() => 0,
            _ => victims.halving(1 + rings.len()),
        };
        if ring > 0 {
            let ring = &rings[ring - 1];
            return Some(ring[victims.below(ring.len())]);
        }
        let chosen = victims.below(self.others_at_home());
        let chosen = chosen + usize::from(self.own_position().is_some_and(|own| chosen >= own));
        let here = &self.place_state.workers;
        Some(here.get(chosen).copied().unwrap_or_else(|| self.workers + chosen - here.len()))
    }

    /// A random worker of the other places.
    fn any_far(&self, victims: &mut Victims) -> Option<usize> {
        let rings = &self.place_state.rings;
        let all: usize = rings.iter().map(|ring| ring.len()).sum();
        let chosen = if all == 0 { return None } else { victims.below(all) };
        rings.iter().flat_map(|ring| ring.iter().copied()).nth(chosen)
    }
}

/// All other workers, the nearest first; equally near ones from a random one on. Empty in a pool
/// with one place.
pub(super) fn by_distance<'w>(
    worker: &'w Worker,
    random: usize,
) -> impl Iterator<Item = usize> + use<'w> {
    let shared = worker.shared();
    let (own, replacements) = (worker.slot_index(), shared.workers..shared.slots_taken());
    let from = move |workers: &'w [usize]| {
        let (before, after) = workers.split_at(random % workers.len().max(1));
        after.iter().chain(before).copied()
    };
    let place_state = shared.place_states().get(worker.place());
    let all = place_state.into_iter().flat_map(move |place_state| {
        let far = place_state.rings.iter().flat_map(move |ring| from(ring));
        from(&place_state.workers).chain(replacements.clone()).chain(far)
    });
    all.filter(move |&victim| victim != own)
}

/// True if `victim` is a worker of another place.
pub(super) fn is_far(worker: &Worker, victim: usize) -> bool {
    worker.shared().place_of(victim).is_some_and(|place| place != worker.place())
}

/// True if a far victim has more than one task, and no worker of its place searches, which would be
/// nearer. Other far victims are left alone until the thief tries all of them.
pub(super) fn has_surplus(worker: &Worker, victim: usize) -> bool {
    let shared = worker.shared();
    let searches = |&near: &usize| shared.slot(near).activity() == Activity::Searches;
    let there = shared.place_of(victim).and_then(|place| shared.place_states().get(place));
    let is_searched_there = || there.is_some_and(|there| there.workers.iter().any(searches));
    shared.slot(victim).deque.has_several_items() && !is_searched_there()
}

#[cfg(all(test, debug_assertions, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;
    use crate::Spawn;
    use crate::pool::tests::{divided, hold};
    use crate::primitive::CachePadded;
    use crate::primitive::stepped::{self, Gate};

    /// A policy may consider only each n-th victim.
    #[test]
    fn each_other_worker_is_among_each_nth_victims() {
        pools(|shape, place_states, slots_taken| {
            let workers: usize = shape.iter().sum();
            for (own, place_state) in homes(place_states, workers) {
                let around = Neighbourhood { place_state, own, workers, slots_taken };
                for period in 1..=8 {
                    for phase in 0..period {
                        let mut victims = Victims::new(own);
                        let mut seen = vec![false; slots_taken];
                        for failures in 0..4000 {
                            let victim = around.victim(&mut victims, failures).unwrap();
                            seen[victim] |= failures % period == phase;
                        }
                        let all = (0..slots_taken).all(|slot| seen[slot] == (slot != own));
                        assert!(all, "{shape:?} {own}, {phase} of {period}: {seen:?}");
                    }
                }
            }
        });
    }

    #[test]
    fn the_own_place_comes_first_and_each_ring_twice_as_often_as_the_next() {
        pools(|shape, place_states, slots_taken| {
            let workers: usize = shape.iter().sum();
            for (own, place_state) in homes(place_states, workers) {
                let around = Neighbourhood { place_state, own, workers, slots_taken };
                let mut victims = Victims::new(own);
                let at_home = around.attempts_at_home();
                let rings = &place_state.rings;
                let ring_of = |victim: usize| rings.iter().position(|it| it.contains(&victim));
                for failures in 0..at_home {
                    assert_eq!(ring_of(around.victim(&mut victims, failures).unwrap()), None);
                }
                let mut times = vec![0; 1 + rings.len()];
                for failures in at_home..at_home + 16_384 {
                    let victim = around.victim(&mut victims, failures).unwrap();
                    times[ring_of(victim).map_or(0, |ring| 1 + ring)] += 1;
                }
                let is_alone = at_home == 0;
                let times = &times[usize::from(is_alone)..];
                for (ring, &times) in times.iter().enumerate() {
                    let last = usize::from(ring + 1 == rings.len() + usize::from(!is_alone));
                    let expected = 16_384 >> (ring + 1 - last);
                    assert!((expected * 9 / 10..=expected * 11 / 10).contains(&times), "{shape:?}");
                }
            }
        });
    }

    /// Each worker, with its place.
    fn homes(
        place_states: &[CachePadded<PlaceState>],
        workers: usize,
    ) -> impl Iterator<Item = (usize, &PlaceState)> {
        (0..workers).filter_map(|own| {
            let is_home = |it: &&CachePadded<PlaceState>| it.workers.contains(&own);
            Some((own, &**place_states.iter().find(is_home)?))
        })
    }

    #[test]
    fn a_thief_waits_for_a_task_that_it_has_left_until_it_may_take_it() {
        let mut near = Near::new(2);
        assert!(!near.keep_waiting(), "it has left nothing");
        near.begin_wait();
        assert!(!near.keep_waiting(), "it has left nothing");
        let now = Instant::now();
        assert!(!near.record_seen(1, 7, now));
        near.begin_wait();
        while near.keep_waiting() {}
        assert!(now.elapsed() >= LEAVE_FOR);
        assert!(near.record_seen(1, 7, Instant::now()));
        assert!(!near.keep_waiting(), "it is over");
    }

    #[test]
    fn a_thief_does_not_wait_for_tasks_that_are_old_or_gone_or_of_another_search() {
        let mut near = Near::new(3);
        let now = Instant::now();
        // `before` stays too long ago, and `later` in the future, however long this thread is
        // suspended.
        let (before, later) =
            (now.checked_sub(LEAVE_FOR).unwrap(), now + Duration::from_secs(3600));
        let seen = |since| Some(Seen { mark: 1, since, last: since, gaps: 0 });
        near.seen[1] = seen(before);
        near.begin_wait();
        assert!(!near.keep_waiting(), "it is over");
        near.seen[2] = seen(later);
        near.begin_wait();
        assert!(near.keep_waiting(), "it is over for one place only");
        near.begin_search();
        assert!(!near.keep_waiting(), "that was another search");
        near.begin_wait();
        near.seen = [None; 3].into();
        assert!(!near.keep_waiting(), "it is gone");
    }

    #[test]
    fn a_task_that_lies_for_a_moment_counts_as_left() {
        let start = Instant::now();
        let mut near = Near::new(2);
        let mut look = |place, mark, micros| {
            near.record_seen(place, mark, start + Duration::from_micros(micros))
        };
        assert!(!look(0, 1, 0));
        assert!(!look(0, 1, 99));
        assert!(look(0, 1, 100), "the oldest is the same");
        assert!(look(0, 2, 150), "there was always something");
        assert!(!look(1, 2, 150), "that was another place");
        assert!(look(0, 2, 9000), "the oldest is the same, though this thief did not look");
        assert!(!look(0, 3, 19_000), "it may have been empty in between");
        assert!(look(0, 3, 19_100));
    }

    /// Beside busy programs, a thief that yields looks once in some milliseconds.
    #[test]
    fn an_inbox_that_is_never_seen_empty_counts_as_left() {
        let start = Instant::now();
        let mut near = Near::new(1);
        let mut look =
            |mark, millis| near.record_seen(0, mark, start + Duration::from_millis(millis));
        assert!(!look(1, 0));
        assert!(!look(2, 4));
        assert!(look(3, 8), "its workers take one task at a time");
        assert!(look(4, 12));
        near.seen[0] = None;
        let mut look =
            |mark, millis| near.record_seen(0, mark, start + Duration::from_millis(millis));
        assert!(!look(5, 16) && !look(6, 20), "it was empty in between");
    }

    /// A glance overlooks the task of a sender that is suspended in the middle of its send. A task
    /// that was seen, and not taken, still counts as seen.
    #[test]
    fn a_glance_forgets_only_what_was_taken() {
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

    /// `None` if a glance does not overlook what is there. Else since when the thief has seen a
    /// task: after a look, after a glance, and after a glance when the seen task was taken.
    fn seen_at_a_glance(place_state: &PlaceState) -> Option<[Option<Instant>; 3]> {
        let inbox = &place_state.inbox;
        if !inbox.is_probably_empty() || inbox.is_empty() {
            return None;
        }
        let mut near = Near::new(1);
        let mut since = |at_a_glance, is_another: bool| {
            if is_another && let Some(seen) = &mut near.seen[0] {
                seen.mark = 0;
            }
            let is_left = near.observe_inbox(0, place_state, at_a_glance);
            near.seen[0].map(|seen| seen.since).filter(|_| !is_left)
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
    fn each_other_worker_of_a_ring_is_tried_and_never_the_thief() {
        pools(|shape, place_states, slots_taken| {
            let workers: usize = shape.iter().sum();
            for place_state in place_states {
                let own_slots = place_state.workers.iter().copied().chain(workers..slots_taken);
                for own in own_slots {
                    let around = Neighbourhood { place_state, own, workers, slots_taken };
                    let mut victims = Victims::new(own);
                    let mut near = vec![false; slots_taken];
                    let mut far = near.clone();
                    for _ in 0..1000 {
                        if around.others_at_home() > 0 {
                            near[around.victim(&mut victims, 0).unwrap()] = true;
                        }
                        far[around.any_far(&mut victims).unwrap()] = true;
                    }
                    for (slot, (&near, &far)) in near.iter().zip(&far).enumerate() {
                        let is_here = slot >= workers || place_state.workers.contains(&slot);
                        assert_eq!(near, is_here && slot != own, "{shape:?} {own} {slot}");
                        assert_eq!(far, !is_here, "{shape:?} {own} {slot}");
                    }
                }
            }
        });
    }

    /// All searches end with their first attempt.
    #[test]
    fn far_workers_are_tried_even_if_each_search_is_short() {
        pools(|shape, place_states, slots_taken| {
            let workers: usize = shape.iter().sum();
            for (own, place_state) in homes(place_states, workers) {
                let around = Neighbourhood { place_state, own, workers, slots_taken };
                let (mut near, mut victims) = (Near::new(place_states.len()), Victims::new(own));
                let (mut places, mut far) = (vec![0; place_states.len()], vec![0; slots_taken]);
                for _ in 0..100_000 {
                    if let Some(place) = near.next_place(&around, 0) {
                        places[place] += 1;
                    }
                    if let Some((victim, true)) = near.next_victim(&mut victims, &around, 0) {
                        far[victim] += 1;
                    }
                }
                for (place, there) in place_states.iter().enumerate() {
                    let is_here = there.workers.contains(&own);
                    assert_eq!(places[place] > 100, !is_here, "{shape:?} {own}: {places:?}");
                    for &slot in &there.workers {
                        assert_eq!(far[slot] > 100, !is_here, "{shape:?} {own}: {far:?}");
                    }
                }
                let most = 100_000 / FAR_AFTER as i32;
                assert!(far.iter().sum::<i32>() <= most, "home comes first: {far:?}");
                let is_alone = place_state.workers.len() == 1;
                assert!(is_alone || places.iter().sum::<i32>() <= most, "so here: {places:?}");
            }
        });
    }
}
