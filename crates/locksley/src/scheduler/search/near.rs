//! Where a thief looks if its pool has several places: near before far, and not at once for what others will take.

use std::time::{Duration, Instant};

use super::victims::Victims;

use crate::idle::Activity;
use crate::scheduler::PlaceState;
use crate::scheduler::Worker;

/// So many attempts for each worker of its own place a thief makes there, before it tries any elsewhere.
const AT_HOME: u64 = 2;

/// After so many attempts a thief tries every victim, wherever it is. With [`Balanced`](super::Balanced), which paces its thieves,
/// that is after 25 µs. And after so many, in however many searches, in which it tried nobody elsewhere it tries somebody there.
const LONG: u64 = 48;

/// For how long there must have been something in the inbox of another place before a thief takes it: about twice as long as
/// a sleeper there needs to get up.
const MOMENT: Duration = Duration::from_micros(100);

/// A thief that was about something else for longer than this does not know that there was something all the time.
const GAP: Duration = MOMENT.saturating_mul(10);

/// But if it comes back so often, and never saw that there was nothing, its workers have more than they take.
const RETURNS: u8 = 2;

/// What a thief has seen of other places.
#[derive(Debug)]
pub(super) struct Near {
    /// By place: since when there has been something in the inbox, whenever this one looked.
    seen: Box<[Option<Seen>]>,
    /// The other place that it looked into last: which of them.
    turn: usize,
    /// How many attempts it has made since it tried a worker of another place whatever that had, in this search and in those before. Who always has
    /// much there would end all searches.
    since_far: u64,
    /// Until when it waits for what it has left, and need not try to sleep.
    waits_until: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    mark: usize,
    since: Instant,
    last: Instant,
    returns: u8,
}

impl Near {
    pub(super) fn new(places: usize) -> Self {
        Self { seen: vec![None; places].into(), turn: 0, since_far: 0, waits_until: None }
    }

    /// A search begins, in which it has left nothing yet.
    pub(super) fn begins(&mut self) {
        self.waits_until = None;
    }

    /// It was about to sleep, and stays awake for what it has just left to another place.
    pub(super) fn waits(&mut self) {
        let now = Instant::now();
        let ends = self.seen.iter().flatten().map(|seen| seen.since + MOMENT);
        // Where a moment is over, what has been seen there is of before, or could not be taken.
        self.waits_until = ends.filter(|&end| end > now).min();
    }

    /// Whether that is so still, and there is something left that it has seen.
    pub(super) fn has_to_wait(&mut self) -> bool {
        let is_left = self.seen.iter().any(Option::is_some);
        self.waits_until = self.waits_until.filter(|&until| is_left && Instant::now() < until);
        self.waits_until.is_some()
    }

    /// Of the other places, the one whose inbox is looked at in this attempt, if any is: when all attempts at home were made; and once
    /// among so many if searches always end before that.
    pub(super) fn place(&mut self, around: &Around<'_>, failures: u64) -> Option<usize> {
        self.since_far += 1;
        if failures < around.attempts_at_home() && self.since_far != LONG {
            return None;
        }
        self.turn = self.turn.wrapping_add(1);
        around
            .place_state
            .others()
            .get(self.turn % around.place_state.others().len().max(1))
            .copied()
    }

    /// A random victim: of the own place, or of one whose turn it is; or of any other, if it is time for that. It also says whether such a
    /// one is to be tried whatever it has.
    pub(super) fn victim(
        &mut self,
        victims: &mut Victims,
        around: &Around<'_>,
        failures: u64,
    ) -> Option<(usize, bool)> {
        if self.is_due() {
            self.since_far = 0;
            if let Some(far) = around.anybody_far(victims) {
                return Some((far, true));
            }
        }
        let is_long = failures >= LONG;
        Some((around.victim(victims, failures)?, is_long))
    }

    /// Whether the next victim is to be one elsewhere, whatever it has.
    pub(super) fn is_due(&self) -> bool {
        self.since_far > LONG
    }

    pub(super) fn tries_far(&mut self) {
        self.since_far = 0;
    }

