//! Teams of threads: how they begin and end, meet at barriers, and execute tasks.

mod attributes;
mod barrier;
mod binding;
mod current;
mod members;
mod region;
mod size;
mod tasking;
mod worker;

pub(crate) use current::{begin_process, current, member, release_threads, with_task};
pub(crate) use members::{Member, Team};
pub(crate) use region::{Region, end, isolated, start};
pub(crate) use tasking::{NewTask, await_event, create, wait_until, yield_to_descendant};
