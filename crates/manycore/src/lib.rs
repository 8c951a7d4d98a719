//! A virtual multiprocessor: threads and atomics run on many processors in virtual time.
#![doc = include_str!("../README.md")]

mod arena;
pub mod atomic;
pub mod cell;
pub mod coherence;
mod costs;
mod cpu_set;
mod engine;
mod error;
pub mod hint;
pub mod hypervisor;
mod ids;
pub mod kernel;
mod local_key;
pub mod machine;
mod neighbours;
pub mod os;
pub mod sync;
pub mod thread;
pub mod time;
mod topology;

pub use arena::Allocator;
pub use costs::SystemCosts;
pub use engine::trace::{TraceEvent, TraceKind};
pub use error::{RunError, UnknownCost};
pub use ids::{Cpu, Nanos, ProgramId, ThreadId};
pub use machine::{Machine, Outcome, Statistics};
pub use neighbours::Program;
pub use topology::{Distance, MAX_PROCESSORS, Topology, TopologyError};
