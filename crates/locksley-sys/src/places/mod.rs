//! Places: which processors are near to each other, as the machine says it.
//!
//! A [`Topology`] is a machine's processors and what they have in common: packages, memories,
//! caches, cores. [`Places`] divide the processors that a program may use into parts that share a
//! cache or a memory.
//!
//! # Examples
//! ```
//! # use locksley_sys as locksley;
//! use locksley::os::Processors;
//! use locksley::places::{Places, Topology};
//!
//! let machine = Topology::of_this_machine();
//! let places = Places::found(&machine, &Processors::allowed().ids().iter().copied().collect());
//! println!("{machine}\n{places}");
//! assert!(places.count() >= 1);
//! ```
//!
//! The folder's README says which files are read, and by which rule processors are divided.

mod level;
mod memory;
mod nesting;
mod partition;
mod sysfs;
mod topology;
mod tree;

pub use crate::processor_set::{NoProcessorSet, ProcessorSet};
pub use level::{Kind, Level, Region};
pub use memory::{MemoryPolicy, ask_for_huge_pages, place_memory};
pub use partition::{Places, PlacesError, Reason};
pub use topology::Topology;
pub use tree::Tree;
