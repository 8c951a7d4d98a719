//! A program whose phases have different parallelism: how many workers are awake in each.

use std::time::{Duration, Instant};

use locksley::Pool;

use crate::experiments::turnkey::contestant::Contestant;
use crate::experiments::turnkey::record::{Phase, Reading};
use crate::fault::{Fault, Outcome};
use crate::rounds::Round;
use crate::runtimes::Crew;

/// The parallelism of each phase, in the order in which they come.
pub const PHASES: [u64; 3] = [1, 4, 64];

/// Some ten microseconds: shorter than what it takes to wake somebody, on some machines.
const LEAF: u64 = 20_000;

pub(super) fn measure(of: &Contestant, time: Duration) -> Outcome<Reading> {
    let crew = of.start()?;
    let Crew::Locksley(pool) = &crew else {
        return Err(Fault::input(format!("{of} says nothing of its workers")));
    };
    let mut phases = Vec::new();
    // Twice, so that each comes after another one.
    for parallelism in PHASES.into_iter().chain(PHASES) {
        let round = Round { leaf: LEAF, chunks: parallelism, serial: 0 }.validate()?;
        // Around both, so that nobody is awake for longer than that.
        let begun = Instant::now();
        let before = spent(pool);
        let rate = round.repeat_on(&crew, time)?;
        let (after, wall) = (spent(pool), begun.elapsed().as_secs_f64());
        phases.push(Phase {
            parallelism,
            working: (after.0 - before.0) / wall,
            awake: (after.1 - before.1) / wall,
            rounds_per_s: rate.per_second(),
        });
    }
    Ok(Reading::Phases { phases: phases.split_off(PHASES.len()), workers: pool.workers() })
}

/// For how long all workers together have worked, and have been awake.
fn spent(pool: &Pool) -> (f64, f64) {
    let total = pool.stats().total();
    let working = total.working.as_secs_f64();
    (working, working + total.searching.as_secs_f64())
}
