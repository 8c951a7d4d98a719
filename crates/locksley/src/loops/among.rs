//! Where the items of a loop go: anywhere, or to each place the same ones every time.

use std::ops::Range;

use super::Parts;
use super::divide::{AtMost, Stop, divide};
use crate::held::Place;
use crate::meter::Site;
use crate::worker::Worker;

/// Where the items of a loop go.
pub(super) trait Among {
    /// Divides items as it likes, and combines what comes of the parts in the order of the items.
    fn parts<P: Parts, R: Send>(
        self,
        worker: &Worker,
        site: Site,
        parts: P,
        part: &(impl Fn(&Worker, P) -> R + Sync),
        combine: &impl Fn(R, R) -> R,
    ) -> R;

    /// Divides items by halves, down to leaves of at most so many, whoever gets them.
    fn in_shape<P: Parts, R: Send, S: Stop>(
        self,
        worker: &Worker,
        from: (S, Site),
        parts: P,
        most: usize,
        leaf: &(impl Fn(P) -> R + Sync),
        combine: &(impl Fn(R, R) -> R + Sync),
    ) -> Result<R, S::Stopped>;
}

/// To whoever comes.
pub(super) struct Anywhere;

impl Among for Anywhere {
    #[inline(always)]
    fn parts<P: Parts, R: Send>(
        self,
        worker: &Worker,
        _site: Site,
        parts: P,
        part: &(impl Fn(&Worker, P) -> R + Sync),
        _combine: &impl Fn(R, R) -> R,
    ) -> R {
        part(worker, parts)
    }

    #[inline(always)]
    fn in_shape<P: Parts, R: Send, S: Stop>(
        self,
        worker: &Worker,
        (stop, _): (S, Site),
        parts: P,
        most: usize,
        leaf: &(impl Fn(P) -> R + Sync),
        combine: &(impl Fn(R, R) -> R + Sync),
    ) -> Result<R, S::Stopped> {
        divide(worker, stop, parts, &AtMost(most), leaf, combine)
    }
}

/// To each place as many as it has of the workers, one after the other.
pub(super) struct ByPlace;

impl Among for ByPlace {
    fn parts<P: Parts, R: Send>(
        self,
        worker: &Worker,
        site: Site,
        parts: P,
        part: &(impl Fn(&Worker, P) -> R + Sync),
        combine: &impl Fn(R, R) -> R,
    ) -> R {
        let Some(ends) = Ends::of(worker, parts.len()) else { return part(worker, parts) };
        let (mut pieces, mut rest, mut begin) = (Vec::new(), parts, 0);
        for (place, &end) in ends.0.iter().enumerate() {
            // A part of nothing might say that it was cancelled, though nothing is missing.
            if begin < end {
                let (items, others) = rest.split_at(end - begin);
                pieces.push((place, items));
                (rest, begin) = (others, end);
            }
        }
        let results = at_places(worker, site, pieces, part);
        results.reduce(combine).expect("somebody has an item")
    }

    fn in_shape<P: Parts, R: Send, S: Stop>(
        self,
        worker: &Worker,
        (stop, site): (S, Site),
        parts: P,
        most: usize,
        leaf: &(impl Fn(P) -> R + Sync),
        combine: &(impl Fn(R, R) -> R + Sync),
    ) -> Result<R, S::Stopped> {
        let part =
            |worker: &Worker, parts| divide(worker, stop, parts, &AtMost(most), leaf, combine);
        let items = parts.len();
        let Some(ends) = Ends::of(worker, items) else { return part(worker, parts) };
        let mut pieces = Vec::new();
        cut(parts, 0..items, (&ends, most), &mut pieces);
        let mut results = at_places(worker, site, pieces, &part);
        let both = &|a: Result<R, _>, b| Ok(combine(a?, b?));
        united(0..items, (&ends, most), &mut results, both)
    }
}

