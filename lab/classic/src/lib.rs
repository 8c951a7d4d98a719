//! The work-stealing schedulers of five papers, as published, for comparisons.
//!
//! A [`Machine`] has workers with a deque each, threads with join counters, and a scheduling loop.
//! Where the papers differ, a [`Scheduler`] has a part for each variant, in a file of its own. The
//! head of each file names the paper, section, figure and lines.
//!
//! | paper | short name |
//! |---|---|
//! | "The Performance of Work Stealing in Multiprogrammed Environments", 1998 | Hood's study |
//! | "Hood: A User-Level Threads Library for Multiprogrammed ...", 1998 | Hood's library |
//! | "BWS: Balanced Work Stealing for Time-Sharing Multicores", 2012 | BWS |
//! | "A simple improvement of the work-stealing scheduling algorithm", 2010 | Nornir |
//! | "An Advanced Scheduler for Intervals", 2010 | LASSI |
//!
//! | what | from | file |
//! |---|---|---|
//! | non-blocking deque with tag, bounded array | Hood | [`deque::AbpArray`] |
//! | deques protected by a spinning or a blocking lock | Hood's study | [`deque::Locked`] |
//! | scheduling loop | Hood; BWS, Algorithm 1 | `worker.rs` |
//! | yield before each attempt | BWS, Algorithm 1 | [`stealing::Abp`] |
//! | yields, later at lowered priority | Hood | [`stealing::Hood`] |
//! | no yield | Hood's study | [`stealing::Naive`] |
//! | delayed yield, selective yield | BWS | [`stealing::Delayed`], [`stealing::Selective`] |
//! | counters, sleep, wake-up, yield to a victim | BWS, Algorithm 2 | [`stealing::Bws`] |
//! | busy workers wake | BWS, section 5.5 | [`stealing::BusyWakes`] |
//! | global information | BWS, section 5.5 | [`stealing::GlobalInformation`] |
//! | loop that yields after failures | Nornir | [`stealing::Nornir`] |
//! | WS-CUR and WS-LAST | Nornir | [`Placement`] |
//! | bounded channels protected by a busy-waiting lock | Nornir | [`channel()`] |
//! | join counters, signals | Hood's library | [`Thread`], [`Context`] |
//! | semaphores; data of a process | Hood's library | [`Semaphore`], [`PerWorker`] |
//! | `runScheduler` | Hood's library | [`Machine::run`] |
//! | one deque per *place*, round-robin; mailboxes | LASSI | [`Queues`], [`stealing::Lassi`] |
//! | static partitioning | Hood's study | [`static_partition`] |
//!
//! Nothing else is here: a thief that waits for a peer, a limit of workers or a replacement for a
//! worker that blocks are Locksley's, not the papers'.
//!
//! # Words
//!
//! A *worker* is what Hood calls a process and Nornir a CPU: an *OS thread* with a scheduling loop.
//! A *thread* is a thread of this crate, which BWS and Nornir call a task. A thread that the
//! scheduling loop runs has its own stack, so it can wait, and continue on another worker. Only a
//! forked thread that its parent pops in `join` is a procedure call.

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
    machine::{Machine, StartError},
    placement::Placement,
    priority::LoweredPriority,
    queues::Queues,
    semaphore::Semaphore,
    stats::Count,
    thief::{Stealing, Thief},
    thread::Thread,
    worker::{Ready, Scheduler},
};
