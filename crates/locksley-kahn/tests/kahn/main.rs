//! Process networks: what goes through them, and how they end.

#![cfg(not(loom))]

mod blocking;
mod cancelled;
#[path = "../../../locksley/tests/common/mod.rs"]
mod common;
mod deadlocks;
mod dropped;
mod ends;
mod failing;
mod results;
mod streams;
mod traced;
mod waits;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use locksley_kahn::{
    Inlet, Network, NetworkError, NetworkReport, Product, Receiver, Running, Sender, Waiting,
};
use tokio::sync::Semaphore;

/// Whether a process of a cycle waits at an empty or at a full channel.
const EMPTY: bool = false;
const FULL: bool = true;

/// What a process has panicked with.
fn panic_of(error: NetworkError) -> Box<dyn Any + Send> {
    match error {
        NetworkError::Panicked { error, .. } => error.into_panic(),
        other => panic!("{other:?}"),
    }
}

fn of(names: &[(&str, &str, bool)]) -> Vec<(String, String, bool)> {
    let mut names: Vec<_> =
        names.iter().map(|&(p, c, need)| (p.to_owned(), c.to_owned(), need)).collect();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    names
}

fn cycle(cycle: &[Waiting]) -> Vec<(String, String, bool)> {
    let mut names: Vec<_> = cycle
        .iter()
        .map(|wait| (wait.process.clone(), wait.channel.clone(), wait.is_full))
        .collect();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    names
}

/// Counts how many there are.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Passes on what it gets, `turns` times.
async fn pass_on(mut input: Receiver<u64>, mut output: Sender<u64>, turns: usize) -> u64 {
    let mut last = 0;
    for _ in 0..turns {
        let Some(n) = input.recv().await else { return last };
        last = n + 1;
        output.send(last).await;
    }
    last
}

/// A ring of processes, of which one has `tokens` to begin with.
fn ring(network: &mut Network, size: usize, tokens: usize, turns: usize) {
    let (outlets, mut inlets): (Vec<_>, Vec<_>) =
        (0..size).map(|n| network.channel(format!("{n}"), 1)).unzip();
    inlets.rotate_right(1);
    for (n, (output, input)) in outlets.into_iter().zip(inlets).enumerate() {
        network.process(format!("p{n}"), (output, input), async move |(mut output, input)| {
            if n == 0 {
                for _ in 0..tokens {
                    output.send(0).await;
                }
            }
            pass_on(input, output, turns).await
        });
    }
}

/// Two processes that wait for each other, one of them for room. The other takes `wanted` messages
/// at once in the end.
fn crossed(network: &mut Network, capacity: usize, sent: u32) -> Product<u32> {
    let (numbers, last) = network.channel("numbers", capacity);
    let (signal, done) = network.channel("signal", 1);
    network.process("first", (numbers, signal), async move |(mut numbers, mut signal)| {
        for n in 0..sent {
            numbers.send(n).await;
        }
        signal.send(()).await;
    });
    network.process("second", (last, done), async |(mut last, mut done)| {
        done.recv().await;
        let mut sum = 0;
        while let Some(n) = last.recv().await {
            sum += n;
        }
        sum
    })
}

/// Adds a process that sends 17 numbers through a channel with room for 16. Returns the receiving
/// end, what has a permit when one number was sent, and what has one when all were sent.
fn seventeen_for_sixteen(network: &mut Network) -> (Inlet<u32>, Arc<Semaphore>, Arc<Semaphore>) {
    let (output, input) = network.channel("numbers", 16);
    let [first, all] = [0; 2].map(|permits| Arc::new(Semaphore::new(permits)));
    let (first_sent, all_sent) = (Arc::clone(&first), Arc::clone(&all));
    network.process("count", output, async move |mut output| {
        output.send(0).await;
        first.add_permits(1);
        for n in 1..17 {
            output.send(n).await;
        }
        all.add_permits(1);
    });
    (input, first_sent, all_sent)
}

/// Fails if it does not end soon.
fn ends(running: Running) -> Result<NetworkReport, NetworkError> {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(running.join()));
    told.recv_timeout(Duration::from_secs(20)).expect("the network ends")
}