/// Has each piece done at its place. What comes of them is in their order.
fn at_places<P: Send, R: Send>(
    worker: &Worker,
    site: Site,
    pieces: Vec<(usize, P)>,
    piece: &(impl Fn(&Worker, P) -> R + Sync),
) -> impl Iterator<Item = R> {
    let mut results: Vec<Option<R>> = pieces.iter().map(|_| None).collect();
    let mut of_place: Vec<Vec<(P, &mut Option<R>)>> = Vec::new();
    of_place.resize_with(worker.shared().quarters().len(), Vec::new);
    for ((place, items), result) in pieces.into_iter().zip(&mut results) {
        of_place[place].push((items, result));
    }
    let each = |worker: &Worker, pieces| all_of(worker, pieces, piece);
    let own = std::mem::take(&mut of_place[worker.place()]);
    worker.scope(|worker, scope| {
        for (place, pieces) in of_place.into_iter().enumerate() {
            if !pieces.is_empty() {
                let its = move |worker: &Worker, _: &_| each(worker, pieces);
                scope.spawn_near_from(Some(worker), site, place, its);
            }
        }
        each(worker, own);
    });
    results.into_iter().map(|result| result.expect("the scope has waited for it"))
}

/// By halves.
fn all_of<P: Send, R: Send>(
    worker: &Worker,
    mut pieces: Vec<(P, &mut Option<R>)>,
    piece: &(impl Fn(&Worker, P) -> R + Sync),
) {
    if pieces.len() > 1 {
        let second = pieces.split_off(pieces.len() / 2);
        worker.join_at(Place::here(), |w| all_of(w, pieces, piece), |w| all_of(w, second, piece));
    } else if let Some((items, result)) = pieces.pop() {
        *result = Some(piece(worker, items));
    }
}

/// Where the items of each place end: in proportion to its workers.
struct Ends(Vec<usize>);

impl Ends {
    /// `None` where there is nothing to be divided, or one place.
    fn of(worker: &Worker, items: usize) -> Option<Self> {
        let quarters = worker.shared().quarters();
        let workers = quarters.iter().map(|quarter| quarter.workers().len());
        (items > 0 && !quarters.is_empty()).then(|| Self::for_so_many(items, workers))
    }

    fn for_so_many(items: usize, workers: impl Iterator<Item = usize> + Clone) -> Self {
        let all: usize = workers.clone().sum();
        let mut before = 0;
        let end = workers.map(|workers| {
            before += workers;
            (items as u128 * before as u128 / all as u128) as usize
        });
        Self(end.collect())
    }

    /// Whose those items are, if all of them are one place's, or are no more than a leaf: then they are that one's which has the first.
    fn place_of(&self, items: &Range<usize>, most: usize) -> Option<usize> {
        let place = self.0.partition_point(|&end| end <= items.start);
        (items.end - items.start <= most || items.end <= self.0[place]).then_some(place)
    }
}

/// Where [`divide`] divides.
fn middle_of(items: &Range<usize>) -> usize {
    items.start + (items.end - items.start) / 2
}

/// Divides as [`divide`] does, but only as far as places demand it.
fn cut<P: Parts>(
    parts: P,
    items: Range<usize>,
    (ends, most): (&Ends, usize),
    pieces: &mut Vec<(usize, P)>,
) {
    if let Some(place) = ends.place_of(&items, most) {
        return pieces.push((place, parts));
    }
    let middle = middle_of(&items);
    let (left, right) = parts.split_at(middle - items.start);
    cut(left, items.start..middle, (ends, most), pieces);
    cut(right, middle..items.end, (ends, most), pieces);
}

