//! Recordings: the graph of a root with times, also as text for Graphviz.

use std::collections::HashMap;
use std::fmt::Write;
use std::ptr::NonNull;
use std::time::Duration;

use crate::graph::interval::{Header, PointRef};
use crate::graph::point::{Outcome, Side};
use crate::graph::root_state::RootState;

/// The graph of a root that has ended, with times.
///
/// Use it to see why a graph takes long, or to test its shape. A root fills it if that is
/// [configured](crate::Root::recorded).
///
/// # Examples
/// ```
/// use locksley_intervals::{Recording, Root, Side};
///
/// let mut recording = Recording::default();
/// Root::new("root").recorded(&mut recording).run(|root| {
///     let first = root.interval("first").spawn(|_| ());
///     root.interval("second").after(first).spawn(|_| ());
/// })?;
/// let [_, first, second] = &recording.intervals[..] else { panic!("three intervals") };
/// assert_eq!((&first.name[..], &second.name[..]), ("first", "second"));
/// assert!(first.ended <= second.started && second.started <= second.begun.unwrap());
/// assert_eq!(recording.edges, [[(1, Side::End), (2, Side::Start)]]);
/// assert!(recording.to_dot().starts_with("digraph"));
/// # Ok::<(), locksley_intervals::IntervalCancelled>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Recording {
    /// All intervals. The root is the first, and each comes after its parent.
    pub intervals: Vec<IntervalRecord>,
    /// All edges, except those between an interval and its parent: the source and the target, each
    /// by the index of its interval and its side.
    pub edges: Vec<[(usize, Side); 2]>,
}

/// One interval of a [`Recording`]. Times count from the begin of the root.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IntervalRecord {
    /// The name.
    pub name: String,
    /// The index of the parent. The root has none.
    pub parent: Option<usize>,
    /// When the start occurred, before the interval had its locks.
    pub started: Duration,
    /// When a worker began to run the body. `None` if it did not run.
    pub begun: Option<Duration>,
    /// When the end occurred.
    pub ended: Duration,
    /// The index of the worker that ran the body.
    pub worker: Option<usize>,
    /// The place that was [set](crate::Builder::near).
    pub near: Option<usize>,
    /// True if the end failed, because of a panic or a cancellation, in this interval or in what it
    /// depends on.
    pub has_failed: bool,
}

impl Recording {
    /// Records a root that has ended, and is alive.
    ///
    /// # Safety
    /// As stated.
    pub(crate) unsafe fn of(root: NonNull<Header>, state: &RootState<'_>) -> Self {
        let mut recording = Self::default();
        let mut numbers = HashMap::new();
        let mut headers: Vec<&Header> = Vec::new();
        let mut open = vec![(None, root)];
        while let Some((parent, interval)) = open.pop() {
            // SAFETY: alive, as the root is.
            let header = unsafe { interval.as_ref() };
            let (Some(log), Some(outcome)) = (header.log(), header.end.outcome()) else {
                continue; // refused
            };
            let number = headers.len();
            numbers.insert(interval, number);
            headers.push(header);
            recording.intervals.push(IntervalRecord {
                name: header.name().into(),
                parent,
                started: log.occurred[0].unwrap_or_default(),
                begun: log.begun.map(|(time, _)| time),
                ended: log.occurred[1].unwrap_or_else(|| state.began.elapsed()),
                worker: log.begun.map(|(_, worker)| worker),
                near: header.extras.as_ref().and_then(|extras| extras.place),
                has_failed: outcome == Outcome::Failed,
            });
            // The oldest child is visited first.
            open.extend(log.children.iter().rev().map(|&child| (Some(number), child)));
        }
        for (number, header) in headers.into_iter().enumerate() {
            let Some(log) = header.log() else { continue };
            let edge = |&(from, side): &(PointRef, Side)| {
                [(numbers[&from.interval()], from.side()), (number, side)]
            };
            recording.edges.extend(log.sources.iter().map(edge));
        }
        recording
    }

    /// Returns the graph in the language of Graphviz, for `dot -Tsvg`.
    ///
    /// The node of an interval has a start, an end, the worker, and the times. It lies in a box
    /// with its children. Failed intervals are red.
    ///
    /// # Examples
    /// See [`Recording`].
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut children = vec![Vec::new(); self.intervals.len()];
        for (number, interval) in self.intervals.iter().enumerate() {
            if let Some(parent) = interval.parent {
                children[parent].push(number);
            }
        }
        let mut dot = String::from("digraph intervals {\n  node [shape=record];\n");
        // No recursion, because graphs may be deep. `None` closes a box.
        let mut open = Vec::from_iter(self.intervals.first().map(|_| Some(0)));
        while let Some(next) = open.pop() {
            let Some(number) = next else {
                dot.push_str("  }\n");
                continue;
            };
            if !children[number].is_empty() {
                let _ = writeln!(dot, "  subgraph cluster_{number} {{");
                open.push(None);
                open.extend(children[number].iter().rev().copied().map(Some));
            }
            let _ = writeln!(dot, "  {}", node(number, &self.intervals[number]));
        }
        for [(from, out), (to, into)] in &self.edges {
            let _ = writeln!(dot, "  i{from}:{out} -> i{to}:{into};");
        }
        dot.push_str("}\n");
        dot
    }
}

fn node(number: usize, interval: &IntervalRecord) -> String {
    let name = escaped(&interval.name);
    let run = match (interval.begun, interval.worker) {
        (Some(begun), Some(worker)) => {
            format!("worker {worker}, {begun:.1?} to {:.1?}", interval.ended)
        }
        _ => String::from("did not run"),
    };
    let color = if interval.has_failed { ", color=red" } else { "" };
    format!("i{number} [label=\"{{<start> start|{name}\\n{run}|<end> end}}\"{color}];")
}

/// Escapes a text for the label of a record node.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => escaped.push_str("\\n"),
            '"' | '\\' | '{' | '}' | '|' | '<' | '>' | ' ' => escaped.extend(['\\', letter]),
            _ => escaped.push(letter),
        }
    }
    escaped
}
