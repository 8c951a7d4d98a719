//! instant-distance: an HNSW index (hierarchical navigable small worlds) is built and searched.

mod random;

use instant_distance::{Builder, Search};

const DIMENSIONS: usize = 16;
const QUERIES: usize = 100;

#[derive(Clone)]
struct Point([f32; DIMENSIONS]);

impl instant_distance::Point for Point {
    fn distance(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| (a - b) * (a - b)).sum()
    }
}

fn main() {
    let mut numbers = random::numbers();
    let mut point = || Point(std::array::from_fn(|_| random::unit(numbers.next().unwrap()) as f32));
    let points: Vec<Point> = (0..10_000).map(|_| point()).collect();
    let queries: Vec<Point> = (0..QUERIES).map(|_| point()).collect();
    let (index, ids) = Builder::default().seed(1998).build_hnsw(points.clone());
    let distance = |a: &Point, b: &Point| instant_distance::Point::distance(a, b);
    let is_found = |query: &&Point| {
        let nearest = (0..points.len())
            .min_by(|&a, &b| distance(query, &points[a]).total_cmp(&distance(query, &points[b])));
        let mut search = Search::default();
        let found = index.search(query, &mut search).next().map(|item| item.pid);
        nearest.is_some_and(|nearest| found == Some(ids[nearest]))
    };
    // Which ones are missed depends on the order of insertions.
    let found = queries.iter().filter(is_found).count();
    println!("nine of ten nearest points are found: {}", found * 10 >= QUERIES * 9);
}
