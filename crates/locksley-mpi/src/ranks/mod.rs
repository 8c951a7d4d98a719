//! A program's ranks, and how they run a bag.

mod greeting;
mod messages;

use std::any::Any;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use locksley::Pool;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bag::Bag;
use crate::error::Error;
use crate::heartbeat::Heartbeat;
use crate::local::Pieces;
use crate::nap::{Due, Nap};
use crate::protocol::Machine;
use crate::range::{MapReduce, block};
use crate::steal::Local;
use crate::supervision::Jobs;
use crate::transport::Transport;

/// The ranks of a program, seen from one of them.
///
/// Each rank is a process with a pool. All ranks call the same methods in the same order. The
/// calling thread polls the transport, and naps while nothing arrives; it should not be a worker.
///
/// # Examples
/// See [`Bag`].
#[derive(Debug)]
pub struct Ranks<T> {
    transport: T,
    run: u32,
    /// The first run of the network that runs, and whether its packets are received now.
    network: Option<u32>,
    takes_packets: bool,
    heartbeat: Heartbeat,
    /// Messages that were received before this rank began the run that they belong to.
    early: VecDeque<(usize, Vec<u8>)>,
    max_message: usize,
    stolen: u64,
    is_resilient: bool,
    /// Whether this run goes on if a rank dies.
    goes_on: bool,
    /// The rank that has died, and how long it had been silent then.
    dead: Option<(usize, Duration)>,
    failure: Option<Error>,
}

impl<T: Transport> Ranks<T> {
    pub(crate) fn unconnected(transport: T) -> Self {
        let heartbeat = Heartbeat::new(transport.rank(), transport.size(), transport.now());
        Self {
            transport,
            run: 0,
            network: None,
            takes_packets: false,
            heartbeat,
            early: VecDeque::new(),
            // MPI counts bytes by an `int`.
            max_message: i32::MAX as usize,
            stolen: 0,
            is_resilient: false,
            goes_on: false,
            dead: None,
            failure: None,
        }
    }

    /// Limits the size of messages, in bytes. A larger one is an error. The default is 2 GiB, which
    /// is also the most.
    pub fn set_max_message(&mut self, bytes: usize) {
        self.max_message = bytes.min(i32::MAX as usize);
    }

