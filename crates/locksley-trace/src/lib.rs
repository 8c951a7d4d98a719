//! A flight recorder for [`locksley`]: it keeps the last events of each thread in a file, which
//! survives the program, and reads them back as a timeline.
//!
//! Recorded are steals, searches, parks, waits, wake-ups, tasks that were stolen or sent, spans of
//! the program, and, where the kernel tells, when a thread was preempted. A fork is no event. An
//! event takes 16 bytes and some 17 ns. While nothing is recorded, it takes a load.
//!
//! | to | use |
//! |---|---|
//! | record a program that is started with `LOCKSLEY_TRACE=file` | [`init`], [`init_library`] |
//! | record a part of a program | [`Recorder`] |
//! | keep what came before something slow | [`Recording::dump`] |
//! | name what a task does | [`span`] |
//! | read a file | [`Trace`], [`Timeline`] |
//! | look at it | `locksley trace FILE`, a command of the laboratory; [`perfetto`] |
//!
//! The feature `tracing` records the spans of that crate, and tells it of a pool's life.
//!
//! # Examples
//! ```
//! use locksley_trace::{Recorder, Trace, span};
//!
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("example.trace");
//! let recording = Recorder::new().record_to(&file)?;
//! let pool = locksley::Pool::builder().workers(2).tracer(locksley_trace::tracer()).build()?;
//! pool.install(|_| {
//!     let _span = span("sum");
//!     (0..1000_u32).sum::<u32>()
//! });
//! drop((pool, recording));
//!
//! let trace = Trace::read(&file)?;
//! assert!(trace.labels.contains(&"sum".to_owned()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Elsewhere than on Linux, recordings are read, but not made.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

#[cfg(feature = "tracing")]
mod bridge;
mod clock;
mod error;
#[cfg(target_os = "linux")]
mod file;
mod format;
#[cfg(target_os = "linux")]
mod labels;
#[cfg(target_os = "linux")]
mod lengths;
#[cfg(target_os = "linux")]
mod live;
mod names;
mod read;
mod record;
#[cfg(not(target_os = "linux"))]
#[path = "portable.rs"]
mod recorder;
#[cfg(target_os = "linux")]
mod recorder;
mod ring;
#[cfg(target_os = "linux")]
mod session;
mod span;
#[cfg(target_os = "linux")]
mod thread;
mod timeline;
mod tracer;
#[cfg(target_os = "linux")]
mod watch;

pub mod perfetto;

#[cfg(feature = "tracing")]
pub use bridge::SpanLayer;
pub use error::Error;
#[cfg(target_os = "linux")]
pub use live::{Command, live_file, live_processes, trace_file};
pub use read::{ThreadTrace, Trace};
pub use record::{Kind, Record};
pub use recorder::{Recorder, Recording};
pub use span::{Span, span};
pub use timeline::{Counter, Flow, FlowKind, Instant, Slice, SliceKind, Timeline, Track};
pub use tracer::{init, init_library, library_tracer, trace_all_pools, tracer};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
