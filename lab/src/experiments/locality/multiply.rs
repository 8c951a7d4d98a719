//! The block matrix multiplication of LASSI's study.

use std::array;

use super::UNBOUND;
use super::programs::fill;
use super::tasks::{Case, Task, Where};
use crate::experiment::prelude::*;
use crate::random::Random;

/// Rows and columns that are multiplied at a time.
pub(super) const BLOCK: usize = 128;

/// A matrix by its quarters 0 to 3, row by row.
type Quarters = [Vec<u32>; 4];

pub(super) const PRODUCTS: usize = 8;

/// The best places of the quarters of the product.
const PLACES: [usize; 4] = [0, 1, 1, 0];

/// The best place of a quarter, and a number for each part. Numbers of products are a multiple of
/// the number of places apart, so that these are at their best places, and sums are one place
/// further.
pub(super) fn of_product(number: usize, places: usize) -> Where {
    (PLACES[number / 2] % places, number * places)
}

pub(super) fn of_sum(quarter: usize, places: usize) -> Where {
    (PLACES[quarter] % places, (quarter + PRODUCTS) * places + 1)
}

/// The quarters of the left and of the right factor that a product multiplies.
pub(super) fn inputs_of(product: usize) -> (usize, usize) {
    let (row, column, inner) = (product / 4, product / 2 % 2, product % 2);
    (2 * row + inner, 2 * inner + column)
}

/// Block matrix multiplication, as the study has it: eight products of quarters in parallel, and
/// then four sums of two of these. At best, the products and the sum of a quarter are at one place;
/// at worst, the sum is at another one. Integers wrap, so that the check is exact. An odd number of
/// rows is rounded up.
pub(super) fn multiply(case: &Case<'_>, size: usize) -> Outcome<Readings> {
    let half = size.div_ceil(2);
    let zeros = || vec![0; half * half];
    let [mut a, mut b, mut sums]: [Quarters; 3] = array::from_fn(|_| array::from_fn(|_| zeros()));
    let mut products: [Vec<u32>; PRODUCTS] = array::from_fn(|_| zeros());
    let of_product = |number| of_product(number, case.places);
    let of_sum = |quarter| of_sum(quarter, case.places);
    let inputs = a.iter_mut().chain(&mut b).enumerate().map(|(number, part)| {
        let first = number * half * half;
        let task = move || fill(part, case, first, |number| number as u32);
        (of_product(number % 4 * 2), Box::new(task) as Task<'_>)
    });
    let zeroed = products.iter_mut().enumerate().map(|(number, part)| (of_product(number), part));
    let zeroed = zeroed.chain(sums.iter_mut().enumerate().map(|(it, part)| (of_sum(it), part)));
    let zeroed = zeroed.map(|(place, part)| (place, Box::new(move || part.fill(0)) as Task<'_>));
    case.touch(inputs.chain(zeroed));

    let (left, right) = (&a, &b);
    let multiplying = products.iter_mut().enumerate().map(|(number, product)| {
        let (of_left, of_right) = inputs_of(number);
        let task = move || add_product(product, &left[of_left], &right[of_right]);
        (of_product(number), Box::new(task) as Task<'_>)
    });
    let mut readings = case.run(multiplying.collect())?;
    let terms = products.chunks_exact(2).zip(&mut sums).enumerate();
    let adding = terms.map(|(quarter, (terms, sum))| {
        let task = move || {
            for (sum, (one, other)) in sum.iter_mut().zip(terms[0].iter().zip(&terms[1])) {
                *sum = one.wrapping_add(*other);
            }
        };
        (of_sum(quarter), Box::new(task) as Task<'_>)
    });
    for (metric, value) in case.run(adding.collect())?.into_iter().filter(|it| it.0 != UNBOUND) {
        *readings.entry(metric).or_default() += value;
    }
    check(case, [&a, &b, &sums], half).map(|()| readings)
}

/// Freivalds ("Probabilistic machines can use less running time", 1977): a wrong product passes for
/// one random vector with a probability of one half at the most.
fn check(case: &Case<'_>, [a, b, product]: [&Quarters; 3], half: usize) -> Outcome<()> {
    let times = |matrix: &Quarters, vector: &[u32]| -> Vec<u32> {
        let dot = |row: &[u32], part: &[u32]| {
            row.iter().zip(part).fold(0_u32, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)))
        };
        let (upper, lower) = vector.split_at(half);
        let row = |row: usize| {
            let of = |side: usize| &matrix[row / half * 2 + side][row % half * half..][..half];
            dot(of(0), upper).wrapping_add(dot(of(1), lower))
        };
        (0..2 * half).map(row).collect()
    };
    let mut random = Random::new(case.seed).ahead(8 * (half * half) as u64);
    for _ in 0..20 {
        let vector = random.integers(2 * half);
        if times(product, &vector) != times(a, &times(b, &vector)) {
            return Err(Fault::run("the product is wrong"));
        }
    }
    Ok(())
}

/// Adds the product of two square matrices, by blocks.
fn add_product(product: &mut [u32], a: &[u32], b: &[u32]) {
    let size = product.len().isqrt();
    let starts = || (0..size).step_by(BLOCK);
    for (left, from) in starts().flat_map(|left| starts().map(move |from| (left, from))) {
        let (right, until) = ((left + BLOCK).min(size), (from + BLOCK).min(size));
        for (row, out) in product.chunks_exact_mut(size).enumerate() {
            for k in from..until {
                let factor = a[row * size + k];
                for (sum, element) in out[left..right].iter_mut().zip(&b[k * size + left..]) {
                    *sum = sum.wrapping_add(factor.wrapping_mul(*element));
                }
            }
        }
    }
}
