//! How a network runs on one rank, and how the ranks find that it waits.
//!
//! A rank is idle if each of its processes waits, and no packet is to be sent: only a packet can
//! then make one of them continue. So a packet is what a task is in a bag, and the end of a bag's
//! run is found if the whole network waits ([`Termination`]). Each rank's output says what waits
//! there, and the root has a verdict: the network has ended, the streams of senders that were
//! dropped end, a channel grows, or there is a deadlock.
//!
//! [`Termination`]: crate::termination::Termination

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use locksley::Pool;
use locksley_kahn::{NetworkError, Running};
use serde::{Deserialize, Serialize};

use super::Network;
use super::bridge::{Bridge, Packet, Switchboard};
use crate::error::Error;
use crate::message::Message;
use crate::nap::Nap;
use crate::protocol::Machine;
use crate::ranks::Ranks;
use crate::steal::{Local, Reduce};
use crate::transport::Transport;

/// What waits on some ranks.
#[derive(Default, Serialize, Deserialize)]
struct Waiting {
    processes: Vec<String>,
    /// Full channels: capacity and number.
    full: Vec<(u64, usize)>,
    /// Processes wait for messages of senders that were dropped.
    has_dropped_streams: bool,
}

/// What happens when the whole network waits.
#[derive(Serialize, Deserialize)]
enum Verdict {
    Ended,
    EndDroppedStreams,
    Grow(usize),
}

impl Waiting {
    fn verdict(mut self) -> Result<Verdict, Error> {
        match self.full.into_iter().min() {
            _ if self.processes.is_empty() => Ok(Verdict::Ended),
            _ if self.has_dropped_streams => Ok(Verdict::EndDroppedStreams),
            Some((_, channel)) => Ok(Verdict::Grow(channel)),
            None => {
                self.processes.sort();
                Err(Error::Deadlock(self.processes))
            }
        }
    }
}

/// The network of one rank while it runs.
struct LocalNetwork {
    rank: usize,
    switchboard: Arc<Switchboard>,
    bridges: HashMap<usize, Arc<Bridge>>,
    /// The processes of the program, and then those that export (true) and import.
    names: Vec<String>,
    parts: Vec<(Arc<Bridge>, bool)>,
    running: Running,
    has_ended: bool,
    /// The channel of a packet that has no part here.
    stray: Option<usize>,
    /// The numbers of the processes that wait, if all do that have not ended.
    waiting: Option<Vec<usize>>,
    /// What waits on other ranks.
    others: Waiting,
}

impl Network {
    fn start(mut self, pool: &Pool) -> Result<LocalNetwork, Error> {
        // The first one by its name, so that all ranks report the same.
        if let Some((process, _)) = self.places.iter().filter(|(_, place)| !place.is_used).min() {
            let reason = format!("process '{process}' was placed, but not added afterwards");
            return Err(Error::Network(reason));
        }
        let parts = self.add_parts();
        Ok(LocalNetwork {
            rank: self.rank,
            switchboard: self.switchboard,
            bridges: parts.iter().map(|(it, _)| (it.channel, Arc::clone(it))).collect(),
            names: self.names,
            parts,
            running: self.local.start(pool).map_err(network_error)?,
            has_ended: false,
            stray: None,
            waiting: None,
            others: Waiting::default(),
        })
    }
}

fn network_error(error: NetworkError) -> Error {
    Error::Network(error.to_string())
}

impl LocalNetwork {
    /// Finds whether this rank is idle.
    fn observe(&mut self) -> Result<(), Error> {
        if let Some(channel) = self.stray {
            let reason = format!("a packet of channel {channel} came to a rank without that one");
            return Err(Error::Network(format!("{reason}: the ranks' networks differ")));
        }
        if !self.has_ended {
            let waker = Waker::from(Arc::clone(&self.switchboard));
            let polled = Pin::new(&mut self.running).poll(&mut Context::from_waker(&waker));
            if let Poll::Ready(ended) = polled {
                ended.map_err(network_error)?;
                self.has_ended = true;
            }
        }
        let elsewhere = |number: usize| {
            let (bridge, exports) = &self.parts[number.checked_sub(self.names.len())?];
            if *exports { bridge.starved().map(|(_, sent)| sent) } else { bridge.hungry() }
        };
        let waiting = self.running.waiting(elsewhere);
        // Afterwards: a process sends its packets before it waits.
        self.waiting = waiting.filter(|_| self.switchboard.outbox.is_empty());
        Ok(())
    }
}

