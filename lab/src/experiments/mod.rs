//! The experiments, one folder each.

pub mod cliff;
pub mod forkjoin;
