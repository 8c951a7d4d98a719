//! All states of small runs, with a death at any moment.

use std::collections::HashSet;
use std::time::Duration;

use super::*;
use crate::tests::{Inline, Process, World, leaves};

/// Tasks by their bits. The output counts how often each one was processed, in four bits. One of
/// them is always being processed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Bits {
    left: u8,
    done: u32,
}

impl Local for Bits {
    type Tasks = u8;
    type Output = u32;

    fn is_idle(&self) -> bool {
        self.left == 0
    }

    fn take(&mut self, _thief: usize) -> Option<u8> {
        let first = self.left & self.left.wrapping_neg();
        let others = self.left & !first;
        self.left &= !(others & others.wrapping_neg());
        (others > 0).then_some(others & others.wrapping_neg())
    }

    fn give(&mut self, tasks: u8) {
        assert_eq!(self.left & tasks, 0, "a task is here twice");
        self.left |= tasks;
    }
}

impl Reduce for Bits {
    fn add(&mut self, other: u32) {
        self.done += other;
    }

    fn output(&mut self) -> Option<u32> {
        assert_eq!(self.left, 0, "a job is complete while it has tasks");
        Some(self.done)
    }
}

type Make = fn() -> Bits;

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    ranks: Vec<(Supervision<u32>, Jobs<Bits, Make>)>,
    /// Sender, receiver and message: sorted, since their order is free.
    on_their_way: Vec<(usize, usize, Message<Job, u32>)>,
    dead: Option<usize>,
    /// What rank 0 has returned.
    output: Option<u32>,
}

enum Act {
    Poll,
    Step { job: usize },
    Receive { message: usize },
    LearnOfDeath,
}

impl State {
    fn start(size: usize, tasks: u8, seed: u64) -> Self {
        let make: Make = || Bits { left: 0, done: 0 };
        let first = |rank| (rank == 0).then_some(tasks);
        let rank = |rank| (Supervision::new(rank, size, seed), Jobs::new(rank, first(rank), make));
        Self {
            ranks: (0..size).map(rank).collect(),
            on_their_way: Vec::new(),
            dead: None,
            output: None,
        }
    }

    fn acts(&self, rank: usize) -> bool {
        self.dead != Some(rank) && self.ranks[rank].0.left.is_none()
    }

    fn after(&self, rank: usize, act: &Act) -> Self {
        let mut next = self.clone();
        let mut out = Vec::new();
        let (protocol, jobs) = &mut next.ranks[rank];
        match *act {
            Act::Poll => {}
            Act::Step { job } => {
                let bits = &mut jobs.held[job].local;
                bits.done += 1 << (4 * bits.left.trailing_zeros());
                bits.left &= bits.left - 1;
            }
            Act::Receive { message } => {
                let (from, _, message) = next.on_their_way.remove(message);
                protocol.receive(from, message, jobs, &mut out).unwrap();
            }
            Act::LearnOfDeath => protocol.on_death(self.dead.unwrap(), jobs, &mut out),
        }
        protocol.poll(jobs, &mut out).unwrap();
        if let Some(Some(output)) = Machine::<Jobs<Bits, Make>>::left(protocol) {
            next.output = Some(output);
        }
        next.on_their_way.extend(out.into_iter().map(|(to, message)| (rank, to, message)));
        next.on_their_way.sort();
        next
    }

    fn successors(&self, may_die: bool) -> Vec<Self> {
        let mut all = Vec::new();
        for message in 0..self.on_their_way.len() {
            let to = self.on_their_way[message].1;
            if self.acts(to) {
                all.push(self.after(to, &Act::Receive { message }));
            }
        }
        for rank in (0..self.ranks.len()).filter(|&rank| self.acts(rank)) {
            let held = self.ranks[rank].1.held.iter().enumerate();
            let busy = held.filter(|(_, held)| held.local.left > 0);
            all.extend(busy.map(|(job, _)| self.after(rank, &Act::Step { job })));
            all.push(self.after(rank, &Act::Poll));
            if self.dead.is_some() {
                all.push(self.after(rank, &Act::LearnOfDeath));
            }
            if may_die && rank > 0 && self.dead.is_none() {
                all.push(Self { dead: Some(rank), ..self.clone() });
            }
        }
        all.retain(|next| next != self);
        all
    }
}

/// Visits all states. Where none follows, all ranks that live have left, and each task is in the
/// output once.
fn search(size: usize, tasks: u8, seed: u64, may_die: bool) -> usize {
    let mut found = HashSet::new();
    let mut stack = vec![State::start(size, tasks, seed)];
    let bits = (0..8).filter(|bit| tasks >> bit & 1 == 1);
    let expected = bits.map(|bit| 1 << (4 * bit)).sum();
    while let Some(state) = stack.pop() {
        if !found.insert(state.clone()) {
            continue;
        }
        let successors = state.successors(may_die);
        if successors.is_empty() {
            assert!((0..size).all(|rank| !state.acts(rank)), "a rank waits for ever");
            assert_eq!(state.output, Some(expected), "{expected:x}");
        }
        stack.extend(successors);
    }
    found.len()
}

#[test]
fn every_schedule_of_few_ranks_has_the_exact_output() {
    for seed in 0..2 {
        for tasks in [0, 0b1, 0b11, 0b111] {
            search(1, tasks, seed, false);
            search(2, tasks, seed, true);
        }
        let states = search(3, 0b11, seed, true);
        println!("{states} states");
        assert!(states > 10_000, "{states}");
    }
}

impl<F> Process for Jobs<Inline, F> {
    fn process(&mut self, items: usize) {
        self.held.iter_mut().for_each(|held| held.local.process(items));
    }
}

/// One rank is killed when it has sent so many messages. Returns true if it has.
fn run_with_a_death(size: usize, seed: u64, dead: usize, messages: u64) -> bool {
    let ms = Duration::from_millis;
    let make: fn() -> Inline = Inline::default;
    let mut world = World::of(size, seed, ms(10), |ranks, rank| {
        let tasks = (rank == 0).then(|| vec![15]);
        (ranks.begin_resilient().unwrap(), Jobs::new(rank, tasks, make))
    });
    world.turn = ms(5);
    world.simulation.kill_after(dead, messages);
    world.run(ms(60_000));
    let results: Vec<_> = world.ranks.into_iter().map(|rank| rank.result.unwrap()).collect();
    let has_died = matches!(results[dead], Err(Error::Transport(_)));
    for (rank, result) in results.iter().enumerate() {
        let root = |&output| (rank == 0).then_some(output);
        match result {
            Ok(output) => assert_eq!(*output, root(&leaves(15)), "{size} {seed} {dead} {messages}"),
            Err(Error::Transport(_)) => assert_eq!(rank, dead),
            Err(error) => {
                assert_eq!(dead, 0, "rank {rank}: {error}");
                assert!(error.to_string().contains("rank 0 has died"), "rank {rank}: {error}");
            }
        }
    }
    has_died
}

#[test]
fn the_output_is_exact_whichever_rank_dies_at_whichever_message() {
    let mut deaths = 0;
    for (size, seed) in [(2, 0), (3, 1), (3, 2), (5, 3)] {
        for dead in 0..size {
            for messages in 0.. {
                if !run_with_a_death(size, seed, dead, messages) {
                    break;
                }
                deaths += 1;
            }
        }
    }
    println!("{deaths} deaths");
    assert!(deaths > 100, "{deaths}");
}
