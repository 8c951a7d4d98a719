//! What one rank does while a bag is processed, without clocks and transports: messages in,
//! messages out.
//!
//! A rank steals ([`Stealing`]) until the root finds that no tasks are left ([`Termination`]). Then
//! outputs are reduced up the tree. When the root has the output, all ranks leave. No rank leaves
//! before, so that a rank which others wait for is always there to be watched.

use crate::error::Error;
use crate::message::{Message, Outgoing};
use crate::steal::{Local, Reduce, Stealing};
use crate::termination::Termination;
use crate::tree::Tree;

/// The state machine of one rank in a run.
pub(crate) trait Machine<L: Local> {
    fn receive(
        &mut self,
        from: usize,
        message: Message<L::Tasks, L::Output>,
        local: &mut L,
        out: &mut Outgoing<L::Tasks, L::Output>,
    ) -> Result<(), Error>;

    /// Does what the local tasks' state allows. To be called after messages were received, and when
    /// that state may have changed.
    fn poll(&mut self, local: &mut L, out: &mut Outgoing<L::Tasks, L::Output>)
    -> Result<(), Error>;

    /// Another rank has died. To be called any number of times.
    fn on_death(&mut self, dead: usize, local: &mut L, out: &mut Outgoing<L::Tasks, L::Output>);

    /// Returns the root's output if this rank has left: on the root, and once.
    fn left(&mut self) -> Option<Option<L::Output>>;

    fn has_left(&self) -> bool;

    /// How often this rank has received tasks from another one.
    fn stolen(&self) -> u64;
}

/// The error about a message that no rank of this machine sends.
pub(crate) fn stray(from: usize) -> Error {
    Error::Unreadable { rank: from, reason: "it belongs to another kind of run".to_owned() }
}

/// The state of one rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Protocol<R> {
    tree: Tree,
    pub(crate) stealing: Stealing,
    termination: Termination,
    stage: Stage<R>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage<R> {
    Processing,
    /// So many children have not sent their outputs.
    Reducing {
        missing: usize,
    },
    /// The parent has the output.
    Reduced,
    /// The root has the output, which is here if this is the root.
    Left(Option<R>),
}

impl<R> Protocol<R> {
    pub(crate) fn new(rank: usize, size: usize, seed: u64) -> Self {
        let tree = Tree { rank, size };
        Self {
            stealing: Stealing::new(rank, size, seed),
            termination: Termination::new(tree.clone()),
            tree,
            stage: Stage::Processing,
        }
    }

    /// Nothing is left: the outputs of the subtree are collected.
    fn reduce<T>(&mut self, out: &mut Outgoing<T, R>) {
        let children = self.tree.children();
        self.stage = Stage::Reducing { missing: children.len() };
        out.extend(children.map(|child| (child, Message::Done)));
    }

    fn leave<T>(&mut self, output: Option<R>, out: &mut Outgoing<T, R>) {
        self.stage = Stage::Left(output);
        // The next rank watches this one, which falls silent now. So that one must leave too, even
        // if its parent dies.
        let next = (self.tree.rank + 1) % self.tree.size;
        let children = self.tree.children();
        let apart = (next != self.tree.rank && !children.contains(&next)).then_some(next);
        out.extend(children.chain(apart).map(|rank| (rank, Message::Leave)));
    }
}

impl<L: Reduce> Machine<L> for Protocol<L::Output> {
    fn receive(
        &mut self,
        from: usize,
        message: Message<L::Tasks, L::Output>,
        local: &mut L,
        out: &mut Outgoing<L::Tasks, L::Output>,
    ) -> Result<(), Error> {
        match message {
            Message::Steal { lifeline } => self.stealing.on_steal(from, lifeline, local, out),
            Message::Nothing => self.stealing.on_nothing(),
            Message::Loot { lifeline, tasks } => {
                self.stealing.on_loot(from, lifeline);
                local.give(tasks);
            }
            Message::Wave => self.termination.on_wave(out),
            Message::Counts { sent, received } => self.termination.on_counts(sent, received),
            Message::Done => self.reduce(out),
            Message::Output(other) => {
                if let Stage::Reducing { missing } = &mut self.stage {
                    *missing = missing.saturating_sub(1);
                    local.add(other);
                }
            }
            // One comes from the parent, and perhaps one from the rank before.
            Message::Leave if matches!(self.stage, Stage::Left(_)) => {}
            Message::Leave => self.leave(None, out),
            Message::JobOutput { .. } | Message::Cancel { .. } => return Err(stray(from)),
        }
        Ok(())
    }

