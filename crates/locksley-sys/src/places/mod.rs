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
#[cfg(manycore)]
mod manycore;
mod nesting;
mod partition;
mod processor_set;
mod sort;
mod sysfs;
mod topology;

pub use level::{Kind, Level, Region};
pub use partition::{Places, Reason};
pub use processor_set::{PlacesError, ProcessorSet};
pub use topology::Topology;
