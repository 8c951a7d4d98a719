//! The benchmark's classes, and the eigenvalues that NAS publishes for them (version 3 of its
//! sources; RNR-94-007 has class A's with fewer digits).

use super::kernel::Estimate;
use super::matrix::Shape;
use crate::apps::check::is_below;

/// How much an eigenvalue may differ: as in the benchmark.
const TOLERANCE: f64 = 1e-10;

/// What a system's solution may leave of its right side, which has length one. The eigenvalue alone
/// says nothing about the last one.
const RESIDUAL: f64 = 1e-8;

/// A class of the benchmark.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) iterations: usize,
    zeta: f64,
}

pub(super) static CLASSES: [Class; 4] = [
    class("S", [1_400, 7, 15], 10.0, 8.597_177_507_864_8),
    class("W", [7_000, 8, 15], 12.0, 10.362_595_087_124),
    class("A", [14_000, 11, 15], 20.0, 17.130_235_054_029),
    class("B", [75_000, 13, 75], 60.0, 22.712_745_482_631),
];

const fn class(name: &'static str, counts: [usize; 3], shift: f64, zeta: f64) -> Class {
    let [side, nonzeros, iterations] = counts;
    Class { name, shape: Shape { side, nonzeros, shift }, iterations, zeta }
}

/// Whether the answer is the class's.
pub(super) fn verify(found: &Estimate, class: &Class) -> Result<(), String> {
    if !is_below((found.zeta - class.zeta).abs(), TOLERANCE) {
        return Err(format!("zeta is {} and should be {}", found.zeta, class.zeta));
    }
    if !is_below(found.residual, RESIDUAL) {
        return Err(format!("the last residual is {:e}, more than {RESIDUAL:e}", found.residual));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{self, Vectors};
    use super::super::matrix::Matrix;
    use super::*;
    use crate::fork::Rayon;
    use crate::fork::Serial;

    #[test]
    fn class_s_is_verified_and_wrong_answers_are_not() {
        let class = &CLASSES[0];
        let matrix = Matrix::generate(&class.shape);
        let mut vectors = Vectors::new(class.shape.side);
        let found = kernel::iterate(&Serial, &matrix, class, &mut vectors);
        verify(&found, class).unwrap();
        assert!(verify(&found, &CLASSES[1]).is_err());
        for wrong in [2e-10, -1.0, f64::NAN] {
            assert!(verify(&Estimate { zeta: found.zeta + wrong, ..found }, class).is_err());
        }
        for residual in [1e-3, f64::NAN] {
            assert!(verify(&Estimate { residual, ..found }, class).is_err());
        }
        assert!(verify(&Estimate::NONE, class).is_err());
    }

    /// Sums are added in an order that depends on the rows alone.
    #[test]
    fn parallel_answers_are_the_same_bit_for_bit() {
        let class = Class {
            shape: Shape { side: 5000, nonzeros: 3, shift: 10.0 },
            iterations: 2,
            name: "",
            zeta: 0.0,
        };
        let matrix = Matrix::generate(&class.shape);
        let run = |iterate: &dyn Fn(&mut Vectors) -> Estimate| {
            let found = iterate(&mut Vectors::new(class.shape.side));
            [found.zeta.to_bits(), found.residual.to_bits()]
        };
        let rayon = || run(&|vectors| kernel::iterate(&Rayon, &matrix, &class, vectors));
        let expected = rayon();
        for workers in [1, 2, 5] {
            let pool = locksley::Pool::new(workers).unwrap();
            let found = run(&|vectors| {
                pool.install(|worker| kernel::iterate(worker, &matrix, &class, vectors))
            });
            assert_eq!(found, expected);
            assert_eq!(rayon(), expected);
        }
    }
}
