//! Processes that wait, each for the one before it, and take memory meanwhile.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use super::Memory;
use super::network::{Input, Network, Output, Runtime};
use crate::experiments::memory;

/// These come and go before: few, because the memory that they leave behind is used again.
const WARM_UP: u64 = 100;

/// What the processes share.
struct Crowd {
    /// How many there are.
    number: u64,
    waiting: AtomicU64,
    /// All of them wait. It knows nobody's runtime.
    all_wait: Notify,
    /// By how many a token was passed on, when it has come to the end.
    passed: AtomicU64,
    /// The resident memory while all waited; 0 where it was not to be had.
    resident: AtomicU64,
}

/// Memory that so many waiting processes take, each with one channel that it waits for.
pub(super) fn measure(runtime: &impl Runtime, number: u64) -> Result<Memory, String> {
    chain(runtime.network(), number.min(WARM_UP))?;
    let before = memory::resident()?;
    let (crowd, future) = chain(runtime.network(), number)?;
    let after = crowd.resident.load(Ordering::Relaxed);
    let answer = crowd.passed.load(Ordering::Relaxed);
    Ok(Memory { bytes: after.saturating_sub(before), future, answer })
}

/// Has so many processes wait in a row, and passes a token through. Says how large the future of each is.
fn chain(mut network: impl Network, number: u64) -> Result<(Arc<Crowd>, u64), String> {
    let crowd = Arc::new(Crowd {
        number,
        waiting: AtomicU64::new(0),
        all_wait: Notify::new(),
        passed: AtomicU64::new(0),
        resident: AtomicU64::new(0),
    });
    let (first, mut next) = network.channel(1);
    let mut future = 0;
    for _ in 0..number {
        let (output, input) = network.channel(1);
        let own = crowd.clone();
        future = network.process([output], [next], |[mut output], [mut input]| async move {
            let token = own.first(input.receive()).await;
            drop(own);
            output.send(token.unwrap_or_default() + 1).await;
        });
        next = input;
    }
    let own = crowd.clone();
    network.process([], [next], |[], [mut input]| async move {
        let passed = input.receive().await.unwrap_or_default();
        own.passed.store(passed, Ordering::Relaxed);
    });
    let own = crowd.clone();
    network.process([first], [], |[mut output], []| async move {
        own.all_wait.notified().await;
        own.resident.store(memory::resident().unwrap_or(0), Ordering::Relaxed);
        output.send(0).await;
    });
    network.run()?;
    Ok((crowd, future))
}

impl Crowd {
    /// What `receive` comes to; counts when it begins to wait.
    async fn first(&self, receive: impl Future<Output = Option<u64>>) -> Option<u64> {
        let mut receive = pin!(receive);
        let mut is_counted = false;
        poll_fn(|context| {
            let poll = receive.as_mut().poll(context);
            if poll.is_pending() && !is_counted {
                is_counted = true;
                self.one_waits();
            }
            poll
        })
        .await
    }

    fn one_waits(&self) {
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.number {
            self.all_wait.notify_one();
        }
    }
}
