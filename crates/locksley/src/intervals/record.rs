//! What is remembered of a graph: for checks, and to be drawn.

use std::collections::HashMap;
use std::fmt::Write;
use std::ptr::{self, NonNull};
use std::time::Duration;

use super::drawing::color_of_place;
use super::interval::{At, Header, Side};
use super::point::Outcome;
use super::root::Core;
use crate::primitive::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::worker::Worker;

/// What is remembered of an interval. The numbers are read when it has ended.
#[derive(Debug)]
pub(super) struct Record {
    /// How many children its parent had before.
    number: usize,
    /// How many it has, and the youngest of them.
    children: AtomicUsize,
    youngest: AtomicPtr<Header>,
    /// The edges that it was made with.
    sources: Vec<(At, Side)>,
    /// Nanoseconds from when the root began, and 1; 0 if it has not happened.
    started: AtomicU64,
    begun: AtomicU64,
    ended: AtomicU64,
    worker: AtomicUsize,
    /// Of that worker.
    place: AtomicUsize,
}

impl Record {
    pub(super) fn new(number: usize, sources: Vec<(At, Side)>) -> Self {
        let [started, begun, ended] = [(); 3].map(|()| AtomicU64::new(0));
        let [children, worker, place] = [(); 3].map(|()| AtomicUsize::new(0));
        let youngest = AtomicPtr::new(ptr::null_mut());
        Self { number, children, youngest, sources, started, begun, ended, worker, place }
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// The list of children.
    pub(super) fn youngest(&self) -> &AtomicPtr<Header> {
        &self.youngest
    }

    /// The number of a child that is about to be made.
    pub(super) fn new_child(&self) -> usize {
        self.children.fetch_add(1, Ordering::Relaxed)
    }

    /// How many children were made.
    pub(super) fn children(&self) -> usize {
        self.children.load(Ordering::Relaxed)
    }

    /// The start occurs.
    pub(super) fn starts(&self, core: &Core<'_>) {
        self.started.store(since(core), Ordering::Relaxed);
    }

    /// A worker begins with the body.
    pub(super) fn begins(&self, core: &Core<'_>, worker: &Worker) {
        self.worker.store(worker.index(), Ordering::Relaxed);
        self.place.store(worker.place(), Ordering::Relaxed);
        self.begun.store(since(core), Ordering::Relaxed);
    }

    pub(super) fn ends(&self, core: &Core<'_>) {
        self.ended.store(since(core), Ordering::Relaxed);
    }
}

fn since(core: &Core<'_>) -> u64 {
    // 584 years are enough.
    core.began().elapsed().as_nanos() as u64 + 1
}

fn time(noted: &AtomicU64) -> Option<Duration> {
    noted.load(Ordering::Relaxed).checked_sub(1).map(Duration::from_nanos)
}

/// Where the edges into a point of a recorded interval come from, other than its parent and its children.
pub(super) fn sources(header: &Header, side: Side) -> impl Iterator<Item = At> {
    let early = header.record().into_iter().flat_map(|record| record.sources.iter().copied());
    let late = header.extras().filter_map(|extra| extra.late);
    early.chain(late).filter_map(move |(from, into)| (into == side).then_some(from))
}

/// The graph of a root that has ended, with times: what [`Root::recorded`](super::Root::recorded) leaves.
///
/// # Examples
/// ```
/// use locksley::intervals::{Recording, Root};
///
/// let mut recording = Recording::default();
/// Root::new("root").recorded(&mut recording).run(|root| {
///     let first = root.interval("first").spawn(|_| ());
///     root.interval("second").after(first).spawn(|_| ());
/// })?;
/// let names: Vec<_> = recording.intervals().iter().map(|interval| &interval.name[..]).collect();
/// assert_eq!(names, ["root", "first", "second"]);
/// let [edge] = recording.edges() else { panic!("one edge") };
/// assert_eq!((edge.from.interval, edge.to.interval), (1, 2));
/// let [_, first, second] = recording.intervals() else { panic!("three intervals") };
/// assert!(first.ended <= second.started && second.started <= second.begun.unwrap());
/// assert!(recording.to_dot().starts_with("digraph"));
/// # Ok::<(), locksley::intervals::Cancelled>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub(super) intervals: Vec<Recorded>,
    pub(super) edges: Vec<RecordedEdge>,
    /// How many places the pool has.
    pub(super) places: usize,
}

/// An interval of a [`Recording`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// Its name.
    pub name: String,
    /// The number of the interval inside of which it was made; the root has none.
    pub parent: Option<usize>,
    /// When its start occurred, from when the root's body began: when all had come that it waited for, but for locks.
    pub started: Duration,
    /// When its body began, on the same clock: when it had its locks, and a worker took it. `None` if it did not run.
    pub begun: Option<Duration>,
    /// When its end occurred, on the same clock.
    pub ended: Duration,
    /// The worker that ran its body.
    pub worker: Option<usize>,
    /// The place of that worker.
    pub place: Option<usize>,
    /// The place that was [named](super::Builder::near) for it, if one was.
    pub near: Option<usize>,
    /// Whether its end failed: because of a panic or a cancellation, its own or of what it depends on.
    pub has_failed: bool,
}

impl Recorded {
    /// Whether it ran at another place than was named for it.
    ///
    /// # Examples
    /// ```
    /// use locksley::intervals::{Recording, Root};
    ///
    /// let mut recording = Recording::default();
    /// Root::new("root").recorded(&mut recording).run(|root| {
    ///     root.interval("anywhere").spawn(|_| ());
    /// })?;
    /// assert!(!recording.intervals()[1].is_out_of_place());
    /// # Ok::<(), locksley::intervals::Cancelled>(())
    /// ```
    #[must_use]
    pub fn is_out_of_place(&self) -> bool {
        self.place.zip(self.near).is_some_and(|(place, near)| place != near)
    }
}

