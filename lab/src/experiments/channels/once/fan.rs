//! One process that feeds many, or is fed by many: through each channel in turn.

use std::array;
use std::time::Instant;

use super::gate::Gate;
use super::ledger::Ledger;
use super::network::{Input, Network, Output, Runtime};
use super::{FAN, STREAM_CAPACITY, Timed, warm_up};

/// So many numbers to each of the others.
pub(super) fn out(runtime: &impl Runtime, numbers: u64, seed: u64) -> Result<Timed, String> {
    let (ledger, gate) = (Ledger::open(), Gate::after(FAN));
    let mut network = runtime.network();
    let outlets = array::from_fn::<_, FAN, _>(|_| {
        let (outlet, inlet) = network.channel(STREAM_CAPACITY);
        let (own, gate) = (ledger.clone(), gate.clone());
        network.process([], [inlet], move |[], [mut input]| async move {
            for _ in 0..warm_up(numbers) {
                input.receive().await;
            }
            gate.arrive();
            let (mut sum, mut position) = (0u64, 0u64);
            while let Some(number) = input.receive().await {
                position += 1;
                sum = sum.wrapping_add(number.wrapping_mul(position));
            }
            own.ended(Instant::now(), sum);
        });
        outlet
    });
    let own = ledger.clone();
    network.process(outlets, [], move |mut outputs, []| async move {
        for _ in 0..warm_up(numbers) {
            for output in &mut outputs {
                output.send(0).await;
            }
        }
        gate.pass().await;
        own.begun(Instant::now());
        let mut number = seed;
        for _ in 0..numbers {
            for output in &mut outputs {
                output.send(number).await;
                number = number.wrapping_add(1);
            }
        }
    });
    network.run()?;
    ledger.timed()
}

/// So many numbers from each of the others.
pub(super) fn into_one(runtime: &impl Runtime, numbers: u64, seed: u64) -> Result<Timed, String> {
    let (ledger, gate) = (Ledger::open(), Gate::after(1));
    let mut network = runtime.network();
    let mut producer = 0u64;
    let inlets = array::from_fn::<_, FAN, _>(|_| {
        let (outlet, inlet) = network.channel(STREAM_CAPACITY);
        let (own, gate) = (ledger.clone(), gate.clone());
        let first = seed.wrapping_add(producer.wrapping_mul(numbers));
        producer += 1;
        network.process([outlet], [], move |[mut output], []| async move {
            for _ in 0..warm_up(numbers) {
                output.send(0).await;
            }
            gate.pass().await;
            own.begun(Instant::now());
            for number in 0..numbers {
                output.send(first.wrapping_add(number)).await;
            }
        });
        inlet
    });
    let own = ledger.clone();
    network.process([], inlets, move |[], mut inputs| async move {
        for _ in 0..warm_up(numbers) {
            for input in &mut inputs {
                input.receive().await;
            }
        }
        gate.arrive();
        let (mut sum, mut position) = (0u64, 0u64);
        for _ in 0..numbers {
            for input in &mut inputs {
                position += 1;
                let number = input.receive().await.unwrap_or_default();
                sum = sum.wrapping_add(number.wrapping_mul(position));
            }
        }
        own.ended(Instant::now(), sum);
    });
    network.run()?;
    ledger.timed()
}
