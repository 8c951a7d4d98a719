//! Governors to compare with: what Hood's study and its successors measured their own against.
//!
//! Only the laboratory turns them on (feature `alternatives`).

mod no_yield;

pub use no_yield::NoYield;