    fn poll(
        &mut self,
        local: &mut L,
        out: &mut Outgoing<L::Tasks, L::Output>,
    ) -> Result<(), Error> {
        if let Stage::Processing = self.stage {
            self.stealing.poll(local, out);
            let (sent, received) = (self.stealing.sent, self.stealing.received);
            if local.is_idle() && self.termination.poll_idle(sent, received, out) {
                self.reduce(out);
            }
        }
        if let Stage::Reducing { missing: 0 } = self.stage
            && let Some(output) = local.output()
        {
            match self.tree.parent() {
                Some(parent) => {
                    self.stage = Stage::Reduced;
                    out.push((parent, Message::Output(output)));
                }
                None => self.leave(Some(output), out),
            }
        }
        Ok(())
    }

    /// Such a run fails when a rank dies.
    fn on_death(&mut self, _: usize, _: &mut L, _: &mut Outgoing<L::Tasks, L::Output>) {}

    fn left(&mut self) -> Option<Option<L::Output>> {
        match &mut self.stage {
            Stage::Left(output) => Some(output.take()),
            _ => None,
        }
    }

    fn has_left(&self) -> bool {
        matches!(self.stage, Stage::Left(_))
    }

    fn stolen(&self) -> u64 {
        self.stealing.received
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Tasks that are mere numbers of steps. One of them is always being processed.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Steps {
        left: u8,
        done: u8,
    }

    impl Local for Steps {
        type Tasks = u8;
        type Output = u8;

        fn is_idle(&self) -> bool {
            self.left == 0
        }

        fn take(&mut self, _thief: usize) -> Option<u8> {
            let taken = self.left / 2;
            self.left -= taken;
            (taken > 0).then_some(taken)
        }

        fn give(&mut self, tasks: u8) {
            self.left += tasks;
        }
    }

    impl Reduce for Steps {
        fn add(&mut self, other: u8) {
            self.done += other;
        }

        fn output(&mut self) -> Option<u8> {
            assert_eq!(self.left, 0, "the end was found while there were tasks");
            Some(std::mem::take(&mut self.done))
        }
    }

    /// What a rank does before it polls.
    #[derive(Clone, Copy)]
    enum Act {
        Nothing,
        Receive(usize),
        Work,
        /// As a process of a network: works, and sends a packet of one step.
        Send(usize),
    }

    #[derive(Clone, PartialEq, Eq, Hash)]
    struct State {
        /// Ranks send packets, in place of steals.
        is_network: bool,
        ranks: Vec<(Protocol<u8>, Steps)>,
        /// Sender, receiver and message: sorted, since their order is free.
        on_their_way: Vec<(usize, usize, Message<u8, u8>)>,
        /// What the root has returned.
        output: Option<u8>,
    }

    impl State {
        /// A network if there is no seed for steals.
        fn start(tasks: &[u8], seed: Option<u64>) -> Self {
            let protocol = |rank| {
                let mut protocol = Protocol::new(rank, tasks.len(), seed.unwrap_or_default());
                if seed.is_none() {
                    protocol.stealing = Stealing::none();
                }
                protocol
            };
            let ranks = tasks.iter().enumerate();
            Self {
                is_network: seed.is_none(),
                ranks: ranks
                    .map(|(rank, &left)| (protocol(rank), Steps { left, done: 0 }))
                    .collect(),
                on_their_way: Vec::new(),
                output: None,
            }
        }

        fn has_left(&self, rank: usize) -> bool {
            matches!(self.ranks[rank].0.stage, Stage::Left(_))
        }

        fn act(&self, rank: usize, act: Act) -> Self {
            let mut next = self.clone();
            let mut out = Vec::new();
            let (protocol, local) = &mut next.ranks[rank];
            match act {
                Act::Nothing => {}
                Act::Receive(message) => {
                    let (from, _, message) = next.on_their_way.remove(message);
                    protocol.receive(from, message, local, &mut out).unwrap();
                }
                Act::Work => {
                    local.left -= 1;
                    local.done += 1;
                }
                Act::Send(to) => {
                    local.left -= 2;
                    local.done += 1;
                    protocol.stealing.sent += 1;
                    out.push((to, Message::Loot { lifeline: false, tasks: 1 }));
                }
            }
            protocol.poll(local, &mut out).unwrap();
            if let Some(Some(output)) = Machine::<Steps>::left(protocol) {
                next.output = Some(output);
            }
            next.on_their_way.extend(out.into_iter().map(|(to, message)| (rank, to, message)));
            next.on_their_way.sort();
            next
        }

        fn successors(&self) -> Vec<Self> {
            let mut all = Vec::new();
            for message in 0..self.on_their_way.len() {
                let to = self.on_their_way[message].1;
                // One that has left gets no messages: those of an earlier run are dropped.
                if !self.has_left(to) {
                    all.push(self.act(to, Act::Receive(message)));
                }
            }
            for rank in 0..self.ranks.len() {
                if self.has_left(rank) {
                    continue;
                }
                let left = self.ranks[rank].1.left;
                if left > 0 {
                    all.push(self.act(rank, Act::Work));
                }
                if self.is_network && left > 1 {
                    let others = (0..self.ranks.len()).filter(|&other| other != rank);
                    all.extend(others.map(|other| self.act(rank, Act::Send(other))));
                }
                all.push(self.act(rank, Act::Nothing));
            }
            all.retain(|next| next != self);
            all
        }
    }

    /// Visits all states. In each: tasks are nowhere when the end is found. In each without a
    /// successor: all ranks have left, and the root has the output.
    fn search(tasks: &[u8], seed: Option<u64>) -> usize {
        let total: u8 = tasks.iter().sum();
        let mut found = HashSet::new();
        let mut stack = vec![State::start(tasks, seed)];
        let mut ends = 0;
        while let Some(state) = stack.pop() {
            if found.contains(&state) {
                continue;
            }
            let is_over = |(protocol, _): &(Protocol<u8>, Steps)| {
                !matches!(protocol.stage, Stage::Processing)
            };
            if state.ranks.iter().any(is_over) {
                let loot = |(_, _, message): &(usize, usize, Message<u8, u8>)| {
                    matches!(message, Message::Loot { .. })
                };
                assert!(!state.on_their_way.iter().any(loot), "tasks are on their way");
                assert!(state.ranks.iter().all(|(_, local)| local.left == 0), "tasks are left");
            }
            let successors = state.successors();
            if successors.is_empty() {
                ends += 1;
                assert!((0..tasks.len()).all(|rank| state.has_left(rank)), "a rank waits for ever");
                assert_eq!(state.output, Some(total));
            }
            stack.extend(successors);
            found.insert(state);
        }
        assert!(ends > 0);
        found.len()
    }

    #[test]
    fn a_rank_leaves_once() {
        let (mut local, mut out) = (Steps { left: 0, done: 0 }, Vec::new());
        let mut protocol = Protocol::new(1, 6, 0);
        protocol.receive(0, Message::Leave, &mut local, &mut out).unwrap();
        assert_eq!(out, [(5, Message::Leave), (2, Message::Leave)]);
        protocol.receive(0, Message::Leave, &mut local, &mut out).unwrap();
        assert_eq!(out.len(), 2);
        let job = Message::Cancel { job: 1 };
        assert_eq!(protocol.receive(0, job, &mut local, &mut out), Err(stray(0)));
    }

    #[test]
    fn every_schedule_of_few_ranks_finds_the_end() {
        for seed in 0..2 {
            for tasks in [&[0][..], &[3], &[0, 0], &[2, 0], &[4, 0], &[0, 3], &[3, 2]] {
                search(tasks, Some(seed));
            }
            assert!(search(&[2, 0, 0], Some(seed)) > 10_000);
        }
        for tasks in [&[3, 0][..], &[3, 3], &[0, 5]] {
            search(tasks, None);
        }
        assert!(search(&[5, 0, 0], None) > 1000);
    }
}