    /// Has later runs of bags go on if one rank other than 0 dies: the output is that of all tasks
    /// nevertheless. Call it on all ranks.
    ///
    /// Only rank 0 begins with tasks then. Each steal costs a copy of its tasks, and a message for
    /// their output. If rank 0 dies, or a second rank, then that is [`Error::Silent`].
    ///
    /// # Errors
    /// [`Error::Transport`] on rank 0, and [`Error::Remote`] on the others, if the transport does
    /// not [survive](Transport::survives_deaths) deaths:
    /// [`Mpi`](crate::Mpi) does with Open MPI's `mpirun --enable-recovery`.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_mpi::{Error, Ranks, Simulation};
    ///
    /// let simulation = Simulation::new(2, 1);
    /// simulation.kill_after(1, 5);
    /// let ranks = simulation.ranks().into_iter().map(|transport| {
    ///     std::thread::spawn(move || -> Result<Option<u64>, Error> {
    ///         let mut ranks = Ranks::connect(transport)?;
    ///         ranks.set_resilient(true)?;
    ///         ranks.par_map_reduce(&Pool::new(1).unwrap(), 1..1001, |n| n, |a, b| a + b)
    ///     })
    /// });
    /// let ranks: Vec<_> = ranks.collect();
    /// let mut sums = ranks.into_iter().map(|rank| rank.join().unwrap());
    /// assert_eq!(sums.next(), Some(Ok(Some(500_500))));
    /// ```
    pub fn set_resilient(&mut self, is_resilient: bool) -> Result<(), Error> {
        let survives = self.transport.survives_deaths();
        if let Err(reason) = survives
            && is_resilient
        {
            let error = Error::Transport(format!("no run can be resilient: {reason}"));
            let reason = error.to_string();
            return Err(if self.rank() == 0 { error } else { Error::Remote { rank: 0, reason } });
        }
        self.is_resilient = is_resilient;
        Ok(())
    }

    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.transport.rank()
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.transport.size()
    }

    /// How often this rank has stolen tasks from another one.
    pub fn stolen(&self) -> u64 {
        self.stolen
    }

    /// The transport, for example to [abort](crate::Mpi::abort) with it.
    pub fn into_transport(self) -> T {
        self.transport
    }

    /// Processes a bag on all ranks. Returns the output on rank 0, and `None` on the others.
    ///
    /// Each rank begins with its own `tasks`; usually only rank 0 has some.
    ///
    /// # Errors
    /// Each [`Error`]. All ranks get one then, and so does every later run. A rank that dies
    /// between runs is not noticed by the others until it misses in a run that it has begun; MPI's
    /// launcher notices earlier.
    ///
    /// # Panics
    /// If the bag panics on this rank.
    pub fn run<B: Bag>(
        &mut self,
        pool: &Pool,
        bag: B,
        tasks: Option<B::Tasks>,
    ) -> Result<Option<B::Output>, Error> {
        let (bag, due) = (Arc::new(bag), Arc::new(Due::new()));
        let pieces = || Pieces::new(pool, Arc::clone(&bag), Arc::clone(&due));
        if self.is_resilient {
            let protocol = self.begin_resilient()?;
            if tasks.is_some() && self.rank() != 0 {
                return Err(self.fail(Error::Unsupervised));
            }
            return self.play(protocol, Jobs::new(self.rank(), tasks, pieces), &due);
        }
        let mut local = pieces();
        tasks.into_iter().for_each(|tasks| local.give(tasks));
        let protocol = self.begin()?;
        self.play(protocol, local, &due)
    }

    /// Takes turns until this rank leaves.
    fn play<M, L>(
        &mut self,
        mut protocol: M,
        mut local: L,
        due: &Due,
    ) -> Result<Option<L::Output>, Error>
    where
        M: Machine<L>,
        L: Local<Tasks: Serialize + DeserializeOwned, Output: Serialize + DeserializeOwned>,
    {
        let mut nap = Nap::new();
        loop {
            // The bag's code runs here, too: it merges outputs, and messages are serialized.
            let turn = catch_unwind(AssertUnwindSafe(|| self.turn(&mut protocol, &mut local)));
            let turn = turn.and_then(|turn| local.panicked().map_or(Ok(turn), Err));
            let is_active = match turn {
                Ok(Ok(is_active)) => is_active,
                Ok(Err(error)) => return Err(self.fail(error)),
                Err(payload) => self.panic(payload),
            };
            if let Some(output) = protocol.left() {
                self.stolen += protocol.stolen();
                return Ok(output);
            }
            if is_active {
                nap = Nap::new();
            } else {
                due.rest(&mut nap, !local.is_idle());
            }
        }
    }

    /// Tells the others about a panic, and continues it.
    fn panic(&mut self, payload: Box<dyn Any + Send>) -> ! {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        self.fail(Error::Panicked(text.unwrap_or_default()));
        resume_unwind(payload)
    }

    /// Maps all numbers of a range, on all ranks, and reduces the results. Returns that of a range
    /// that is not empty on rank 0, and `None` otherwise.
    ///
    /// Results come in any order, so `reduce` is associative and commutative.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// If `map` or `reduce` panics on this rank.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_mpi::{Ranks, Simulation};
    ///
    /// let pool = Pool::new(2)?;
    /// let mut ranks = Ranks::connect(Simulation::new(1, 0).ranks().remove(0))?;
    /// let sum = ranks.par_map_reduce(&pool, 0..1000, |n| n * n, |a, b| a + b)?;
    /// assert_eq!(sum, Some(332_833_500));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn par_map_reduce<F, G, R>(
        &mut self,
        pool: &Pool,
        range: Range<u64>,
        map: F,
        reduce: G,
    ) -> Result<Option<R>, Error>
    where
        F: Fn(u64) -> R + Send + Sync + 'static,
        G: Fn(R, R) -> R + Send + Sync + 'static,
        R: Serialize + DeserializeOwned + Send + 'static,
    {
        let block = match (self.is_resilient, self.rank()) {
            (false, rank) => block(&range, rank, self.size()),
            (true, 0) => range,
            (true, _) => 0..0,
        };
        let tasks = (!block.is_empty()).then_some(block);
        let output = self.run(pool, MapReduce { map, reduce, result: PhantomData }, tasks)?;
        Ok(output.flatten())
    }
}
