//! How threads wait: they spin for a moment while no other thread wants the processor, then give
//! the processor away, then sleep.

mod event;
mod futex;
mod lock;
#[cfg(not(loom))]
mod machine;
#[cfg(all(test, loom))]
mod models;
#[cfg_attr(loom, path = "patience_of_loom.rs")]
mod patience;

pub(crate) use event::Event;
pub(crate) use lock::Lock;
#[cfg(not(loom))]
pub(crate) use machine::{
    forget_threads, granted, note_asleep, note_awake, note_team, prepare_worker, share,
};
pub(crate) use patience::Patience;
