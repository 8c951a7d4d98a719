//! The parallelism of two programs: Fibonacci numbers, which mostly fork, and a merge sort with a
//! serial part.
//!
//! `cargo run --release -p locksley-profile --example profile`

use locksley::{Pool, Worker};
use locksley_profile::Profiler;

fn fib(worker: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

/// A merge sort with serial merges.
fn sort(worker: &Worker, items: &mut [u32]) {
    if items.len() <= 1000 {
        return items.sort_unstable();
    }
    let middle = items.len() / 2;
    let (left, right) = items.split_at_mut(middle);
    worker.join(|w| sort(w, left), |w| sort(w, right));
    let (left, right) = items.split_at(middle);
    let mut merged = Vec::with_capacity(items.len());
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let Some(&&least) = match (left.peek(), right.peek()) {
        (Some(a), Some(b)) if a <= b => left.peek(),
        (_, Some(_)) => right.peek(),
        (_, None) => left.peek(),
    } {
        let from = if left.peek() == Some(&&least) { &mut left } else { &mut right };
        merged.extend(from.next());
    }
    items.copy_from_slice(&merged);
}

fn main() -> Result<(), locksley::BuildError> {
    let profiler = Profiler::new();
    let pool = Pool::builder().observer(profiler.clone()).build()?;
    let (value, report) = profiler.measure(&pool, |worker| fib(worker, 27));
    assert_eq!(value, 196_418);
    println!("fib(27): {report}");

    let mut items: Vec<u32> = (0..2_000_000_u32).map(|n| n.wrapping_mul(2_654_435_761)).collect();
    let ((), report) = profiler.measure(&pool, |worker| sort(worker, &mut items));
    assert!(items.is_sorted());
    print!("merge sort: {report}");
    Ok(())
}
