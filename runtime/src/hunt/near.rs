//! Where a hunter looks if its pool has several places: near before far, and not at once for what others will take.

use std::time::{Duration, Instant};

use super::prospect::Activity;
use super::victims::Victims;
use crate::pool::Quarter;
use crate::worker::Worker;

/// So many attempts for each worker of its own place a hunter makes there, before it tries any elsewhere.
const AT_HOME: u64 = 2;

/// After so many attempts a hunter takes what it finds, wherever it is. With [`Balanced`](super::Balanced), which paces its hunters,
/// that is after 25 µs.
const LONG: u64 = 48;

/// For how long there must have been something in the inbox of another place before a hunter takes it: about twice as long as
/// a sleeper there needs to get up.
const MOMENT: Duration = Duration::from_micros(100);

/// A hunter that was about something else for longer than this does not know that there was something all the time.
const GAP: Duration = MOMENT.saturating_mul(10);

/// What a hunter has seen of other places.
#[derive(Debug)]
pub(super) struct Near {
    /// By place: since when there has been something in the inbox, whenever this one looked.
    seen: Box<[Option<Seen>]>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    mark: usize,
    since: Instant,
    last: Instant,
}

impl Near {
    pub(super) fn new(places: usize) -> Self {
        Self { seen: vec![None; places].into() }
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
        let before = self.seen[place].filter(|seen| seen.mark == mark || now - seen.last <= GAP);
        let since = before.map_or(now, |seen| seen.since);
        self.seen[place] = Some(Seen { mark, since, last: now });
        now - since >= MOMENT
    }
}

/// Which ring a hunter tries that has failed so often: 0 is its own place, in which it makes so many attempts first. After them
/// each ring is tried twice as often as the next one.
fn ring(failures: u64, at_home: u64, rings: usize) -> usize {
    let beyond = failures.checked_sub(at_home);
    beyond.map_or(0, |beyond| (beyond + 1).trailing_zeros() as usize).min(rings - 1)
}

/// A random victim in the ring whose turn it is.
pub(super) fn victim(
    victims: &mut Victims,
    quarter: &Quarter,
    worker: &Worker,
    failures: u64,
) -> Option<usize> {
    let shared = worker.shared();
    let (here, workers) = (quarter.workers(), shared.workers());
    // A stand-in passes for a worker of some place, which may change: it is at home everywhere.
    let at_home = here.len() + shared.seats_taken() - workers;
    let own = worker.seat_index();
    let own_position = here.binary_search(&own).ok();
    let own_position =
        own_position.or_else(|| own.checked_sub(workers).map(|stand_in| here.len() + stand_in));
    let others_at_home = at_home - usize::from(own_position.is_some());
    let rings = quarter.rings();
    let ring = match others_at_home {
        0 if rings.is_empty() => return None,
        0 => 1 + ring(failures, 0, rings.len()),
        others => ring(failures, AT_HOME * others as u64, 1 + rings.len()),
    };
    if ring > 0 {
        let ring = &rings[ring - 1];
        return Some(ring[victims.below(ring.len())]);
    }
    let chosen = victims.below(others_at_home);
    let chosen = chosen + usize::from(own_position.is_some_and(|own| chosen >= own));
    Some(here.get(chosen).copied().unwrap_or_else(|| workers + chosen - here.len()))
}

/// All others, the nearest first; equally near ones from a random one on. None where there is one place.
pub(super) fn in_order<'w>(
    worker: &'w Worker,
    random: usize,
) -> impl Iterator<Item = usize> + use<'w> {
    let shared = worker.shared();
    let (own, stand_ins) = (worker.seat_index(), shared.workers()..shared.seats_taken());
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

/// Whether a hunter that has failed so often tries that victim. One of another place is left alone for a while if somebody hunts
/// there, who is nearer to what it has, or if it has not more than it will take itself.
pub(super) fn may_try(worker: &Worker, victim: usize, failures: u64) -> bool {
    let shared = worker.shared();
    let Some(place) = shared.place_of(victim).filter(|&place| place != worker.place()) else {
        return true;
    };
    let hunts = |&near: &usize| shared.seat(near).activity() == Activity::Hunts;
    let is_hunted_there = || shared.quarters()[place].workers().iter().any(hunts);
    failures >= LONG || shared.seat(victim).holds_several() && !is_hunted_there()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_own_place_comes_first_and_each_ring_twice_as_often_as_the_next() {
        assert!((0..6).all(|failures| ring(failures, 6, 4) == 0));
        let mut times = [0; 4];
        for failures in 6..6 + 1024 {
            times[ring(failures, 6, 4)] += 1;
        }
        assert_eq!(times, [512, 256, 128, 128]);
        assert!((0..100).all(|failures| ring(failures, 0, 1) == 0));
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
}
