//! Where a hunter looks if its pool has several places: near before far, and not at once for what others will take.

use std::time::{Duration, Instant};

use super::victims::Victims;

use crate::idle::Activity;
use crate::scheduler::Quarter;
use crate::scheduler::Worker;

/// So many attempts for each worker of its own place a hunter makes there, before it tries any elsewhere.
const AT_HOME: u64 = 2;

/// After so many attempts a hunter tries every victim, wherever it is. With [`Balanced`](super::Balanced), which paces its hunters,
/// that is after 25 µs. And after so many, in however many hunts, in which it tried nobody elsewhere it tries somebody there.
const LONG: u64 = 48;

/// For how long there must have been something in the inbox of another place before a hunter takes it: about twice as long as
/// a sleeper there needs to get up.
const MOMENT: Duration = Duration::from_micros(100);

/// A hunter that was about something else for longer than this does not know that there was something all the time.
const GAP: Duration = MOMENT.saturating_mul(10);

/// But if it comes back so often, and never saw that there was nothing, its workers have more than they take.
const RETURNS: u8 = 2;

/// What a hunter has seen of other places.
#[derive(Debug)]
pub(super) struct Near {
    /// By place: since when there has been something in the inbox, whenever this one looked.
    seen: Box<[Option<Seen>]>,
    /// The other place that it looked into last: which of them.
    turn: usize,
    /// How many attempts it has made since it tried a worker of another place whatever that had, in this hunt and in those before. Who always has
    /// much there would end all hunts.
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

