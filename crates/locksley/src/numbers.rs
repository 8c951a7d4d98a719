//! The numbers of threads, workers and places, each with a type of its own.

use std::fmt;

/// Defines a number that selects one of the things in its documentation.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(u32);

        impl $name {
            #[inline]
            pub(crate) const fn new(number: usize) -> Self {
                debug_assert!(number <= u32::MAX as usize);
                Self(number as u32)
            }

            #[inline]
            pub(crate) const fn get(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), " {}"), self.0)
            }
        }
    };
}

number! {
    /// A thread that runs tasks of a pool: which deque, parker and counters are meant. The slots of
    /// the workers' own threads come first, then those of guests, then those of replacements.
    Slot
}

number! {
    /// A worker, as tasks see it. At any moment one thread runs tasks under an index.
    Index
}

number! {
    /// A group of workers that share a cache or a memory.
    Place
}

impl Index {
    /// The slot of the worker's own thread.
    #[inline]
    pub(crate) const fn slot(self) -> Slot {
        Slot(self.0)
    }
}