/// Combines what comes of the pieces as [`divide`] would have.
fn united<R>(
    items: Range<usize>,
    (ends, most): (&Ends, usize),
    results: &mut impl Iterator<Item = R>,
    combine: &impl Fn(R, R) -> R,
) -> R {
    if ends.place_of(&items, most).is_some() {
        return results.next().expect("there is one of each piece");
    }
    let middle = middle_of(&items);
    let left = united(items.start..middle, (ends, most), results, combine);
    let right = united(middle..items.end, (ends, most), results, combine);
    combine(left, right)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::ops::Range;

    use super::{Among, ByPlace, Ends, cut, united};
    use crate::meter::Site;
    use crate::pool::trial::divided;
    use crate::worker::Worker;

    /// Of a token that is cancelled with the last item it would say that something is missing.
    #[test]
    fn there_is_no_part_with_nothing_in_it_but_of_nothing() {
        let pool = divided(&[1, 1, 2]).build().unwrap();
        for items in 0..6_usize {
            let ends = Ends::for_so_many(items, [1, 1, 2].into_iter()).0;
            let begins = [0].iter().chain(&ends);
            let wanted = ends.iter().zip(begins).filter(|(end, begin)| end > begin).count();
            let parts = pool.broadcast(|w| {
                let part = |_: &Worker, part: Range<usize>| vec![part];
                ByPlace.parts(w, Site::here(), 0..items, &part, &|a, b| [a, b].concat())
            });
            for parts in parts {
                assert_eq!(parts.len(), wanted.max(1), "{parts:?}");
                assert!(items == 0 || parts.iter().all(|part| !part.is_empty()), "{parts:?}");
                assert!(parts.into_iter().flatten().eq(0..items));
            }
        }
    }

    #[test]
    fn each_place_gets_its_share() {
        let of = |items, workers: &[usize]| Ends::for_so_many(items, workers.iter().copied()).0;
        assert_eq!(of(10, &[1, 1]), [5, 10]);
        assert_eq!(of(9, &[1, 2]), [3, 9]);
        assert_eq!(of(1, &[1, 1]), [0, 1]);
        assert_eq!(of(0, &[3, 0, 4]), [0, 0, 0]);
        assert_eq!(of(14, &[3, 0, 4]), [6, 6, 14]);
        let large = of(usize::MAX, &[1, 3, 4]);
        assert_eq!(large[2], usize::MAX);
        assert!(large[0] < large[1] - large[0] && large[1] - large[0] <= large[2] - large[1]);
    }

    /// What [`super::divide`] does, as text.
    fn halves(items: Range<usize>, most: usize) -> String {
        if items.len() <= most {
            return format!("{items:?}");
        }
        let middle = items.start + items.len() / 2;
        format!("({} {})", halves(items.start..middle, most), halves(middle..items.end, most))
    }

    #[test]
    fn pieces_are_halves_of_halves_and_belong_to_the_place_that_has_their_first_item() {
        for workers in [&[1, 1][..], &[1, 2], &[3, 0, 4], &[0, 1], &[2, 2, 1, 5]] {
            for items in (1..40).chain([1000]) {
                for most in [1, 2, 3, 7, 64] {
                    let ends = Ends::for_so_many(items, workers.iter().copied());
                    let mut pieces = Vec::new();
                    cut(0..items, 0..items, (&ends, most), &mut pieces);
                    let all = pieces.iter().flat_map(|(_, piece)| piece.clone());
                    assert!(all.eq(0..items), "{pieces:?}");
                    for (place, piece) in &pieces {
                        let begin = if *place == 0 { 0 } else { ends.0[place - 1] };
                        let its_own = begin..ends.0[*place];
                        assert!(its_own.contains(&piece.start), "{pieces:?} {:?}", ends.0);
                        assert!(piece.end <= its_own.end || piece.len() <= most, "{pieces:?}");
                    }
                    let mut texts = pieces.into_iter().map(|(_, piece)| halves(piece, most));
                    let both = |a, b| format!("({a} {b})");
                    let text = united(0..items, (&ends, most), &mut texts, &both);
                    assert_eq!(text, halves(0..items, most));
                    assert_eq!(texts.next(), None);
                }
            }
        }
    }
}
