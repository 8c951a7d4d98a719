//! The list of what the operating system can do for us, and whether it does here.

use super::system;

/// One thing that the operating system may do for the runtime.
///
/// # Examples
/// ```
/// for assist in locksley::os::assists() {
///     println!("{}: {:?}", assist.name, assist.state);
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Assist {
    /// What it is called.
    pub name: &'static str,
    /// What the runtime does with it.
    pub purpose: &'static str,
    /// What the runtime does without it.
    pub fallback: &'static str,
    /// Whether it works on this machine, for this process.
    pub state: AssistState,
}

/// Whether an assist works here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssistState {
    /// It was tried and it works.
    Works,
    /// It was tried, or cannot be tried, and does not work, for this reason.
    Missing(String),
}

impl AssistState {
    pub(super) fn from_probe(probe: Result<(), String>) -> Self {
        match probe {
            Ok(()) => Self::Works,
            Err(why) => Self::Missing(why),
        }
    }
}

/// All assists, each probed once for the life of the process.
///
/// A change that must be undone is probed there and back, on a thread that is thrown away afterwards.
#[must_use]
pub fn assists() -> Vec<Assist> {
    [
        Assist {
            name: "futex",
            purpose: "a worker sleeps on a word of its own, and is woken by one system call",
            fallback: "the standard library's thread parking",
            state: AssistState::from_probe(system::probe_futex()),
        },
        Assist {
            name: "affinity",
            purpose: "workers run where the process may, even if the thread that builds the pool is pinned",
            fallback: "workers inherit the affinity of the thread that builds the pool",
            state: AssistState::from_probe(system::probe_affinity()),
        },
        Assist {
            name: "membarrier",
            purpose: "a worker that nobody robs forks without a fence; who needs its attention and cannot wait pays",
            fallback: "a fence with every fork and with every join",
            state: AssistState::from_probe(system::probe_heavy_barrier()),
        },
        Assist {
            name: "lowered priority",
            purpose: "a hunter that has failed for long gives way to everybody else when it yields",
            fallback: "hunters only yield",
            state: AssistState::from_probe(system::probe_lowered_priority()),
        },
        Assist {
            name: "thread clocks",
            purpose: "processor time of each worker, readable while it runs",
            fallback: "no processor time in the statistics",
            state: AssistState::from_probe(system::probe_thread_clock()),
        },
        Assist {
            name: "machine load",
            purpose: "processor time that other programs and the hypervisor took, for measuring PA",
            fallback: "PA is taken as min(workers, processors allowed)",
            state: AssistState::from_probe(system::probe_busy_time()),
        },
    ]
    .into()
}
