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
    /// Why it does not work on this machine, for this process, if it does not.
    pub state: Result<(), String>,
}

/// All assists, each probed once for the life of the process.
///
/// A change that must be undone is probed there and back, on a thread that is thrown away
/// afterwards.
#[must_use]
pub fn assists() -> Vec<Assist> {
    let probed = |[name, purpose, fallback]: [&'static str; 3]| {
        let state = system::probe(name);
        Assist { name, purpose, fallback, state }
    };
    ASSISTS.into_iter().map(probed).collect()
}

/// Name, purpose, fallback.
const ASSISTS: [[&str; 3]; 9] = [
    [
        "futex",
        "a worker sleeps on a word of its own, and is woken by one system call",
        "the standard library's thread parking",
    ],
    [
        "affinity",
        "workers run where the process may, even if a pinned thread builds the pool",
        "workers inherit the affinity of the thread that builds the pool",
    ],
    [
        "membarrier",
        "without thieves a worker forks without a fence; so does a network on one thread",
        "a fence with every fork and with every join, and with what processes send",
    ],
    [
        "run state",
        "a searching worker sees which processor a peer ran on last",
        "searching workers do not give way to peers that wait for their processor",
    ],
    [
        "switch records",
        "a searching worker sees whether a peer was preempted, wherever it waits",
        "only peers that wait for the searching worker's own processor are seen to wait",
    ],
    [
        "short time slices",
        "a worker that is woken runs soon",
        "workers' time slices are as long as others'",
    ],
    [
        "runnable threads",
        "searching workers see whether others want the machine, and are patient if not",
        "searching workers behave as if others wanted it",
    ],
    [
        "board",
        "if asked for, pools of one user tell each other how many processors they want",
        "the kernel divides processors among the threads of all pools",
    ],
    [
        "thread clocks",
        "processor time of each worker, readable while it runs",
        "no processor time in the statistics",
    ],
];
