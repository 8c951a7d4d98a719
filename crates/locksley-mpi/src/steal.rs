//! Stealing between ranks: first from random victims, then along lifelines.
//!
//! After Saraswat and others, "Lifeline-based global load balancing" (PPoPP 2011), and Zhang and
//! others, "GLB" (PPAA 2014).

use std::any::Any;
use std::collections::VecDeque;

use crate::lifelines::lifelines;
use crate::message::{Message, Outgoing};
use crate::random::Random;

/// So many random victims are asked before the lifelines.
const ATTEMPTS: u32 = 2;

/// The tasks of one rank, as the protocol sees them.
pub(crate) trait Local {
    type Tasks;
    type Output;

    /// Whether the rank has no tasks. Then it gets some by [`give`](Self::give) only.
    fn is_idle(&self) -> bool;

    /// Takes tasks away for a thief, if there are some to spare. If there are none, then the
    /// protocol is polled again when there are.
    fn take(&mut self, thief: usize) -> Option<Self::Tasks>;

    fn give(&mut self, tasks: Self::Tasks);

    /// The payload of a panic in the tasks, if there was one.
    fn panicked(&self) -> Option<Box<dyn Any + Send>> {
        None
    }
}

/// Tasks that have an output.
pub(crate) trait Reduce: Local {
    /// Adds the output of tasks that were processed elsewhere.
    fn add(&mut self, other: Self::Output);

    /// Takes the output of all tasks: to be called when there are no more. `None` while it is being
    /// reduced. Then the protocol is polled again when it is there.
    fn output(&mut self) -> Option<Self::Output>;
}

/// One rank as a thief and as a victim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stealing {
    rank: usize,
    size: usize,
    dead: Option<usize>,
    random: Random,
    /// The random victim that has not answered yet.
    asked: Option<usize>,
    /// How many random victims were asked since there were tasks.
    attempts: u32,
    /// With each: whether a request has not been answered.
    lifelines: Vec<(usize, bool)>,
    /// Ranks that wait at the other end of their lifelines.
    waiting: VecDeque<usize>,
    /// How often tasks were sent to another rank.
    pub(crate) sent: u64,
    /// How often tasks were received from another rank.
    pub(crate) received: u64,
}

impl Stealing {
    pub(crate) fn new(rank: usize, size: usize, seed: u64) -> Self {
        Self {
            rank,
            size,
            dead: None,
            random: Random::new(seed ^ rank as u64),
            asked: None,
            attempts: 0,
            lifelines: lifelines(rank, size).into_iter().map(|it| (it, false)).collect(),
            waiting: VecDeque::new(),
            sent: 0,
            received: 0,
        }
    }

    /// Of a rank that neither steals nor is stolen from.
    pub(crate) fn none() -> Self {
        Self::new(0, 1, 0)
    }

    /// A thief asks for tasks.
    pub(crate) fn on_steal<L: Local>(
        &mut self,
        thief: usize,
        lifeline: bool,
        local: &mut L,
        out: &mut Outgoing<L::Tasks, L::Output>,
    ) {
        match local.take(thief) {
            Some(tasks) => {
                self.sent += 1;
                out.push((thief, Message::Loot { lifeline, tasks }));
            }
            None if lifeline => self.waiting.push_back(thief),
            None => out.push((thief, Message::Nothing)),
        }
    }

    /// A random victim has no tasks.
    pub(crate) fn on_nothing(&mut self) {
        self.asked = None;
    }

    /// A victim has sent tasks.
    pub(crate) fn on_loot(&mut self, victim: usize, lifeline: bool) {
        self.received += 1;
        self.attempts = 0;
        if lifeline {
            self.lifelines.iter_mut().for_each(|(rank, is_asked)| *is_asked &= *rank != victim);
        } else {
            self.asked = None;
        }
    }

    /// A rank has died, which neither steals nor answers any more. Its lifelines go to the next
    /// rank.
    pub(crate) fn on_death(&mut self, dead: usize) {
        self.dead = Some(dead);
        self.asked = self.asked.filter(|&victim| victim != dead);
        self.waiting.retain(|&thief| thief != dead);
        let next = (dead + 1) % self.size;
        let is_new = next != self.rank && self.lifelines.iter().all(|&(rank, _)| rank != next);
        if let Some(lost) = self.lifelines.iter().position(|&(rank, _)| rank == dead) {
            self.lifelines.remove(lost);
            self.lifelines.extend(is_new.then_some((next, false)));
        }
    }

    /// Gives tasks to the ranks that wait at lifelines. Asks for tasks if there are none.
    pub(crate) fn poll<L: Local>(
        &mut self,
        local: &mut L,
        out: &mut Outgoing<L::Tasks, L::Output>,
    ) {
        while let Some(&thief) = self.waiting.front() {
            let Some(tasks) = local.take(thief) else { break };
            self.waiting.pop_front();
            self.sent += 1;
            out.push((thief, Message::Loot { lifeline: true, tasks }));
        }
        if !local.is_idle() {
            self.attempts = 0;
        } else if self.asked.is_some() {
            // The answer decides.
        } else if self.attempts < ATTEMPTS && self.size > 1 {
            self.attempts += 1;
            let other = self.random.below(self.size as u64 - 1) as usize;
            let victim = if other < self.rank { other } else { other + 1 };
            if self.dead != Some(victim) {
                self.asked = Some(victim);
                out.push((victim, Message::Steal { lifeline: false }));
            }
        } else {
            for (rank, is_asked) in &mut self.lifelines {
                if !std::mem::replace(is_asked, true) {
                    out.push((*rank, Message::Steal { lifeline: true }));
                }
            }
        }
    }
}
