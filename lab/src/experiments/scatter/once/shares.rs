//! The same work without processes and messages: in a row, and in equal shares.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use super::work::divide;
use super::{Finding, Subject, Task};

pub(super) fn serial(task: &Task) -> Finding {
    warm_up(task, 0, 1);
    let begun = Instant::now();
    let answer = every(task, 0, 1, task.subject.messages());
    finding(task, begun.elapsed().as_secs_f64(), answer)
}

/// Each of as many threads as there are workers does an equal share. The time is from when the first begins until the last has ended.
pub(super) fn divided(task: &Task) -> Finding {
    let (threads, barrier) = (task.workers, Barrier::new(task.workers));
    let share = |first: usize| {
        let barrier = &barrier;
        move || {
            let (first, threads) = (first as u64, threads as u64);
            warm_up(task, first, threads);
            barrier.wait();
            let begun = Instant::now();
            let sum = every(task, first, threads, task.subject.messages());
            (begun, Instant::now(), sum)
        }
    };
    let shares: Vec<(Instant, Instant, u64)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|first| scope.spawn(share(first))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
    });
    let begun = shares.iter().map(|share| share.0).min();
    let ended = shares.iter().map(|share| share.1).max();
    let time = ended.zip(begun).map_or(0.0, |(ended, begun)| (ended - begun).as_secs_f64());
    let answer = shares.iter().map(|share| share.2).fold(0, u64::wrapping_add);
    finding(task, time, answer)
}

/// A share of a round, as networks have one before they take the time.
fn warm_up(task: &Task, first: u64, step: u64) {
    black_box(every(task, first, step, task.subject.processes));
}

/// What every so-manieth of the messages before the last place comes to.
fn every(task: &Task, first: u64, step: u64, last: u64) -> u64 {
    let mut sum = 0u64;
    let mut place = first;
    while place < last {
        let answer = Subject::number(task.seed, place).wrapping_add(divide(task.divisions));
        sum = sum.wrapping_add(Subject::weighed(answer, place));
        place += step;
    }
    sum
}

fn finding(task: &Task, seconds: f64, answer: u64) -> Finding {
    Finding {
        seconds,
        divisions: task.divisions,
        answer,
        steals: 0,
        failed_steals: 0,
        running_seconds: seconds,
    }
}
