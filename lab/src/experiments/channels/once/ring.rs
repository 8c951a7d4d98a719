//! A ring of processes, through which one token goes round and round: all but one wait.

use std::time::Instant;

use super::ledger::Ledger;
use super::network::{Input, Network, Output, Runtime};
use super::{RING_CAPACITY, Timed};

/// Each process adds its number to the token, so many times, and once more before: with the first turn all begin.
pub(super) fn measure(
    runtime: &impl Runtime,
    processes: u64,
    turns: u64,
    seed: u64,
) -> Result<Timed, String> {
    let ledger = Ledger::open();
    let mut network = runtime.network();
    let (first, mut next) = network.channel(RING_CAPACITY);
    for own in 1..processes {
        let (output, input) = network.channel(RING_CAPACITY);
        network.process([output], [next], move |[mut output], [mut input]| async move {
            while let Some(token) = input.receive().await {
                output.send(token.wrapping_add(own)).await;
            }
        });
        next = input;
    }
    let own = ledger.clone();
    network.process([first], [next], move |[mut output], [mut input]| async move {
        output.send(seed).await;
        let mut token = input.receive().await.unwrap_or_default();
        own.begun(Instant::now());
        for _ in 0..turns {
            output.send(token).await;
            token = input.receive().await.unwrap_or_default();
        }
        own.ended(Instant::now(), token);
    });
    network.run()?;
    ledger.timed()
}
