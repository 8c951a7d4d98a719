//! The list of what the operating system can do for us, and whether it does here.

use super::system;

/// One thing that the operating system may do for the runtime.
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
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
/// A change that must be undone is probed there and back, on a thread that is thrown away
/// afterwards.
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
            purpose: "workers run where the process may, even if a pinned thread builds the pool",
            fallback: "workers inherit the affinity of the thread that builds the pool",
            state: AssistState::from_probe(system::probe_affinity()),
        },
        Assist {
            name: "membarrier",
            purpose: "a worker without thieves forks without a fence, as does a lone network",
            fallback: "a fence with every fork and with every join, and with what processes send",
            state: AssistState::from_probe(system::probe_heavy_barrier()),
        },
        Assist {
            name: "lowered priority",
            purpose: "a hunter that has failed for long gives way to everybody else when it yields",
            fallback: "hunters only yield",
            state: AssistState::from_probe(system::probe_lowered_priority()),
        },
        Assist {
            name: "run state",
            purpose: "a hunter sees which processor a peer ran on last",
            fallback: "hunters do not give way to peers that wait for their processor",
            state: AssistState::from_probe(system::probe_run_state()),
        },
        Assist {
            name: "switch records",
            purpose: "a hunter sees whether a peer was preempted, wherever it waits",
            fallback: "only peers that wait for the hunter's own processor are seen to wait",
            state: AssistState::from_probe(system::probe_switch_records()),
        },
        Assist {
            name: "moves",
            purpose: "a hunter moves a preempted peer to itself, or itself to a free processor",
            fallback: "peers run where the kernel puts them",
            state: AssistState::from_probe(system::probe_affinity()),
        },
        Assist {
            name: "short turns",
            purpose: "a worker that is woken, or brought to another processor, runs soon",
            fallback: "workers take turns as long as everybody's",
            state: AssistState::from_probe(system::probe_slice()),
        },
        Assist {
            name: "runnable threads",
            purpose: "hunters see whether others want the machine, and are patient if nobody does",
            fallback: "hunters behave as if others wanted it",
            state: AssistState::from_probe(system::probe_runnable_threads()),
        },
        Assist {
            name: "thread clocks",
            purpose: "processor time of each worker, readable while it runs",
            fallback: "no processor time in the statistics",
            state: AssistState::from_probe(system::probe_thread_clock()),
        },
    ]
    .into()
}
