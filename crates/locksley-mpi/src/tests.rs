//! All ranks on one thread, under schedules, delays and a clock that a seed determines.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::protocol::{Machine, Protocol};
use crate::random::Random;
use crate::ranks::Ranks;
use crate::steal::{Local, Reduce};
use crate::transport::simulated::{Simulated, Simulation};

/// Tasks that are numbers: one task of `n` creates those of n - 1 and n - 2. They are processed a
/// few at a time, between messages.
#[derive(Default)]
pub(crate) struct Inline {
    tasks: Vec<u32>,
    leaves: u64,
}

/// What a rank does between messages.
pub(crate) trait Process {
    fn process(&mut self, items: usize);
}

impl Process for Inline {
    fn process(&mut self, items: usize) {
        for _ in 0..items {
            match self.tasks.pop() {
                None => return,
                Some(0 | 1) => self.leaves += 1,
                Some(n) => self.tasks.extend([n - 1, n - 2]),
            }
        }
    }
}

impl Local for Inline {
    type Tasks = Vec<u32>;
    type Output = u64;

    fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    fn take(&mut self, _thief: usize) -> Option<Vec<u32>> {
        (self.tasks.len() > 1).then(|| self.tasks.drain(..self.tasks.len() / 2).collect())
    }

    fn give(&mut self, tasks: Vec<u32>) {
        self.tasks.extend(tasks);
    }
}

impl Reduce for Inline {
    fn add(&mut self, other: u64) {
        self.leaves += other;
    }

    fn output(&mut self) -> Option<u64> {
        Some(std::mem::take(&mut self.leaves))
    }
}

pub(crate) struct Rank<M, L> {
    ranks: Ranks<Simulated>,
    protocol: M,
    local: L,
    /// What `Ranks::run` would have returned.
    pub(crate) result: Option<Result<Option<u64>, Error>>,
}

impl<M, L> Rank<M, L>
where
    M: Machine<L>,
    L: Local<Tasks: Serialize + DeserializeOwned, Output = u64> + Process,
{
    fn turn(&mut self) {
        if self.result.is_some() {
            return;
        }
        self.local.process(10);
        let turn = self.ranks.turn(&mut self.protocol, &mut self.local);
        self.result = match turn {
            Err(error) => Some(Err(self.ranks.fail(error))),
            Ok(_) => self.protocol.left().map(Ok),
        };
    }
}

pub(crate) struct World<M, L> {
    pub(crate) simulation: Simulation,
    pub(crate) ranks: Vec<Rank<M, L>>,
    schedule: Random,
    /// The time between two turns of a rank, about.
    pub(crate) turn: Duration,
    time: Duration,
}

impl World<Protocol<u64>, Inline> {
    fn new(size: usize, seed: u64, most: Duration, task: u32) -> Self {
        Self::of(size, seed, most, |ranks, rank| {
            let tasks = if rank == 0 { vec![task] } else { Vec::new() };
            (ranks.begin().unwrap(), Inline { tasks, leaves: 0 })
        })
    }
}

impl<M, L> World<M, L>
where
    M: Machine<L>,
    L: Local<Tasks: Serialize + DeserializeOwned, Output = u64> + Process,
{
    pub(crate) fn of(
        size: usize,
        seed: u64,
        most: Duration,
        begin: impl Fn(&mut Ranks<Simulated>, usize) -> (M, L),
    ) -> Self {
        let simulation = Simulation::new(size, seed).delay(Duration::ZERO..most).manual_clock();
        let ranks = simulation.ranks().into_iter().enumerate().map(|(rank, transport)| {
            let mut ranks = Ranks::unconnected(transport);
            let (protocol, local) = begin(&mut ranks, rank);
            Rank { ranks, protocol, local, result: None }
        });
        let (ranks, turn) = (ranks.collect(), Duration::from_micros(100));
        Self { simulation, ranks, schedule: Random::new(seed), turn, time: Duration::ZERO }
    }

    /// As many turns of random ranks as there are ranks.
    fn round(&mut self) {
        for _ in 0..self.ranks.len() {
            let rank = self.schedule.below(self.ranks.len() as u64) as usize;
            self.ranks[rank].turn();
        }
        self.simulation.advance(self.turn);
        self.time += self.turn;
    }

    pub(crate) fn run(&mut self, limit: Duration) {
        while self.time < limit && self.ranks.iter().any(|rank| rank.result.is_none()) {
            self.round();
        }
    }
}

