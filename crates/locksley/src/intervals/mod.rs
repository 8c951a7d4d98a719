//! Intervals: tasks with a start and an end, ordered by edges, guarded by locks.
//!
//! The model is that of Matsakis and Gross, "Programming with Intervals" (2009): an interval is a span of time in which a task
//! runs. It has two points, its start and its end. An edge from one point to another says that the one occurs before the other,
//! so a program says directly which work may overlap and which may not.
//!
//! - [`run`] runs a root interval. All others are made inside of another one, by [`Context::interval`].
//! - **Parents.** An interval starts after its parent's start. It ends after its body and after its children's ends.
//! - **Edges** go to the new interval's [start](Builder::after) or [end](Builder::end_after), or
//!   [later](Context::add_edge) to a point that the running interval comes before. What would close a cycle is refused: a
//!   graph always ends.
//! - **Locks** are held from start to end: [`Lock`]. Data that edges alone protect may be checked: [`Guarded`].
//! - **Places**: an interval runs where its data is, if that is [said](Builder::near).
//! - **Results** flow along edges: [`Builder::after_with`]. So do panics and [cancellations](Context::cancel): what depends on
//!   them does not run, and they arrive at the root.
//! - **Recordings** of a graph are drawn as a picture over time, or by Graphviz: [`Recording`].
//!
//! # Examples
//! Rows of a table that wait for their neighbours in the row before, and for nothing else:
//! ```
//! use locksley::intervals::{self, Handle};
//!
//! const WIDTH: usize = 5;
//! let mut paths = 0;
//! intervals::run("lattice", |root| {
//!     // How many ways lead from the top left corner to each cell, if each step goes right or down.
//!     let mut above: Vec<Handle<'_, u64>> = Vec::new();
//!     for y in 0..WIDTH {
//!         let mut row: Vec<Handle<'_, u64>> = Vec::new();
//!         for x in 0..WIDTH {
//!             let mut cell = root.interval("cell");
//!             let up = above.get(x).map(|&up| cell.after_with(up));
//!             let left = row.last().map(|&left| cell.after_with(left));
//!             row.push(cell.spawn(move |cx| match (up, left) {
//!                 (Some(up), Some(left)) => up.get(cx) + left.get(cx),
//!                 _ => 1,
//!             }));
//!         }
//!         above = row;
//!     }
//!     let mut last = root.interval("last");
//!     let corner = last.after_with(above[WIDTH - 1]);
//!     let paths = &mut paths;
//!     last.spawn(move |cx| *paths = *corner.get(cx));
//! })?;
//! assert_eq!(paths, 70); // 8 choose 4
//! # Ok::<(), intervals::Cancelled>(())
//! ```

mod arena;
mod builder;
mod context;
mod drawing;
mod guarded;
mod handle;
mod interval;
mod lock;
#[cfg(all(test, loom))]
mod models;
mod notes;
mod occurrence;
mod order;
mod paths;
mod point;
mod record;
mod refusal;
mod root;
mod special;
#[cfg(all(test, not(loom)))]
mod stall;

pub use builder::Builder;
pub use context::Context;
pub use guarded::{Guarded, Reading, Writing};
pub use handle::{Handle, Input, Point};
pub use interval::Side;
pub use lock::{Key, Lock};
pub use record::{Recorded, RecordedEdge, RecordedPoint, Recording};
pub use refusal::{PointName, Refusal};
pub use root::{Cancelled, Root, run};
