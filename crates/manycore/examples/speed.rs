//! How many events and accesses the engine handles in a second of the host.

use std::time::Duration;

use manycore::sync::atomic::{AtomicU64, Ordering::Relaxed};
use manycore::{Machine, Outcome, os, thread};

#[global_allocator]
static ALLOCATOR: manycore::Allocator = manycore::Allocator;

fn main() {
    report("an empty run", Machine::builder().run(|| ()));
    report(
        "loads of an owned line",
        Machine::builder().run(|| {
            let word = AtomicU64::new(0);
            for _ in 0..100_000_000_u64 {
                std::hint::black_box(word.load(Relaxed));
            }
        }),
    );
    for processors in [2, 16, 64, 256] {
        let outcome = Machine::builder().cores(processors).run(move || {
            let word = AtomicU64::new(0);
            thread::scope(|scope| {
                for _ in 0..processors {
                    scope.spawn(|| {
                        for _ in 0..1_000_000 / processors {
                            word.fetch_add(1, Relaxed);
                        }
                    });
                }
            });
        });
        report(&format!("additions on {processors} processors"), outcome);
        let outcome = Machine::builder().cores(processors).run(move || {
            thread::scope(|scope| {
                for _ in 0..processors {
                    scope.spawn(|| {
                        for _ in 0..1_000_000 / processors {
                            os::work(Duration::from_nanos(1000));
                        }
                    });
                }
            });
        });
        report(&format!("work of 1 µs on {processors} processors"), outcome);
    }
}

fn report<T>(name: &str, outcome: Outcome<T>) {
    let of = outcome.statistics;
    let seconds = of.host.as_secs_f64();
    let millions = |count: u64| count as f64 / seconds / 1e6;
    println!(
        "{name}: {:.1} ms of {:.0}; millions per second: {:.1} events, {:.1} switches, {:.0} hits",
        seconds * 1e3,
        of.time as f64 / 1e6,
        millions(of.events),
        millions(of.switches),
        millions(of.caches.hits),
    );
}
