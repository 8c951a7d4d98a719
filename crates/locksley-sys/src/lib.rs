//! An internal layer of Locksley, without a promise of stability: everything that knows no worker.
//!
//! | module | contents |
//! |---|---|
//! | [`primitive`] | atomics, locks and threads of std or of a model checker; hazard pointers |
//! | [`os`] | the operating system's assists, each with a portable fallback |
//! | [`places`] | the machine's topology, and its division into places |
//! | [`countdown`] | the counter behind joins |
//! | `counter` | on x86-64, the time-stamp counter |
//! | [`unwind`] | panics as values |
//!
//! `locksley` re-exports what is public of [`os`] and [`places`].
//!
//! # Features
//!
//! `stepped` replaces the atomics by those of the stall harness ([`primitive`]). Only
//! dev-dependencies turn it on. It has no effect without `debug_assertions`, or with `cfg(loom)` or
//! `cfg(shuttle)`, so release builds and benchmarks never have it. Tests that use
//! `primitive::stepped` are compiled under `all(test, debug_assertions, not(loom))`.

#![allow(clippy::new_without_default, reason = "nothing here is a default for others")]

pub mod countdown;
#[cfg(target_arch = "x86_64")]
pub mod counter;
pub mod os;
pub mod places;
pub mod primitive;
pub mod unwind;

/// Prints the reason why a test is skipped on standard error. The test harness does not capture
/// the line, since no macro prints it. `.ci/run` counts these lines.
#[cfg(any(test, feature = "stepped"))]
#[track_caller]
pub fn skip_test(reason: impl std::fmt::Display) {
    let (thread, place) = (std::thread::current(), std::panic::Location::caller());
    let test = thread.name().unwrap_or("unnamed");
    // A single write keeps the line whole beside the output of other tests.
    let line = format!("skipped: {test} ({}:{}): {reason}\n", place.file(), place.line());
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
}
