//! Ranks on threads, each with a pool: outputs against sequential computations, and failures.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use locksley::Pool;
use locksley_mpi::{Bag, Error, Ranks, Simulated, Simulation};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

type Outcome<R> = Result<R, Error>;

/// Runs a program on each rank. Returns what each comes to.
fn on_ranks<R: Send>(
    simulation: &Simulation,
    workers: usize,
    program: impl Fn(&mut Ranks<Simulated>, &Pool) -> Outcome<R> + Sync,
) -> Vec<Outcome<R>> {
    thread::scope(|scope| {
        let ranks: Vec<_> = simulation
            .ranks()
            .into_iter()
            .map(|transport| {
                scope.spawn(|| {
                    let pool = Pool::new(workers).unwrap();
                    program(&mut Ranks::connect(transport)?, &pool)
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

fn delays(most: u64) -> Range<Duration> {
    Duration::ZERO..Duration::from_micros(most)
}

/// All others report that rank 1 has ended the run, for this reason.
fn assert_blames(outcomes: &[Outcome<()>], culprit: usize, reason: &str) {
    for (rank, outcome) in outcomes.iter().enumerate().filter(|&(rank, _)| rank != culprit) {
        match outcome {
            Err(Error::Remote { rank, reason: found }) => {
                assert_eq!(*rank, culprit);
                assert!(found.contains(reason), "{found}");
            }
            other => panic!("rank {rank}: {other:?}"),
        }
    }
}

/// Collatz steps: tasks of unlike length.
fn steps(mut n: u64) -> u64 {
    let mut steps = 0;
    while n > 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

#[test]
fn a_range_is_reduced() {
    for (size, workers, most) in [(1, 2, 0), (2, 1, 0), (3, 2, 300), (8, 1, 1000)] {
        let simulation = Simulation::new(size, size as u64).delay(delays(most));
        let outcomes = on_ranks(&simulation, workers, |ranks, pool| {
            // Runs follow each other without a barrier.
            let mut found = Vec::new();
            for end in [1, 2, 1000, 30_000] {
                found.push(ranks.par_map_reduce(pool, 1..end, steps, |a, b| a + b)?);
            }
            Ok(found)
        });
        let sum = |end| (1..end).map(steps).sum::<u64>();
        let expected = vec![None, Some(0), Some(sum(1000)), Some(sum(30_000))];
        assert_eq!(outcomes[0], Ok(expected));
        assert!(outcomes[1..].iter().all(|outcome| *outcome == Ok(vec![None; 4])));
    }
}

/// Words over `LETTERS` letters that hold no letter twice in a row, by their prefixes.
struct Words;

const LETTERS: u8 = 4;
const LENGTH: usize = 8;

impl Bag for Words {
    type Tasks = Vec<String>;
    type Output = Vec<String>;

    fn process(&self, tasks: &mut Vec<String>, items: usize, words: &mut Vec<String>) -> bool {
        for _ in 0..items {
            let Some(prefix) = tasks.pop() else { return false };
            if prefix.len() == LENGTH {
                words.push(prefix);
                continue;
            }
            let letters = (b'a'..b'a' + LETTERS).map(char::from);
            let next = letters.filter(|&letter| !prefix.ends_with(letter));
            tasks.extend(next.map(|letter| format!("{prefix}{letter}")));
        }
        !tasks.is_empty()
    }

    fn split(&self, tasks: &mut Vec<String>) -> Option<Vec<String>> {
        (tasks.len() > 1).then(|| tasks.drain(..tasks.len() / 2).collect())
    }

    fn merge(&self, words: &mut Vec<String>, more: Vec<String>) {
        words.extend(more);
    }
}

#[test]
fn each_task_is_processed_once() {
    for (size, workers, most) in [(1, 1, 0), (2, 2, 100), (4, 1, 1000), (5, 2, 0)] {
        let simulation = Simulation::new(size, 7).delay(delays(most));
        let mut outcomes = on_ranks(&simulation, workers, |ranks, pool| {
            let tasks = (ranks.rank() == 0).then(|| vec![String::new()]);
            ranks.run(pool, Words, tasks)
        });
        let mut words = outcomes.remove(0).unwrap().unwrap();
        assert_eq!(words.len(), 4 * 3_usize.pow(LENGTH as u32 - 1));
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 4 * 3_usize.pow(LENGTH as u32 - 1));
        assert!(outcomes.iter().all(|outcome| *outcome == Ok(None)));
    }
}

#[test]
fn tasks_on_every_rank_are_processed_once() {
    let outcomes = on_ranks(&Simulation::new(4, 1).delay(delays(200)), 1, |ranks, pool| {
        let letter = char::from(b'a' + ranks.rank() as u8);
        ranks.run(pool, Words, Some(vec![letter.to_string()]))
    });
    let words = outcomes[0].clone().unwrap().unwrap();
    assert_eq!(words.len(), 4 * 3_usize.pow(LENGTH as u32 - 1));
}

#[test]
fn a_panic_ends_all_ranks() {
    [false, true].into_iter().for_each(panic_on_a_rank);
}

fn panic_on_a_rank(is_resilient: bool) {
    // In a resilient run, rank 0 has all tasks at first.
    let culprit = usize::from(!is_resilient);
    let outcomes = on_ranks(&Simulation::new(3, 1), 1, move |ranks, pool| {
        ranks.set_resilient(is_resilient).unwrap();
        let is_culprit = ranks.rank() == culprit;
        let run = catch_unwind(AssertUnwindSafe(|| {
            let map = move |n: u64| if is_culprit { panic!("no {}", n / 1000) } else { n };
            ranks.par_map_reduce(pool, 0..1000, map, |a, b| a + b)
        }));
        match run {
            Ok(outcome) => {
                assert_eq!(ranks.par_map_reduce(pool, 0..9, |n| n, |a, b| a + b), outcome);
                outcome.map(drop)
            }
            Err(payload) => {
                assert!(is_culprit);
                assert_eq!(payload.downcast_ref::<String>().unwrap(), "no 0");
                Ok(())
            }
        }
    });
    assert_eq!(outcomes[culprit], Ok(()));
    assert_blames(&outcomes, culprit, "the bag has panicked: no 0");
}

#[test]
fn outputs_are_merged_on_workers() {
    for is_resilient in [false, true] {
        let outcomes = on_ranks(&Simulation::new(3, 1), 1, |ranks, pool| {
            ranks.set_resilient(is_resilient)?;
            let caller = thread::current().id();
            let map = |n| {
                thread::sleep(Duration::from_micros(100));
                n
            };
            let reduce = move |a, b| {
                assert_ne!(thread::current().id(), caller, "it would hear no other rank");
                a + b
            };
            ranks.par_map_reduce(pool, 0..300, map, reduce)
        });
        assert_eq!(outcomes, [Ok(Some(44_850)), Ok(None), Ok(None)]);
    }
}

#[test]
fn a_panic_at_the_reduction_ends_all_ranks() {
    let outcomes = on_ranks(&Simulation::new(3, 1), 1, |ranks, pool| {
        let run = catch_unwind(AssertUnwindSafe(|| {
            // One number on each rank.
            ranks.par_map_reduce(pool, 0..3, |n| n, |_, _| panic!("no reduction"))
        }));
        assert_eq!(run.is_err(), ranks.rank() == 0);
        run.unwrap_or(Ok(None)).map(drop)
    });
    assert_blames(&outcomes, 0, "the bag has panicked: no reduction");
}

#[test]
fn a_rank_that_is_killed_is_named() {
    let simulation = Simulation::new(3, 1);
    let outcomes = on_ranks(&simulation, 1, |ranks, pool| {
        let (is_first, killer) = (ranks.rank() == 0, simulation.clone());
        let map = move |n: u64| {
            if is_first && n == 0 {
                thread::sleep(Duration::from_millis(700));
                killer.kill(2);
                thread::sleep(Duration::from_millis(4500));
            }
            n
        };
        ranks.par_map_reduce(pool, 0..3, map, |a, b| a + b).map(drop)
    });
    assert_eq!(outcomes[2], Err(Error::Transport("this rank was killed".to_owned())));
    for outcome in &outcomes[..2] {
        let text = outcome.clone().unwrap_err().to_string();
        assert!(text.contains("rank 2 has died"), "{text}");
    }
}

#[test]
fn a_resilient_run_survives_the_death_of_a_rank() {
    let simulation = Simulation::new(4, 1).delay(delays(100));
    let outcomes = on_ranks(&simulation, 1, |ranks, pool| {
        ranks.set_resilient(true)?;
        let (is_first, killer) = (ranks.rank() == 0, simulation.clone());
        let map = move |n: u64| {
            if is_first && n == 1 {
                // The others process what they have stolen.
                thread::sleep(Duration::from_millis(50));
                killer.kill(2);
            }
            thread::sleep(Duration::from_micros(500));
            steps(n)
        };
        let first = ranks.par_map_reduce(pool, 1..1000, map, |a, b| a + b)?;
        // And the next one goes on without it.
        Ok((first, ranks.par_map_reduce(pool, 1..1000, steps, |a, b| a + b)?))
    });
    let sum = Some((1..1000).map(steps).sum::<u64>());
    assert_eq!(outcomes[0], Ok((sum, sum)));
    assert_eq!(outcomes[1], Ok((None, None)));
    assert_eq!(outcomes[2], Err(Error::Transport("this rank was killed".to_owned())));
    assert_eq!(outcomes[3], Ok((None, None)));
}

#[test]
fn a_resilient_run_begins_on_rank_0() {
    let outcomes = on_ranks(&Simulation::new(3, 1), 1, |ranks, pool| {
        ranks.set_resilient(true)?;
        if ranks.rank() == 1 {
            return ranks.run(pool, Words, Some(Vec::new())).map(drop);
        }
        let slow = |_| thread::sleep(Duration::from_millis(300));
        ranks.par_map_reduce(pool, 0..1, slow, |(), ()| ()).map(drop)
    });
    assert_eq!(outcomes[1], Err(Error::Unsupervised));
    assert_blames(&outcomes, 1, "only rank 0 begins with tasks");
}

#[test]
fn ranks_of_which_some_are_resilient_do_not_run() {
    let outcomes = on_ranks(&Simulation::new(2, 1), 1, |ranks, pool| {
        ranks.set_resilient(ranks.rank() == 1)?;
        ranks.par_map_reduce(pool, 0..1000, steps, |a, b| a + b).map(drop)
    });
    assert!(outcomes.iter().any(|it| matches!(it, Err(Error::Unreadable { .. }))), "{outcomes:?}");
    assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");
}

/// What cannot be written, or not be read.
#[derive(Default)]
struct Odd {
    writes: bool,
}

impl Serialize for Odd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.writes { serializer.serialize_u8(7) } else { Err(serde::ser::Error::custom("odd")) }
    }
}

impl<'de> Deserialize<'de> for Odd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom(u8::deserialize(deserializer)?))
    }
}

struct OddBag {
    writes: bool,
}

impl Bag for OddBag {
    type Tasks = u8;
    type Output = Odd;

    fn process(&self, _: &mut u8, _: usize, output: &mut Odd) -> bool {
        output.writes = self.writes;
        false
    }

    fn split(&self, _: &mut u8) -> Option<u8> {
        None
    }

    fn merge(&self, output: &mut Odd, other: Odd) {
        output.writes |= other.writes;
    }
}

#[test]
fn an_output_that_cannot_be_written_ends_all_ranks() {
    let outcomes = on_ranks(&Simulation::new(2, 1), 1, |ranks, pool| {
        let tasks = (ranks.rank() == 1).then_some(0);
        ranks.run(pool, OddBag { writes: false }, tasks).map(drop)
    });
    assert!(matches!(outcomes[1], Err(Error::Unserializable(_))), "{outcomes:?}");
    assert_blames(&outcomes, 1, "cannot be serialized");
}

#[test]
fn an_output_that_cannot_be_read_ends_all_ranks() {
    let outcomes = on_ranks(&Simulation::new(2, 1), 1, |ranks, pool| {
        // Without tasks, the output of rank 1 would be one that cannot be written.
        ranks.run(pool, OddBag { writes: true }, Some(0)).map(drop)
    });
    assert!(matches!(outcomes[0], Err(Error::Unreadable { rank: 1, .. })), "{outcomes:?}");
    assert_blames(&outcomes, 0, "cannot be read");
}

#[test]
fn a_message_above_the_limit_ends_all_ranks() {
    let run = |limit| {
        on_ranks(&Simulation::new(2, 1), 1, |ranks, pool| {
            ranks.set_max_message(limit);
            let text = |_| "x".repeat(1000);
            ranks.par_map_reduce(pool, 0..2, text, |a, b| a.max(b)).map(drop)
        })
    };
    assert_eq!(run(1100), [Ok(()), Ok(())]);
    let outcomes = run(900);
    assert!(matches!(outcomes[1], Err(Error::TooLarge { bytes, limit: 900 }) if bytes > 1000));
    assert_blames(&outcomes, 1, "larger than the limit of 900 bytes");
}

/// Rank 1 is above rank 6.
#[test]
fn ranks_that_run_other_programs_do_not_connect() {
    let outcomes: Vec<_> = thread::scope(|scope| {
        let ranks = Simulation::new(7, 1).ranks().into_iter().enumerate();
        let ranks: Vec<_> = ranks
            .map(|(rank, transport)| {
                let program = if rank == 6 { "program 2" } else { "program 1" };
                scope.spawn(move || Ranks::connect_as(transport, program).map(drop))
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    });
    assert!(
        matches!(&outcomes[1], Err(Error::Mismatch { rank: 6, theirs, ours })
            if theirs == "program 2" && ours == "program 1"),
        "{outcomes:?}"
    );
    assert_blames(&outcomes, 1, "rank 6 runs program 2");
}
