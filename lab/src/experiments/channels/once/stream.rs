//! Numbers through one channel, or through a pipeline.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use super::gate::Gate;
use super::ledger::Ledger;
use super::network::{Input, Network, Output, Runtime};
use super::{STREAM_CAPACITY, Timed, warm_up};
use crate::experiments::place::place;

/// With one of so many numbers it is looked where the two processes of a single channel are.
const LOOK: u64 = 1024;

/// Where who sends was, and how often who received was elsewhere. A share is made of it, so a number that is
/// a few numbers old does no harm: `Relaxed`.
#[derive(Default)]
struct Whereabouts {
    sender: AtomicUsize,
    apart: AtomicU64,
}

/// So many numbers through so many processes, each of which but the first and the last adds one.
pub(super) fn measure(
    runtime: &impl Runtime,
    processes: u64,
    numbers: u64,
    seed: u64,
) -> Result<Timed, String> {
    let (ledger, whereabouts) = (Ledger::open(), Arc::new(Whereabouts::default()));
    let gate = Gate::after(1);
    let mut network = runtime.network();
    let is_single = processes == 2;
    let (output, mut next) = network.channel(STREAM_CAPACITY);
    let (own, seen, opened) = (ledger.clone(), whereabouts.clone(), gate.clone());
    network.process([output], [], move |[mut output], []| async move {
        for number in 0..warm_up(numbers) {
            output.send(number).await;
        }
        opened.pass().await;
        own.begun(Instant::now());
        for number in 0..numbers {
            if is_single && number % LOOK == 0 {
                seen.sender.store(place(), Ordering::Relaxed);
            }
            output.send(seed.wrapping_add(number)).await;
        }
    });
    for _ in 0..processes - 2 {
        let (output, input) = network.channel(STREAM_CAPACITY);
        network.process([output], [next], |[mut output], [mut input]| async move {
            while let Some(number) = input.receive().await {
                output.send(number.wrapping_add(1)).await;
            }
        });
        next = input;
    }
    let (own, seen) = (ledger.clone(), whereabouts.clone());
    network.process([], [next], move |[], [mut input]| async move {
        for _ in 0..warm_up(numbers) {
            input.receive().await;
        }
        gate.arrive();
        let (mut sum, mut position) = (0u64, 0u64);
        while let Some(number) = input.receive().await {
            if is_single && position % LOOK == 0 && seen.sender.load(Ordering::Relaxed) != place() {
                seen.apart.fetch_add(1, Ordering::Relaxed);
            }
            // The order counts.
            position += 1;
            sum = sum.wrapping_add(number.wrapping_mul(position));
        }
        own.ended(Instant::now(), sum);
    });
    network.run()?;
    let apart = whereabouts.apart.load(Ordering::Relaxed) as f64 / numbers.div_ceil(LOOK) as f64;
    Ok(Timed { apart: is_single.then_some(apart), ..ledger.timed()? })
}