pub(crate) fn leaves(task: u32) -> u64 {
    if task < 2 { 1 } else { leaves(task - 1) + leaves(task - 2) }
}

#[test]
fn the_output_does_not_depend_on_delays_and_order() {
    let ms = Duration::from_millis;
    for size in [1, 2, 3, 7, 16] {
        for (seed, delay) in [ms(0), ms(0), ms(1), ms(10)].into_iter().enumerate() {
            let mut world = World::new(size, seed as u64, delay, 18);
            world.run(ms(60_000));
            let results: Vec<_> = world.ranks.into_iter().map(|rank| rank.result).collect();
            assert_eq!(results[0], Some(Ok(Some(leaves(18)))));
            assert!(results[1..].iter().all(|result| *result == Some(Ok(None))));
        }
    }
}

#[test]
fn a_thousand_ranks_share_the_tasks() {
    let mut world = World::new(1000, 5, Duration::from_micros(100), 22);
    world.run(Duration::from_secs(60));
    assert_eq!(world.ranks[0].result, Some(Ok(Some(leaves(22)))));
    let thieves = world.ranks.iter().filter(|rank| rank.protocol.stealing.received > 0).count();
    assert!(thieves > 500, "{thieves}");
}

#[test]
fn a_seed_determines_the_run() {
    let run = |seed| {
        let mut world = World::new(8, seed, Duration::from_millis(1), 20);
        world.run(Duration::from_secs(60));
        let stolen = world.ranks.iter().map(|rank| rank.protocol.stealing.received);
        (world.time, stolen.collect::<Vec<_>>())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn all_others_end_and_name_the_rank_that_has_died() {
    for size in [2, 3, 8] {
        for dead in 0..size {
            let mut world = World::new(size, dead as u64, Duration::from_millis(1), 60);
            for _ in 0..200 {
                world.round();
            }
            world.simulation.kill(dead);
            let killed = world.time;
            world.run(killed + Duration::from_secs(5));
            for rank in (0..size).filter(|&rank| rank != dead) {
                match &world.ranks[rank].result {
                    Some(Err(error)) => {
                        let text = error.to_string();
                        assert!(text.contains(&format!("rank {dead} has died")), "{text}");
                    }
                    other => panic!("rank {rank}, when {dead} of {size} is dead: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn a_rank_that_was_suspended_itself_does_not_accuse_another_one() {
    let mut world = World::new(3, 1, Duration::ZERO, 18);
    world.round();
    world.round();
    // All of them at once, with messages on their way or not.
    world.simulation.advance(Duration::from_secs(3600));
    world.run(Duration::from_secs(60));
    assert_eq!(world.ranks[0].result, Some(Ok(Some(leaves(18)))));
}

/// A rank alone, after the one that it watches was killed. It polls until it fails.
fn deserted(begin: impl FnOnce(&mut Ranks<Simulated>)) -> Result<Option<u64>, Error> {
    let simulation = Simulation::new(2, 1).manual_clock();
    let mut ranks = Ranks::unconnected(simulation.ranks().remove(1));
    simulation.kill(0);
    begin(&mut ranks);
    let mut protocol = ranks.begin_network().unwrap();
    let mut local = Inline::default();
    for _ in 0..100 {
        ranks.turn(&mut protocol, &mut local)?;
        simulation.advance(Duration::from_millis(100));
    }
    Ok(Machine::<Inline>::left(&mut protocol).flatten())
}

#[test]
fn a_rank_that_dies_between_two_runs_of_a_network_is_named() {
    assert_eq!(deserted(|_| ()), Ok(None), "it may not have begun");
    let outcome = deserted(|ranks| drop(ranks.begin_network::<u64>().unwrap()));
    assert!(matches!(outcome, Err(Error::Silent { rank: 0, .. })), "{outcome:?}");
}

#[test]
fn a_rank_that_dies_before_its_verdict_is_named() {
    let simulation = Simulation::new(2, 1).manual_clock();
    let mut ranks = Ranks::unconnected(simulation.ranks().remove(1));
    simulation.kill(0);
    let verdict = std::thread::spawn(move || ranks.broadcast::<u64>(None));
    while !verdict.is_finished() {
        simulation.advance(Duration::from_millis(10));
        std::thread::sleep(Duration::from_micros(500));
    }
    assert!(matches!(verdict.join().unwrap(), Err(Error::Silent { rank: 0, .. })));
}
