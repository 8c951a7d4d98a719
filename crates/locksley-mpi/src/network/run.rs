//! How a network runs on one rank, and how the ranks find that it waits.
//!
//! A rank is idle if none of its processes has run for a while, and no packet is to be sent. The
//! end of a bag's run is then found if the whole network waits ([`Termination`]). Each rank's
//! output says what waits there, and the root has a verdict: the network has ended, a channel
//! grows, or there is a deadlock.
//!
//! [`Termination`]: crate::termination::Termination

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use locksley::Pool;
use locksley::task::JoinHandle;
use locksley_kahn::Running;
use serde::{Deserialize, Serialize};

use super::bridge::{Bridge, Packet, Switchboard};
use super::{Network, Unended, lock};
use crate::error::Error;
use crate::message::Message;
use crate::nap::Nap;
use crate::protocol::Machine;
use crate::ranks::Ranks;
use crate::steal::{Local, Reduce};
use crate::transport::Transport;

/// A rank waits if none of its processes has run for so long.
const STILL: Duration = Duration::from_millis(10);
/// And if no worker was merely suspended when it was about to run a process: each of them has then
/// run a probe. The second round is for a process that was stolen during the first one.
const ROUNDS: u32 = 2;

/// What waits on some ranks.
#[derive(Default, Serialize, Deserialize)]
struct Waiting {
    processes: Vec<String>,
    /// Whether a rank has not seen the end of its part of the network. That comes after the end of
    /// its processes: their products are stored in between.
    is_running: bool,
    /// Full channels: capacity and number.
    full: Vec<(u64, usize)>,
}

/// What happens when the whole network waits.
#[derive(Serialize, Deserialize)]
enum Verdict {
    Ended,
    /// All processes have ended, and the network is about to.
    Wait,
    Grow(usize),
}

impl Waiting {
    fn verdict(mut self) -> Result<Verdict, Error> {
        match self.full.into_iter().min() {
            _ if self.processes.is_empty() && !self.is_running => Ok(Verdict::Ended),
            Some((_, channel)) => Ok(Verdict::Grow(channel)),
            None if self.processes.is_empty() => Ok(Verdict::Wait),
            None => {
                self.processes.sort();
                Err(Error::Deadlock(self.processes))
            }
        }
    }
}

/// The network of one rank while it runs.
struct LocalNetwork<'p> {
    pool: &'p Pool,
    rank: usize,
    switchboard: Arc<Switchboard>,
    bridges: HashMap<usize, Arc<Bridge>>,
    unended: Arc<Unended>,
    result: Arc<OnceLock<Result<(), Error>>>,
    task: JoinHandle<()>,
    /// How often processes had run, and since when that has not changed.
    still: (Option<u64>, Duration),
    /// The channel of a packet that has no part here.
    stray: Option<usize>,
    /// Rounds of probes that have begun, and one more when all have ended.
    rounds: u32,
    /// Probes of this round that are to be run.
    probes: Arc<AtomicUsize>,
    is_idle: bool,
}

impl Network {
    fn start(mut self, pool: &Pool) -> Result<LocalNetwork<'_>, Error> {
        // The first one by its name, so that all ranks report the same.
        if let Some((process, _)) = self.places.iter().filter(|(_, place)| !place.is_used).min() {
            let reason = format!("process '{process}' was placed, but not added afterwards");
            return Err(Error::Network(reason));
        }
        let bridges = self.bridges();
        let network_error = |error: locksley_kahn::NetworkError| Error::Network(error.to_string());
        let mut running = Cancelling(self.local.start(pool).map_err(network_error)?);
        let result = Arc::new(OnceLock::new());
        let (slot, poller) = (Arc::clone(&result), self.switchboard.poller.clone());
        let task = pool.spawn_future(async move {
            let ended = poll_fn(|context| Pin::new(&mut running.0).poll(context)).await;
            let _ = slot.set(ended.map(drop).map_err(network_error));
            poller.unpark();
        });
        Ok(LocalNetwork {
            pool,
            rank: self.rank,
            switchboard: self.switchboard,
            bridges,
            unended: self.unended,
            result,
            task,
            still: (None, Duration::ZERO),
            stray: None,
            rounds: 0,
            probes: Arc::default(),
            is_idle: false,
        })
    }
}

/// Cancels a network, if it has not ended.
struct Cancelling(Running);

