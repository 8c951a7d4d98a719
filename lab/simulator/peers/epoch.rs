//! What crossbeam's collector costs thieves that find nothing: each thread steals from the empty
//! deques of others, which pins the thread, and every 128th pin looks at all threads.
//!
//! Prints for each number of processors the virtual time and the transfers of a steal, and where in
//! the source lines moved: means of `SEEDS` runs.

use std::collections::BTreeMap;
use std::time::Duration;

use crossbeam_deque::Worker;
use manycore::coherence::CacheCosts;
use manycore::time::Instant;
use manycore::{Cpu, Machine, Statistics, os, thread};

#[global_allocator]
static ALLOCATOR: manycore::Allocator = manycore::Allocator;

const STEALS: usize = 2_000;
const SEEDS: u64 = 9;

fn main() {
    for argument in std::env::args().skip(1) {
        let processors = argument.parse().expect("numbers of processors");
        print(processors);
    }
}

fn print(processors: usize) {
    let (mut time, mut transfers, mut all) = (0.0, 0, 0);
    let mut sites: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 1..=SEEDS {
        let (of_threads, of) = run(processors, seed);
        time += of_threads;
        transfers += of.caches.misses();
        for (site, count) in &of.all_sites {
            let (_, file) = site.file().split_once("vendor/").unwrap_or(("", site.file()));
            *sites.entry(format!("{file}:{}", site.line())).or_default() += count;
            all += count;
        }
    }
    let steals = (STEALS * processors) as f64 * SEEDS as f64;
    let (time, transfers) = (time / steals, transfers as f64 / steals);
    print!("{processors:4} processors: {time:4.0} ns, {transfers:.2} transfers for each steal");
    let mut sites: Vec<_> = sites.into_iter().collect();
    sites.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (site, count) in &sites[..4.min(sites.len())] {
        print!("; {:.0} % {site}", 100.0 * f64::from(*count) / f64::from(all));
    }
    println!();
}

/// Two sockets of 56 cores with two threads each, as where the false sharing was seen, or a part.
/// Returns the nanoseconds of all threads.
fn run(processors: usize, seed: u64) -> (f64, Statistics) {
    let sockets = processors.div_ceil(112);
    let smt = if processors > 112 { 2 } else { 1 };
    let machine = Machine::builder().sockets(sockets).cores(processors / sockets / smt).smt(smt);
    let machine = machine.costs(CacheCosts::ice_lake_8375c()).seed(seed).sites(true);
    let outcome = machine.run(move || {
        let deques: Vec<_> = (0..processors).map(|_| Worker::<u64>::new_fifo()).collect();
        let stealers: Vec<_> = deques.iter().map(Worker::stealer).collect();
        let begin = Instant::now() + Duration::from_millis(50);
        let steal = |cpu: u16| {
            os::set_affinity(thread::current().id(), &[Cpu(cpu)].into_iter().collect());
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
            let steal = &steal;
            let start = |cpu| scope.spawn(move || steal(cpu));
            let threads: Vec<_> = (0..processors as u16).map(start).collect();
            threads.into_iter().map(|it| it.join().expect("it ends")).sum()
        })
    });
    (outcome.value, outcome.statistics)
}