    /// A hunt begins, in which it has left nothing yet.
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
    /// among so many if hunts always end before that.
    pub(super) fn place(&mut self, around: &Around<'_>, failures: u64) -> Option<usize> {
        self.since_far += 1;
        if failures < around.attempts_at_home() && self.since_far != LONG {
            return None;
        }
        self.turn = self.turn.wrapping_add(1);
        around.quarter.others().get(self.turn % around.quarter.others().len().max(1)).copied()
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
    pub(super) fn is_left(&mut self, place: usize, quarter: &Quarter, at_a_glance: bool) -> bool {
        let inbox = quarter.inbox();
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
        quarter.workers().is_empty() || self.is_left_since(place, inbox.mark(), Instant::now())
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

/// Who is where, as a hunter sees it.
pub(super) struct Around<'q> {
    quarter: &'q Quarter,
    /// Its seat.
    own: usize,
    workers: usize,
    seats_taken: usize,
}

impl<'q> Around<'q> {
    pub(super) fn of(worker: &Worker, quarter: &'q Quarter) -> Self {
        let shared = worker.shared();
        let (workers, seats_taken) = (shared.workers(), shared.seats_taken());
        Self { quarter, own: worker.slot(), workers, seats_taken }
    }

    /// Where it is among those who are at home here. A stand-in passes for a worker of some place, which may change: it is at home
    /// everywhere.
    fn own_position(&self) -> Option<usize> {
        let here = self.quarter.workers();
        let stand_in = self.own.checked_sub(self.workers);
        here.binary_search(&self.own).ok().or_else(|| Some(here.len() + stand_in?))
    }

    fn others_at_home(&self) -> usize {
        let at_home = self.quarter.workers().len() + self.seats_taken - self.workers;
        at_home - usize::from(self.own_position().is_some())
    }

    fn attempts_at_home(&self) -> u64 {
        AT_HOME * self.others_at_home() as u64
    }

    /// A random victim: of its own place, in the first attempts; after them of each ring twice as often as of the next one. By chance, and not in turn: whoever
    /// looks at every so-manieth of them only, as governors do, comes to all.
    fn victim(&self, victims: &mut Victims, failures: u64) -> Option<usize> {
        let rings = self.quarter.rings();
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
        let here = self.quarter.workers();
        Some(here.get(chosen).copied().unwrap_or_else(|| self.workers + chosen - here.len()))
    }

    /// A random worker of the other places.
    fn anybody_far(&self, victims: &mut Victims) -> Option<usize> {
        let rings = self.quarter.rings();
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
    let (own, stand_ins) = (worker.slot(), shared.workers()..shared.seats_taken());
    let from = move |workers: &'w [usize]| {
        let (before, after) = workers.split_at(random % workers.len().max(1));
        after.iter().chain(before).copied()
    };
    let quarter = shared.quarters().get(worker.place());
    let all = quarter.into_iter().flat_map(move |quarter| {
        let beyond = quarter.rings().iter().flat_map(move |ring| from(ring));
        from(quarter.workers()).chain(stand_ins.clone()).chain(beyond)
    });
    all.filter(move |&victim| victim != own)
}

/// Whether the victim is a worker of another place.
pub(super) fn is_far(worker: &Worker, victim: usize) -> bool {
    worker.shared().place_of(victim).is_some_and(|place| place != worker.place())
}

/// Whether a far victim has more than it will take itself, and nobody hunts there, who would be nearer. Until it is time to try everybody,
/// another one is left alone.
pub(super) fn has_too_much(worker: &Worker, victim: usize) -> bool {
    let shared = worker.shared();
    let hunts = |&near: &usize| shared.seat(near).activity() == Activity::Hunts;
    let there = shared.place_of(victim).and_then(|place| shared.quarters().get(place));
    let is_hunted_there = || there.is_some_and(|there| there.workers().iter().any(hunts));
    shared.seat(victim).deque().holds_several() && !is_hunted_there()
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

    /// A governor looks at every so-manieth victim only.
    #[test]
    fn every_other_one_is_among_every_so_manieth_victims() {
        pools(|shape, quarters, seats_taken| {
            let workers: usize = shape.iter().sum();
            for (own, quarter) in homes(quarters, workers) {
                let around = Around { quarter, own, workers, seats_taken };
                for period in 1..=8 {
                    for phase in 0..period {
                        let mut victims = Victims::new(own);
                        let mut seen = vec![false; seats_taken];
                        for failures in 0..4000 {
                            let victim = around.victim(&mut victims, failures).unwrap();
                            seen[victim] |= failures % period == phase;
                        }
                        let all = (0..seats_taken).all(|seat| seen[seat] == (seat != own));
                        assert!(all, "{shape:?} {own}, {phase} of {period}: {seen:?}");
                    }
                }
            }
        });
    }

    #[test]
    fn the_own_place_comes_first_and_each_ring_about_twice_as_often_as_the_next() {
        pools(|shape, quarters, seats_taken| {
            let workers: usize = shape.iter().sum();
            for (own, quarter) in homes(quarters, workers) {
                let around = Around { quarter, own, workers, seats_taken };
                let mut victims = Victims::new(own);
                let at_home = around.attempts_at_home();
                let rings = quarter.rings();
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
        quarters: &[CachePadded<Quarter>],
        workers: usize,
    ) -> impl Iterator<Item = (usize, &Quarter)> {
        (0..workers).filter_map(|own| {
            let is_home = |it: &&CachePadded<Quarter>| it.workers().contains(&own);
            Some((own, &**quarters.iter().find(is_home)?))
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
    fn nobody_waits_for_what_is_over_or_gone_or_was_left_in_another_hunt() {
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
        assert!(!near.has_to_wait(), "that was another hunt");
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

    /// Beside busy programs a hunter that yields looks for microseconds, every few milliseconds.
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
                let seen = seen_at_a_glance(&pool.shared_now().quarters()[1]);
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

    /// If a glance overlooks what is there: since when a hunter has seen something, after it has looked, after a glance, and after another one, when
    /// that was taken which it had seen.
    fn seen_at_a_glance(quarter: &Quarter) -> Option<[Option<Instant>; 3]> {
        let inbox = quarter.inbox();
        if !inbox.looks_empty() || inbox.is_empty() {
            return None;
        }
        let mut near = Near::new(1);
        let mut since = |at_a_glance, is_another: bool| {
            if is_another && let Some(seen) = &mut near.seen[0] {
                seen.mark = 0;
            }
            let is_left = near.is_left(0, quarter, at_a_glance);
            near.seen[0].map(|seen| seen.since).filter(|_| !is_left)
        };
        Some([since(false, false), since(true, false), since(true, true)])
    }

    /// Pools of some shapes, with so many stand-ins at work.
    fn pools(check: impl Fn(&[usize], &[CachePadded<Quarter>], usize) + Sync) {
        for shape in [&[1, 1][..], &[1, 3], &[2, 2, 1], &[3, 1, 2, 2]] {
            let pool = divided(shape).build().unwrap();
            for stand_ins in 0..3 {
                let seats_taken = pool.workers() + stand_ins;
                pool.install(|w| check(shape, w.shared().quarters(), seats_taken));
            }
        }
    }

    #[test]
    fn every_other_one_of_the_ring_is_tried_and_never_oneself() {
        pools(|shape, quarters, seats_taken| {
            let workers: usize = shape.iter().sum();
            for quarter in quarters {
                let own_seats = quarter.workers().iter().copied().chain(workers..seats_taken);
                for own in own_seats {
                    let around = Around { quarter, own, workers, seats_taken };
                    let mut victims = Victims::new(own);
                    let mut near = vec![false; seats_taken];
                    let mut far = near.clone();
                    for _ in 0..1000 {
                        if around.others_at_home() > 0 {
                            near[around.victim(&mut victims, 0).unwrap()] = true;
                        }
                        far[around.anybody_far(&mut victims).unwrap()] = true;
                    }
                    for (seat, (&near, &far)) in near.iter().zip(&far).enumerate() {
                        let is_here = seat >= workers || quarter.workers().contains(&seat);
                        assert_eq!(near, is_here && seat != own, "{shape:?} {own} {seat}");
                        assert_eq!(far, !is_here, "{shape:?} {own} {seat}");
                    }
                }
            }
        });
    }

    /// Hunts that all end with their first attempt.
    #[test]
    fn far_ones_have_their_turn_though_each_hunt_is_short() {
        pools(|shape, quarters, seats_taken| {
            let workers: usize = shape.iter().sum();
            for (own, quarter) in (0..workers).filter_map(|own| {
                let is_home = |it: &&CachePadded<Quarter>| it.workers().contains(&own);
                Some((own, quarters.iter().find(is_home)?))
            }) {
                let around = Around { quarter, own, workers, seats_taken };
                let (mut near, mut victims) = (Near::new(quarters.len()), Victims::new(own));
                let (mut places, mut far) = (vec![0; quarters.len()], vec![0; seats_taken]);
                for _ in 0..100_000 {
                    if let Some(place) = near.place(&around, 0) {
                        places[place] += 1;
                    }
                    if let Some((victim, true)) = near.victim(&mut victims, &around, 0) {
                        far[victim] += 1;
                    }
                }
                for (place, there) in quarters.iter().enumerate() {
                    let is_here = there.workers().contains(&own);
                    assert_eq!(places[place] > 100, !is_here, "{shape:?} {own}: {places:?}");
                    for &seat in there.workers() {
                        assert_eq!(far[seat] > 100, !is_here, "{shape:?} {own}: {far:?}");
                    }
                }
                let most = 100_000 / LONG as i32;
                assert!(far.iter().sum::<i32>() <= most, "home comes first: {far:?}");
                let is_alone = quarter.workers().len() == 1;
                assert!(is_alone || places.iter().sum::<i32>() <= most, "so here: {places:?}");
            }
        });
    }
}
