//! A program that is moved between control groups while it works: how soon its pool follows.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;
use locksley::os::Processors;

use super::groups::Ground;
use crate::experiments::turnkey::contestant::Contestant;
use crate::experiments::turnkey::record::Reading;
use crate::fault::{Fault, Outcome};
use crate::rounds::Round;
use crate::runtimes::Crew;

const ROUND: Round = Round { leaf: 5000, chunks: 64, serial: 0 };
/// After this it counts as not having followed.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn measure(of: &Contestant, time: Duration) -> Outcome<Reading> {
    let ground = Ground::find().map_err(Fault::run)?;
    let free = ground.group("free", None)?;
    let tight = ground.group("tight", Some(100))?;
    free.enter()?;
    let crew = of.start()?;
    let Crew::Locksley(pool) = &crew else {
        return Err(Fault::input(format!("{of} says nothing of its workers")));
    };
    let all = Processors::allowed().count_up();
    let done = AtomicBool::new(false);
    // This thread moves the process and watches, and another has it work.
    let [lowered, raised] = thread::scope(|scope| {
        let worker = scope.spawn(|| -> Outcome<()> {
            while !done.load(Ordering::Acquire) {
                ROUND.repeat_on(&crew, Duration::from_millis(5))?;
            }
            Ok(())
        });
        let follow = |size: usize, enter: &dyn Fn() -> Outcome<()>| -> Outcome<f64> {
            thread::sleep(time / 2);
            let begun = Instant::now();
            enter()?;
            follows(pool, size, begun)
        };
        let lowered = follow(1, &|| tight.enter());
        let raised = follow(all, &|| free.enter());
        done.store(true, Ordering::Release);
        worker.join().expect("it does not panic")?;
        Ok::<_, Fault>([lowered?, raised?])
    })?;
    let mut rates = [0.0; 2];
    for (rate, group) in rates.iter_mut().zip([&free, &tight]) {
        group.enter()?;
        *rate = ROUND.repeat_on(&crew, time)?.per_second();
    }
    let [free_rounds_per_s, tight_rounds_per_s] = rates;
    Ok(Reading::Moved {
        workers: all,
        lowered_after_s: lowered,
        raised_after_s: raised,
        free_rounds_per_s,
        tight_rounds_per_s,
    })
}

/// After how many seconds so many may be at work.
fn follows(pool: &Pool, size: usize, begun: Instant) -> Outcome<f64> {
    while pool.size() != size {
        if begun.elapsed() > PATIENCE {
            return Err(Fault::run(format!(
                "{} workers may be awake, and not {size}, {} s after the move",
                pool.size(),
                PATIENCE.as_secs()
            )));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(begun.elapsed().as_secs_f64())
}
