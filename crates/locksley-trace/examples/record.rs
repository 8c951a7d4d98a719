//! Records a merge sort into the file that `LOCKSLEY_TRACE` names:
//! `LOCKSLEY_TRACE=sort.trace cargo run --release -p locksley-trace --example record`, and then
//! `cargo run --release -- trace sort.trace --html sort.html`.

use locksley::Worker;
use locksley_trace::span;

fn sort(worker: &Worker, items: &mut [u64]) {
    if items.len() < 20_000 {
        let _span = span("leaf");
        return items.sort_unstable();
    }
    let middle = items.len() / 2;
    {
        let _span = span("partition");
        items.select_nth_unstable(middle);
    }
    let (low, high) = items.split_at_mut(middle);
    worker.join(|worker| sort(worker, low), |worker| sort(worker, high));
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let recording = locksley_trace::init()?;
    if recording.is_none() {
        println!("LOCKSLEY_TRACE names no file, so nothing is recorded");
    }
    let mut items: Vec<u64> = (0..2_000_000).map(|n| n * 7_919 % 2_000_003).collect();
    locksley::Pool::global().install(|worker| sort(worker, &mut items));
    assert!(items.is_sorted());
    Ok(())
}