    /// Whether the workers of another place have left what was sent there for a moment. To be asked whenever this one looks there.
    pub(super) fn is_left(
        &mut self,
        place: usize,
        place_state: &PlaceState,
        at_a_glance: bool,
    ) -> bool {
        let inbox = place_state.inbox();
        if at_a_glance && inbox.looks_empty() {
            // If nothing was taken there may still be what has been seen, by a sender that is held.
            let mark = inbox.mark();
            self.seen[place] = self.seen[place].filter(|seen| seen.mark == mark);
            return false;
        }
        if inbox.is_empty() {
            self.seen[place] = None;
            return false;
        }
        place_state.workers().is_empty() || self.is_left_since(place, inbox.mark(), Instant::now())
    }

    fn is_left_since(&mut self, place: usize, mark: usize, now: Instant) -> bool {
        let first = Seen { mark, since: now, last: now, returns: 0 };
        let seen = self.seen[place].get_or_insert(first);
        if seen.mark != mark && now - seen.last > GAP {
            seen.since = now;
            seen.returns = seen.returns.saturating_add(1);
        }
        (seen.mark, seen.last) = (mark, now);
        now - seen.since >= MOMENT || seen.returns >= RETURNS
    }
}

/// Who is where, as a thief sees it.
pub(super) struct Around<'q> {
    place_state: &'q PlaceState,
    /// Its slot.
    own: usize,
    workers: usize,
    slots_taken: usize,
}

impl<'q> Around<'q> {
    pub(super) fn of(worker: &Worker, place_state: &'q PlaceState) -> Self {
        let shared = worker.shared();
        let (workers, slots_taken) = (shared.workers(), shared.slots_taken());
        Self { place_state, own: worker.slot_index(), workers, slots_taken }
    }

    /// Where it is among those who are at home here. A replacement passes for a worker of some place, which may change: it is at home
    /// everywhere.
    fn own_position(&self) -> Option<usize> {
        let here = self.place_state.workers();
        let replacement = self.own.checked_sub(self.workers);
        here.binary_search(&self.own).ok().or_else(|| Some(here.len() + replacement?))
    }

    fn others_at_home(&self) -> usize {
        let at_home = self.place_state.workers().len() + self.slots_taken - self.workers;
        at_home - usize::from(self.own_position().is_some())
    }

    fn attempts_at_home(&self) -> u64 {
        AT_HOME * self.others_at_home() as u64
    }

    /// A random victim: of its own place, in the first attempts; after them of each ring twice as often as of the next one. By chance, and not in turn: whoever
    /// looks at every so-manieth of them only, as idle policies do, comes to all.
    fn victim(&self, victims: &mut Victims, failures: u64) -> Option<usize> {
        let rings = self.place_state.rings();
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
        let here = self.place_state.workers();
        Some(here.get(chosen).copied().unwrap_or_else(|| self.workers + chosen - here.len()))
    }

    /// A random worker of the other places.
    fn anybody_far(&self, victims: &mut Victims) -> Option<usize> {
        let rings = self.place_state.rings();
        let all: usize = rings.iter().map(|ring| ring.len()).sum();
        let chosen = if all == 0 { return None } else { victims.below(all) };
        rings.iter().flat_map(|ring| ring.iter().copied()).nth(chosen)
    }
}

/// All others, the nearest first; equally near ones from a random one on. None where there is one place.
pub(super) fn in_order<'w>(
    worker: &'w Worker,
    random: usize,
) -> impl Iterator<Item = usize> + use<'w> {
    let shared = worker.shared();
    let (own, replacements) = (worker.slot_index(), shared.workers()..shared.slots_taken());
    let from = move |workers: &'w [usize]| {
        let (before, after) = workers.split_at(random % workers.len().max(1));
        after.iter().chain(before).copied()
    };
    let place_state = shared.place_states().get(worker.place());
    let all = place_state.into_iter().flat_map(move |place_state| {
        let beyond = place_state.rings().iter().flat_map(move |ring| from(ring));
        from(place_state.workers()).chain(replacements.clone()).chain(beyond)
    });
    all.filter(move |&victim| victim != own)
}

/// Whether the victim is a worker of another place.
pub(super) fn is_far(worker: &Worker, victim: usize) -> bool {
    worker.shared().place_of(victim).is_some_and(|place| place != worker.place())
}

