//! As [`std::cell`], where plain memory is concerned: what it costs is not modelled.

pub use std::cell::{Cell, OnceCell, RefCell, UnsafeCell};
