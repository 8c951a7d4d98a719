//! The areas are compared with those of another method, which shares nothing with the sweep: by
//! Green's theorem, the area of the intersection is an integral along the pieces of either boundary
//! that lie inside the other polygon, that of the union one along those that lie outside. Beside
//! that, both must add up to the areas of the two polygons.

use super::kernel::Areas;
use super::polygon::{Pair, Point, edges};

/// What rounding may leave, relative to the area of both polygons.
const TOLERANCE: f64 = 1e-10;

/// Whether the areas of all pairs are right.
pub(super) fn all(pairs: &[Pair], found: &[Areas]) -> Result<(), String> {
    if pairs.len() != found.len() {
        return Err(format!("{} areas for {} pairs", found.len(), pairs.len()));
    }
    pairs.iter().zip(found).enumerate().try_for_each(|(number, (pair, found))| {
        one(pair, found).map_err(|wrong| format!("pair {number}: {wrong}"))
    })
}

fn one(Pair([a, b]): &Pair, found: &Areas) -> Result<(), String> {
    let whole = area(a) + area(b);
    let limit = TOLERANCE * whole;
    let compare = |what: &str, found: f64, expected: f64| {
        // Written so that NaN, which is not below anything, fails.
        if (found - expected).abs() < limit {
            Ok(())
        } else {
            Err(format!("{what} is {found} and should be {expected}"))
        }
    };
    let (a_inside, a_outside) = boundary(a, b);
    let (b_inside, b_outside) = boundary(b, a);
    compare("the intersection", found.intersection, a_inside + b_inside)?;
    compare("the union", found.union, a_outside + b_outside)?;
    compare("the sum of intersection and union", found.intersection + found.union, whole)
}

/// The area of a polygon, counter-clockwise.
fn area(polygon: &[Point]) -> f64 {
    edges(polygon).map(|[from, to]| triangle(from, to)).sum()
}

/// The area of the triangle of two points and the origin, negative with the clock.
fn triangle(from: Point, to: Point) -> f64 {
    0.5 * (from[0] * to[1] - from[1] * to[0])
}

/// The integrals along the pieces of `polygon`'s boundary that lie inside and outside of `other`.
fn boundary(polygon: &[Point], other: &[Point]) -> (f64, f64) {
    let (mut inside, mut outside) = (0.0, 0.0);
    for [from, to] in edges(polygon) {
        let at =
            |share: f64| [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
        let mut cuts = vec![0.0, 1.0];
        cuts.extend(edges(other).filter_map(|edge| cut([from, to], edge)));
        cuts.sort_by(f64::total_cmp);
        for piece in cuts.windows(2) {
            let piece_area = triangle(at(piece[0]), at(piece[1]));
            if contains(other, at(0.5 * (piece[0] + piece[1]))) {
                inside += piece_area;
            } else {
                outside += piece_area;
            }
        }
    }
    (inside, outside)
}

/// At which share of `[a, b]` the segment `[c, d]` cuts it, where it does.
fn cut([a, b]: [Point; 2], [c, d]: [Point; 2]) -> Option<f64> {
    let side = |[p, q]: [Point; 2], r: Point| {
        (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
    };
    let (of_a, of_b) = (side([c, d], a), side([c, d], b));
    let (of_c, of_d) = (side([a, b], c), side([a, b], d));
    (of_a * of_b < 0.0 && of_c * of_d < 0.0).then(|| of_a / (of_a - of_b))
}

/// Whether a point is inside: a ray from there to the right crosses the boundary an odd number of
/// times.
fn contains(polygon: &[Point], [x, y]: Point) -> bool {
    let crossed = edges(polygon).filter(|[from, to]| {
        (from[1] > y) != (to[1] > y)
            && x < from[0] + (y - from[1]) / (to[1] - from[1]) * (to[0] - from[0])
    });
    crossed.count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::super::kernel::Sweep;
    use super::*;
    use crate::random::Random;

    fn pairs(number: usize, seed: u64) -> Vec<Pair> {
        let mut random = Random::new(seed);
        (0..number).map(|_| Pair::random(20, &mut random)).collect()
    }

    #[test]
    fn both_methods_agree_with_random_points() {
        const POINTS: usize = 20_000;
        let mut random = Random::new(5);
        for pair in pairs(6, 8) {
            let mut areas = [Areas::NONE];
            Sweep::default().clip(std::slice::from_ref(&pair), &mut areas);
            one(&pair, &areas[0]).unwrap();
            // All points of both polygons are nearer to the origin than that, in each direction.
            const REACH: f64 = 2.5;
            let (mut both, mut any) = (0, 0);
            for _ in 0..POINTS {
                let point = [REACH * random.next_signed(), REACH * random.next_signed()];
                let [a, b] = [0, 1].map(|owner| contains(&pair.0[owner], point));
                both += usize::from(a && b);
                any += usize::from(a || b);
            }
            let share = |area: f64| area / (4.0 * REACH * REACH);
            for (area, hits) in [(areas[0].intersection, both), (areas[0].union, any)] {
                let p = share(area);
                // Five standard deviations of a count.
                let limit = 5.0 * (p * (1.0 - p) / POINTS as f64).sqrt() + 1e-9;
                assert!((hits as f64 / POINTS as f64 - p).abs() < limit, "{hits} {p}");
            }
        }
    }

    #[test]
    fn a_wrong_area_is_rejected() {
        let pairs = pairs(50, 1);
        let mut areas = vec![Areas::NONE; pairs.len()];
        assert!(all(&pairs, &areas).is_err());
        Sweep::default().clip(&pairs, &mut areas);
        all(&pairs, &areas).unwrap();
        assert!(areas.iter().any(|areas| areas.intersection > 0.0));
        assert!(areas.iter().any(|areas| areas.intersection == 0.0));
        for (number, wrong) in [(0, 1e-8), (20, -0.5), (49, f64::NAN)] {
            let mut changed = areas.clone();
            changed[number].intersection += wrong;
            assert!(all(&pairs, &changed).unwrap_err().contains("intersection"));
            let mut changed = areas.clone();
            changed[number].union += wrong;
            assert!(all(&pairs, &changed).unwrap_err().contains("union"));
            // The sum alone would not notice that one.
            let mut changed = areas.clone();
            changed[number].union += wrong;
            changed[number].intersection -= wrong;
            assert!(all(&pairs, &changed).is_err());
        }
        let mut swapped = areas.clone();
        swapped.swap(3, 4);
        assert!(all(&pairs, &swapped).is_err());
        assert!(all(&pairs, &areas[1..]).is_err());
    }
}
