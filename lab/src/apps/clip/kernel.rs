//! The sweep over a pair of polygons, by the even-odd rule, so that it needs neither an orientation
//! nor care for edges that touch or coincide: where two lie on each other, the trapezoid between
//! them has no width.

use super::polygon::{Pair, Point, edges};

/// Pairs of a leaf of the parallel versions, each some tens of microseconds.
pub(super) const LEAF_PAIRS: usize = 4;

/// What a pair of polygons covers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Areas {
    /// Where both are.
    pub(super) intersection: f64,
    /// Where at least one is.
    pub(super) union: f64,
}

impl Areas {
    /// No answer: an area is not negative.
    pub(super) const NONE: Areas = Areas { intersection: -1.0, union: -1.0 };
}

/// An edge from below to above.
#[derive(Debug, Clone, Copy)]
struct Edge {
    low: Point,
    high: Point,
    /// Which of the polygons it belongs to.
    owner: usize,
    /// How far across it goes for each step up.
    slope: f64,
}

impl Edge {
    /// The edges of a polygon, without the level ones, which bound no trapezoid at a side.
    fn all(polygon: &[Point], owner: usize) -> impl Iterator<Item = Edge> + '_ {
        edges(polygon).filter(|[from, to]| from[1] != to[1]).map(move |[from, to]| {
            let (low, high) = if from[1] < to[1] { (from, to) } else { (to, from) };
            Edge { low, high, owner, slope: (high[0] - low[0]) / (high[1] - low[1]) }
        })
    }

    /// How far across the edge is at a height.
    fn across(&self, height: f64) -> f64 {
        self.low[0] + (height - self.low[1]) * self.slope
    }

    /// The height at which two edges cross, where they do.
    fn crossing(&self, other: &Edge) -> Option<f64> {
        let (low, high) = (self.low[1].max(other.low[1]), self.high[1].min(other.high[1]));
        if low >= high {
            return None;
        }
        let (below, above) =
            (self.across(low) - other.across(low), self.across(high) - other.across(high));
        // Edges that only touch need not be cut: they stay in order.
        (below * above < 0.0).then(|| low + (high - low) * (below / (below - above)))
    }
}

/// An edge as it passes through a slab: twice how far across its middle is, and its owner.
type Side = (f64, usize);

/// What pairs need to be swept, kept from one to the next.
#[derive(Default)]
pub(super) struct Sweep {
    edges: Vec<Edge>,
    heights: Vec<f64>,
    active: Vec<Edge>,
    sides: Vec<Side>,
}

impl Sweep {
    /// The areas of each pair. Never inlined, so that all versions execute the same code.
    #[inline(never)]
    pub(super) fn clip(&mut self, pairs: &[Pair], areas: &mut [Areas]) {
        for (pair, areas) in pairs.iter().zip(areas) {
            *areas = self.areas(pair);
        }
    }

    fn areas(&mut self, Pair(polygons): &Pair) -> Areas {
        self.prepare(polygons);
        let mut areas = Areas { intersection: 0.0, union: 0.0 };
        let mut coming = self.edges.iter();
        self.active.clear();
        for slab in self.heights.windows(2) {
            let (low, high) = (slab[0], slab[1]);
            self.active.retain(|edge| edge.high[1] > low);
            // The edges that begin here: every beginning is a height.
            let begin = coming.as_slice().partition_point(|edge| edge.low[1] <= low);
            self.active.extend(coming.by_ref().take(begin));
            self.sides.clear();
            self.sides.extend(
                self.active.iter().map(|edge| (edge.across(low) + edge.across(high), edge.owner)),
            );
            self.sides.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let (both, any) = widths(&self.sides);
            areas.intersection += 0.5 * (high - low) * both;
            areas.union += 0.5 * (high - low) * any;
        }
        areas
    }

    /// Finds the edges, from the lowest on, and the heights at which something changes.
    fn prepare(&mut self, polygons: &[Vec<Point>; 2]) {
        let Sweep { edges, heights, .. } = self;
        edges.clear();
        edges.extend(Edge::all(&polygons[0], 0));
        let first = edges.len();
        edges.extend(Edge::all(&polygons[1], 1));
        heights.clear();
        heights.extend(polygons.iter().flatten().map(|corner| corner[1]));
        let (ones, others) = edges.split_at(first);
        for one in ones {
            heights.extend(others.iter().filter_map(|other| one.crossing(other)));
        }
        heights.sort_unstable_by(f64::total_cmp);
        heights.dedup();
        edges.sort_unstable_by(|a, b| a.low[1].total_cmp(&b.low[1]));
    }
}

/// Twice the mean width of what both polygons cover in a slab, and of what at least one of them
/// covers.
fn widths(sides: &[Side]) -> (f64, f64) {
    let (mut both, mut any) = (0.0, 0.0);
    let mut inside = [false; 2];
    for pair in sides.windows(2) {
        let ((left, owner), (right, _)) = (pair[0], pair[1]);
        inside[owner] = !inside[owner];
        if inside[0] && inside[1] {
            both += right - left;
        }
        if inside[0] || inside[1] {
            any += right - left;
        }
    }
    (both, any)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn areas(one: &[Point], other: &[Point]) -> Areas {
        Sweep::default().areas(&Pair([one.to_vec(), other.to_vec()]))
    }

    fn square(x: f64, y: f64, side: f64) -> [Point; 4] {
        [[x, y], [x + side, y], [x + side, y + side], [x, y + side]]
    }

    #[test]
    fn squares_cover_what_they_should() {
        let one = square(0.0, 0.0, 2.0);
        for (other, intersection, union) in [
            (square(1.0, 1.0, 2.0), 1.0, 7.0),
            (square(0.5, 0.5, 1.0), 1.0, 4.0),
            (square(5.0, 0.0, 2.0), 0.0, 8.0),
            (square(0.0, 7.0, 2.0), 0.0, 8.0),
            // Edges that touch, coincide in part, and all coincide.
            (square(2.0, 0.0, 2.0), 0.0, 8.0),
            (square(0.0, 2.0, 2.0), 0.0, 8.0),
            (square(1.0, 0.0, 2.0), 2.0, 6.0),
            (one, 4.0, 4.0),
        ] {
            assert_eq!(areas(&one, &other), Areas { intersection, union }, "{other:?}");
            assert_eq!(areas(&other, &one), Areas { intersection, union }, "{other:?}");
        }
    }

    #[test]
    fn concave_polygons_may_meet_in_several_pieces() {
        // A comb with two teeth of width one, and a bar of height one across both.
        let comb = [
            [0.0, 0.0],
            [3.0, 0.0],
            [3.0, 4.0],
            [2.0, 4.0],
            [2.0, 1.0],
            [1.0, 1.0],
            [1.0, 4.0],
            [0.0, 4.0],
        ];
        let bar = [[-1.0, 2.0], [4.0, 2.0], [4.0, 3.0], [-1.0, 3.0]];
        assert_eq!(areas(&comb, &bar), Areas { intersection: 2.0, union: 12.0 });
        // The same with the clock.
        let mut backwards = comb;
        backwards.reverse();
        assert_eq!(areas(&backwards, &bar), Areas { intersection: 2.0, union: 12.0 });
    }

    #[test]
    fn slanted_edges_are_cut_where_they_cross() {
        let up = [[0.0, 0.0], [4.0, 0.0], [2.0, 2.0]];
        let down = [[0.0, 2.0], [2.0, 0.0], [4.0, 2.0]];
        let Areas { intersection, union } = areas(&up, &down);
        assert!((intersection - 2.0).abs() < 1e-12 && (union - 6.0).abs() < 1e-12);
    }
}
