//! A program's ranks: how they connect, run a bag, and fail together.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::resume_unwind;
use std::time::Duration;
use std::{env, fs};

use locksley::Pool;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bag::Bag;
use crate::error::Error;
use crate::heartbeat::Heartbeat;
use crate::local::Pieces;
use crate::message::Message;
use crate::nap::Nap;
use crate::protocol::Protocol;
use crate::range::{MapReduce, block};
use crate::steal::{Local, Stealing};
use crate::transport::Transport;
use crate::tree::Tree;

/// How long [`Ranks::connect`] waits for the others.
const CONNECT: Duration = Duration::from_secs(30);

/// What a message is, and to which run it belongs.
#[derive(Serialize, Deserialize)]
enum Header {
    /// Of a run. Its number is 0 while ranks connect.
    Run(u32),
    /// Of a network that began with this run. A network takes several runs.
    Network(u32),
    /// A sign of life in a run.
    Alive(u32),
    /// The sender has failed: the reason follows.
    Failed,
}

/// What ranks tell each other while they connect.
#[derive(Serialize, Deserialize)]
enum Greeting {
    /// Up the tree: what a subtree runs.
    Program(String),
    /// Down the tree: all run the same.
    Welcome,
}

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
    /// Connects all ranks, and compares what they run: the version of this crate, the executable
    /// file, and the arguments.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if ranks differ, [`Error::Silent`] if one does not connect for 30 s, and
    /// [`Error::Transport`].
    pub fn connect(transport: T) -> Result<Self, Error> {
        let program = env::current_exe().and_then(fs::read).map_or(0, |bytes| hash(&bytes));
        let arguments = hash(&env::args_os().skip(1).collect::<Vec<_>>());
        let version = env!("CARGO_PKG_VERSION");
        Self::connect_as(
            transport,
            &format!("program {program:016x}, arguments {arguments:016x}, version {version}"),
        )
    }

    /// [`connect`](Self::connect) with another description of what must be the same. Use it if
    /// ranks have different executable files or arguments on purpose.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_as(transport: T, program: &str) -> Result<Self, Error> {
        let mut ranks = Self::unconnected(transport);
        ranks.greet(program).map_err(|error| ranks.fail(error))?;
        Ok(ranks)
    }

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
            let has_received = match self.turn(&mut protocol, &mut local) {
                Ok(has_received) => has_received,
                Err(error) => return Err(self.fail(error)),
            };
            if let Some(payload) = local.panicked() {
                let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
                self.fail(Error::Panicked(text.unwrap_or_default()));
                resume_unwind(payload);
            }
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

    /// Begins another run.
    pub(crate) fn begin<R>(&mut self) -> Result<Protocol<R>, Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.run += 1;
        self.takes_packets = false;
        let (rank, size) = (self.rank(), self.size());
        self.heartbeat = Heartbeat::new(rank, size, self.transport.now());
        Ok(Protocol::new(rank, size, u64::from(self.run)))
    }

    /// Begins a run of a network, whose packets are received only now: they belong to the network,
    /// not to one of its runs.
    pub(crate) fn begin_network<R>(&mut self) -> Result<Protocol<R>, Error> {
        let mut protocol = self.begin()?;
        self.network.get_or_insert(self.run);
        self.takes_packets = true;
        protocol.stealing = Stealing::none();
        Ok(protocol)
    }

    /// The network is over.
    pub(crate) fn end_network(&mut self) {
        self.network = None;
    }

    pub(crate) fn send_packet(&mut self, to: usize, packet: &impl Serialize) -> Result<(), Error> {
        self.send_as(Header::Network(self.network.unwrap_or_default()), to, packet)
    }

    /// Sends rank 0's message to all others, as a run of its own. Returns it on all ranks.
    pub(crate) fn broadcast<M>(&mut self, message: Option<M>) -> Result<M, Error>
    where
        M: Serialize + DeserializeOwned,
    {
        self.begin::<()>()?;
        if let Some(message) = message {
            (1..self.size()).try_for_each(|rank| self.send(rank, &message))?;
            return Ok(message);
        }
        let mut nap = Nap::new();
        loop {
            if let Some((_, message)) = self.receive()? {
                return Ok(message);
            }
            self.beat()?;
            nap.rest(false);
        }
    }

    /// Gives a sign of life, and looks for that of another rank.
    fn beat(&mut self) -> Result<(), Error> {
        if self.heartbeat.poll(self.now())? && self.size() > 1 {
            let next = (self.rank() + 1) % self.size();
            self.transport.send(next, encode(&Header::Alive(self.run), &())?)?;
        }
        Ok(())
    }

    pub(crate) fn now(&self) -> Duration {
        self.transport.now()
    }

    /// Receives what has arrived, and does what is to be done. Returns true if a message has
    /// arrived.
    pub(crate) fn turn<L>(
        &mut self,
        protocol: &mut Protocol<L::Output>,
        local: &mut L,
    ) -> Result<bool, Error>
    where
        L: Local<Tasks: Serialize + DeserializeOwned, Output: Serialize + DeserializeOwned>,
    {
        let mut out = Vec::new();
        let mut has_received = false;
        while let Some((from, message)) = self.receive()? {
            has_received = true;
            protocol.receive(from, message, local, &mut out);
            self.send_all(&mut out)?;
        }
        protocol.poll(local, &mut out);
        self.send_all(&mut out)?;
        self.beat()?;
        Ok(has_received)
    }

    fn send_all<M, R>(&mut self, out: &mut Vec<(usize, Message<M, R>)>) -> Result<(), Error>
    where
        Message<M, R>: Serialize,
    {
        out.drain(..).try_for_each(|(to, message)| self.send(to, &message))
    }

    fn send(&mut self, to: usize, message: &impl Serialize) -> Result<(), Error> {
        self.send_as(Header::Run(self.run), to, message)
    }

    fn send_as(
        &mut self,
        header: Header,
        to: usize,
        message: &impl Serialize,
    ) -> Result<(), Error> {
        let bytes = encode(&header, message)?;
        if bytes.len() > self.max_message {
            return Err(Error::TooLarge { bytes: bytes.len(), limit: self.max_message });
        }
        self.transport.send(to, bytes)
    }

    /// The next message of this run.
    fn receive<M: DeserializeOwned>(&mut self) -> Result<Option<(usize, M)>, Error> {
        let mut later = VecDeque::new();
        let found = loop {
            let next = match self.early.pop_front() {
                Some(early) => Some(early),
                None => self.transport.try_receive()?,
            };
            let Some((from, bytes)) = next else { break None };
            let unreadable = |error: postcard::Error| Error::Unreadable {
                rank: from,
                reason: error.to_string(),
            };
            let (header, rest) = postcard::take_from_bytes(&bytes).map_err(unreadable)?;
            match header {
                Header::Failed => {
                    let reason = String::from_utf8_lossy(rest).into_owned();
                    return Err(Error::Remote { rank: from, reason });
                }
                Header::Run(run) | Header::Alive(run) | Header::Network(run) if run > self.run => {
                    later.push_back((from, bytes));
                }
                Header::Network(first) if Some(first) == self.network && !self.takes_packets => {
                    later.push_back((from, bytes));
                }
                Header::Run(run) | Header::Alive(run) if run < self.run => {}
                Header::Network(first) if Some(first) != self.network => {}
                Header::Run(_) | Header::Network(_) => {
                    self.heartbeat.on_message(from, self.transport.now());
                    break Some((from, postcard::from_bytes(rest).map_err(unreadable)?));
                }
                Header::Alive(_) => self.heartbeat.on_message(from, self.transport.now()),
            }
        };
        later.append(&mut self.early);
        self.early = later;
        Ok(found)
    }

    /// Tells all other ranks about a failure, unless one of them has told this rank.
    pub(crate) fn fail(&mut self, error: Error) -> Error {
        if !matches!(error, Error::Remote { .. }) {
            let mut message = postcard::to_allocvec(&Header::Failed).unwrap_or_default();
            message.extend_from_slice(error.to_string().as_bytes());
            let own = self.rank();
            for rank in (0..self.size()).filter(|&rank| rank != own) {
                // The error is reported; that another rank cannot be told is a consequence.
                let _ = self.transport.send(rank, message.clone());
            }
        }
        self.failure = Some(error.clone());
        error
    }

    /// Compares what the ranks run, up the tree, and waits until the root has done so.
    fn greet(&mut self, program: &str) -> Result<(), Error> {
        let tree = Tree { rank: self.rank(), size: self.size() };
        let mut missing: Vec<_> = tree.children().collect();
        let mut nap = Nap::new();
        while let Some(&first) = missing.first() {
            match self.receive_greeting(&mut nap, first)? {
                (rank, Greeting::Program(theirs)) if theirs != program => {
                    return Err(Error::Mismatch { rank, theirs, ours: program.to_owned() });
                }
                (from, _) => missing.retain(|&rank| rank != from),
            }
        }
        if let Some(parent) = tree.parent() {
            self.send(parent, &Greeting::Program(program.to_owned()))?;
            self.receive_greeting(&mut nap, parent)?;
        }
        tree.children().try_for_each(|child| self.send(child, &Greeting::Welcome))
    }

    fn receive_greeting(
        &mut self,
        nap: &mut Nap,
        expected: usize,
    ) -> Result<(usize, Greeting), Error> {
        let start = self.transport.now();
        loop {
            if let Some(greeting) = self.receive()? {
                return Ok(greeting);
            }
            let time = self.transport.now().saturating_sub(start);
            if time > CONNECT {
                return Err(Error::Silent { rank: expected, time });
            }
            nap.rest(false);
        }
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn encode(header: &Header, message: &impl Serialize) -> Result<Vec<u8>, Error> {
    let unserializable = |error: postcard::Error| Error::Unserializable(error.to_string());
    let bytes = postcard::to_allocvec(header).map_err(unserializable)?;
    postcard::to_extend(message, bytes).map_err(unserializable)
}
