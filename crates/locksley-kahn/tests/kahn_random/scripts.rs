//! Processes as scripts of sends and receives, and a sequential interpreter of them, which has
//! unbounded queues and runs the processes in turn, each as far as it gets.

use std::collections::VecDeque;

/// The most processes of a network: so many may block.
pub(crate) const PROCESSES: usize = 8;

/// Where the choices of a generator come from: random numbers, or a fuzzer's bytes.
pub(crate) trait Choices {
    /// Returns a number below `end`.
    fn below(&mut self, end: usize) -> usize;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Send(usize),
    Receive(usize),
    Yield,
    /// Is done with a channel before its end.
    Drop(usize),
}

/// Processes, and channels from one to another, or to itself.
#[derive(Clone, Debug)]
pub(crate) struct Scripts {
    pub(crate) channels: Vec<(usize, usize)>,
    pub(crate) scripts: Vec<Vec<Step>>,
}

impl Scripts {
    /// Made along one possible run, so that they come to an end if channels are unbounded.
    pub(crate) fn random(random: &mut impl Choices) -> Self {
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
    pub(crate) fn disturb(&mut self, random: &mut impl Choices) {
        for _ in 0..1 + random.below(4) {
            let process = random.below(self.scripts.len());
            let own: Vec<_> =
                (0..self.channels.len()).filter(|&c| self.channels[c].1 == process).collect();
            let script = &mut self.scripts[process];
            // A channel that was given up is not received from.
            if let Some(Step::Drop(_)) = script.last() {
                continue;
            }
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

pub(crate) fn mix(state: u64, with: u64) -> u64 {
    (state ^ with).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

pub(crate) const NOTHING: u64 = 0xdead;

/// What a run comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Result {
    /// Each process's last state, which depends on all that it has received.
    pub(crate) states: Vec<u64>,
    /// Sent and received, of each channel.
    pub(crate) counts: Vec<(u64, u64)>,
}

/// The sequential interpreter. `Err` has the stuck processes, and at which channel each waits.
pub(crate) fn interpreted(scripts: &Scripts) -> std::result::Result<Result, Vec<(usize, usize)>> {
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