impl Drop for Cancelling {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl LocalNetwork<'_> {
    /// Finds whether this rank is idle.
    fn observe(&mut self, now: Duration) -> Result<(), Error> {
        if let Some(channel) = self.stray {
            let reason = format!("a packet of channel {channel} came to a rank without that one");
            return Err(Error::Network(format!("{reason}: the ranks' networks differ")));
        }
        let has_ended = match self.result.get() {
            Some(Err(error)) => return Err(error.clone()),
            Some(Ok(())) => true,
            None => false,
        };
        // Before the runs, which shows those that came before a probe. Acquire: pairs with the
        // release in `begin_round`.
        let is_round_over = self.probes.load(Ordering::Acquire) == 0;
        let runs = self.switchboard.rest();
        if runs.is_none() || runs != self.still.0 || !self.switchboard.outbox.is_empty() {
            self.still = (runs, now);
            self.rounds = 0;
            self.probes = Arc::default();
            self.is_idle = false;
            return Ok(());
        }
        let is_still = now.saturating_sub(self.still.1) > STILL;
        if is_still && is_round_over && self.rounds <= ROUNDS {
            if self.rounds < ROUNDS {
                self.begin_round();
            }
            self.rounds += 1;
        }
        self.is_idle = has_ended || self.rounds > ROUNDS;
        Ok(())
    }

    /// Has each worker run a probe, when its deque is empty, and any worker another one, after what
    /// was ready before.
    fn begin_round(&mut self) {
        let probes = Arc::new(AtomicUsize::new(self.pool.workers() + 1));
        self.probes = Arc::clone(&probes);
        let poller = self.switchboard.poller.clone();
        let probe = move || {
            // Release: pairs with the acquire in `observe`.
            if probes.fetch_sub(1, Ordering::Release) == 1 {
                poller.unpark();
            }
        };
        let of_each = probe.clone();
        self.pool.spawn(move |_| probe());
        self.pool.spawn_broadcast(move |_| of_each());
    }
}

impl Local for LocalNetwork<'_> {
    type Tasks = Packet;
    type Output = Waiting;

    fn is_idle(&self) -> bool {
        self.is_idle
    }

    fn take(&mut self, _thief: usize) -> Option<Packet> {
        None
    }

    fn give(&mut self, packet: Packet) {
        self.still.0 = None;
        self.is_idle = false;
        match self.bridges.get(&packet.channel) {
            Some(bridge) => bridge.receive(packet.content),
            None => self.stray = Some(packet.channel),
        }
    }
}

impl Reduce for LocalNetwork<'_> {
    fn output(&mut self) -> Waiting {
        let on_rank = |name: &String| format!("{name} on rank {}", self.rank);
        let full = |(&channel, bridge): (&usize, &Arc<Bridge>)| Some((bridge.starved()?, channel));
        Waiting {
            processes: lock(&self.unended).values().map(on_rank).collect(),
            is_running: self.result.get().is_none(),
            full: self.bridges.iter().filter_map(full).collect(),
        }
    }

    fn merge(&self, output: &mut Waiting, other: Waiting) {
        output.processes.extend(other.processes);
        output.is_running |= other.is_running;
        output.full.extend(other.full);
    }
}

impl Drop for LocalNetwork<'_> {
    fn drop(&mut self) {
        // Which drops the task's `Cancelling`.
        self.task.cancel();
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
                    Verdict::Wait => {}
                    Verdict::Grow(channel) => {
                        if let Some(bridge) = local.bridges.get(&channel) {
                            bridge.grow();
                        }
                    }
                }
                local.still.0 = None;
            }
        });
        self.end_network();
        run.map_err(|error| self.fail(error))
    }

    /// Runs until the whole network waits. The root gets to know for what.
    fn run_until_waiting(
        &mut self,
        local: &mut LocalNetwork<'_>,
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
            local.observe(self.now())?;
            let is_active = self.turn(&mut protocol, local)?;
            if let Some(waiting) = Machine::<LocalNetwork<'_>>::left(&mut protocol) {
                *counts = (protocol.stealing.sent, protocol.stealing.received);
                return Ok(waiting);
            }
            if is_active || has_sent {
                nap = Nap::new();
            } else {
                nap.rest(!local.is_idle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_ended_when_all_its_parts_have() {
        let waiting = |is_running| Waiting { is_running, ..Waiting::default() };
        assert!(matches!(waiting(true).verdict(), Ok(Verdict::Wait)));
        assert!(matches!(waiting(false).verdict(), Ok(Verdict::Ended)));
    }
}
