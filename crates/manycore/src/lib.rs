//! A virtual multiprocessor: threads and atomics run on many processors in virtual time.

pub mod coherence;
pub mod ids;
pub mod kernel;
pub mod topology;
