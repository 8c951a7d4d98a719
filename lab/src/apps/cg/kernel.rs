//! Inverse iteration with conjugate gradients.

use std::ops::Range;

use super::check::Class;
use super::matrix::Matrix;
use crate::fork::{Fork, reduce};

/// Steps of the method of conjugate gradients that solve a system well enough, as the benchmark
/// prescribes.
const STEPS: usize = 25;

/// Rows of a leaf of a parallel product: some microseconds.
const PRODUCT_LEAF: usize = 64;

/// Rows of a leaf of the other phases: some microseconds too.
const VECTOR_LEAF: usize = 2048;

/// An eigenvalue, and what tells how good it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    /// The benchmark's zeta.
    pub(super) zeta: f64,
    /// The norm of what the last system's solution leaves of its right side.
    pub(super) residual: f64,
}

impl Estimate {
    /// No answer.
    pub(super) const NONE: Estimate = Estimate { zeta: f64::NAN, residual: f64::NAN };
}

/// The vectors of the method, named as the report names them: A·z = x is solved, r is what is left
/// of x, p is the direction in which z is moved, and q = A·p.
#[derive(Debug, Clone)]
pub(super) struct Vectors {
    x: Vec<f64>,
    z: Vec<f64>,
    r: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
}

impl Vectors {
    /// Those that an iteration begins with.
    pub(super) fn new(side: usize) -> Vectors {
        let zeros = || vec![0.0; side];
        Vectors { x: vec![1.0; side], z: zeros(), r: zeros(), p: zeros(), q: zeros() }
    }

    /// Makes them what an iteration begins with.
    pub(super) fn reset(&mut self) {
        self.x.fill(1.0);
        for vector in [&mut self.z, &mut self.r, &mut self.p, &mut self.q] {
            vector.fill(0.0);
        }
    }
}

/// The direction p of a step and q = A·p, in some rows.
type Directions<'a> = (&'a [f64], &'a [f64]);

/// The solution z and what it leaves, r, in some rows.
type Solution<'a> = (&'a mut [f64], &'a mut [f64]);

/// The whole benchmark, from vectors that were [`reset`](Vectors::reset).
pub(super) fn iterate(
    fork: &impl Fork,
    matrix: &Matrix,
    class: &Class,
    vectors: &mut Vectors,
) -> Estimate {
    let mut estimate = Estimate::NONE;
    for _ in 0..class.iterations {
        estimate.residual = solve(fork, matrix, vectors);
        let Vectors { x, z, .. } = vectors;
        estimate.zeta = class.shape.shift + 1.0 / dot(x, z);
        let length = dot(z, z).sqrt().recip();
        x.iter_mut().zip(&*z).for_each(|(x, z)| *x = length * z);
    }
    estimate
}

/// Solves A·z = x approximately; returns the norm of x − A·z. In each of the three phases of a
/// step, the rows are halved down to a leaf: sums are always added in the same order.
fn solve(fork: &impl Fork, matrix: &Matrix, vectors: &mut Vectors) -> f64 {
    let Vectors { x, z, r, p, q } = vectors;
    let product = |p: &[f64], q: &mut [f64]| {
        let leaf =
            |(rows, q): (Range<u64>, &mut [f64])| multiply(matrix, p, rows.start as usize, q);
        reduce(fork, (0..q.len() as u64, q), PRODUCT_LEAF, leaf, |one, other| one + other)
    };
    z.fill(0.0);
    r.copy_from_slice(x);
    p.copy_from_slice(x);
    let mut rho = dot(r, r);
    for _ in 0..STEPS {
        let alpha = rho / product(p, q);
        let leaf = |(directions, solution): (Directions<'_>, Solution<'_>)| {
            advance(alpha, directions, solution)
        };
        let all = ((&p[..], &q[..]), (&mut z[..], &mut r[..]));
        let next = reduce(fork, all, VECTOR_LEAF, leaf, |one, other| one + other);
        let leaf = |(r, p): (&[f64], &mut [f64])| turn(next / rho, r, p);
        reduce(fork, (&r[..], &mut p[..]), VECTOR_LEAF, leaf, |(), ()| ());
        rho = next;
    }
    product(z, q);
    x.iter().zip(&*q).map(|(x, q)| (x - q) * (x - q)).sum::<f64>().sqrt()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Computes q = A·p in the rows from number `first` on; returns these rows' part of p·q. Never
/// inlined, as the two below, so that all versions execute the same code.
#[inline(never)]
fn multiply(matrix: &Matrix, p: &[f64], first: usize, q: &mut [f64]) -> f64 {
    let mut product = 0.0;
    for (row, q) in (first..).zip(q) {
        let (columns, numbers) = matrix.row(row);
        let terms =
            columns.iter().zip(numbers).map(|(&column, number)| number * p[column as usize]);
        *q = terms.sum();
        product += p[row] * *q;
    }
    product
}

/// Moves z along p, and takes that from r; returns these rows' part of r·r.
#[inline(never)]
fn advance(by: f64, (p, q): Directions<'_>, (z, r): Solution<'_>) -> f64 {
    let mut rho = 0.0;
    for ((z, r), (p, q)) in z.iter_mut().zip(r).zip(p.iter().zip(q)) {
        *z += by * p;
        *r -= by * q;
        rho += *r * *r;
    }
    rho
}

/// Makes the direction p one that is conjugate to those before.
#[inline(never)]
fn turn(beta: f64, r: &[f64], p: &mut [f64]) {
    for (p, r) in p.iter_mut().zip(r) {
        *p = r + beta * *p;
    }
}
