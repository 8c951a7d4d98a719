//! Random networks, under every placement, number of workers and capacity, against a sequential
//! interpreter.
//!
//! A process is a script of sends and receives. Kahn's theorem says that what it sends and receives
//! depends on the scripts alone. The interpreter has unbounded queues and runs the processes in
//! turn, each as far as it gets.

#![cfg(not(loom))]

use std::collections::VecDeque;

use locksley::os::Assists;
use locksley::task::{Placement, yield_now};
use locksley::{Pool, block_on};
use locksley_kahn::{Network, NetworkError, Over, Receiver, Sender};

/// The most processes of a network: so many may block.
const PROCESSES: usize = 8;

/// xorshift64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 16) as usize % end
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Send(usize),
    Receive(usize),
    Yield,
    /// Is done with a channel before its end.
    Drop(usize),
}

/// Processes, and channels from one to another, or to itself.
#[derive(Clone, Debug)]
struct Scripts {
    channels: Vec<(usize, usize)>,
    scripts: Vec<Vec<Step>>,
}

impl Scripts {
    /// Made along one possible run, so that they come to an end if channels are unbounded.
    fn random(random: &mut Random) -> Self {
        let processes = 1 + random.below(PROCESSES);
        let count = 1 + random.below(2 * processes + 2);
        let channels: Vec<_> =
            (0..count).map(|_| (random.below(processes), random.below(processes))).collect();
        let mut scripts = vec![Vec::new(); processes];
        let mut filled = vec![0; count];
        for _ in 0..random.below(400) {
            let channel = random.below(count);
            let (from, to) = channels[channel];
            // Runs of several: so that capacities matter.
            for _ in 0..1 + random.below(6) {
                if random.below(2) == 0 {
                    scripts[from].push(Step::Send(channel));
                    filled[channel] += 1;
                } else if filled[channel] > 0 {
                    scripts[to].push(Step::Receive(channel));
                    filled[channel] -= 1;
                } else if random.below(30) == 0 {
                    scripts[to].push(Step::Yield);
                }
            }
        }
        Self { channels, scripts }
    }

    /// Other orders, more receives than sends, and channels that are given up: it may be a deadlock
    /// now.
    fn disturb(&mut self, random: &mut Random) {
        for _ in 0..1 + random.below(4) {
            let process = random.below(self.scripts.len());
            let own: Vec<_> =
                (0..self.channels.len()).filter(|&c| self.channels[c].1 == process).collect();
            let script = &mut self.scripts[process];
            let at = random.below(script.len() + 1);
            match random.below(3) {
                0 if at + 1 < script.len() => script.swap(at, at + 1),
                1 if !own.is_empty() => {
                    script.insert(at, Step::Receive(own[random.below(own.len())]))
                }
                2 if !own.is_empty() => {
                    let channel = own[random.below(own.len())];
                    script.truncate(at);
                    script.push(Step::Drop(channel));
                }
                _ => {}
            }
        }
    }
}

fn mix(state: u64, with: u64) -> u64 {
    (state ^ with).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

const NOTHING: u64 = 0xdead;

/// What a run comes to.
#[derive(Debug, PartialEq, Eq)]
struct Result {
    /// Each process's last state, which depends on all that it has received.
    states: Vec<u64>,
    /// Sent and received, of each channel.
    counts: Vec<(u64, u64)>,
}

/// The sequential interpreter. `Err` has the stuck processes, and at which channel each waits.
fn interpreted(scripts: &Scripts) -> std::result::Result<Result, Vec<(usize, usize)>> {
    let processes = scripts.scripts.len();
    let mut queues = vec![VecDeque::new(); scripts.channels.len()];
    let mut counts = vec![(0, 0); scripts.channels.len()];
    let mut at = vec![0; processes];
    let mut states: Vec<u64> = (0..processes as u64).collect();
    loop {
        let mut stuck = Vec::new();
        let mut has_moved = false;
        for process in 0..processes {
            while let Some(&step) = scripts.scripts[process].get(at[process]) {
                let state = &mut states[process];
                match step {
                    Step::Send(channel) => {
                        *state = mix(*state, channel as u64);
                        queues[channel].push_back(*state);
                        counts[channel].0 += 1;
                    }
                    Step::Receive(channel) => {
                        let from = scripts.channels[channel].0;
                        if let Some(message) = queues[channel].pop_front() {
                            *state = mix(*state, message);
                            counts[channel].1 += 1;
                        } else if from != process && at[from] == scripts.scripts[from].len() {
                            *state = mix(*state, NOTHING);
                        } else {
                            stuck.push((process, channel));
                            break;
                        }
                    }
                    Step::Yield | Step::Drop(_) => {}
                }
                at[process] += 1;
                has_moved = true;
            }
        }
        if stuck.is_empty() {
            return Ok(Result { states, counts });
        }
        if !has_moved {
            return Err(stuck);
        }
    }
}

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

#[test]
fn the_result_does_not_depend_on_the_schedule() {
    let pools: Vec<_> = [1, 2, 3, 5]
        .into_iter()
        .flat_map(|workers| {
            [Placement::Last, Placement::Current].map(|placement| {
                let pool = Pool::builder().workers(workers).placement(placement);
                pool.replacements(PROCESSES).build().unwrap()
            })
        })
        // Networks on this pool are shared from the start.
        .chain([1, 3].map(|workers| {
            let pool = Pool::builder().workers(workers).assists(Assists::NONE);
            pool.replacements(PROCESSES).build().unwrap()
        }))
        .collect();
    let mut random = Random(0x5eed);
    let (mut ended, mut stuck, mut grown) = (0, 0, 0);
    for round in 0..250 {
        let mut scripts = Scripts::random(&mut random);
        if round % 3 == 0 {
            scripts.disturb(&mut random);
        }
        let expected = interpreted(&scripts);
        for pool in &pools {
            let most = [1, 3, 12][random.below(3)];
            let capacities: Vec<_> =
                scripts.channels.iter().map(|_| 1 + random.below(most)).collect();
            // None of them, some, or all.
            let blocking = [0, random.next(), u64::MAX][random.below(3)];
            match (&expected, run(&scripts, &capacities, blocking, pool)) {
                (Ok(expected), Ok((found, times))) => {
                    assert_eq!(expected, &found, "{round}");
                    ended += 1;
                    grown += times;
                }
                (Err(expected), Err(NetworkError::Deadlock(cycle))) => {
                    for (wait, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
                        let found = (wait.process.parse().unwrap(), wait.channel.parse().unwrap());
                        assert!(expected.contains(&found), "{round}: {cycle:?}, {expected:?}");
                        // It waits for what the next one sends.
                        let (from, to) = scripts.channels[found.1];
                        let (giver, own) = (next.process.parse().unwrap(), found.0);
                        assert_eq!((from, to), (giver, own), "{round}: {cycle:?}");
                        assert!(!wait.is_full, "{round}: {cycle:?}");
                    }
                    stuck += 1;
                }
                (expected, found) => {
                    panic!("{round}: {found:?} instead of {expected:?}, {scripts:?}")
                }
            }
        }
    }
    assert!(ended > 1000 && stuck > 30, "both kinds: {ended}, {stuck}");
    assert!(grown > 100, "capacities are too small for many of them: {grown}");
}
