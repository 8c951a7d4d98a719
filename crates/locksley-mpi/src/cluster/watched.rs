//! The protocol, with its messages counted.

use crate::error::Error;
use crate::message::{Message, Outgoing};
use crate::protocol::{Machine, Protocol};
use crate::steal::Reduce;

/// What ranks have received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) random_requests: u64,
    pub(super) random_steals: u64,
    pub(super) lifeline_requests: u64,
    pub(super) lifeline_steals: u64,
    pub(super) waves: u64,
}

/// [`Protocol`], unchanged.
#[derive(Debug)]
pub(super) struct Watched<R> {
    pub(super) protocol: Protocol<R>,
    pub(super) counts: Counts,
}

impl<L: Reduce> Machine<L> for Watched<L::Output> {
    fn receive(
        &mut self,
        from: usize,
        message: Message<L::Tasks, L::Output>,
        local: &mut L,
        out: &mut Outgoing<L::Tasks, L::Output>,
    ) -> Result<(), Error> {
        let counts = &mut self.counts;
        match message {
            Message::Steal { lifeline: false } => counts.random_requests += 1,
            Message::Steal { lifeline: true } => counts.lifeline_requests += 1,
            Message::Loot { lifeline: false, .. } => counts.random_steals += 1,
            Message::Loot { lifeline: true, .. } => counts.lifeline_steals += 1,
            Message::Wave => counts.waves += 1,
            _ => {}
        }
        self.protocol.receive(from, message, local, out)
    }

    fn poll(
        &mut self,
        local: &mut L,
        out: &mut Outgoing<L::Tasks, L::Output>,
    ) -> Result<(), Error> {
        self.protocol.poll(local, out)
    }

    fn on_death(&mut self, dead: usize, local: &mut L, out: &mut Outgoing<L::Tasks, L::Output>) {
        self.protocol.on_death(dead, local, out);
    }

    fn left(&mut self) -> Option<Option<L::Output>> {
        Machine::<L>::left(&mut self.protocol)
    }

    fn has_left(&self) -> bool {
        Machine::<L>::has_left(&self.protocol)
    }

    fn stolen(&self) -> u64 {
        Machine::<L>::stolen(&self.protocol)
    }
}
