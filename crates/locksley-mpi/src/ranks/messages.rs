//! How ranks exchange the messages of runs, and fail together.

use std::collections::VecDeque;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Ranks;
use crate::error::Error;
use crate::heartbeat::Heartbeat;
use crate::message::Message;
use crate::nap::Nap;
use crate::protocol::{Machine, Protocol};
use crate::steal::{Local, Stealing};
use crate::supervision::Supervision;
use crate::transport::Transport;

/// What a message is, and to which run it belongs.
#[derive(Serialize, Deserialize)]
enum Header {
    /// Of a run. Its number is 0 while ranks connect.
    Run(u32),
    /// Of a network that began with this run. A network takes several runs.
    Network(u32),
    /// A sign of life in a run.
    Alive(u32),
    /// A rank has died, and was silent for so long. The others go on.
    Dead(usize, Duration),
    /// The sender has failed: the reason follows.
    Failed,
}

impl<T: Transport> Ranks<T> {
    /// Begins another run, which fails if a rank has died.
    pub(crate) fn begin<R>(&mut self) -> Result<Protocol<R>, Error> {
        self.begin_run()?;
        if let Some((rank, time)) = self.dead {
            return Err(Error::Silent { rank, time });
        }
        Ok(Protocol::new(self.rank(), self.size(), u64::from(self.run)))
    }

    /// Begins another run, which goes on if a rank dies.
    pub(crate) fn begin_resilient<R>(&mut self) -> Result<Supervision<R>, Error> {
        self.begin_run()?;
        self.goes_on = true;
        Ok(Supervision::new(self.rank(), self.size(), u64::from(self.run)))
    }

    fn begin_run(&mut self) -> Result<(), Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.run += 1;
        self.takes_packets = false;
        self.goes_on = false;
        self.heartbeat = Heartbeat::new(self.rank(), self.size(), self.transport.now());
        self.dead.iter().for_each(|&(rank, _)| self.heartbeat.skip(rank));
        // The first message of a run: a rank that has sent any is watched.
        self.beat()
    }

    /// Begins a run of a network. Packets are received only in such runs, but belong to the whole
    /// network: one that is sent in one run may be received in the next one.
    pub(crate) fn begin_network<R>(&mut self) -> Result<Protocol<R>, Error> {
        let mut protocol = self.begin()?;
        if self.network.is_some() {
            self.heartbeat.expect(self.now());
        }
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

    /// Sends rank 0's message to all others, as a run of its own that follows another one
    /// immediately. Returns it on all ranks.
    pub(crate) fn broadcast<M>(&mut self, message: Option<M>) -> Result<M, Error>
    where
        M: Serialize + DeserializeOwned,
    {
        self.begin::<()>()?;
        self.heartbeat.expect(self.now());
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
        let is_time = match self.heartbeat.poll(self.now()) {
            Err(Error::Silent { rank, time }) => {
                self.bury(rank, time)?;
                self.heartbeat.expect(self.now());
                let message = encode(&Header::Dead(rank, time), &())?;
                self.send_to_all(&message)?;
                true
            }
            polled => polled?,
        };
        if is_time && self.heartbeat.next != self.rank() {
            let message = encode(&Header::Alive(self.run), &())?;
            self.transport.send(self.heartbeat.next, message)?;
        }
        Ok(())
    }

    /// Goes on without a rank that has died, if that is possible.
    fn bury(&mut self, dead: usize, time: Duration) -> Result<(), Error> {
        match self.dead {
            Some((rank, _)) if rank == dead => Ok(()),
            None if self.goes_on && dead != 0 && dead != self.rank() => {
                self.dead = Some((dead, time));
                self.heartbeat.skip(dead);
                self.transport.fail();
                Ok(())
            }
            _ => Err(Error::Silent { rank: dead, time }),
        }
    }

    pub(crate) fn now(&self) -> Duration {
        self.transport.now()
    }

    /// The time from which on the next turn sends a sign of life.
    pub(crate) fn next_beat(&self) -> Duration {
        self.heartbeat.next_beat
    }

    /// Receives what has arrived, and does what is to be done. Returns true if a message was
    /// received or sent: then one may arrive soon.
    pub(crate) fn turn<M, L>(&mut self, protocol: &mut M, local: &mut L) -> Result<bool, Error>
    where
        M: Machine<L>,
        L: Local<Tasks: Serialize + DeserializeOwned, Output: Serialize + DeserializeOwned>,
    {
        let mut out = Vec::new();
        let mut is_active = false;
        // What arrives after it has left belongs to a later run, or to none.
        while !protocol.has_left()
            && let Some((from, message)) = self.receive()?
        {
            is_active = true;
            protocol.receive(from, message, local, &mut out)?;
            self.send_all(&mut out)?;
        }
        if let Some((dead, _)) = self.dead {
            protocol.on_death(dead, local, &mut out);
        }
        protocol.poll(local, &mut out)?;
        is_active |= !out.is_empty();
        self.send_all(&mut out)?;
        self.beat()?;
        Ok(is_active)
    }

    fn send_all<M, R>(&mut self, out: &mut Vec<(usize, Message<M, R>)>) -> Result<(), Error>
    where
        Message<M, R>: Serialize,
    {
        out.drain(..).try_for_each(|(to, message)| self.send(to, &message))
    }

    pub(super) fn send(&mut self, to: usize, message: &impl Serialize) -> Result<(), Error> {
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
    pub(super) fn receive<M: DeserializeOwned>(&mut self) -> Result<Option<(usize, M)>, Error> {
        let mut later = VecDeque::new();
        let found = loop {
            let next = match self.early.pop_front() {
                Some(early) => Some(early),
                None => self.transport.try_receive()?,
            };
            let Some((from, bytes)) = next else { break None };
            if self.dead.is_some_and(|(dead, _)| dead == from) {
                continue; // on its way since before, or the rank was only slow
            }
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
                Header::Dead(dead, time) => self.bury(dead, time)?,
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

    fn send_to_all(&mut self, message: &[u8]) -> Result<(), Error> {
        let own = self.rank();
        let mut others = (0..self.size()).filter(|&rank| rank != own);
        others.try_for_each(|rank| self.transport.send(rank, message.to_vec()))
    }

    /// Tells all other ranks about a failure, unless one of them has told this rank.
    pub(crate) fn fail(&mut self, error: Error) -> Error {
        if !matches!(error, Error::Remote { .. }) {
            let mut message = postcard::to_allocvec(&Header::Failed).unwrap_or_default();
            message.extend_from_slice(error.to_string().as_bytes());
            // The error is reported; that another rank cannot be told is a consequence.
            let _ = self.send_to_all(&message);
        }
        self.transport.fail();
        self.failure = Some(error.clone());
        error
    }
}

fn encode(header: &Header, message: &impl Serialize) -> Result<Vec<u8>, Error> {
    let unserializable = |error: postcard::Error| Error::Unserializable(error.to_string());
    let bytes = postcard::to_allocvec(header).map_err(unserializable)?;
    postcard::to_extend(message, bytes).map_err(unserializable)
}
