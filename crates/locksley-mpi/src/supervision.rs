//! Resilient runs: the output is exact although one rank dies.
//!
//! After Kestor and others, "Localized fault recovery for nested fork-join programs" (IPDPS 2017),
//! and Posner and others, "Task-level resilience: checkpointing vs. supervision" (IJNC 2022).
//!
//! A *job* is what a thief gets by one steal. Its victim is its *supervisor*, which keeps a copy of
//! the job's tasks until it has the job's output. The first tasks of rank 0 are the root of a tree
//! of jobs: a steal splits a job off another one. At its thief, a job
//! - is *processed* while there are tasks of it: each steal splits some off, as a new job;
//! - *waits* when there are none, until the outputs of all jobs that were split off have arrived;
//! - is *complete* then: its output, with theirs, goes to the supervisor, which drops the copy.
//!
//! When a rank has died, each other one
//! - ignores the messages of that rank from then on;
//! - *discards* the jobs that it has got from that rank, and cancels what was split off from these;
//! - *takes back* the jobs that it has given to that rank: their tasks belong, as before the steal,
//!   to the job that they were split off from.
//!
//! **Invariant**, for the root and for each job whose supervisor's job was not discarded: each of
//! its tasks, and of those that they create, is in its output, or among its tasks here, or it
//! belongs to one of the jobs that were split off and are supervised here. Each task is in one of
//! these only. Proof: a task's processing, a steal, an output that arrives and a job that is taken
//! back each move tasks from one to another. An output counts only while its job is supervised, and
//! ends that, as taking back does; so a job is counted once, whatever the order of messages, and
//! also if the rank that was thought dead was merely slow. Hence the root's output, when it is
//! complete, is that of all tasks.
//!
//! **Liveness.** A job that is supervised is at a rank that lives, or on the way to it, or is taken
//! back. The tree's leaves are processed; then each job becomes complete, from the leaves up.
//!
//! If rank 0 dies, then there is no supervisor of the root: that is an error, and so is the death
//! of a second rank. The tests visit all states of small runs, with a death at any moment.

use std::any::Any;
use std::collections::BTreeMap;
use std::mem;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::message::{Message, Outgoing};
use crate::protocol::{Machine, stray};
use crate::steal::{Local, Reduce, Stealing};

/// A job on its way to its thief. The supervisor gives it the number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Job {
    supervisor: usize,
    number: u64,
    /// Serialized.
    tasks: Vec<u8>,
}

/// A job's supervisor and number.
type Key = (usize, u64);

/// The root's. Other numbers are larger.
const ROOT: Key = (0, 0);

/// A job at its thief.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Held<L> {
    key: Key,
    local: L,
    /// How many of the jobs that were split off have not sent their outputs.
    missing: usize,
}

/// A job at its supervisor.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Given {
    thief: usize,
    /// The job that it was split off from.
    parent: Key,
    tasks: Vec<u8>,
}

/// The jobs of one rank.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Jobs<L, F> {
    rank: usize,
    /// Makes an empty set of tasks.
    make: F,
    held: Vec<Held<L>>,
    given: BTreeMap<u64, Given>,
    last: u64,
    failure: Option<Error>,
}

impl<L, F> Jobs<L, F>
where
    L: Reduce<Tasks: Serialize + DeserializeOwned>,
    F: Fn() -> L,
{
    /// The first tasks are the root job, on rank 0.
    pub(crate) fn new(rank: usize, first: Option<L::Tasks>, make: F) -> Self {
        let mut jobs =
            Self { rank, make, held: Vec::new(), given: BTreeMap::new(), last: 0, failure: None };
        if rank == ROOT.0 {
            let root = jobs.hold(ROOT);
            first.into_iter().for_each(|tasks| root.local.give(tasks));
        }
        jobs
    }

    fn hold(&mut self, key: Key) -> &mut Held<L> {
        self.held.push(Held { key, local: (self.make)(), missing: 0 });
        self.held.last_mut().expect("it was pushed")
    }

    fn find(&mut self, key: Key) -> Option<&mut Held<L>> {
        self.held.iter_mut().find(|held| held.key == key)
    }

    /// Gives tasks to a job.
    fn put(&mut self, from: usize, key: Key, tasks: &[u8]) {
        match (postcard::from_bytes(tasks), self.find(key)) {
            (Ok(tasks), Some(held)) => held.local.give(tasks),
            (Ok(_), None) => {}
            (Err(error), _) => {
                self.failure = Some(Error::Unreadable { rank: from, reason: error.to_string() });
            }
        }
    }

    /// The output of a job has arrived. It is ignored if the job was taken back, or cancelled.
    fn on_output(&mut self, number: u64, output: L::Output) {
        let Some(given) = self.given.remove(&number) else { return };
        let Some(held) = self.find(given.parent) else { return };
        held.missing -= 1;
        held.local.add(output);
    }

    /// Drops a job, and cancels what was split off from it.
    fn discard(&mut self, key: Key, out: &mut Outgoing<Job, L::Output>) {
        self.held.retain(|held| held.key != key);
        self.given.retain(|&job, given| {
            if given.parent == key {
                out.push((given.thief, Message::Cancel { job }));
            }
            given.parent != key
        });
    }

    fn on_death(&mut self, dead: usize, out: &mut Outgoing<Job, L::Output>) {
        let orphans: Vec<_> = self.held.iter().map(|held| held.key).collect();
        orphans.into_iter().filter(|key| key.0 == dead).for_each(|key| self.discard(key, out));
        let given = mem::take(&mut self.given).into_iter();
        let (lost, kept) = given.partition::<BTreeMap<_, _>, _>(|(_, it)| it.thief == dead);
        self.given = kept;
        for given in lost.into_values() {
            self.put(self.rank, given.parent, &given.tasks);
            self.find(given.parent).expect("it waits for this one").missing -= 1;
        }
    }

    /// The next job that is complete, with its output.
    fn complete(&mut self) -> Option<(Key, L::Output)> {
        let output = |held: &mut Held<L>| {
            if held.missing == 0 && held.local.is_idle() { held.local.output() } else { None }
        };
        let mut all = self.held.iter_mut().enumerate();
        let (index, output) = all.find_map(|(index, held)| Some((index, output(held)?)))?;
        Some((self.held.swap_remove(index).key, output))
    }
}

