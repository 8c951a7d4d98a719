//! Process networks over ranks.

pub(crate) mod bridge;
mod ports;
mod run;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use bridge::{Bridge, Switchboard};
use crossbeam_queue::SegQueue;
pub use ports::{Inlet, Outlet, Ports};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Adds a part of a channel to the local network, as a process.
type Part = Box<dyn FnOnce(&mut locksley_kahn::Network, Arc<Bridge>) + Send>;

/// A network of processes and channels over all ranks: as `locksley_kahn::Network`, which it
/// extends. All ranks make the same network. Each process runs on one rank.
///
/// Messages are serialized. What each process computes depends neither on the ranks nor on
/// capacities. A channel holds up to three messages more than its capacity. If the whole network
/// waits, then the streams of senders that were dropped end, or else the smallest full channel
/// grows; if none is full, that is a deadlock. A process that waits for something else than a
/// channel, such as a timer, counts as running.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_mpi::{Error, Ranks, Simulation};
///
/// let ranks = Simulation::new(2, 1).ranks().into_iter().map(|transport| {
///     std::thread::spawn(move || -> Result<Option<u64>, Error> {
///         let mut ranks = Ranks::connect(transport)?;
///         let mut network = ranks.network();
///         let (to_sum, numbers) = network.channel::<u64>("numbers", 8);
///         network.place("sum", 0);
///         network.process("count", to_sum, async |mut output| {
///             for n in 1..=100 {
///                 output.send(n).await;
///             }
///         });
///         let sum = network.process("sum", numbers, async |mut input| {
///             let mut sum = 0;
///             while let Some(n) = input.recv().await {
///                 sum += n;
///             }
///             sum
///         });
///         ranks.run_network(network, &Pool::new(1).unwrap())?;
///         Ok(sum.take())
///     })
/// });
/// let ranks: Vec<_> = ranks.collect();
/// let sums = ranks.into_iter().map(|rank| rank.join().unwrap());
/// assert_eq!(sums.collect::<Result<Vec<_>, _>>()?, [Some(5050), None]);
/// # Ok::<(), Error>(())
/// ```
pub struct Network {
    rank: usize,
    size: usize,
    local: locksley_kahn::Network,
    switchboard: Arc<Switchboard>,
    channels: Vec<Channel>,
    places: HashMap<String, Place>,
    /// On all ranks.
    processes: usize,
    /// The processes of this rank.
    names: Vec<String>,
}

/// Where processes of a name run.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    rank: usize,
    is_used: bool,
}

struct Channel {
    capacity: u64,
    producer: Option<usize>,
    consumer: Option<usize>,
    export: Part,
    import: Part,
}

/// What a process returns, on the rank that runs it.
#[derive(Debug)]
pub struct Product<T>(Option<locksley_kahn::Product<T>>);

impl<T> Product<T> {
    /// Takes it, after the network has run. `None` on other ranks.
    pub fn take(self) -> Option<T> {
        self.0?.take()
    }
}

impl Network {
    pub(crate) fn new(rank: usize, size: usize) -> Self {
        let switchboard = Switchboard { rank, outbox: SegQueue::new(), poller: thread::current() };
        Self {
            rank,
            size,
            local: locksley_kahn::Network::new(),
            switchboard: Arc::new(switchboard),
            channels: Vec::new(),
            places: HashMap::new(),
            processes: 0,
            names: Vec::new(),
        }
    }

    /// Adds a channel that holds `capacity` messages. Returns the sending end, and then the
    /// receiving end. Give each of them to a process, or drop it.
    ///
    /// # Panics
    /// If the capacity is 0.
    ///
    /// # Examples
    /// See [`Network`].
    pub fn channel<T>(&mut self, name: impl Into<String>, capacity: usize) -> (Outlet<T>, Inlet<T>)
    where
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        assert!(capacity > 0, "a channel holds a message at least");
        let (name, channel) = (name.into(), self.channels.len());
        let (outlet, exported) = self.local.channel::<T>(name.clone(), 1);
        let (imported, inlet) = self.local.channel::<T>(name.clone(), 1);
        self.channels.push(Channel {
            export: part(format!("export of {name}"), exported, Bridge::export::<T>),
            import: part(format!("import of {name}"), imported, Bridge::import::<T>),
            capacity: capacity as u64,
            producer: None,
            consumer: None,
        });
        (Outlet { channel, end: outlet }, Inlet { channel, end: inlet })
    }

    /// Places a process that will be added, by its name. Otherwise, the ranks take turns.
    /// The network does not run if no such process is added.
    ///
    /// # Panics
    /// If there is no such rank.
    ///
    /// # Examples
    /// See [`Network`].
    pub fn place(&mut self, process: impl Into<String>, rank: usize) {
        assert!(rank < self.size, "there is no rank {rank} among {}", self.size);
        self.places.insert(process.into(), Place { rank, is_used: false });
    }

    /// Adds a process, and gives it ends of channels. Its rank calls `body` when the network begins
    /// to run.
    ///
    /// # Examples
    /// See [`Network`].
    pub fn process<P, F, R>(
        &mut self,
        name: impl Into<String>,
        ports: P,
        body: F,
    ) -> Product<R::Output>
    where
        P: Ports,
        F: FnOnce(<P::Local as locksley_kahn::Ports>::Owned) -> R + Send + 'static,
        R: Future<Output: Send + 'static> + Send + 'static,
    {
        let name = name.into();
        let rank = self.places.get_mut(&name).map_or(self.processes % self.size, |place| {
            place.is_used = true;
            place.rank
        });
        self.processes += 1;
        ports.declare(&mut |channel, is_producer| {
            let channel = &mut self.channels[channel];
            let end = if is_producer { &mut channel.producer } else { &mut channel.consumer };
            *end = Some(rank);
        });
        if rank != self.rank {
            return Product(None);
        }
        self.names.push(name.clone());
        Product(Some(self.local.process(name, ports.localize(), body)))
    }

    /// Adds the parts of channels that belong to this rank, as processes of the local network. With
    /// each: whether it exports.
    fn add_parts(&mut self) -> Vec<(Arc<Bridge>, bool)> {
        let mut parts = Vec::new();
        for (number, channel) in std::mem::take(&mut self.channels).into_iter().enumerate() {
            // An end that was dropped is where the other one is.
            let Some(producer) = channel.producer.or(channel.consumer) else { continue };
            let consumer = channel.consumer.unwrap_or(producer);
            if self.rank != producer && self.rank != consumer {
                continue;
            }
            let other = if self.rank == producer { consumer } else { producer };
            let switchboard = Arc::clone(&self.switchboard);
            let bridge = Arc::new(Bridge::new(number, other, channel.capacity, switchboard));
            if self.rank == producer {
                (channel.export)(&mut self.local, Arc::clone(&bridge));
                parts.push((Arc::clone(&bridge), true));
            }
            if self.rank == consumer {
                (channel.import)(&mut self.local, Arc::clone(&bridge));
                parts.push((bridge, false));
            }
        }
        parts
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type PartResult = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn part<P, R>(name: String, end: P, body: fn(Arc<Bridge>, P::Owned) -> R) -> Part
where
    P: locksley_kahn::Ports,
    R: Future<Output = PartResult> + Send + 'static,
{
    Box::new(move |network, bridge| {
        network.try_process(name, end, move |end| body(bridge, end));
    })
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("rank", &self.rank).finish_non_exhaustive()
    }
}
