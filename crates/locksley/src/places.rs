//! Places: groups of processors that share a cache or a memory.
//!
//! A [`Topology`] describes the processors of a machine and what they share: packages, memories,
//! caches, cores. [`Places`] divide the processors that a program may use into groups. Give them to
//! [`PoolBuilder::places`](crate::PoolBuilder::places) if tasks profit from data that other tasks
//! have left in a cache or memory.
//!
//! # Examples
//! ```
//! use locksley::os::Processors;
//! use locksley::places::{Places, Topology};
//!
//! let machine = Topology::of_this_machine();
//! let places = Places::found(&machine, &Processors::allowed().ids().iter().copied().collect());
//! println!("{machine}\n{places}");
//! assert!(places.count() >= 1);
//! ```

pub use locksley_sys::places::{
    Kind, Level, Places, PlacesError, ProcessorSet, Reason, Region, Topology,
};
