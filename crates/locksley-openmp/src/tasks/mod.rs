//! Explicit tasks: what one is, when it is ready, and where it waits for a thread.

mod body;
mod copies;
mod dependences;
mod detachment;
mod group;
mod queue;
mod reductions;
mod task;

pub(crate) use body::{Body, Copier, Function};
pub(crate) use copies::{Copies, Variable};
pub(crate) use dependences::{Access, Kind, accesses};
pub(crate) use detachment::Event;
pub(crate) use group::Group;
pub(crate) use queue::Queue;
pub(crate) use reductions::Reductions;
pub(crate) use task::{Options, Task};
