//! The experiments, one folder each.

pub mod cliff;
