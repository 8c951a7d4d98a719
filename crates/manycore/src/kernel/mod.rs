//! The kernel's scheduler: which thread runs on which processor.
