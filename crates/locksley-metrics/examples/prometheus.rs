//! Prints the counters of a pool as text for Prometheus, and what it did in an interval.

use locksley::Worker;
use locksley_metrics::{PoolMonitor, prometheus};

fn fib(worker: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

fn main() -> Result<(), locksley::BuildError> {
    let pool = locksley::Pool::new(2)?;
    let mut monitor = PoolMonitor::new(&pool);
    assert_eq!(pool.install(|worker| fib(worker, 27)), 196_418);
    print!("{}", prometheus::text("main", &pool.stats()));
    println!("# {:?}", monitor.next_interval());
    Ok(())
}
