//! Scripts as processes of a real network, and how they end, compared with the interpreter.

use locksley::task::yield_now;
use locksley::{Pool, block_on};
use locksley_kahn::{Network, NetworkError, Over, Receiver, Sender};

use super::scripts::{NOTHING, Result, Scripts, Step, interpreted, mix};

/// A script, carried out by a blocking process.
fn carry_out_blocking(
    process: usize,
    script: Vec<Step>,
    outputs: Vec<(usize, Sender<u64>)>,
    inputs: Vec<(usize, Receiver<u64>)>,
) -> std::result::Result<u64, Over> {
    let mut outputs: std::collections::HashMap<_, _> = outputs.into_iter().collect();
    let mut inputs: std::collections::HashMap<_, _> = inputs.into_iter().collect();
    let mut state = process as u64;
    for step in script {
        match step {
            Step::Send(channel) => {
                state = mix(state, channel as u64);
                outputs.get_mut(&channel).unwrap().send_blocking(state)?;
            }
            Step::Receive(channel) => {
                let message = inputs.get_mut(&channel).unwrap().recv_blocking()?;
                state = mix(state, message.unwrap_or(NOTHING));
            }
            Step::Yield => block_on(yield_now()),
            Step::Drop(channel) => drop(inputs.remove(&channel)),
        }
    }
    Ok(state)
}

/// A script, carried out by a process.
async fn carry_out(
    process: usize,
    script: Vec<Step>,
    outputs: Vec<(usize, Sender<u64>)>,
    inputs: Vec<(usize, Receiver<u64>)>,
) -> u64 {
    let mut outputs: std::collections::HashMap<_, _> = outputs.into_iter().collect();
    let mut inputs: std::collections::HashMap<_, _> = inputs.into_iter().collect();
    let mut state = process as u64;
    for step in script {
        match step {
            Step::Send(channel) => {
                state = mix(state, channel as u64);
                outputs.get_mut(&channel).unwrap().send(state).await;
            }
            Step::Receive(channel) => {
                let message = inputs.get_mut(&channel).unwrap().recv().await;
                state = mix(state, message.unwrap_or(NOTHING));
            }
            Step::Yield => yield_now().await,
            Step::Drop(channel) => drop(inputs.remove(&channel)),
        }
    }
    state
}

/// A process blocks if its bit is set.
fn run(
    scripts: &Scripts,
    capacities: &[usize],
    blocking: u64,
    pool: &Pool,
) -> std::result::Result<(Result, u64), NetworkError> {
    let mut network = Network::new();
    let processes = scripts.scripts.len();
    let mut outlets: Vec<Vec<_>> = (0..processes).map(|_| Vec::new()).collect();
    let mut inlets: Vec<Vec<_>> = (0..processes).map(|_| Vec::new()).collect();
    for (channel, &(from, to)) in scripts.channels.iter().enumerate() {
        let (outlet, inlet) = network.channel(format!("{channel}"), capacities[channel]);
        outlets[from].push((channel, outlet));
        inlets[to].push((channel, inlet));
    }
    let mut products = Vec::new();
    for (process, (outlets, inlets)) in outlets.into_iter().zip(inlets).enumerate() {
        let script = scripts.scripts[process].clone();
        let (out_numbers, outlets): (Vec<_>, Vec<_>) = outlets.into_iter().unzip();
        let (in_numbers, inlets): (Vec<_>, Vec<_>) = inlets.into_iter().unzip();
        let (name, ends) = (format!("{process}"), (outlets, inlets));
        let numbered = move |(outputs, inputs): (Vec<_>, Vec<_>)| {
            let outputs: Vec<_> = out_numbers.into_iter().zip(outputs).collect();
            let inputs: Vec<_> = in_numbers.into_iter().zip(inputs).collect();
            (outputs, inputs)
        };
        products.push(if blocking >> process & 1 == 1 {
            network.process_blocking(name, ends, move |ends| {
                let (outputs, inputs) = numbered(ends);
                carry_out_blocking(process, script, outputs, inputs)
            })
        } else {
            network.process(name, ends, move |ends| {
                let (outputs, inputs) = numbered(ends);
                carry_out(process, script, outputs, inputs)
            })
        });
    }
    let report = network.run(pool)?;
    let result = Result {
        states: products.into_iter().map(|product| product.take().unwrap()).collect(),
        counts: report.channels.iter().map(|channel| (channel.sent, channel.received)).collect(),
    };
    Ok((result, report.times_grown))
}

/// Runs the network and compares it with the interpreter's. Returns how often a channel has grown;
/// `None` if it came to a deadlock, as it must.
pub(crate) fn run_and_compare(
    scripts: &Scripts,
    capacities: &[usize],
    blocking: u64,
    pool: &Pool,
) -> Option<u64> {
    match (interpreted(scripts), run(scripts, capacities, blocking, pool)) {
        (Ok(expected), Ok((found, times_grown))) => {
            assert_eq!(expected, found, "{scripts:?}");
            Some(times_grown)
        }
        (Err(expected), Err(NetworkError::Deadlock(cycle))) => {
            for (wait, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
                let found = (wait.process.parse().unwrap(), wait.channel.parse().unwrap());
                assert!(expected.contains(&found), "{cycle:?}, {expected:?}, {scripts:?}");
                // It waits for what the next one sends.
                let (from, to) = scripts.channels[found.1];
                let (giver, own) = (next.process.parse().unwrap(), found.0);
                assert_eq!((from, to), (giver, own), "{cycle:?}, {scripts:?}");
                assert!(!wait.is_full, "{cycle:?}, {scripts:?}");
            }
            None
        }
        (expected, found) => panic!("{found:?} instead of {expected:?}, {scripts:?}"),
    }
}
