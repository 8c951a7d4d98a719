//! Intervals: tasks with a start and an end, ordered by edges, guarded by locks.
//!
//! The model is that of Matsakis and Gross, "Programming with Intervals" (2009): an interval is a
//! span of time in which a task runs. It has two points, its start and its end. An edge from one
//! point to another says that the one occurs before the other. So a program says directly which
//! work may overlap and which may not.
//!
//! - [`run`] runs a root interval. All others are made inside of one, by [`Context::interval`].
//! - **Parents.** An interval starts after its parent's start. It ends after its body and after its
//!   children's ends.
//! - **Edges** go to the new interval's [start](Builder::after) or [end](Builder::end_after), or
//!   [later](Context::add_edge) to a point that the running interval comes before. An edge that
//!   would close a cycle is refused: a graph always ends.
//! - **Locks** are held from start to end: [`IntervalLock`]. Data that edges alone protect may be
//!   checked: [`Guarded`].
//! - **Places**: an interval runs [near](Builder::near) its data, or [where](Builder::follow)
//!   another one has used the data.
//! - **Results** flow along edges: [`Builder::after_with`]. So do panics and
//!   [cancellations](Context::cancel): what depends on them does not run, and they reach the root.
//! - **Recordings** have the names and times of a graph, and draw it by Graphviz: [`Recording`].
//!
//! # Examples
//! Cells of a table that wait for their neighbours, and for nothing else:
//! ```
//! use locksley_intervals::{self as intervals, Handle};
//!
//! const WIDTH: usize = 5;
//! let mut paths = 0;
//! intervals::run("lattice", |root| {
//!     // How many paths lead to each cell, if each step goes right or down.
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
//! # Ok::<(), intervals::IntervalCancelled>(())
//! ```

mod graph;

pub use graph::{
    Builder, Context, Guarded, Handle, Input, IntervalCancelled, IntervalLock, Key, Point,
    PointName, Reading, Recorded, Recording, Refusal, Root, Side, Writing, run,
};
