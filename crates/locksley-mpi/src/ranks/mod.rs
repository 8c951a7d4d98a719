//! A program's ranks, and how they run a bag.

mod greeting;
mod messages;

use std::any::Any;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use locksley::Pool;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bag::Bag;
use crate::error::Error;
use crate::heartbeat::Heartbeat;
use crate::local::Pieces;
use crate::nap::Nap;
use crate::range::{MapReduce, block};
use crate::steal::Local;
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
            failure: None,
        }
    }

    /// Limits the size of messages, in bytes. A larger one is an error. The default is 2 GiB, which
    /// is also the most.
    pub fn set_max_message(&mut self, bytes: usize) {
        self.max_message = bytes.min(i32::MAX as usize);
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
        let mut local = Pieces::new(pool, bag);
        if let Some(tasks) = tasks {
            local.give(tasks);
        }
        let mut protocol = self.begin()?;
        let mut nap = Nap::new();
        loop {
            // The bag's code runs here, too: it merges outputs, and messages are serialized.
            let turn = catch_unwind(AssertUnwindSafe(|| self.turn(&mut protocol, &mut local)));
            let turn = turn.and_then(|turn| local.panicked().map_or(Ok(turn), Err));
            let has_received = match turn {
                Ok(Ok(has_received)) => has_received,
                Ok(Err(error)) => return Err(self.fail(error)),
                Err(payload) => self.panic(payload),
            };
            if let Some(output) = protocol.left() {
                self.stolen += protocol.stealing.received;
                return Ok(output);
            }
            if has_received {
                nap = Nap::new();
            } else {
                nap.rest(!local.is_idle());
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
        let block = block(&range, self.rank(), self.size());
        let tasks = (!block.is_empty()).then_some(block);
        let output = self.run(pool, MapReduce { map, reduce, result: PhantomData }, tasks)?;
        Ok(output.flatten())
    }
}
