//! A channel in two parts: the producer's rank exports messages, and the consumer's imports them.
//!
//! The exporting process takes a message out of the producer's end for each credit, and begins with
//! as many credits as the capacity. The importing process returns a credit for each message that it
//! has put into the consumer's end. Messages are numbered: they may overtake each other on the way.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Wake, Waker};
use std::thread::Thread;

use crossbeam_queue::SegQueue;
use locksley_kahn::{Receiver, Sender};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::lock;

/// What the two parts of a channel tell each other.
#[derive(Serialize, Deserialize)]
pub(crate) struct Packet {
    pub(crate) channel: usize,
    pub(crate) content: Content,
}

#[derive(Serialize, Deserialize)]
pub(crate) enum Content {
    /// A message, with its number.
    Message(u64, Vec<u8>),
    /// There were so many messages, and there will be no more.
    End(u64),
    /// So many messages more may be sent.
    Credit(u64),
}

/// What all parts on one rank share.
pub(crate) struct Switchboard {
    pub(crate) rank: usize,
    pub(crate) outbox: SegQueue<(usize, Packet)>,
    /// The thread that empties the outbox.
    pub(crate) poller: Thread,
}

impl Wake for Switchboard {
    fn wake(self: Arc<Self>) {
        self.poller.unpark();
    }
}

/// One rank's part of a channel: both, if both processes are here.
pub(crate) struct Bridge {
    pub(crate) channel: usize,
    /// The rank of the other part.
    pub(crate) other: usize,
    pub(crate) switchboard: Arc<Switchboard>,
    export: Mutex<Export>,
    import: Mutex<Import>,
}

struct Export {
    capacity: u64,
    credits: u64,
    /// How many were used.
    sent: u64,
    waker: Option<Waker>,
}

#[derive(Default)]
struct Import {
    arrived: BTreeMap<u64, Vec<u8>>,
    next: u64,
    end: Option<u64>,
    waker: Option<Waker>,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Bridge {
    pub(crate) fn new(
        channel: usize,
        other: usize,
        capacity: u64,
        switchboard: Arc<Switchboard>,
    ) -> Self {
        let export = Mutex::new(Export { capacity, credits: capacity, sent: 0, waker: None });
        Self { channel, other, switchboard, export, import: Mutex::default() }
    }

    /// The exporting process.
    pub(crate) async fn export<T: Serialize>(
        self: Arc<Self>,
        mut messages: Receiver<T>,
    ) -> Result<(), Failure> {
        loop {
            let number = self.credit().await;
            let Some(message) = messages.recv().await else {
                self.tell(Content::End(number));
                return Ok(());
            };
            self.tell(Content::Message(number, postcard::to_allocvec(&message)?));
        }
    }

    /// The importing process.
    pub(crate) async fn import<T: DeserializeOwned>(
        self: Arc<Self>,
        mut messages: Sender<T>,
    ) -> Result<(), Failure> {
        while let Some(bytes) = self.next().await {
            messages.send(postcard::from_bytes(&bytes)?).await;
            self.tell(Content::Credit(1));
        }
        Ok(())
    }

    /// Takes a credit, when there is one. Returns the number of the message.
    async fn credit(&self) -> u64 {
        poll_fn(|context| {
            let mut export = lock(&self.export);
            if export.credits == 0 {
                export.waker = Some(context.waker().clone());
                return Poll::Pending;
            }
            export.credits -= 1;
            export.sent += 1;
            Poll::Ready(export.sent - 1)
        })
        .await
    }

    /// The next message, when it has arrived. `None` at the end.
    async fn next(&self) -> Option<Vec<u8>> {
        poll_fn(|context| {
            let mut import = lock(&self.import);
            let number = import.next;
            if let Some(message) = import.arrived.remove(&number) {
                import.next += 1;
                return Poll::Ready(Some(message));
            }
            if import.end == Some(number) {
                return Poll::Ready(None);
            }
            import.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Tells the other part.
    fn tell(&self, content: Content) {
        if self.other == self.switchboard.rank {
            return self.receive(content);
        }
        let packet = Packet { channel: self.channel, content };
        self.switchboard.outbox.push((self.other, packet));
        self.switchboard.poller.unpark();
    }

    /// The other part tells this one.
    pub(crate) fn receive(&self, content: Content) {
        let waker = match content {
            Content::Message(number, bytes) => {
                let mut import = lock(&self.import);
                import.arrived.insert(number, bytes);
                import.waker.take()
            }
            Content::End(number) => {
                let mut import = lock(&self.import);
                import.end = Some(number);
                import.waker.take()
            }
            Content::Credit(credits) => {
                let mut export = lock(&self.export);
                export.credits += credits;
                export.waker.take()
            }
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The capacity, if the exporting process waits for a credit, and how many it has used.
    pub(crate) fn starved(&self) -> Option<(u64, u64)> {
        let export = lock(&self.export);
        let waits = export.credits == 0 && export.waker.is_some();
        waits.then_some((export.capacity, export.sent))
    }

    /// The number of the next message, if the importing process waits for it.
    pub(crate) fn hungry(&self) -> Option<u64> {
        let import = lock(&self.import);
        let is_there = import.arrived.contains_key(&import.next) || import.end == Some(import.next);
        (!is_there && import.waker.is_some()).then_some(import.next)
    }

    /// Doubles the capacity.
    pub(crate) fn grow(&self) {
        let added = {
            let mut export = lock(&self.export);
            let capacity = export.capacity;
            export.capacity *= 2;
            capacity
        };
        self.receive(Content::Credit(added));
    }
}
