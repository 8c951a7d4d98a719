//! The cost of an interval from creation to end, on one worker. One item is one interval. Run with
//! `cargo bench -p locksley-intervals`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use criterion::{Criterion, Throughput};
use locksley::Pool;
use locksley_intervals::{IntervalLock, Root};

/// The system's allocator, with a count of the bytes in use.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: it passes everything on.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // No atomic addition, which would slow the measured code: one worker allocates.
        IN_USE.store(IN_USE.load(Ordering::Relaxed) + layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let in_use = IN_USE.load(Ordering::Relaxed);
        IN_USE.store(in_use.wrapping_sub(layout.size()), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Intervals in one root: few, which fit into the nearest cache, and more, with memory that
/// returns to the system with each root.
const ITEMS: [u64; 2] = [1000, 10_000];

/// Each interval comes after the two before it.
fn chain(items: u64) {
    let root = Root::new("root").run(|root| {
        let first = root.interval("first").spawn(|_| ());
        let mut last = [first, first];
        for n in 0..items {
            let next = root.interval("next").after(last[0]).after(last[1]);
            let next = next.spawn(move |_| {
                black_box(n);
            });
            last = [last[1], next];
        }
    });
    assert_eq!(root, Ok(()));
}

fn free(items: u64) {
    let root = Root::new("root").run(|root| {
        for n in 0..items {
            root.interval("free").spawn(move |_| {
                black_box(n);
            });
        }
    });
    assert_eq!(root, Ok(()));
}

fn locked(items: u64) {
    let lock = IntervalLock::new(0);
    let root = Root::new("root").run(|root| {
        for n in 0..items {
            let mut user = root.interval("user");
            let mut key = user.lock(&lock);
            user.spawn(move |cx| *key.get_mut(cx) += n);
        }
    });
    assert_eq!(root, Ok(()));
}

/// Returns the bytes of an interval in a graph of this many, of which none has ended.
fn memory(pool: &Pool, items: u64) -> f64 {
    pool.install(|_| {
        let before = IN_USE.load(Ordering::Relaxed);
        let mut after = 0;
        let root = Root::new("root").run(|root| {
            let first = root.interval("first").spawn(|_| ());
            let mut last = [first, first];
            for _ in 0..items {
                let next = root.interval("next").after(last[0]).after(last[1]);
                last = [last[1], next.spawn(|_| ())];
            }
            after = IN_USE.load(Ordering::Relaxed);
        });
        assert_eq!(root, Ok(()));
        (after - before) as f64 / items as f64
    })
}

fn main() {
    let mut criterion = Criterion::default()
        .configure_from_args()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    let pool = Pool::new(1).expect("a pool of one worker");
    for items in ITEMS {
        let mut group = criterion.benchmark_group(format!("interval, {items} in a root"));
        group.throughput(Throughput::Elements(items));
        group.bench_function("with two edges", |b| b.iter(|| pool.install(|_| chain(items))));
        group.bench_function("with none", |b| b.iter(|| pool.install(|_| free(items))));
        group.bench_function("with a lock", |b| b.iter(|| pool.install(|_| locked(items))));
        group.finish();
    }
    criterion.final_summary();
    println!(
        "a graph of 10^6 with two edges each: {:.1} bytes an interval",
        memory(&pool, 1_000_000)
    );
}
