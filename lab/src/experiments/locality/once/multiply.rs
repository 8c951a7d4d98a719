//! Block matrix multiplication: tasks for the blocks of one row use the same rows of the first matrix.

use locksley::Worker;

use super::order::Placed;
use super::shared_deques::Task;
use super::{Case, Timed, touch};
use crate::random::Random;

/// Rows and columns of a block.
const BLOCK: usize = 128;

/// Square, by rows. Integers wrap, so that the check is exact.
struct Matrix {
    size: usize,
    elements: Vec<u32>,
}

impl Matrix {
    /// Of pages that nobody has touched.
    fn new(size: usize) -> Matrix {
        Matrix { size, elements: vec![0; size * size] }
    }

    /// The rows of blocks, to be filled where the tasks are placed that use these rows of the first matrix: with the random numbers from the
    /// `first` one on; or with zeros.
    fn parts<'m>(
        &'m mut self,
        case: &'m Case<'_>,
        first: Option<usize>,
    ) -> impl Iterator<Item = ((usize, usize), Task<'m>)> {
        let (size, blocks) = (self.size, self.size.div_ceil(BLOCK));
        self.elements.chunks_mut(BLOCK * size).enumerate().map(move |(row, part)| {
            let fill = move || match first {
                Some(first) => {
                    touch::with_random(part, case.seed, first + row * BLOCK * size, |number| {
                        number as u32
                    })
                }
                None => part.fill(0),
            };
            ((row * case.places / blocks, row), Box::new(fill) as Task<'_>)
        })
    }

    fn times(&self, vector: &[u32]) -> Vec<u32> {
        let row = |row: &[u32]| {
            row.iter().zip(vector).fold(0_u32, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)))
        };
        self.elements.chunks(self.size).map(row).collect()
    }
}

/// Of matrices with `size` rows.
pub(super) fn measure(worker: &Worker, case: &Case<'_>, size: u64) -> Result<Timed, String> {
    let size = usize::try_from(size).map_err(|_| "no matrix is so large")?;
    let (mut a, mut b, mut product) = (Matrix::new(size), Matrix::new(size), Matrix::new(size));
    let parts = a.parts(case, Some(0)).chain(b.parts(case, Some(size * size)));
    touch::touch(worker, case, parts.chain(product.parts(case, None)));
    let mut random = Random::new(case.seed).ahead(2 * (size * size) as u64);
    let time = multiply(worker, case, &a, &b, &mut product);
    // Freivalds ("Probabilistic machines can use less running time", 1977): a wrong product passes for one random vector with a
    // probability of one half at the most.
    for _ in 0..20 {
        let vector: Vec<u32> = (0..size).map(|_| random.next_u64() as u32).collect();
        if product.times(&vector) != a.times(&b.times(&vector)) {
            return Err("the product is wrong".to_owned());
        }
    }
    Ok(time)
}

fn multiply(
    worker: &Worker,
    case: &Case<'_>,
    a: &Matrix,
    b: &Matrix,
    product: &mut Matrix,
) -> Timed {
    let (size, blocks) = (a.size, a.size.div_ceil(BLOCK));
    let rows = product.elements.chunks_mut(BLOCK * size).enumerate();
    let tasks = rows.flat_map(|(row, rows)| {
        let best = row * case.places / blocks;
        columns(rows, size).into_iter().enumerate().map(move |(column, mut block)| {
            let task = move || fill(&mut block, a, b, (row * BLOCK, column * BLOCK));
            // The second number is another one for each task, and goes round the places by the columns.
            let turn = column + row * blocks * case.places;
            Placed { where_to: (best, turn), data: row, task: Box::new(task) }
        })
    });
    case.time_all(worker, tasks.collect())
}

/// Rows of so many elements, as blocks: of each row one stretch.
fn columns(rows: &mut [u32], size: usize) -> Vec<Vec<&mut [u32]>> {
    let mut columns: Vec<Vec<&mut [u32]>> = Vec::new();
    columns.resize_with(size.div_ceil(BLOCK), Vec::new);
    for row in rows.chunks_mut(size) {
        for (column, stretch) in columns.iter_mut().zip(row.chunks_mut(BLOCK)) {
            column.push(stretch);
        }
    }
    columns
}

/// One block of the product, which begins there.
fn fill(block: &mut [&mut [u32]], a: &Matrix, b: &Matrix, (row, column): (usize, usize)) {
    let size = a.size;
    for from in (0..size).step_by(BLOCK) {
        let until = (from + BLOCK).min(size);
        for (offset, out) in block.iter_mut().enumerate() {
            let left = &a.elements[(row + offset) * size..][from..until];
            for (factor, k) in left.iter().zip(from..) {
                let right = &b.elements[k * size + column..][..out.len()];
                for (sum, element) in out.iter_mut().zip(right) {
                    *sum = sum.wrapping_add(factor.wrapping_mul(*element));
                }
            }
        }
    }
}
