//! One network, run once.

use std::hint::black_box;
use std::time::Instant;

use locksley::task::Placement;
use locksley::{Pool, PoolBuilder};
use locksley_classic::static_partition::Team;
use locksley_classic::stealing::Nornir;
use locksley_classic::{Count, Scheduler, channel};
use locksley_kahn::{Receiver, Sender};

use super::networks::Network;
use crate::experiment::prelude::*;
pub(super) use crate::experiment::scaling::SERIAL;
use crate::runtimes::classic;
use crate::topology;

pub(super) const LAST: &str = "locksley";
pub(super) const CURRENT: &str = "locksley-cur";
pub(super) const NORNIR_LAST: &str = "nornir-last";
pub(super) const NORNIR_CURRENT: &str = "nornir-cur";
pub(super) const STATIC: &str = "static";

/// Those with processes: WS-LAST and WS-CUR of each scheduler.
pub(super) const POOLS: [&str; 4] = [LAST, CURRENT, NORNIR_LAST, NORNIR_CURRENT];

/// The runtimes, each with what it is.
pub(super) const RUNTIMES: [(&str, &str); 6] = [
    (LAST, "an unblocked process goes to the worker that ran it last (WS-LAST)"),
    (CURRENT, "it goes to the worker that unblocked it (WS-CUR)"),
    (NORNIR_LAST, "Nornir's scheduler with WS-LAST: run queues and channels behind mutexes"),
    (NORNIR_CURRENT, "the same with WS-CUR"),
    (SERIAL, "the same divisions in a loop: no processes, no messages"),
    (STATIC, "the same loop in equal shares, one thread each"),
];

/// The metrics beside the time of all rounds: the divisions of each message, ...
pub(super) const DIVISIONS: &str = "divisions";
/// ... the successful and the failed steal attempts, ...
pub(super) const STEALS: &str = "steals";
pub(super) const FAILED: &str = "failed steals";
/// ... and the time in which these were counted: all rounds, with start and end of the network.
pub(super) const RUNNING: &str = "running seconds";

/// The number in the message with this index.
fn number(seed: u64, index: u64) -> u64 {
    seed.wrapping_add(index)
}

/// What the answer of the message with this index adds to the sum.
fn weighed(answer: u64, index: u64) -> u64 {
    answer.wrapping_mul(index + 1)
}

/// The right answer: the sum over all messages, from p = 1, of p times the message's answer,
/// which is its number seed + p - 1 plus the result of its divisions.
fn right_answer(network: &Network, divisions: u64, seed: u64) -> u64 {
    let messages = u128::from(network.messages());
    let (first, squares) =
        (messages * (messages + 1) / 2, messages * (messages + 1) * (2 * messages + 1) / 6);
    let each = seed.wrapping_add(divide(divisions)).wrapping_sub(1);
    (squares as u64).wrapping_add((first as u64).wrapping_mul(each))
}

/// Divides 64-bit integers so many times, as in the study; the result depends on each division. The
/// compiler does not see the dividends.
#[inline(never)]
fn divide(times: u64) -> u64 {
    let (mut number, mut sum) = (black_box(u64::MAX), 0u64);
    for step in 0..times {
        number = black_box(u64::MAX - step) / (number | 1);
        sum = sum.wrapping_mul(31).wrapping_add(number);
    }
    sum
}

/// How many divisions in a row take so many nanoseconds, by the shortest of some trials; at least
/// one.
fn divisions_within(nanos: u64) -> u64 {
    const TRIALS: usize = 40;
    const TIMES: u64 = 20_000;
    let trial = |_| {
        let begun = Instant::now();
        black_box(divide(black_box(TIMES)));
        begun.elapsed().as_secs_f64() * 1e9 / TIMES as f64
    };
    let each = (0..TRIALS).map(trial).fold(f64::INFINITY, f64::min);
    ((nanos as f64 / each).round() as u64).max(1)
}