impl<L, F> Local for Jobs<L, F>
where
    L: Reduce<Tasks: Serialize + DeserializeOwned>,
    F: Fn() -> L,
{
    type Tasks = Job;
    type Output = L::Output;

    fn is_idle(&self) -> bool {
        self.held.iter().all(|held| held.local.is_idle())
    }

    fn take(&mut self, thief: usize) -> Option<Job> {
        let mut all = self.held.iter_mut();
        let (held, tasks) = all.find_map(|held| held.local.take(thief).map(|it| (held, it)))?;
        let tasks = match postcard::to_allocvec(&tasks) {
            Ok(tasks) => tasks,
            Err(error) => {
                self.failure = Some(Error::Unserializable(error.to_string()));
                return None;
            }
        };
        held.missing += 1;
        self.last += 1;
        let given = Given { thief, parent: held.key, tasks: tasks.clone() };
        self.given.insert(self.last, given);
        Some(Job { supervisor: self.rank, number: self.last, tasks })
    }

    fn give(&mut self, job: Job) {
        let key = (job.supervisor, job.number);
        self.hold(key);
        self.put(job.supervisor, key, &job.tasks);
    }

    fn panicked(&self) -> Option<Box<dyn Any + Send>> {
        self.held.iter().find_map(|held| held.local.panicked())
    }
}

/// The state of one rank in a resilient run.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Supervision<R> {
    rank: usize,
    size: usize,
    stealing: Stealing,
    dead: Option<usize>,
    /// Whether the root is complete; and its output, on rank 0.
    left: Option<Option<R>>,
}

impl<R> Supervision<R> {
    pub(crate) fn new(rank: usize, size: usize, seed: u64) -> Self {
        Self { rank, size, stealing: Stealing::new(rank, size, seed), dead: None, left: None }
    }

    /// Tells others that this rank leaves.
    fn leave<T>(&mut self, output: Option<R>, out: &mut Outgoing<T, R>) {
        self.left = Some(output);
        let (rank, size, dead) = (self.rank, self.size, self.dead);
        // Rank 0 tells all of them. Each tells the next ones, too, one of which watches it: so all
        // leave if one does, even if rank 0 dies.
        let others = if rank == ROOT.0 { size - 1 } else { 2.min(size - 1) };
        let others = (1..=others).map(|step| (rank + step) % size);
        let others = others.filter(|&other| Some(other) != dead && other != ROOT.0);
        out.extend(others.map(|other| (other, Message::Leave)));
    }
}

impl<L, F> Machine<Jobs<L, F>> for Supervision<L::Output>
where
    L: Reduce<Tasks: Serialize + DeserializeOwned>,
    F: Fn() -> L,
{
    fn receive(
        &mut self,
        from: usize,
        message: Message<Job, L::Output>,
        jobs: &mut Jobs<L, F>,
        out: &mut Outgoing<Job, L::Output>,
    ) -> Result<(), Error> {
        match message {
            _ if Some(from) == self.dead => {}
            Message::Steal { lifeline } => self.stealing.on_steal(from, lifeline, jobs, out),
            Message::Nothing => self.stealing.on_nothing(),
            Message::Loot { lifeline, tasks } => {
                self.stealing.on_loot(from, lifeline);
                jobs.give(tasks);
            }
            Message::JobOutput { job, output } => jobs.on_output(job, output),
            Message::Cancel { job } => jobs.discard((from, job), out),
            Message::Leave if self.left.is_some() => {}
            Message::Leave => self.leave(None, out),
            Message::Wave | Message::Counts { .. } | Message::Done | Message::Output(_) => {
                return Err(stray(from));
            }
        }
        Ok(())
    }

    fn poll(
        &mut self,
        jobs: &mut Jobs<L, F>,
        out: &mut Outgoing<Job, L::Output>,
    ) -> Result<(), Error> {
        if self.left.is_some() {
            return Ok(());
        }
        while let Some((key, output)) = jobs.complete() {
            if key == ROOT {
                self.leave(Some(output), out);
                return Ok(());
            }
            out.push((key.0, Message::JobOutput { job: key.1, output }));
        }
        self.stealing.poll(jobs, out);
        jobs.failure.take().map_or(Ok(()), Err)
    }

    fn on_death(&mut self, dead: usize, jobs: &mut Jobs<L, F>, out: &mut Outgoing<Job, L::Output>) {
        if self.dead.replace(dead).is_none() {
            self.stealing.on_death(dead);
            jobs.on_death(dead, out);
        }
    }

    fn left(&mut self) -> Option<Option<L::Output>> {
        self.left.as_mut().map(Option::take)
    }

    fn has_left(&self) -> bool {
        self.left.is_some()
    }

    fn stolen(&self) -> u64 {
        self.stealing.received
    }
}

#[cfg(test)]
mod tests;
