//! The transport of a rank in virtual time.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use super::events::Time;
use crate::error::Error;
use crate::transport::Transport;

/// The network, at the moment at which one rank polls.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) size: usize,
    pub(super) now: Time,
    /// What has arrived at each rank.
    pub(super) inboxes: Vec<VecDeque<(usize, Vec<u8>)>>,
    /// What was sent, and is not an event yet.
    pub(super) sent: Vec<Letter>,
    /// The processor time that the rank has spent on messages since it began to poll.
    pub(super) spent: Time,
    pub(super) latency: Time,
    pub(super) bandwidth: u64,
    pub(super) overhead: Time,
    pub(super) slow: Option<(u64, Time)>,
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

/// A message on its way.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) arrival: Time,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) message: Vec<u8>,
}

/// One rank's end of the network.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) rank: usize,
    pub(super) network: Rc<RefCell<Network>>,
}

impl Transport for Port {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.network.borrow().size
    }

    fn now(&self) -> Duration {
        let network = self.network.borrow();
        Duration::from_nanos(network.now + network.spent)
    }

    fn send(&mut self, to: usize, message: Vec<u8>) -> Result<(), Error> {
        let network = &mut *self.network.borrow_mut();
        network.spent += network.overhead;
        let bytes = message.len() as u64;
        let transfer = u128::from(bytes) * 1_000_000_000 / u128::from(network.bandwidth);
        let mut arrival = network.now + network.spent + network.latency + transfer as Time;
        if let Some((number, delay)) = network.slow
            && number == network.messages
        {
            arrival += delay;
        }
        network.messages += 1;
        network.bytes += bytes;
        network.sent.push(Letter { arrival, from: self.rank, to, message });
        Ok(())
    }

    fn try_receive(&mut self) -> Result<Option<(usize, Vec<u8>)>, Error> {
        let network = &mut *self.network.borrow_mut();
        let next = network.inboxes[self.rank].pop_front();
        if next.is_some() {
            network.spent += network.overhead;
        }
        Ok(next)
    }
}