/// The answer, and the metrics but for the divisions.
type Found = (u64, [(&'static str, f64); 4]);

pub(super) fn measure(cell: &Cell, seed: u64) -> Outcome<Readings> {
    let (network, workers) = (Network::find(&cell.subject)?, cell.workers);
    chosen("runtime", std::slice::from_ref(&cell.runtime), &RUNTIMES.map(|it| it.0), &[])?;
    if cell.runtime == SERIAL && workers > 1 {
        return Err(Fault::input("the serial loop has one worker"));
    }
    let divisions = divisions_within(network.nanos);
    let (answer, metrics) = match cell.runtime.as_str() {
        SERIAL | STATIC => in_shares(network, workers, divisions, seed)?,
        NORNIR_LAST | NORNIR_CURRENT => {
            on_nornir(network, workers, divisions, seed, cell.runtime == NORNIR_LAST)?
        }
        pool => on_pool(network, workers, divisions, seed, pool)?,
    };
    right(answer, right_answer(&network, divisions, seed))?;
    let metrics = metrics.into_iter().chain([(DIVISIONS, divisions as f64)]);
    Ok(named(metrics))
}

/// Binds each worker to a processor of its own, as Nornir does, if there are as many.
fn bound(builder: PoolBuilder, workers: usize) -> PoolBuilder {
    let processors: Vec<usize> = topology::allowed().iter().collect();
    if workers > processors.len() {
        return builder;
    }
    let bind = move |worker: usize| _ = processors.get(worker).map(|&it| topology::bind(it));
    builder.on_start(bind)
}

fn on_pool(
    Network { processes, rounds, .. }: Network,
    workers: usize,
    divisions: u64,
    seed: u64,
    runtime: &str,
) -> Outcome<Found> {
    let placement = if runtime == LAST { Placement::Last } else { Placement::Current };
    let builder = Pool::builder().workers(workers).placement(placement);
    let pool = bound(builder, workers).build().map_err(Fault::input)?;
    let mut network = locksley_kahn::Network::new();
    let (mut messages, mut answers) = (Vec::new(), Vec::new());
    for process in 0..processes {
        // A message is its number.
        let (message, todo) = network.channel::<u64>(format!("message {process}"), 1);
        let (done, answer) = network.channel::<u64>(format!("answer {process}"), 1);
        let name = format!("process {process}");
        network.process(name, (todo, done), async move |(mut todo, mut done)| {
            while let Some(number) = todo.recv().await {
                done.send(number.wrapping_add(divide(divisions))).await;
            }
        });
        messages.push(message);
        answers.push(answer);
    }
    let center = network.process("center", (messages, answers), async move |ends| {
        let (mut messages, mut answers): (Vec<Sender<u64>>, Vec<Receiver<u64>>) = ends;
        // A round that is not timed: with it all processes begin.
        for message in &mut messages {
            message.send(0).await;
        }
        for answer in &mut answers {
            answer.recv().await;
        }
        let start = Instant::now();
        let (mut sum, mut index) = (0u64, 0u64);
        for _ in 0..rounds {
            for (to, message) in (index..).zip(&mut messages) {
                message.send(number(seed, to)).await;
            }
            for answer in &mut answers {
                let answer = answer.recv().await.unwrap_or_default();
                sum = sum.wrapping_add(weighed(answer, index));
                index += 1;
            }
        }
        (start.elapsed().as_secs_f64(), sum)
    });
    let start = Instant::now();
    let before = pool.stats().total();
    network.run(&pool).map_err(Fault::input)?;
    let (running, after) = (start.elapsed().as_secs_f64(), pool.stats().total());
    let (seconds, answer) = center.take().expect("the network has ended");
    let steals = (after.steals - before.steals) as f64;
    let failed = (after.failed_steals - before.failed_steals) as f64;
    Ok((answer, [(SECONDS, seconds), (RUNNING, running), (STEALS, steals), (FAILED, failed)]))
}

/// The most processes on Nornir's scheduler: each has a stack, which takes two mappings of memory.
const MOST_STACKS: u64 = 20_000;
/// The size of such a stack in bytes.
const STACK: usize = 1 << 16;

/// As [`on_pool`], on Nornir's scheduler: processes with stacks, and channels with locks.
fn on_nornir(
    Network { processes, rounds, .. }: Network,
    workers: usize,
    divisions: u64,
    seed: u64,
    is_last: bool,
) -> Outcome<Found> {
    use locksley_classic::Placement;

    if processes > MOST_STACKS {
        return Err(Fault::input(format!(
            "Nornir's scheduler has at most {MOST_STACKS} processes"
        )));
    }
    let allowed: Vec<usize> = topology::allowed().iter().collect();
    let is_bound = workers <= allowed.len();
    let machine = classic::start(
        workers,
        Scheduler {
            deque: classic::blocking,
            stealing: Box::new(Nornir),
            placement: if is_last { Placement::Last } else { Placement::Current },
            processors: allowed
                .iter()
                .take(workers)
                .filter(|_| is_bound)
                .map(|&it| vec![it])
                .collect(),
            stack_bytes: STACK,
            ..Scheduler::default()
        },
    );
    let machine = machine.map_err(Fault::input)?;
    let start = Instant::now();
    let (seconds, answer) = machine.run(|context| {
        let (mut messages, mut answers) = (Vec::new(), Vec::new());
        for _ in 0..processes {
            let (message, mut todo) = channel::<u64>(1);
            let (mut done, answer) = channel::<u64>(1);
            context.create(move |context| {
                // One round more: see below.
                for _ in 0..=rounds {
                    let number = todo.receive(context);
                    done.send(context, number.wrapping_add(divide(divisions)));
                }
            });
            messages.push(message);
            answers.push(answer);
        }
        // A round that is not timed: with it all processes begin.
        messages.iter_mut().for_each(|message| message.send(context, 0));
        answers.iter_mut().for_each(|answer| _ = answer.receive(context));
        let start = Instant::now();
        let (mut sum, mut index) = (0u64, 0u64);
        for _ in 0..rounds {
            for (to, message) in (index..).zip(&mut messages) {
                message.send(context, number(seed, to));
            }
            for answer in &mut answers {
                sum = sum.wrapping_add(weighed(answer.receive(context), index));
                index += 1;
            }
        }
        (start.elapsed().as_secs_f64(), sum)
    });
    let running = start.elapsed().as_secs_f64();
    let [steals, failed] = [Count::Steals, Count::FailedSteals].map(|it| machine.count(it) as f64);
    Ok((answer, [(SECONDS, seconds), (RUNNING, running), (STEALS, steals), (FAILED, failed)]))
}

/// The same work without processes and messages: each thread does an equal share.
fn in_shares(network: Network, workers: usize, divisions: u64, seed: u64) -> Outcome<Found> {
    let team = Team::start(workers).map_err(Fault::Input)?;
    let every = |messages: u64| {
        team.run(vec![(); workers], |rank, (), _| {
            let indices = (rank as u64..messages).step_by(workers);
            let answer = |index| number(seed, index).wrapping_add(divide(divisions));
            let answers = indices.map(|index| weighed(answer(index), index));
            answers.fold(0, u64::wrapping_add)
        })
    };
    // A round that is not timed, as networks have one.
    every(network.processes);
    let (time, sums) = every(network.messages());
    let seconds = time.as_secs_f64();
    let metrics = [(SECONDS, seconds), (RUNNING, seconds), (STEALS, 0.0), (FAILED, 0.0)];
    Ok((sums.into_iter().fold(0, u64::wrapping_add), metrics))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn once(subject: &str, runtime: &str, workers: usize) -> Outcome<Readings> {
        let (subject, runtime) = (subject.to_owned(), runtime.to_owned());
        measure(&Cell { subject, runtime, workers, repeats: 1 }, 9)
    }

    #[test]
    fn every_runtime_finds_the_answer() {
        for (runtime, _) in RUNTIMES {
            for workers in [1, 2, 3] {
                let found = once("7x5x2000", runtime, workers);
                if runtime == SERIAL && workers > 1 {
                    assert!(matches!(found, Err(Fault::Input(_))));
                    continue;
                }
                let found = found.unwrap();
                assert!(found[SECONDS] > 0.0 && found[RUNNING] >= found[SECONDS]);
                assert!(found[DIVISIONS] > 0.0 && (workers > 1 || found[STEALS] == 0.0));
            }
        }
        assert!(matches!(once("7x5x2000", "rayon", 1), Err(Fault::Input(_))));
    }

    #[test]
    fn an_answer_is_the_sum_of_all() {
        let network = Network { processes: 3, rounds: 4, nanos: 1 };
        for (divisions, seed) in [(1, 0), (10, 5), (77, u64::MAX - 2)] {
            let quotients = divide(divisions);
            let sum = (0..12).fold(0u64, |sum, index| {
                let answer = number(seed, index).wrapping_add(quotients);
                sum.wrapping_add(weighed(answer, index))
            });
            assert_eq!(right_answer(&network, divisions, seed), sum);
            assert_ne!(right_answer(&network, divisions + 1, seed), sum);
        }
    }

    #[test]
    fn each_division_counts() {
        // The quotients are MAX/MAX, (MAX-1)/1, (MAX-2)/MAX, since MAX-1 is even, and (MAX-3)/1,
        // that is 1, -2, 0 and -4.
        assert_eq!([0, 1, 2, 3, 4].map(divide), [0, 1, 29, 899, 27_865]);
        assert!(divisions_within(1_000_000) > 1000);
    }
}
