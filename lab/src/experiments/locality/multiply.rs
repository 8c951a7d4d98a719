//! The block matrix multiplication of LASSI's study.

use super::programs::fill;
use super::tasks::{Case, Placed, Task};
use crate::experiment::Readings;
use crate::random::Random;

/// Rows and columns of a block.
const BLOCK: usize = 128;

/// Block matrix multiplication: tasks for the blocks of one row use the same rows of the first
/// matrix. Integers wrap, so that the check is exact.
pub(super) fn multiply(case: &Case<'_>, size: usize) -> Result<Readings, String> {
    let [mut a, mut b, mut product] = [(); 3].map(|()| vec![0; size * size]);
    let blocks = size.div_ceil(BLOCK);
    // Rows of blocks are placed as the tasks that use these rows of the first matrix.
    let best = |row: usize| row * case.places / blocks;
    let best = &best;
    let parts =
        [&mut a, &mut b, &mut product].into_iter().enumerate().flat_map(|(number, matrix)| {
            matrix.chunks_mut(BLOCK * size).enumerate().map(move |(row, part)| {
                let first = number * size * size + row * BLOCK * size;
                let task = move || match number {
                    2 => part.fill(0),
                    _ => fill(part, case, first, |number| number as u32),
                };
                ((best(row), row), Box::new(task) as Task<'_>)
            })
        });
    case.touch(parts);
    let (left, right) = (&a, &b);
    let rows = product.chunks_mut(BLOCK * size).enumerate();
    let tasks = rows.flat_map(|(row, rows)| {
        columns(rows, size).into_iter().enumerate().map(move |(column, mut block)| {
            let at = (row * BLOCK, column * BLOCK);
            let task = move || add_products(&mut block, left, right, size, at);
            // The second number differs for all tasks, and goes round the places by the columns.
            let turn = column + row * blocks * case.places;
            Placed { place: (best(row), turn), task: Box::new(task) }
        })
    });
    let readings = case.run(tasks.collect());
    // Freivalds ("Probabilistic machines can use less running time", 1977): a wrong product passes
    // for one random vector with a probability of one half at the most.
    let mut random = Random::new(case.seed).ahead(2 * (size * size) as u64);
    let times = |matrix: &[u32], vector: &[u32]| -> Vec<u32> {
        let row = |row: &[u32]| {
            row.iter().zip(vector).fold(0_u32, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)))
        };
        matrix.chunks(size).map(row).collect()
    };
    for _ in 0..20 {
        let vector: Vec<u32> = (0..size).map(|_| random.next_u64() as u32).collect();
        if times(&product, &vector) != times(&a, &times(&b, &vector)) {
            return Err("the product is wrong".to_owned());
        }
    }
    Ok(readings)
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

/// One block of the product of two matrices, which begins there.
fn add_products(
    block: &mut [&mut [u32]],
    a: &[u32],
    b: &[u32],
    size: usize,
    (row, column): (usize, usize),
) {
    for from in (0..size).step_by(BLOCK) {
        let until = (from + BLOCK).min(size);
        for (offset, out) in block.iter_mut().enumerate() {
            let left = &a[(row + offset) * size..][from..until];
            for (factor, k) in left.iter().zip(from..) {
                let right = &b[k * size + column..][..out.len()];
                for (sum, element) in out.iter_mut().zip(right) {
                    *sum = sum.wrapping_add(factor.wrapping_mul(*element));
                }
            }
        }
    }
}
