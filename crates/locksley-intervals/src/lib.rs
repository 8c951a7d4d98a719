//! Task graphs with explicit order: intervals, their points, edges between points, and locks.
//!
//! Use them where [`join`](locksley::join) and scopes order too much: a step of a stencil that
//! needs only its neighbours, a factorization by tiles, a pipeline. The model is that of Matsakis
//! and Gross, "Programming with Intervals" (2009). An interval is the time in which a task runs. It
//! has two points, its start and its end. An edge from one point to another says that the first
//! occurs before the second.
//!
//! - [`run`] runs a root interval. All other intervals are created inside of it by
//!   [`Context::interval`].
//! - **Parents.** An interval starts after the start of its parent. It ends after its body and
//!   after the ends of its children.
//! - **Edges** lead to the [start](Builder::after) or the [end](Builder::end_after) of a new
//!   interval, or [later](Context::add_edge) to a point that the running interval comes before. An
//!   edge that would close a cycle is refused, so every graph ends.
//! - **Drafts** are for graphs from data, such as build files: intervals are declared and connected
//!   in any order, and then started together. A cycle is named by its whole path: [`Draft`].
//! - **Results** are read by [`Handle::get`] in intervals that come later. Panics and
//!   [cancellations](Context::cancel) follow the edges: what depends on them does not run, and the
//!   root reports them. A [`CancelHandle`] cancels a whole root from any thread.
//! - **Locks** are held from start to end: [`IntervalLock`]. Data that only edges protect can be
//!   checked: [`Guarded`].
//! - **Places**: an interval runs [near](Builder::near) its data.
//! - **Recordings** contain the names and times of a graph, and its drawing for Graphviz:
//!   [`Recording`].
//!
//! # Examples
//! Cells of a table, each of which waits only for its upper and its left neighbour:
//! ```
//! use locksley_intervals::{self as intervals, Handle};
//!
//! const WIDTH: usize = 5;
//! let mut paths = 0;
//! intervals::run("lattice", |root| {
//!     // The number of paths to each cell, if each step leads right or down.
//!     let mut above: Vec<Handle<'_, u64>> = Vec::new();
//!     for y in 0..WIDTH {
//!         let mut row: Vec<Handle<'_, u64>> = Vec::new();
//!         for x in 0..WIDTH {
//!             let (up, left) = (above.get(x).copied(), row.last().copied());
//!             let cell = root.interval("cell").after_all(up).after_all(left);
//!             row.push(cell.spawn(move |cx| match (up, left) {
//!                 (Some(up), Some(left)) => up.get(cx) + left.get(cx),
//!                 _ => 1,
//!             }));
//!         }
//!         above = row;
//!     }
//!     let (corner, paths) = (above[WIDTH - 1], &mut paths);
//!     root.interval("last").after(corner).spawn(move |cx| *paths = *corner.get(cx));
//! })?;
//! assert_eq!(paths, 70); // 8 choose 4
//! # Ok::<(), intervals::IntervalCancelled>(())
//! ```

mod graph;

pub use graph::cancellation::{CancelHandle, IntervalCancelled};
pub use graph::context::{Context, Handle, Point};
pub use graph::draft::Draft;
pub use graph::lock::{IntervalLock, Key};
pub use graph::recording::{IntervalRecord, Recording};
pub use graph::refusal::Refusal;
pub use graph::root::{Root, run};
pub use graph::{builder::Builder, guarded::Guarded, point::Side};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/graphs.md")]
struct Guide;