/// Whether a far victim has more than it will take itself, and nobody searches there, who would be nearer. Until it is time to try everybody,
/// another one is left alone.
pub(super) fn has_too_much(worker: &Worker, victim: usize) -> bool {
    let shared = worker.shared();
    let searches = |&near: &usize| shared.slot(near).activity() == Activity::Searches;
    let there = shared.place_of(victim).and_then(|place| shared.place_states().get(place));
    let is_searched_there = || there.is_some_and(|there| there.workers().iter().any(searches));
    shared.slot(victim).deque().holds_several() && !is_searched_there()
}

#[cfg(all(test, debug_assertions, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;
    use crate::Spawn;
    use crate::pool::trial::{divided, hold};
    use crate::primitive::CachePadded;
    use crate::primitive::stepped::{self, Gate};

    /// A idle policy looks at every so-manieth victim only.
    #[test]
    fn every_other_one_is_among_every_so_manieth_victims() {
        pools(|shape, place_states, slots_taken| {
            let workers: usize = shape.iter().sum();
            for (own, place_state) in homes(place_states, workers) {
                let around = Around { place_state, own, workers, slots_taken };
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
    fn the_own_place_comes_first_and_each_ring_about_twice_as_often_as_the_next() {
        pools(|shape, place_states, slots_taken| {
            let workers: usize = shape.iter().sum();
            for (own, place_state) in homes(place_states, workers) {
                let around = Around { place_state, own, workers, slots_taken };
                let mut victims = Victims::new(own);
                let at_home = around.attempts_at_home();
                let rings = place_state.rings();
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
            let is_home = |it: &&CachePadded<PlaceState>| it.workers().contains(&own);
            Some((own, &**place_states.iter().find(is_home)?))
        })
    }

    #[test]
    fn who_waits_for_what_it_has_left_waits_for_the_moment() {
        let mut near = Near::new(2);
        assert!(!near.has_to_wait(), "it has left nothing");
        near.waits();
        assert!(!near.has_to_wait(), "it has left nothing");
        let now = Instant::now();
        assert!(!near.is_left_since(1, 7, now));
        near.waits();
        while near.has_to_wait() {}
        assert!(now.elapsed() >= MOMENT);
        assert!(near.is_left_since(1, 7, Instant::now()));
        assert!(!near.has_to_wait(), "it is over");
    }

    #[test]
    fn nobody_waits_for_what_is_over_or_gone_or_was_left_in_another_search() {
        let mut near = Near::new(3);
        let now = Instant::now();
        // Too long ago, whatever this thread is held up for; and a long time from now.
        let (before, later) = (now.checked_sub(MOMENT).unwrap(), now + Duration::from_secs(3600));
        let seen = |since| Some(Seen { mark: 1, since, last: since, returns: 0 });
        near.seen[1] = seen(before);
        near.waits();
        assert!(!near.has_to_wait(), "it is over");
        near.seen[2] = seen(later);
        near.waits();
        assert!(near.has_to_wait(), "it is over for one of them only");
        near.begins();
        assert!(!near.has_to_wait(), "that was another search");
        near.waits();
        near.seen = [None; 3].into();
        assert!(!near.has_to_wait(), "it is gone");
    }

    #[test]
    fn what_lies_for_a_moment_is_left() {
        let start = Instant::now();
        let mut near = Near::new(2);
        let mut look = |place, mark, micros| {
            near.is_left_since(place, mark, start + Duration::from_micros(micros))
        };
        assert!(!look(0, 1, 0));
        assert!(!look(0, 1, 99));
        assert!(look(0, 1, 100), "the oldest is the same");
        assert!(look(0, 2, 150), "there was always something");
        assert!(!look(1, 2, 150), "that was another place");
        assert!(look(0, 2, 9000), "the oldest is the same, though nobody looked");
        assert!(!look(0, 3, 19_000), "nobody knows that there was something all the time");
        assert!(look(0, 3, 19_100));
    }

    /// Beside busy programs a thief that yields looks for microseconds, every few milliseconds.
    #[test]
    fn what_is_there_again_and_again_is_left() {
        let start = Instant::now();
        let mut near = Near::new(1);
        let mut look =
            |mark, millis| near.is_left_since(0, mark, start + Duration::from_millis(millis));
        assert!(!look(1, 0));
        assert!(!look(2, 4));
        assert!(look(3, 8), "they take one at a time");
        assert!(look(4, 12));
        near.seen[0] = None;
        let mut look =
            |mark, millis| near.is_left_since(0, mark, start + Duration::from_millis(millis));
        assert!(!look(5, 16) && !look(6, 20), "it was empty meanwhile");
    }

    /// A glance overlooks what a sender has put there that is held before it could say so; what was seen, and nobody has taken, is seen still.
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
                assert!(first.is_some() && is_there == first, "it lies there still: {seen:?}");
                assert_eq!(is_taken, None, "it was taken");
            }
            if !is_held {
                break;
            }
        }
        assert!(overlooked > 0, "a sender is held where a glance overlooks what it sends");
    }

    /// If a glance overlooks what is there: since when a thief has seen something, after it has looked, after a glance, and after another one, when
    /// that was taken which it had seen.
    fn seen_at_a_glance(place_state: &PlaceState) -> Option<[Option<Instant>; 3]> {
        let inbox = place_state.inbox();
        if !inbox.looks_empty() || inbox.is_empty() {
            return None;
        }
        let mut near = Near::new(1);
        let mut since = |at_a_glance, is_another: bool| {
            if is_another && let Some(seen) = &mut near.seen[0] {
                seen.mark = 0;
            }
            let is_left = near.is_left(0, place_state, at_a_glance);
            near.seen[0].map(|seen| seen.since).filter(|_| !is_left)
        };
        Some([since(false, false), since(true, false), since(true, true)])
    }

    /// Pools of some shapes, with so many replacements at work.
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
    fn every_other_one_of_the_ring_is_tried_and_never_oneself() {
        pools(|shape, place_states, slots_taken| {
            let workers: usize = shape.iter().sum();
            for place_state in place_states {
                let own_slots = place_state.workers().iter().copied().chain(workers..slots_taken);
                for own in own_slots {
                    let around = Around { place_state, own, workers, slots_taken };
                    let mut victims = Victims::new(own);
                    let mut near = vec![false; slots_taken];
                    let mut far = near.clone();
                    for _ in 0..1000 {
                        if around.others_at_home() > 0 {
                            near[around.victim(&mut victims, 0).unwrap()] = true;
                        }
                        far[around.anybody_far(&mut victims).unwrap()] = true;
                    }
                    for (slot, (&near, &far)) in near.iter().zip(&far).enumerate() {
                        let is_here = slot >= workers || place_state.workers().contains(&slot);
                        assert_eq!(near, is_here && slot != own, "{shape:?} {own} {slot}");
                        assert_eq!(far, !is_here, "{shape:?} {own} {slot}");
                    }
                }
            }
        });
    }

    /// Searches that all end with their first attempt.
    #[test]
    fn far_ones_have_their_turn_though_each_search_is_short() {
        pools(|shape, place_states, slots_taken| {
            let workers: usize = shape.iter().sum();
            for (own, place_state) in (0..workers).filter_map(|own| {
                let is_home = |it: &&CachePadded<PlaceState>| it.workers().contains(&own);
                Some((own, place_states.iter().find(is_home)?))
            }) {
                let around = Around { place_state, own, workers, slots_taken };
                let (mut near, mut victims) = (Near::new(place_states.len()), Victims::new(own));
                let (mut places, mut far) = (vec![0; place_states.len()], vec![0; slots_taken]);
                for _ in 0..100_000 {
                    if let Some(place) = near.place(&around, 0) {
                        places[place] += 1;
                    }
                    if let Some((victim, true)) = near.victim(&mut victims, &around, 0) {
                        far[victim] += 1;
                    }
                }
                for (place, there) in place_states.iter().enumerate() {
                    let is_here = there.workers().contains(&own);
                    assert_eq!(places[place] > 100, !is_here, "{shape:?} {own}: {places:?}");
                    for &slot in there.workers() {
                        assert_eq!(far[slot] > 100, !is_here, "{shape:?} {own}: {far:?}");
                    }
                }
                let most = 100_000 / LONG as i32;
                assert!(far.iter().sum::<i32>() <= most, "home comes first: {far:?}");
                let is_alone = place_state.workers().len() == 1;
                assert!(is_alone || places.iter().sum::<i32>() <= most, "so here: {places:?}");
            }
        });
    }
}
