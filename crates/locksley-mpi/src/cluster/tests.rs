//! Bags on clusters of known behaviour.

use std::time::Duration;

use super::{Cluster, Counted, Report};
use crate::bag::Bag;
use crate::error::Error;

const US: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);

/// A task of `n` creates those of n - 1 and n - 2. The output is the order in which one rank would
/// process them, and how many they are.
#[derive(Clone, Copy)]
struct Fibonacci;

impl Bag for Fibonacci {
    type Tasks = Vec<u32>;
    type Output = (u64, Vec<u32>);

    fn process(&self, tasks: &mut Vec<u32>, items: usize, done: &mut (u64, Vec<u32>)) -> bool {
        for _ in 0..items {
            let Some(task) = tasks.pop() else { return false };
            done.0 += 1;
            done.1.push(task);
            if task > 1 {
                tasks.extend([task - 1, task - 2]);
            }
        }
        !tasks.is_empty()
    }

    fn split(&self, tasks: &mut Vec<u32>) -> Option<Vec<u32>> {
        (tasks.len() > 1).then(|| tasks.drain(..tasks.len() / 2).collect())
    }

    fn merge(&self, done: &mut (u64, Vec<u32>), more: (u64, Vec<u32>)) {
        done.0 += more.0;
        done.1.extend(more.1);
    }
}

impl Counted for Fibonacci {
    fn done(&self, output: &(u64, Vec<u32>)) -> u64 {
        output.0
    }
}

/// Independent tasks, with or without telling how many are left.
#[derive(Clone, Copy)]
struct Row {
    tells: bool,
}

impl Bag for Row {
    type Tasks = u64;
    type Output = u64;

    fn process(&self, tasks: &mut u64, items: usize, done: &mut u64) -> bool {
        let items = (items as u64).min(*tasks);
        *tasks -= items;
        *done += items;
        *tasks > 0
    }

    fn split(&self, tasks: &mut u64) -> Option<u64> {
        let half = *tasks / 2;
        *tasks -= half;
        (half > 0).then_some(half)
    }

    fn merge(&self, done: &mut u64, more: u64) {
        *done += more;
    }
}

impl Counted for Row {
    fn done(&self, output: &u64) -> u64 {
        *output
    }

    fn left(&self, tasks: &u64) -> u64 {
        if self.tells { *tasks } else { 0 }
    }
}

fn sequential(task: u32) -> (u64, Vec<u32>) {
    let (mut tasks, mut done) = (vec![task], Default::default());
    assert!(!Fibonacci.process(&mut tasks, usize::MAX, &mut done));
    done
}

fn sorted(mut report: Report<(u64, Vec<u32>)>) -> (u64, Vec<u32>) {
    assert_eq!(report.tasks, report.output.0);
    report.output.1.sort_unstable();
    report.output
}

#[test]
fn one_rank_processes_what_a_loop_does() -> Result<(), Error> {
    let report = Cluster::new(1).run(Fibonacci, vec![15])?;
    let expected = sequential(15);
    assert_eq!((report.tasks, report.messages), (expected.0, 0));
    // A piece that is split off is processed later, so only the first tasks are in that order.
    assert_eq!(report.output.1[..2], expected.1[..2]);
    assert_eq!(report.last_task, report.work, "a worker alone is never idle");

    let report = Cluster::new(1).run(Row { tells: true }, 12_345)?;
    assert_eq!((report.output, report.last_task), (12_345, 12_345_000));
    // The root naps once or twice before it looks again whether tasks are left.
    assert!((12_345_000..23_000_000).contains(&report.end), "{report:?}");
    Ok(())
}

#[test]
fn tasks_are_processed_once_on_any_number_of_ranks() -> Result<(), Error> {
    let mut expected = sequential(14);
    expected.1.sort_unstable();
    for ranks in [1, 2, 3, 4, 5, 17, 200] {
        for workers in [1, 3] {
            for latency in [Duration::ZERO, US, 7 * MS] {
                let cluster = Cluster::new(ranks).workers(workers).latency(latency);
                let reports = [cluster.clone(), cluster.without_naps()];
                for cluster in reports {
                    assert_eq!(sorted(cluster.run(Fibonacci, vec![14])?), expected);
                }
            }
        }
    }
    Ok(())
}

#[test]
fn equal_seeds_give_equal_runs() -> Result<(), Error> {
    let run = |seed| Cluster::new(50).seed(seed).run(Row { tells: true }, 1_000_000);
    assert_eq!(run(1)?, run(1)?);
    assert_ne!(run(1)?.hash, run(2)?.hash);
    let other = Cluster::new(50).latency(3 * US).run(Row { tells: true }, 1_000_000)?;
    assert_ne!(other.hash, run(1)?.hash);
    Ok(())
}

#[test]
fn chunks_that_are_not_simulated_have_no_effect() -> Result<(), Error> {
    for (ranks, task) in [(1, 1000), (7, 91), (40, 1000), (20, 60_000)] {
        for overhead in [Duration::ZERO, US] {
            let run = |tells| {
                let cluster = Cluster::new(ranks).overhead(overhead);
                cluster.task(Duration::from_nanos(task)).run(Row { tells }, 300_000)
            };
            let (long, short) = (run(true)?, run(false)?);
            assert!(ranks > 10 || long.events < short.events);
            let seen = |report: &Report<u64>| {
                let Report { output, end, last_task, messages, bytes, .. } = *report;
                (output, end, last_task, messages, bytes, report.random_steals)
            };
            assert_eq!(seen(&long), seen(&short), "{ranks} ranks");
        }
    }
    Ok(())
}

#[test]
fn a_rank_that_never_gets_work_leaves() -> Result<(), Error> {
    let report = Cluster::new(100).run(Row { tells: true }, 1)?;
    assert_eq!((report.output, report.never_started), (1, 99));
    assert_eq!(report.random_steals + report.lifeline_steals, 0);
    Ok(())
}

#[test]
fn the_end_is_not_found_while_a_message_is_on_its_way() -> Result<(), Error> {
    let cluster = Cluster::new(5).latency(US);
    let tasks = 3000;
    let messages = cluster.run(Row { tells: true }, tasks)?.messages;
    let mut late = 0;
    for number in 0..messages {
        let mut slow = cluster.clone();
        slow.slow = Some((number, 20 * MS));
        let report = slow.run(Row { tells: true }, tasks)?;
        assert_eq!((report.output, report.tasks), (tasks, tasks), "message {number} is slow");
        assert!(report.end >= report.last_task, "message {number} is slow");
        // Then it had tasks, and the end waited for them.
        late += u64::from(report.last_task > 20_000_000);
    }
    assert!(late > 3, "{late} of {messages}");
    Ok(())
}

#[test]
fn slower_networks_have_later_ends() -> Result<(), Error> {
    let run = |cluster: Cluster| cluster.without_naps().run(Row { tells: true }, 100_000);
    let base = run(Cluster::new(64).latency(Duration::ZERO).overhead(Duration::ZERO))?;
    // No rank computes faster than all of them.
    assert!(base.end >= base.work / 64);
    let latent = run(Cluster::new(64).latency(MS).overhead(Duration::ZERO))?;
    assert!(latent.end > base.end + 2_000_000, "there and back");
    let narrow = Cluster::new(64).latency(Duration::ZERO).overhead(Duration::ZERO).bandwidth(1000);
    assert!(run(narrow)?.end > base.end + 2_000_000, "a byte takes a millisecond");
    Ok(())
}
