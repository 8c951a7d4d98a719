//! Random networks, under every placement, number of workers and capacity, against a sequential
//! interpreter.
//!
//! A process is a script of sends and receives. Kahn's theorem says that what it sends and receives
//! depends on the scripts alone. The fuzz target `network` compares the same way.

#![cfg(not(loom))]

mod run;
mod scripts;

use locksley::Pool;
use locksley::os::Assists;
use locksley::task::Placement;
use run::run_and_compare;
use scripts::{Choices, PROCESSES, Scripts};

/// xorshift64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

impl Choices for Random {
    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 16) as usize % end
    }
}

#[test]
fn the_result_does_not_depend_on_the_schedule() {
    let pools: Vec<_> = [1, 2, 3, 5]
        .into_iter()
        .flat_map(|workers| {
            [Placement::Last, Placement::Current].map(|placement| {
                let pool = Pool::builder().workers(workers).placement(placement);
                pool.replacements(PROCESSES).build().unwrap()
            })
        })
        // Networks on this pool are shared from the start.
        .chain([1, 3].map(|workers| {
            let pool = Pool::builder().workers(workers).assists(Assists::NONE);
            pool.replacements(PROCESSES).build().unwrap()
        }))
        .collect();
    let mut random = Random(0x5eed);
    let (mut ended, mut stuck, mut grown) = (0, 0, 0);
    for round in 0..250 {
        let mut scripts = Scripts::random(&mut random);
        if round % 3 == 0 {
            scripts.disturb(&mut random);
        }
        for pool in &pools {
            let most = [1, 3, 12][random.below(3)];
            let capacities: Vec<_> =
                scripts.channels.iter().map(|_| 1 + random.below(most)).collect();
            // None of them, some, or all.
            let blocking = [0, random.next(), u64::MAX][random.below(3)];
            match run_and_compare(&scripts, &capacities, blocking, pool) {
                Some(times_grown) => (ended, grown) = (ended + 1, grown + times_grown),
                None => stuck += 1,
            }
        }
    }
    assert!(ended > 1000 && stuck > 30, "both kinds: {ended}, {stuck}");
    assert!(grown > 100, "capacities are too small for many of them: {grown}");
}
