//! Recordings: what the graph of a root was, with times, and as a text for Graphviz.

use std::collections::HashMap;
use std::fmt::Write;
use std::ptr::NonNull;
use std::time::Duration;

use crate::graph::interval::{At, Header, Side};
use crate::graph::point::Outcome;
use crate::graph::root::Core;

/// The graph of a root that has ended, with times: what [`Root::recorded`](crate::Root::recorded)
/// leaves.
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
/// let [_, first, second] = recording.intervals() else { panic!("three intervals") };
/// assert_eq!((&first.name[..], &second.name[..]), ("first", "second"));
/// assert!(first.ended <= second.started && second.started <= second.begun.unwrap());
/// assert_eq!(recording.edges(), [[(1, Side::End), (2, Side::Start)]]);
/// assert!(recording.to_dot().starts_with("digraph"));
/// # Ok::<(), locksley_intervals::IntervalCancelled>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Recording {
    intervals: Vec<Recorded>,
    edges: Vec<[(usize, Side); 2]>,
}

/// An interval of a [`Recording`]. Times are from when the root's body began.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// Its name.
    pub name: String,
    /// The number of the interval inside of which it was made; the root has none.
    pub parent: Option<usize>,
    /// When its start occurred: when all had come that it waited for, except locks.
    pub started: Duration,
    /// When its body began: when it had its locks, and a worker took it. `None` if it did not run.
    pub begun: Option<Duration>,
    /// When its end occurred.
    pub ended: Duration,
    /// The worker that ran its body.
    pub worker: Option<usize>,
    /// The place that was [named](crate::Builder::near) for it.
    pub near: Option<usize>,
    /// Whether its end failed: because of a panic or a cancellation, its own or of what it depends
    /// on.
    pub has_failed: bool,
}

impl Recording {
    /// # Safety
    /// All of the root has ended, and is alive.
    pub(crate) unsafe fn of(root: NonNull<Header>, core: &Core<'_>) -> Self {
        let mut recording = Self::default();
        let mut numbers = HashMap::new();
        let mut headers: Vec<&Header> = Vec::new();
        let mut open = vec![(None, root)];
        while let Some((parent, interval)) = open.pop() {
            // SAFETY: alive, as the root is.
            let header = unsafe { interval.as_ref() };
            let (Some(record), Some(outcome)) = (header.record(), header.end.outcome()) else {
                continue; // it was refused
            };
            let number = headers.len();
            numbers.insert(interval, number);
            headers.push(header);
            recording.intervals.push(Recorded {
                name: header.name().into(),
                parent,
                started: record.occurred[0].unwrap_or_default(),
                begun: record.begun.map(|(time, _)| time),
                ended: record.occurred[1].unwrap_or_else(|| core.began.elapsed()),
                worker: record.begun.map(|(_, worker)| worker),
                near: header.special.place(),
                has_failed: outcome == Outcome::Failed,
            });
            // The oldest comes first.
            open.extend(record.children.iter().rev().map(|&child| (Some(number), child)));
        }
        for (number, header) in headers.into_iter().enumerate() {
            let Some(record) = header.record() else { continue };
            let edge = |&(from, side): &(At, Side)| {
                [(numbers[&from.interval()], from.side()), (number, side)]
            };
            recording.edges.extend(record.sources.iter().map(edge));
        }
        recording
    }

    /// All intervals. Each comes after the one inside of which it was made, the root first.
    ///
    /// # Examples
    /// See [`Recording`].
    #[must_use]
    pub fn intervals(&self) -> &[Recorded] {
        &self.intervals
    }

    /// All edges: the numbers of two intervals, and which of their points. Those between an
    /// interval and its parent are not among them.
    ///
    /// # Examples
    /// See [`Recording`].
    #[must_use]
    pub fn edges(&self) -> &[[(usize, Side); 2]] {
        &self.edges
    }

    /// The graph in the language of Graphviz, for `dot -Tsvg`. Each interval is a box in the box of
    /// its parent, between its start and its end, with the worker that ran it, and the times of its
    /// body's beginning and of its end. One that failed is red.
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
        // Graphs may be deep: no recursion. `None` closes a box.
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
            let _ = writeln!(dot, "  i{from}:{} -> i{to}:{};", port(*out), port(*into));
        }
        dot.push_str("}\n");
        dot
    }
}

fn port(side: Side) -> char {
    match side {
        Side::Start => 's',
        Side::End => 'e',
    }
}

fn node(number: usize, interval: &Recorded) -> String {
    let name = escaped(&interval.name);
    let run = match (interval.begun, interval.worker) {
        (Some(begun), Some(worker)) => {
            format!("worker {worker}, {begun:.1?} to {:.1?}", interval.ended)
        }
        _ => String::from("did not run"),
    };
    let color = if interval.has_failed { ", color=red" } else { "" };
    format!("i{number} [label=\"{{<s> start|{name}\\n{run}|<e> end}}\"{color}];")
}

/// A text in a label that has fields.
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
