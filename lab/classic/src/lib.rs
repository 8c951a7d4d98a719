//! The work-stealing schedulers of five papers, as published, for comparisons.
//!
//! A [`Machine`] has workers with a deque each, threads with join counters, and a scheduling loop.
//! What the papers have in different ways is a value of a [`Scheduler`], in a file of its own. The
//! head of each file names the paper, section, figure and lines.
//!
//! | what | from | file |
//! |---|---|---|
//! | non-blocking deque with tag, bounded array | Hood | [`deque::AbpArray`] |
//! | deques with a spinning or a blocking lock | Hood's study | [`deque::Locked`] |
//! | scheduling loop | Hood; BWS, Algorithm 1 | `worker.rs` |
//! | yield before each attempt | BWS, Algorithm 1 | [`stealing::Abp`] |
//! | yields at lowered priority | Hood | [`stealing::Hood`] |
//! | no yield, delayed yield, selective yield | Hood's study; BWS | [`stealing::Naive`], [`stealing::Delayed`], [`stealing::Selective`] |
//! | counters, sleep, wake-up, yield to a victim | BWS, Algorithm 2 | [`stealing::Bws`] |
//! | busy workers wake; global information | BWS, section 5.5 | [`stealing::BusyWakes`], [`stealing::GlobalInformation`] |
//! | loop that yields after failures | Nornir | [`stealing::Nornir`] |
//! | WS-CUR and WS-LAST | Nornir | [`Placement`] |
//! | bounded channels in a busy-waiting lock | Nornir | [`channel()`] |
//! | join counters, signals | Hood's library | [`Thread`], [`Context`] |
//! | semaphores; data of a process; `runScheduler` | Hood's library | [`Semaphore`], [`PerWorker`], [`Machine::run`] |
//! | one deque for a place, round-robin | LASSI | [`Scheduler::places`], [`stealing::Lassi`] |
//! | mailboxes | LASSI, alternative designs | [`Scheduler::has_mailboxes`] |
//! | static partitioning | Hood's study | [`static_partition`] |
//!
//! Nothing else is here: a thief that waits for a peer, a limit of workers or a replacement for a
//! worker that blocks are Locksley's, not the papers'.
//!
//! # Words
//!
//! A *worker* is what Hood calls a process and Nornir a CPU. A *thread* is a thread of this crate,
//! which BWS and Nornir call a task. It has a stack of its own once it was stolen, so it can wait
//! and go on at another worker.

#![allow(clippy::new_without_default, reason = "nothing here is a default for others")]

mod channel;
mod context;
pub mod deque;
mod fiber;
mod machine;
mod mailbox;
#[cfg(all(test, loom))]
mod models;
mod placement;
mod priority;
mod queues;
mod semaphore;
pub mod static_partition;
mod stats;
pub mod stealing;
mod thief;
mod thread;
mod wake_ups;
mod worker;

pub use self::{
    channel::{Receiver, Sender, channel},
    context::{Context, PerWorker},
    machine::{Machine, Scheduler, StartError},
    placement::Placement,
    priority::LoweredPriority,
    queues::Queues,
    semaphore::Semaphore,
    stats::Stats,
    thief::{Stealing, Thief},
    thread::Thread,
    worker::Ready,
};
