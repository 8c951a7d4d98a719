//! faer: matrices are factorized, and multiplied out again.

mod random;

use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;

fn main() {
    let mut numbers = random::numbers();
    let mut matrix =
        |side| Mat::from_fn(side, side, |_, _| random::unit(numbers.next().unwrap()) - 0.5);
    let check = |name: &str, original: &Mat<f64>, product: Mat<f64>| {
        let is_right = (original - product).norm_max() < 1e-9;
        println!("{name} of {}: {is_right}", original.nrows());
    };
    for _ in 0..40 {
        let small = matrix(200);
        check("LU", &small, small.partial_piv_lu().reconstruct());
        check("QR", &small, small.qr().reconstruct());
    }
    let large = matrix(800);
    check("QR", &large, large.qr().reconstruct());
    let medium = matrix(250);
    check("SVD", &medium, medium.svd().expect("it converges").reconstruct());
}
