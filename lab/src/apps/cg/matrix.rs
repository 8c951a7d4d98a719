//! The benchmark's matrix: the sum of outer products of n random sparse vectors with themselves,
//! the i-th of which is weighted with the i-th power of a ratio so that the last weighs a tenth,
//! plus a tenth and minus the shift on the diagonal.

use crate::apps::nas::Sequence;

/// Where the sequence of random numbers begins. The first of them is left out, as in the benchmark.
const SEED: u64 = 314_159_265;

/// The condition: the reciprocal of how far apart the weights of the vectors are.
const CONDITION: f64 = 0.1;

/// What a matrix is made from.
#[derive(Debug)]
pub(super) struct Shape {
    /// Rows, and columns.
    pub(super) side: usize,
    /// Numbers of a random vector, beside the one that is put in place.
    pub(super) nonzeros: usize,
    /// What is subtracted from the diagonal.
    pub(super) shift: f64,
}

/// A sparse matrix, row by row.
#[derive(Debug)]
pub(super) struct Matrix {
    /// Where each row begins, and the last one ends.
    starts: Vec<usize>,
    columns: Vec<u32>,
    numbers: Vec<f64>,
}

impl Matrix {
    /// The matrix of that shape.
    pub(super) fn generate(shape: &Shape) -> Matrix {
        let vectors = vectors(shape);
        let rows_of = transposed(&vectors);
        let ratio = CONDITION.powf(1.0 / shape.side as f64);
        let weights: Vec<f64> = std::iter::successors(Some(1.0), |weight| Some(weight * ratio))
            .take(shape.side)
            .collect();

        let mut matrix = Matrix { starts: vec![0], columns: Vec::new(), numbers: Vec::new() };
        // A row in the making: its numbers, and the columns that have one.
        let mut sums = vec![None; shape.side];
        let mut columns: Vec<u32> = Vec::new();
        for (row, members) in rows_of.iter().enumerate() {
            for &(vector, own) in members {
                let scale = weights[vector] * own;
                for &(column, number) in &vectors[vector] {
                    let mut product = number * scale;
                    if column as usize == row && vector == row {
                        product = product + CONDITION - shape.shift;
                    }
                    let sum = &mut sums[column as usize];
                    if sum.is_none() {
                        columns.push(column);
                    }
                    *sum = Some(sum.unwrap_or(0.0) + product);
                }
            }
            columns.sort_unstable();
            for column in columns.drain(..) {
                matrix.columns.push(column);
                matrix.numbers.extend(sums[column as usize].take());
            }
            matrix.starts.push(matrix.columns.len());
        }
        matrix
    }

    /// A row: its columns, and the numbers in them.
    #[inline]
    pub(super) fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.columns[range.clone()], &self.numbers[range])
    }
}

/// A sparse vector: places, and the numbers there.
type Sparse = Vec<(u32, f64)>;

/// The random vectors. The i-th has a half at place i.
fn vectors(shape: &Shape) -> Vec<Sparse> {
    let mut random = Sequence::new(SEED).after(1);
    // Places are drawn from as many as the next power of two, and those that are too large are
    // drawn again.
    let places = shape.side.next_power_of_two() as f64;
    (0..shape.side)
        .map(|own| {
            let mut vector = Sparse::with_capacity(shape.nonzeros + 1);
            while vector.len() < shape.nonzeros {
                let number = random.next();
                let place = (places * random.next()) as u32;
                let is_new = vector.iter().all(|&(other, _)| other != place);
                if (place as usize) < shape.side && is_new {
                    vector.push((place, number));
                }
            }
            match vector.iter_mut().find(|(place, _)| *place as usize == own) {
                Some((_, number)) => *number = 0.5,
                None => vector.push((own as u32, 0.5)),
            }
            vector
        })
        .collect()
}

/// For each place, the vectors that have a number there, in their order, and that number.
fn transposed(vectors: &[Sparse]) -> Vec<Vec<(usize, f64)>> {
    let mut members = vec![Vec::new(); vectors.len()];
    for (vector, numbers) in vectors.iter().enumerate() {
        for &(place, number) in numbers {
            members[place as usize].push((vector, number));
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { side: 90, nonzeros: 5, shift: 3.0 };

    #[test]
    fn the_matrix_is_the_dense_sum_of_products() {
        let vectors = vectors(&SHAPE);
        let matrix = Matrix::generate(&SHAPE);
        let mut dense = vec![vec![0.0; SHAPE.side]; SHAPE.side];
        for (number, vector) in vectors.iter().enumerate() {
            let weight = CONDITION.powf(number as f64 / SHAPE.side as f64);
            for &(row, a) in vector {
                for &(column, b) in vector {
                    dense[row as usize][column as usize] += weight * a * b;
                }
            }
            dense[number][number] += CONDITION - SHAPE.shift;
        }
        for (number, dense) in dense.iter().enumerate() {
            let (columns, numbers) = matrix.row(number);
            assert!(columns.is_sorted_by(|a, b| a < b));
            let mut row = vec![0.0; SHAPE.side];
            for (&column, &number) in columns.iter().zip(numbers) {
                row[column as usize] = number;
            }
            for (found, expected) in row.iter().zip(dense) {
                assert!((found - expected).abs() < 1e-12, "{number}: {found} {expected}");
            }
        }
    }

    #[test]
    fn vectors_have_distinct_places_and_a_half_at_their_own() {
        for (own, vector) in vectors(&SHAPE).iter().enumerate() {
            assert!([SHAPE.nonzeros, SHAPE.nonzeros + 1].contains(&vector.len()));
            assert_eq!(vector.iter().filter(|&&entry| entry == (own as u32, 0.5)).count(), 1);
            let mut places: Vec<u32> = vector.iter().map(|entry| entry.0).collect();
            places.sort_unstable();
            assert!(places.is_sorted_by(|a, b| a < b) && places.iter().all(|&p| p < 90));
        }
    }
}
