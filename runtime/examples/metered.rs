//! What a program's parallelism is, and what it costs to know: Fibonacci numbers, whose forks do nothing else, and a tree with leaves of a
//! microsecond, metered and not; and a sort with a serial part.
//!
//! `cargo run --release -p locksley --example metered`

use std::hint::black_box;
use std::time::Instant;

use locksley::{Pool, Worker};

fn fib(worker: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

/// So many steps that follow on each other.
fn leaf(steps: u64) -> u64 {
    (0..steps).fold(black_box(1), |mut x, _| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^ (x << 17)
    })
}

fn tree(worker: &Worker, depth: u32, steps: u64) -> u64 {
    if depth == 0 {
        return leaf(steps);
    }
    let (a, b) = worker.join(|w| tree(w, depth - 1, steps), |w| tree(w, depth - 1, steps));
    a ^ b
}

fn nanos<R>(task: impl FnOnce() -> R) -> f64 {
    let begin = Instant::now();
    black_box(task());
    begin.elapsed().as_nanos() as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// What a fork takes, unmetered and metered, in turn on one worker.
fn compare(
    name: &str,
    forks: f64,
    task: impl Fn(&Worker) -> u64 + Sync,
) -> Result<(), locksley::BuildError> {
    const TIMES: usize = 21;
    let pool = Pool::builder().workers(1).build()?;
    let both = || [pool.run(|w| nanos(|| task(w))), pool.metered(|w| nanos(|| task(w))).0];
    both();
    let (off, on) = (0..TIMES).map(|_| both().into()).unzip::<f64, f64, Vec<_>, Vec<_>>();
    let [off, on] = [off, on].map(|times| median(times) / forks);
    println!("{name}: a fork takes {off:.1} ns, metered {on:.1} ns: {:.1} ns more", on - off);
    Ok(())
}

/// A merge sort whose merges are serial.
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
    compare("fib(25)", 121_392.0, |w| fib(w, 25))?;
    let steps = 1000.0 * 1e6 / median((0..9).map(|_| nanos(|| leaf(1_000_000))).collect());
    compare("leaves of 1 µs", 4095.0, |w| tree(w, 12, steps as u64))?;

    let pool = Pool::builder().build()?;
    let (value, report) = pool.metered(|worker| fib(worker, 27));
    assert_eq!((value, report.forks), (196_418, 317_810));
    println!("fib(27): {report}");

    let mut items: Vec<u32> = (0..2_000_000_u32).map(|n| n.wrapping_mul(2_654_435_761)).collect();
    let ((), report) = pool.metered(|worker| sort(worker, &mut items));
    assert!(items.is_sorted());
    print!("merge sort: {report}");
    Ok(())
}
