//! So many tasks block at a time, each on a stack of its own, and what memory that takes (on Linux).
//!
//! `cargo run --release -p locksley --example blocked -- 10000`

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use locksley::sync::Semaphore;
use locksley::{Pool, block_on};

/// Resident memory of this process in KiB, where the system says so.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tasks: usize = std::env::args().nth(1).map_or(Ok(10_000), |tasks| tasks.parse())?;
    let pool = Pool::builder().workers(2).waiting_stacks(tasks).build()?;
    let (gate, arrived) = (Semaphore::new(0), AtomicUsize::new(0));
    let before = resident();
    let begin = Instant::now();
    pool.in_place_scope(|scope| {
        for _ in 0..tasks {
            scope.spawn(|_| {
                arrived.fetch_add(1, Ordering::Release);
                block_on(gate.acquire()).expect("the gate is not closed").forget();
            });
        }
        while arrived.load(Ordering::Acquire) < tasks {
            std::thread::yield_now();
        }
        let all_wait = begin.elapsed();
        if let (Some(before), Some(now)) = (before, resident()) {
            let grown = now.saturating_sub(before);
            println!("{tasks} blocked tasks: {grown} KiB more are resident, after {all_wait:.1?}");
        }
        gate.add_permits(tasks);
    });
    println!("all have ended after {:.1?}", begin.elapsed());
    if let Some(now) = resident() {
        println!("resident: {now} KiB");
    }
    Ok(())
}
