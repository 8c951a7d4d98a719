//! Graph500's generator of edges (the specification, version 1.2, "Kernel 1"): the adjacency matrix
//! is halved both ways, again and again, and at each time an edge falls into one of the quarters,
//! with probabilities that make the graph as uneven as social networks are. Then the vertices'
//! numbers are permuted.

use super::graph::{Edges, Vertex};
use crate::random::Random;

/// More vertices than that cannot be numbered.
pub(super) const LARGEST_SCALE: usize = 31;

/// The probabilities of the first three quarters; the last has what is left.
const A: f64 = 0.57;
const B: f64 = 0.19;
const C: f64 = 0.19;

/// The edges of a graph of so many vertices, `factor` times as many. If the number is no power of
/// two, edges that lead to larger vertices are drawn again.
pub(super) fn generate(vertices: usize, factor: usize, random: &mut Random) -> Edges {
    let scale = vertices.next_power_of_two().ilog2() as usize;
    let numbers = permutation(vertices, random);
    let edge = |_| loop {
        let ends = edge(scale, random);
        if ends.iter().all(|&end| end < vertices) {
            break ends.map(|end| numbers[end]);
        }
    };
    let list = (0..vertices * factor).map(edge).collect();
    Edges { vertices, list }
}

/// An edge, before its ends are renumbered: bit by bit, the row and then, given the row, the
/// column.
fn edge(scale: usize, random: &mut Random) -> [usize; 2] {
    let lower = threshold(A + B);
    let right = [threshold(A / (A + B)), threshold(C / (1.0 - (A + B)))];
    let (mut row, mut column) = (0, 0);
    for _ in 0..scale {
        // Halves of one random word: more than these probabilities can tell apart.
        let word = random.next_u64();
        let row_bit = usize::from(word >> 32 > lower);
        let column_bit = usize::from(word & 0xffff_ffff > right[row_bit]);
        row = row << 1 | row_bit;
        column = column << 1 | column_bit;
    }
    [row, column]
}

/// What a random 32-bit word exceeds, unless with that probability.
fn threshold(probability: f64) -> u64 {
    (probability * (1u64 << 32) as f64) as u64
}

/// All numbers below `length` in a random order.
fn permutation(length: usize, random: &mut Random) -> Vec<Vertex> {
    let mut numbers: Vec<Vertex> = (0..length).map(|number| number as Vertex).collect();
    random.shuffle(&mut numbers);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_fall_into_the_quarters_as_often_as_they_should() {
        const EDGES: usize = 40_000;
        let mut random = Random::new(6);
        // By the first bits and by the last bits, of which the latter must be as likely.
        let mut first = [0; 4];
        let mut last = [0; 4];
        for _ in 0..EDGES {
            let [row, column] = edge(9, &mut random);
            assert!(row < 512 && column < 512);
            first[(row >> 8) * 2 + (column >> 8)] += 1;
            last[(row & 1) * 2 + (column & 1)] += 1;
        }
        for counts in [first, last] {
            for (count, p) in counts.into_iter().zip([A, B, C, 1.0 - A - B - C]) {
                // Five standard deviations.
                let limit = 5.0 * (p * (1.0 - p) / EDGES as f64).sqrt();
                assert!((f64::from(count) / EDGES as f64 - p).abs() < limit, "{counts:?}");
            }
        }
    }

    #[test]
    fn a_permutation_has_every_number_once_and_elsewhere() {
        let mut numbers = permutation(1000, &mut Random::new(2));
        assert!(numbers.iter().enumerate().filter(|&(at, &n)| at == n as usize).count() < 10);
        numbers.sort_unstable();
        assert!(numbers.iter().enumerate().all(|(at, &number)| at == number as usize));
    }

    #[test]
    fn graphs_have_the_edges_that_their_size_says() {
        for vertices in [64, 50] {
            let edges = generate(vertices, 5, &mut Random::new(1));
            assert_eq!((edges.vertices, edges.list.len()), (vertices, 5 * vertices));
            assert!(edges.list.iter().flatten().all(|&end| (end as usize) < vertices));
        }
        let edges = generate(64, 5, &mut Random::new(1));
        let other = generate(64, 5, &mut Random::new(2));
        assert_ne!(edges.list, other.list);
    }
}