/// An edge of a [`Recording`]; those between an interval and its parent are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordedEdge {
    /// Where it comes from.
    pub from: RecordedPoint,
    /// Where it goes to.
    pub to: RecordedPoint,
}

/// A point of a [`Recording`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordedPoint {
    /// The number of its interval.
    pub interval: usize,
    /// Which of its points.
    pub side: Side,
}

impl Recording {
    /// # Safety
    /// All of the root has ended, and is alive.
    pub(super) unsafe fn of(root: NonNull<Header>, core: &Core<'_>) -> Self {
        let mut recording = Self { places: core.home().places().count(), ..Self::default() };
        let mut numbers = HashMap::new();
        let mut headers: Vec<&Header> = Vec::new();
        let mut open = vec![(None, root)];
        while let Some((parent, interval)) = open.pop() {
            // SAFETY: alive, as the root is.
            let header = unsafe { interval.as_ref() };
            let (Some(record), Some(outcome)) = (header.record(), header.end().outcome()) else {
                continue; // it was refused
            };
            let number = headers.len();
            numbers.insert(interval, number);
            headers.push(header);
            let begun = time(&record.begun);
            recording.intervals.push(Recorded {
                name: header.name().into(),
                parent,
                started: time(&record.started).unwrap_or_default(),
                begun,
                ended: time(&record.ended).unwrap_or_else(|| core.began().elapsed()),
                worker: begun.map(|_| record.worker.load(Ordering::Relaxed)),
                place: begun.map(|_| record.place.load(Ordering::Relaxed)),
                near: header.special().place(),
                has_failed: outcome == Outcome::Failed,
            });
            // The youngest comes first here, and is to be the last.
            open.extend(header.children().map(|child| (Some(number), child)));
        }
        for (interval, header) in headers.into_iter().enumerate() {
            for side in [Side::Start, Side::End] {
                for from in sources(header, side) {
                    let from = RecordedPoint { interval: numbers[&from.interval], side: from.side };
                    let to = RecordedPoint { interval, side };
                    recording.edges.push(RecordedEdge { from, to });
                }
            }
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

    /// All edges, those too that were added late, and those from points that had occurred.
    ///
    /// # Examples
    /// See [`Recording`].
    #[must_use]
    pub fn edges(&self) -> &[RecordedEdge] {
        &self.edges
    }

    /// All places of the pool.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley::intervals::{Recording, Root};
    ///
    /// let (pool, mut recording) = (Pool::new(2)?, Recording::default());
    /// assert_eq!(Root::new("root").on(&pool).recorded(&mut recording).run(|_| ()), Ok(()));
    /// assert_eq!(recording.places(), pool.places().count());
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn places(&self) -> usize {
        self.places
    }

    /// The graph in the language of Graphviz, for `dot -Tsvg`. Each interval is a box in the box of its parent, between its start
    /// and its end; with the worker that ran it, and the times of the beginning of its body (not of its start: [`Recorded`]) and of its end.
    ///
    /// Of a pool that has several places, the colour of a box is that of the place which was named for it, as a legend says; what ran at
    /// another place has a thick edge.
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
        if self.places > 1 {
            self.write_legend(&mut dot);
        }
        // Graphs may be deep: no recursion. `None` closes a box.
        let mut open: Vec<Option<usize>> =
            (!self.intervals.is_empty()).then_some(Some(0)).into_iter().collect();
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
            let _ = writeln!(dot, "  {}", self.node(number));
        }
        for RecordedEdge { from, to } in &self.edges {
            let port = |point: &RecordedPoint| match point.side {
                Side::Start => 's',
                Side::End => 'e',
            };
            let (out, into) = (port(from), port(to));
            let _ = writeln!(dot, "  i{}:{out} -> i{}:{into};", from.interval, to.interval);
        }
        dot.push_str("}\n");
        dot
    }

    fn node(&self, number: usize) -> String {
        let interval = &self.intervals[number];
        let name = escaped(&interval.name);
        let mut run = match (interval.begun, interval.worker) {
            (Some(begun), Some(worker)) => {
                let ended = interval.ended;
                format!("worker {worker}{}, {begun:.1?} to {ended:.1?}", self.at_place(interval))
            }
            _ => String::from("did not run"),
        };
        let mut attributes = String::new();
        if let Some(near) = interval.near.filter(|_| self.places > 1) {
            let _ = write!(run, "\\nfor place {near}");
            let color = color_of_place(near);
            let _ = write!(attributes, ", style=filled, fillcolor=\"{color}\"");
        }
        if interval.is_out_of_place() {
            attributes.push_str(", penwidth=3");
        }
        if interval.has_failed {
            attributes.push_str(", color=red");
        }
        format!("i{number} [label=\"{{<s> start|{name}\\n{run}|<e> end}}\"{attributes}];")
    }

    /// Where it ran, if there are several places.
    pub(super) fn at_place(&self, interval: &Recorded) -> String {
        match interval.place.filter(|_| self.places > 1) {
            Some(place) => format!(" at place {place}"),
            None => String::new(),
        }
    }

    fn write_legend(&self, dot: &mut String) {
        dot.push_str("  subgraph cluster_legend {\n  label=\"named place\";\n");
        for place in 0..self.places {
            let color = color_of_place(place);
            let _ = writeln!(
                dot,
                "  p{place} [label=\"place {place}\", style=filled, fillcolor=\"{color}\"];"
            );
        }
        dot.push_str(
            "  none [label=\"none\"];\n  out [label=\"ran elsewhere\", penwidth=3];\n  }\n",
        );
    }
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
