//! Places: which processors are near to each other, as the machine says it.
//!
//! A [`Topology`] is a machine's processors and what they have in common: packages, memories,
//! caches, cores. [`Places`] divide the processors that a program may use into parts that share a
//! cache or a memory.
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
    Kind, Level, MemoryPolicy, NoProcessorSet, Places, PlacesError, ProcessorSet, Reason, Region,
    Topology, Tree, ask_for_huge_pages, place_memory,
};
