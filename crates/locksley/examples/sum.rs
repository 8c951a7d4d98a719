//! The README's example, and what the pool did meanwhile: `cargo run --release -p locksley
//! --example sum`.

use locksley::{BuildError, Pool, Worker};

fn sum(worker: &Worker, numbers: &[f64]) -> f64 {
    if numbers.len() <= 4096 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (a, b) = worker.join(|w| sum(w, left), |w| sum(w, right));
    a + b
}

fn main() -> Result<(), BuildError> {
    let numbers = vec![0.5; 4_000_000];
    let pool = Pool::new(4)?;
    let total = pool.install(|worker| sum(worker, &numbers));
    assert_eq!(total, 2_000_000.0);
    println!("{total}");
    println!("{:#?}", pool.stats().total());
    Ok(())
}
