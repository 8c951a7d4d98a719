//! What crossbeam's collector costs thieves that find nothing: each thread steals from the empty
//! deques of others, which pins the thread, and every 128th pin looks at all threads.
//!
//! Prints for each number of processors the virtual time and the transfers of a steal, and where in
//! the source the hottest lines moved.

use std::collections::BTreeMap;
use std::panic::Location;
use std::time::Duration;

use crossbeam_deque::Worker;
use manycore::coherence::CacheCosts;
use manycore::time::Instant;
use manycore::{Machine, os, thread};

#[global_allocator]
static ALLOCATOR: manycore::Allocator = manycore::Allocator;

const STEALS: usize = 2_000;

fn main() {
    for argument in std::env::args().skip(1) {
        let processors = argument.parse().expect("numbers of processors");
        println!("{processors:4} processors: {}", measure(processors));
    }
}

/// Two sockets of 56 cores with two threads each, as where the false sharing was seen, or a part.
fn measure(processors: usize) -> String {
    let sockets = processors.div_ceil(112);
    let smt = if processors > 112 { 2 } else { 1 };
    let machine = Machine::builder().sockets(sockets).cores(processors / sockets / smt).smt(smt);
    let outcome = machine.costs(CacheCosts::ice_lake_8375c()).sites(true).run(|| {
        let deques: Vec<_> = (0..processors).map(|_| Worker::<u64>::new_fifo()).collect();
        let stealers: Vec<_> = deques.iter().map(Worker::stealer).collect();
        let begin = Instant::now() + Duration::from_millis(50);
        let steal = || {
            crossbeam_epoch::pin();
            thread::sleep(begin - Instant::now());
            let start = Instant::now();
            for _ in 0..STEALS {
                let victim = os::random() as usize % processors;
                assert!(stealers[victim].steal().is_empty());
            }
            start.elapsed().as_nanos() as f64
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..processors).map(|_| scope.spawn(steal)).collect();
            threads.into_iter().map(|it| it.join().expect("it ends")).sum::<f64>()
        })
    });
    let steals = (STEALS * processors) as f64;
    let time = outcome.value / steals;
    let of = outcome.statistics;
    let transfers = of.caches.misses() as f64 / steals;
    let mut sites: BTreeMap<String, u32> = BTreeMap::new();
    for (site, count) in of.sites.iter().flatten() {
        *sites.entry(short(site)).or_default() += count;
    }
    let all: u32 = sites.values().sum();
    let mut sites: Vec<_> = sites.into_iter().collect();
    sites.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let share = |count: &u32| 100.0 * f64::from(*count) / f64::from(all);
    let sites = sites.iter().take(4).map(|(site, n)| format!("{:.0} % {site}", share(n)));
    let sites = sites.collect::<Vec<_>>().join(", ");
    format!("{time:6.0} ns, {transfers:.2} transfers for each steal; hottest: {sites}")
}

fn short(site: &Location<'_>) -> String {
    let (_, file) = site.file().split_once("vendor/").unwrap_or(("", site.file()));
    format!("{file}:{}", site.line())
}
