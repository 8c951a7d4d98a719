//! Metrics of [`locksley`]'s pools.
//!
//! A pool counts in any case ([`Pool::stats`](locksley::Pool::stats)). This crate reads the
//! counters by interval, as [`PoolMetrics`], and writes them for Prometheus ([`prometheus`]). With
//! the feature `metrics` they also go to the facade of that name, which has exporters for
//! OpenTelemetry and others.

#[cfg(feature = "metrics")]
mod facade;
mod interval;
pub mod prometheus;

pub use interval::{PoolMetrics, PoolMonitor};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
