//! Of a system that is not asked.

use std::io;

use super::{Count, Event};

/// There are none.
pub(super) fn open(_: Event) -> io::Result<Box<dyn Count>> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system is not asked for its counters"))
}
