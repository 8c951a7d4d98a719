//! Pools with a parallelism, a quota or a control group that changes, in a process of their own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;
use locksley::os::Processors;

use super::groups::{Ground, Group};
use super::once::{PHASES, ROUNDS, WARM_UP};
use super::subject::Contestant;
use crate::experiment::{Readings, named};
use crate::fault::{Fault, Outcome};
use crate::rounds::Round;
use crate::runtimes::Crew;

/// Each phase has leaves of some ten microseconds: on some machines a wake-up takes longer.
const PHASE_LEAF: u64 = 20_000;
/// Rounds under a quota, and of a program that is moved.
const ROUND: Round = Round { leaf: 5000, chunks: 64, serial: 0 };

/// After this a pool has not followed a move.
const PATIENCE: Duration = Duration::from_secs(10);

/// From one look at the kernel's periods, or one sleep, to the next.
const A_MOMENT: Duration = Duration::from_millis(1);

fn pool(crew: &Crew) -> Outcome<&Pool> {
    let none = || Fault::input("only Locksley's pools tell what their workers do");
    crew.pool().ok_or_else(none)
}

/// How many workers are awake, and at work, in each phase.
pub(super) fn phases(crew: &Crew, time: Duration) -> Outcome<Readings> {
    let pool = pool(crew)?;
    let spent = || {
        let total = pool.stats().total();
        (total.working.as_secs_f64(), total.searching.as_secs_f64())
    };
    let mut readings = Readings::new();
    // Twice, so that each comes after another one; the second time counts.
    for parallelism in PHASES.into_iter().chain(PHASES) {
        let round = Round { leaf: PHASE_LEAF, chunks: parallelism, serial: 0 }.validate()?;
        let (begun, before) = (Instant::now(), spent());
        let rate = round.repeat_on(crew, time)?.per_second();
        let (after, wall) = (spent(), begun.elapsed().as_secs_f64());
        let [working, searching] = [after.0 - before.0, after.1 - before.1];
        readings.insert(format!("working at {parallelism}"), working / wall);
        readings.insert(format!("awake at {parallelism}"), (working + searching) / wall);
        readings.insert(format!("rounds per s at {parallelism}"), rate);
    }
    readings.insert("workers".to_owned(), pool.workers() as f64);
    Ok(readings)
}

/// Rounds under a quota, beside a thread that sleeps for a millisecond again and again.
pub(super) fn quota(hundredths: u64, of: Contestant<'_>, time: Duration) -> Outcome<Readings> {
    let ground = Ground::find().map_err(Fault::run)?;
    let group = ground.group("quota", Some(hundredths))?;
    let crew = of.start()?;
    ROUND.time_on(&crew, WARM_UP)?;
    let periods = group.kept()?.periods;
    while group.kept()?.periods == periods {
        ROUND.time_on(&crew, A_MOMENT)?;
    }
    let stop = AtomicBool::new(false);
    let sleep_and_wake = || {
        let mut late = Vec::new();
        while late.is_empty() || !stop.load(Ordering::Acquire) {
            let due = Instant::now() + A_MOMENT;
            thread::sleep(A_MOMENT);
            late.push(due.elapsed());
        }
        late
    };
    let run = || {
        thread::scope(|scope| {
            let sleeper = scope.spawn(sleep_and_wake);
            let rounds = ROUND.time_on(&crew, time);
            stop.store(true, Ordering::Release);
            let late = sleeper.join().expect("it does not panic");
            rounds.map(|(rate, times)| (rate.per_second(), times, late))
        })
    };
    let ((rate, times, late), mut readings) = group.watch(run)?;
    readings.insert(ROUNDS.to_owned(), rate);
    for (of, mut times) in [("round", times), ("late", late)] {
        times.sort_unstable();
        for (name, share) in [("median", 0.5), ("p99", 0.99), ("worst", 1.0)] {
            let place = ((times.len() - 1) as f64 * share) as usize;
            readings.insert(format!("{name} {of} ms"), times[place].as_secs_f64() * 1e3);
        }
    }
    Ok(readings)
}

/// How soon a pool follows a move to a group with a quota of one processor, and back.
pub(super) fn moved(of: Contestant<'_>, time: Duration) -> Outcome<Readings> {
    let ground = Ground::find().map_err(Fault::run)?;
    let free = ground.group("free", None)?;
    let tight = ground.group("tight", Some(100))?;
    free.enter()?;
    let crew = of.start()?;
    let (pool, all) = (pool(&crew)?, Processors::allowed().count());
    let done = AtomicBool::new(false);
    let follow = |group: &Group<'_>, size: usize| {
        thread::sleep(time / 2);
        let begun = Instant::now();
        group.enter()?;
        while pool.size() != size {
            if begun.elapsed() > PATIENCE {
                let (is, after) = (pool.size(), PATIENCE.as_secs());
                let why = format!("{is} workers may be awake, not {size}, {after} s after a move");
                return Err(Fault::run(why));
            }
            thread::sleep(A_MOMENT);
        }
        Ok(begun.elapsed().as_secs_f64())
    };
    // This thread moves the process and watches, while another one has the pool work.
    let [lowered, raised] = thread::scope(|scope| {
        let worker = scope.spawn(|| -> Outcome<()> {
            while !done.load(Ordering::Acquire) {
                ROUND.repeat_on(&crew, Duration::from_millis(5))?;
            }
            Ok(())
        });
        let both = [follow(&tight, 1), follow(&free, all)];
        done.store(true, Ordering::Release);
        worker.join().expect("it does not panic")?;
        Ok::<_, Fault>(both)
    })?;
    let rate = |group: &Group<'_>| {
        group.enter()?;
        Ok::<_, Fault>(ROUND.repeat_on(&crew, time)?.per_second())
    };
    let readings = [
        ("workers", all as f64),
        ("lowered after s", lowered?),
        ("raised after s", raised?),
        ("free rounds per s", rate(&free)?),
        ("tight rounds per s", rate(&tight)?),
    ];
    Ok(named(readings))
}