impl Local for LocalNetwork {
    type Tasks = Packet;
    type Output = Waiting;

    fn is_idle(&self) -> bool {
        // What was sent before the end has left the outbox, or is seen there.
        self.waiting.is_some() || self.has_ended && self.switchboard.outbox.is_empty()
    }

    fn take(&mut self, _thief: usize) -> Option<Packet> {
        None
    }

    fn give(&mut self, packet: Packet) {
        self.waiting = None;
        match self.bridges.get(&packet.channel) {
            Some(bridge) => bridge.receive(packet.content),
            None => self.stray = Some(packet.channel),
        }
    }
}

impl Reduce for LocalNetwork {
    fn add(&mut self, other: Waiting) {
        self.others.processes.extend(other.processes);
        self.others.full.extend(other.full);
        self.others.has_dropped_streams |= other.has_dropped_streams;
    }

    fn output(&mut self) -> Option<Waiting> {
        if !self.is_idle() {
            return None; // a process has woken for a moment, by a timer for example
        }
        let numbers = self.waiting.iter().flatten();
        let names = numbers.filter_map(|&number| self.names.get(number));
        let full =
            |(&channel, bridge): (&usize, &Arc<Bridge>)| Some((bridge.starved()?.0, channel));
        let mut all = std::mem::take(&mut self.others);
        all.processes.extend(names.map(|name| format!("{name} on rank {}", self.rank)));
        all.full.extend(self.bridges.iter().filter_map(full));
        all.has_dropped_streams |= self.running.has_dropped_streams();
        Some(all)
    }
}

impl Drop for LocalNetwork {
    fn drop(&mut self) {
        self.running.cancel();
    }
}

impl<T: Transport> Ranks<T> {
    /// An empty network, to be made in the same way on all ranks, by the thread that runs it.
    ///
    /// # Examples
    /// See [`Network`].
    pub fn network(&self) -> Network {
        Network::new(self.rank(), self.size())
    }

    /// Runs a network, on all ranks, until all its processes have ended.
    ///
    /// # Errors
    /// Each [`Error`]. A deadlock and a process that panics are errors, too.
    ///
    /// # Examples
    /// See [`Network`].
    pub fn run_network(&mut self, network: Network, pool: &Pool) -> Result<(), Error> {
        let run = network.start(pool).and_then(|mut local| {
            // Over all runs: packets of one may arrive in the next one.
            let mut counts = (0, 0);
            loop {
                let waiting = self.run_until_waiting(&mut local, &mut counts)?;
                match self.broadcast(waiting.map(Waiting::verdict).transpose()?)? {
                    Verdict::Ended => return Ok(()),
                    Verdict::EndDroppedStreams => local.running.end_dropped_streams(),
                    Verdict::Grow(channel) => {
                        if let Some(bridge) = local.bridges.get(&channel) {
                            bridge.grow();
                        }
                    }
                }
            }
        });
        self.end_network();
        run.map_err(|error| self.fail(error))
    }

    /// Runs until the whole network waits. The root gets to know for what.
    fn run_until_waiting(
        &mut self,
        local: &mut LocalNetwork,
        counts: &mut (u64, u64),
    ) -> Result<Option<Waiting>, Error> {
        let mut protocol = self.begin_network()?;
        (protocol.stealing.sent, protocol.stealing.received) = *counts;
        let mut nap = Nap::new();
        loop {
            let mut has_sent = false;
            while let Some((to, tasks)) = local.switchboard.outbox.pop() {
                has_sent = true;
                protocol.stealing.sent += 1;
                self.send_packet(to, &Message::<_, Waiting>::Loot { lifeline: false, tasks })?;
            }
            local.observe()?;
            let is_active = self.turn(&mut protocol, local)?;
            if let Some(waiting) = Machine::<LocalNetwork>::left(&mut protocol) {
                *counts = (protocol.stealing.sent, protocol.stealing.received);
                return Ok(waiting);
            }
            if is_active || has_sent {
                nap = Nap::new();
            } else {
                nap.rest(!local.is_idle());
            }
        }
    }
}
