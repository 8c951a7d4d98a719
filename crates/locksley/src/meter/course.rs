//! Through which places in the program a path runs.

use std::mem;

use super::site::Site;

/// So many places are kept apart.
pub(crate) const KEPT: usize = 8;

/// How much of a path was run at which places: by strands that were forked, spawned or called there.
///
/// A path grows at its end only, and of two that meet one goes on. So this is a sum over a sequence of stretches, and never one of two such
/// sums; and as it has a fixed size, to carry it along costs the same however long the path is and however many places there are. Those of
/// more than [`KEPT`] places are summed up as Misra and Gries do it ("Finding repeated elements", Science of Computer Programming 2,
/// 1982): where there is no room, all that are kept lose as much as the least of them has. What one loses, all do; so each has lost at most
/// an eighth of the path, and none has too much. Up to [`KEPT`] places, all is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Course {
    /// That of the path's end.
    here: Part,
    before: Rest,
}

/// All other places of a path.
pub(crate) type Rest = [Part; KEPT - 1];

/// What has no ticks is room for another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// `None` if that is not known.
    pub(crate) site: Option<Site>,
    pub(crate) ticks: i64,
}

impl Part {
    fn is_room(&self) -> bool {
        // Less than none where two processors' counters do not quite agree.
        self.ticks <= 0
    }
}

impl Course {
    /// Where the path ends.
    #[inline]
    pub(crate) fn here(&self) -> Part {
        self.here
    }

    #[inline]
    pub(crate) fn of(here: Part, before: Rest) -> Self {
        Self { here, before }
    }

    /// Where else it has been.
    #[inline]
    pub(crate) fn before(&self) -> &Rest {
        &self.before
    }

    /// It goes on at another place, which is that one. Returns where among the others the one is now that it has left, if it is there.
    #[cold]
    pub(super) fn turn_elsewhere(&mut self, site: Option<Site>) -> Option<usize> {
        self.turn(site)
    }

    /// It goes on at that place.
    #[inline]
    pub(crate) fn turn_to(&mut self, site: Option<Site>) {
        if self.here.site != site {
            self.turn(site);
        }
    }

    /// Returns where among the others that one is now that the path has left, if it is there.
    #[inline(never)]
    fn turn(&mut self, site: Option<Site>) -> Option<usize> {
        if let Some(found) = self.before.iter().position(|part| part.site == site) {
            mem::swap(&mut self.before[found], &mut self.here);
            return Some(found);
        }
        if !self.here.is_room() && !self.before.iter().any(Part::is_room) {
            let least = self.parts().map(|part| part.ticks).fold(i64::MAX, i64::min);
            self.before.iter_mut().for_each(|part| part.ticks -= least);
            self.here.ticks -= least;
        }
        let next = Part { site, ticks: 0 };
        let left = mem::replace(&mut self.here, next);
        // Else it was the least itself.
        let room = self.before.iter().position(Part::is_room).filter(|_| !left.is_room())?;
        self.before[room] = left;
        Some(room)
    }

    fn parts(&self) -> impl Iterator<Item = Part> {
        std::iter::once(self.here).chain(self.before)
    }

    /// All of it, in no order, less what there was where it began.
    pub(crate) fn since(&self, from: &Self) -> [Part; KEPT] {
        let mut parts = [Part::default(); KEPT];
        for (place, part) in parts.iter_mut().zip(self.parts()) {
            let its = |before: &Part| before.site == part.site;
            let before: i64 = from.parts().filter(its).map(|before| before.ticks).sum();
            *place = Part { ticks: (part.ticks - before).max(0), ..part };
        }
        parts
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A path that grows, and what each place has in truth.
    struct Walk<'s> {
        sites: &'s [Site],
        course: Course,
        truth: Vec<i64>,
    }

    impl<'s> Walk<'s> {
        fn new(sites: &'s [Site]) -> Self {
            Self { sites, course: Course::default(), truth: vec![0; sites.len()] }
        }

        fn go(&mut self, place: usize, ticks: i64) {
            self.course.turn_to(Some(self.sites[place]));
            self.course.here.ticks += ticks;
            self.truth[place] += ticks;
        }

        fn length(&self) -> i64 {
            self.truth.iter().sum()
        }

        fn kept(&self, place: usize) -> i64 {
            let site = Some(self.sites[place]);
            let its = self.course.parts().filter(|part| part.site == site);
            its.map(|part| part.ticks).sum()
        }
    }

    /// Each on a line of its own.
    #[rustfmt::skip]
    fn sites() -> [Site; 12] {
        [
            Site::here(),
            Site::here(),
            Site::here(),
            Site::here(),
            Site::here(),
            Site::here(),
            Site::here(),
            Site::here(),
            Site::here(),
            Site::here(),
            Site::here(),
            Site::here(),
        ]
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % n
        }
    }

    #[test]
    fn few_places_are_exact() {
        let (sites, mut random) = (sites(), Random(7));
        for places in 1..=KEPT {
            let mut walk = Walk::new(&sites[..places]);
            for _ in 0..1000 {
                walk.go(random.below(places as u64) as usize, random.below(1000) as i64);
                (0..places).for_each(|place| assert_eq!(walk.kept(place), walk.truth[place]));
            }
        }
    }

    #[test]
    fn of_many_places_none_loses_more_than_an_eighth_and_none_has_too_much() {
        let (sites, mut random) = (sites(), Random(11));
        for round in 0..50 {
            let mut walk = Walk::new(&sites);
            for step in 0..1000 {
                // One that is hot, in small pieces, among many that are larger but few.
                let place = if round % 2 == 0 && step % 2 == 0 { 0 } else { random.below(12) };
                walk.go(place as usize, 1 + random.below(100) as i64);
            }
            for place in 0..sites.len() {
                let (kept, truth) = (walk.kept(place), walk.truth[place]);
                assert!(kept <= truth, "{kept} of {truth}");
                let lost = truth - kept;
                assert!(lost * KEPT as i64 <= walk.length(), "{lost} of {}", walk.length());
            }
        }
    }

    #[test]
    fn a_region_inside_has_what_came_since() {
        let sites = sites();
        let mut walk = Walk::new(&sites[..3]);
        walk.go(0, 5);
        walk.go(1, 7);
        let from = walk.course;
        walk.go(0, 30);
        walk.go(2, 40);
        let since = walk.course.since(&from);
        let of = |place: usize| {
            let its = since.iter().filter(|part| part.site == Some(sites[place]));
            its.map(|part| part.ticks).sum::<i64>()
        };
        assert_eq!([of(0), of(1), of(2)], [30, 0, 40]);
    }
}
