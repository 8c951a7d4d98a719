//! Random graphs of intervals with edges and locks, against an interpreter that knows the graph, and learns from the locks' data in which order
//! they were held.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::*;
use crate::intervals::{Builder, Context, Handle, Key, Lock};
#[cfg(not(feature = "join-lines"))]
use crate::meter::Origin;

/// A point of an interval with that number.
#[derive(Clone, Copy, Debug)]
struct Source {
    interval: usize,
    is_end: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Work(i64),
    Make(usize),
    /// An edge into the own end.
    Late(Source),
}

impl Step {
    fn ticks(&self) -> i64 {
        if let Self::Work(ticks) = self { *ticks } else { 0 }
    }
}

#[derive(Debug, Default)]
struct Node {
    parent: Option<usize>,
    steps: Vec<Step>,
    after: Vec<Source>,
    end_after: Vec<Source>,
    follows: bool,
    locks: Vec<usize>,
    /// In which of some functions it is made.
    site: usize,
}

#[derive(Debug)]
struct Graph {
    nodes: Vec<Node>,
    /// Each lists who has held it.
    locks: Vec<Lock<Vec<usize>>>,
}

const SITES: usize = 5;
const MOST: usize = 40;

impl Graph {
    fn random(random: &mut Random) -> Self {
        let locks = (0..1 + random.below(3)).map(|_| Lock::new(Vec::new())).collect();
        let mut graph = Self { nodes: vec![Node::default()], locks };
        graph.fill(random, 0, Vec::new(), false);
        graph
    }

    /// Decides what the body of an interval does. It knows some others, as far as points of theirs may come before it.
    fn fill(
        &mut self,
        random: &mut Random,
        number: usize,
        mut known: Vec<usize>,
        is_in_holder: bool,
    ) {
        let depth = std::iter::successors(Some(number), |&it| self.nodes[it].parent).count();
        let children = match depth {
            1 => 4 + random.below(8),
            2 | 3 => random.below(4),
            _ => 0,
        };
        self.works(random, number);
        for _ in 0..children {
            if self.nodes.len() == MOST {
                break;
            }
            let child = self.nodes.len();
            let holds = !is_in_holder && random.below(3) == 0;
            let mut node = Node {
                parent: Some(number),
                site: random.below(SITES as u64) as usize,
                follows: random.below(4) == 0,
                ..Node::default()
            };
            if holds {
                let all = self.locks.len();
                node.locks = (0..all).filter(|_| random.below(2) == 0).collect();
                if node.locks.is_empty() {
                    node.locks.push(random.below(all as u64) as usize);
                }
            }
            let mut sources = |most| -> Vec<Source> {
                let number = if known.is_empty() { 0 } else { random.below(most) };
                let one = |random: &mut Random| Source {
                    interval: known[random.below(known.len() as u64) as usize],
                    is_end: random.below(4) > 0,
                };
                (0..number).map(|_| one(random)).collect()
            };
            node.after = sources(4);
            if !holds {
                node.end_after = sources(2);
            }
            self.nodes.push(node);
            self.nodes[number].steps.push(Step::Make(child));
            // Nobody inside of a holder waits for what is outside.
            let inside = if holds { Vec::new() } else { known.clone() };
            self.fill(random, child, inside, is_in_holder || holds);
            known.push(child);
            self.works(random, number);
            if random.below(4) == 0 && !is_in_holder && self.nodes[number].locks.is_empty() {
                let interval = known[random.below(known.len() as u64) as usize];
                let source = Source { interval, is_end: random.below(2) == 0 };
                self.nodes[number].steps.push(Step::Late(source));
            }
        }
    }

    fn works(&mut self, random: &mut Random, number: usize) {
        let ticks = random.below(100_000) as i64;
        self.nodes[number].steps.push(Step::Work(ticks));
    }
}

type Known<'g> = BTreeMap<usize, Handle<'g, ()>>;

fn point<'g>(known: &Known<'g>, source: Source) -> intervals::Point<'g> {
    let handle = known[&source.interval];
    if source.is_end { handle.end() } else { handle.start() }
}

fn run_body<'g, 'env>(
    cx: &Context<'g, 'env>,
    graph: &'env Graph,
    number: usize,
    mut known: Known<'g>,
    keys: Vec<Key<'g, Vec<usize>>>,
) {
    keys.into_iter().for_each(|mut key| key.write(cx).push(number));
    for step in &graph.nodes[number].steps {
        match *step {
            Step::Work(ticks) => {
                (0..ticks % 64).for_each(|_| spin_loop());
                if ticks % 7 == 0 {
                    thread::yield_now();
                }
                spend(ticks);
            }
            Step::Make(child) => {
                let made = make(cx, graph, child, &known);
                known.insert(child, made);
            }
            Step::Late(source) => cx.add_edge(point(&known, source), cx.end()).unwrap(),
        }
    }
}

/// Functions that make intervals.
macro_rules! makers {
    ($($name:ident)*) => {
        $(fn $name<'g, 'env>(
            builder: Builder<'_, 'g, 'env>,
            body: impl FnOnce(&Context<'g, 'env>) + Send + 'g,
        ) -> Handle<'g, ()> {
            builder.spawn(|cx| body(cx))
        })*
    };
}
makers!(make_0 make_1 make_2 make_3 make_4);

fn make<'g, 'env>(
    cx: &Context<'g, 'env>,
    graph: &'env Graph,
    number: usize,
    known: &Known<'g>,
) -> Handle<'g, ()> {
    let node = &graph.nodes[number];
    let mut builder = cx.interval("interval");
    for &source in &node.after {
        let point = point(known, source);
        builder = if node.follows { builder.follow(point) } else { builder.after(point) };
    }
    for &source in &node.end_after {
        builder = builder.end_after(point(known, source));
    }
    let keys: Vec<_> = node.locks.iter().map(|&lock| builder.lock(&graph.locks[lock])).collect();
    let known = known.clone();
    let body = move |cx: &Context<'g, 'env>| run_body(cx, graph, number, known, keys);
    match node.site {
        0 => make_0(builder, body),
        1 => make_1(builder, body),
        2 => make_2(builder, body),
        3 => make_3(builder, body),
        _ => make_4(builder, body),
    }
}

/// A path: how long it is, and how much of it was run by intervals that were made at which site; the last of them is the root's.
#[derive(Clone, Debug, Default, PartialEq)]
struct Way {
    span: i64,
    burdened: i64,
    at: [i64; SITES + 1],
    /// Whether there is another one of the same length, which has run elsewhere: any of them may be told.
    has_equals: bool,
}

impl Way {
    fn meet(self, other: &Self) -> Self {
        let burdened = self.burdened.max(other.burdened);
        let has_equals = match other.span.cmp(&self.span) {
            Ordering::Less => self.has_equals,
            Ordering::Equal => self.has_equals || other.has_equals || self.at != other.at,
            Ordering::Greater => other.has_equals,
        };
        let longer = if other.span > self.span { other.clone() } else { self };
        Self { burdened, has_equals, ..longer }
    }

    fn along(self, burden: i64) -> Self {
        Self { burdened: self.burdened + burden, ..self }
    }

    fn goes_on(mut self, ticks: i64, site: usize) -> Self {
        self.span += ticks;
        self.burdened += ticks;
        self.at[site] += ticks;
        self
    }
}

/// Interprets a graph after it has run.
struct Oracle<'s> {
    nodes: &'s [Node],
    /// Who has held each lock, in order.
    held: Vec<Vec<usize>>,
    burden: i64,
    starts: Vec<Option<Way>>,
    begins: Vec<Option<Way>>,
    ends: Vec<Option<Way>>,
}

impl Oracle<'_> {
    fn site(&self, number: usize) -> usize {
        if number == 0 { SITES } else { self.nodes[number].site }
    }

    fn of(&mut self, source: Source) -> Way {
        if source.is_end { self.end(source.interval) } else { self.start(source.interval) }
    }

    fn start(&mut self, number: usize) -> Way {
        if let Some(known) = &self.starts[number] {
            return known.clone();
        }
        let nodes = self.nodes;
        let mut way = match nodes[number].parent {
            None => Way::default(),
            Some(parent) => {
                let before = nodes[parent].steps.iter();
                let before = before.take_while(|it| !matches!(it, Step::Make(it) if *it == number));
                let ticks = before.map(Step::ticks).sum();
                let site = self.site(parent);
                self.begin(parent).goes_on(ticks, site)
            }
        };
        for &source in &nodes[number].after {
            way = way.meet(&self.of(source));
        }
        self.starts[number] = Some(way.clone());
        way
    }

    /// Of the body.
    fn begin(&mut self, number: usize) -> Way {
        if let Some(known) = &self.begins[number] {
            return known.clone();
        }
        let burden = if number == 0 { 0 } else { self.burden };
        let mut way = self.start(number).along(burden);
        for lock in &self.nodes[number].locks {
            let held = &self.held[*lock];
            let turn = held.iter().position(|&holder| holder == number).expect("it has held it");
            if let Some(&last) = turn.checked_sub(1).map(|last| &held[last]) {
                way = way.meet(&self.end(last).along(burden));
            }
        }
        self.begins[number] = Some(way.clone());
        way
    }

    fn end(&mut self, number: usize) -> Way {
        if let Some(known) = &self.ends[number] {
            return known.clone();
        }
        let (nodes, site) = (self.nodes, self.site(number));
        let work = nodes[number].steps.iter().map(Step::ticks).sum();
        let mut way = self.begin(number).goes_on(work, site);
        for &source in &nodes[number].end_after {
            way = way.meet(&self.of(source));
        }
        // Who waits for the root is perhaps another worker than who ends last.
        let back = if number == 0 { self.burden } else { 0 };
        for step in &nodes[number].steps {
            match *step {
                Step::Work(_) => {}
                Step::Make(child) => way = way.meet(&self.end(child).along(back)),
                Step::Late(source) => way = way.meet(&self.of(source).along(back)),
            }
        }
        self.ends[number] = Some(way.clone());
        way
    }
}

#[cfg(not(feature = "join-lines"))]
fn check_places(figures: &Figures, expected: &Way, graph: &Graph) {
    let mut found = [0; SITES + 1];
    for part in figures.course {
        let place = match part.site.map(Site::origin) {
            Some(Origin::Function(name)) => {
                let (_, number) = name.split_once("::make_").expect("they make intervals");
                number[..1].parse().unwrap()
            }
            _ => SITES,
        };
        found[place] += part.ticks;
    }
    assert_eq!(found, expected.at, "{graph:?}");
}

fn check_graphs(seed: u64, build: impl Fn() -> PoolBuilder, is_recorded: bool) {
    let pool = build().build().unwrap();
    let burden = Region::new(Clock::Virtual, 1).burden();
    let mut random = Random(seed);
    let mut with_equals = 0;
    for number in 0..PROGRAMS {
        let graph = Graph::random(&mut random);
        let mut recording = intervals::Recording::default();
        let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
            let mut root = intervals::Root::new("root");
            if is_recorded {
                root = root.recorded(&mut recording);
            }
            let ended = root.run(|root| run_body(root, &graph, 0, BTreeMap::new(), Vec::new()));
            ended.unwrap();
        });
        let Graph { nodes, mut locks } = graph;
        let held: Vec<_> = locks.iter_mut().map(|lock| lock.get_mut().clone()).collect();
        let [starts, begins, ends] = [(); 3].map(|()| vec![None; nodes.len()]);
        let mut oracle = Oracle { nodes: &nodes, held, burden, starts, begins, ends };
        let end = oracle.end(0);
        let steps = nodes.iter().flat_map(|node| &node.steps);
        let work: i64 = steps.map(Step::ticks).sum();
        let graph = Graph { nodes, locks };
        assert_eq!(figures.work, work, "{number}: {graph:?}");
        let found = (figures.path.span, figures.path.burdened);
        assert_eq!(found, (end.span, end.burdened), "{number}: {graph:?}");
        assert_eq!((figures.uncarried, figures.under_way), (0, 0), "{number}: {graph:?}");
        assert_eq!(recording.intervals().len(), if is_recorded { graph.nodes.len() } else { 0 });
        with_equals += u64::from(end.has_equals);
        #[cfg(not(feature = "join-lines"))]
        if !end.has_equals {
            check_places(&figures, &end, &graph);
        }
    }
    // The order of locks makes one now and then.
    assert!(with_equals < PROGRAMS / 2);
}

#[test]
fn random_graphs_of_intervals_on_any_number_of_workers() {
    for workers in [1, 2, 3, 5] {
        check_graphs(workers as u64 * 7919, || Pool::builder().workers(workers), false);
    }
}

#[test]
fn random_graphs_of_intervals_that_are_recorded() {
    check_graphs(3, || Pool::builder().workers(2), true);
}

#[test]
fn random_graphs_of_intervals_without_stacks_that_wait() {
    for workers in [1, 3] {
        let build = || Pool::builder().workers(workers).waiting_stacks(0);
        check_graphs(5 + workers as u64, build, false);
    }
}

/// It goes on where the one before it has ended, and at its own place.
#[test]
fn an_edge_carries_its_path_and_a_lock_the_order_of_this_run() {
    for workers in [1, 2] {
        let (pool, lock) = (Pool::new(workers).unwrap(), Lock::new(()));
        let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
            let ended = intervals::Root::new("root").run(|root| {
                let first = root.interval("first").spawn(|_| spend(50));
                root.interval("second").after(first).spawn(|_| spend(30));
                root.interval("at once").after(first.start()).spawn(|_| spend(7));
            });
            ended.unwrap();
        });
        assert_eq!((figures.work, figures.path.span, figures.uncarried), (87, 80, 0));
        for _ in 0..2 {
            let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
                let ended = intervals::Root::new("root").run(|root| {
                    for ticks in [60, 50] {
                        let mut interval = root.interval("interval");
                        let _key = interval.lock(&lock);
                        interval.spawn(move |_| spend(ticks));
                    }
                    root.interval("free").spawn(|_| spend(1));
                });
                ended.unwrap();
            });
            // What another region has left there is no path of this one.
            assert_eq!((figures.work, figures.path.span, figures.uncarried), (111, 110, 0));
        }
    }
}

/// Where two that are still metered have the same lock, one takes the other's path away. This is said.
#[test]
fn a_lock_that_goes_to_and_fro_between_regions_loses_paths() {
    let pools = [(); 2].map(|()| limits::metered_pool(1));
    let lock = Lock::new(());
    let uncarried = |pool: usize| {
        pools[pool].run(|_| {
            let ended = intervals::Root::new("root").run(|root| {
                let mut interval = root.interval("holds");
                let _key = interval.lock(&lock);
                interval.spawn(|_| spend(10));
            });
            ended.unwrap();
        });
        [0, 1].map(|pool: usize| limits::at_rest(&pools[pool]).uncarried)
    };
    assert_eq!(uncarried(0), [0, 0]);
    assert_eq!(uncarried(0), [0, 0]);
    assert_eq!(uncarried(1), [1, 0]);
    assert_eq!(uncarried(0), [1, 1]);
}

/// A body that does not run is dropped as a strand, and what comes after it comes after that.
#[test]
fn intervals_that_fail_pass_their_paths_on() {
    struct Late(i64);
    impl Drop for Late {
        fn drop(&mut self) {
            spend(self.0);
        }
    }
    let pool = Pool::new(2).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        let ended = intervals::Root::new("root").run(|root| {
            let first = root.interval("first").spawn(|cx| {
                spend(50);
                cx.cancel();
            });
            let late = Late(20);
            let second = root.interval("second").after(first).spawn(move |_| drop(late));
            root.interval("third").after(second).spawn(|_| spend(1000));
        });
        assert!(ended.is_err());
        spend(3);
    });
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (73, 73, 0));
}

/// Whose path is not known: what it makes comes after the parent's start, and that is said.
#[test]
fn a_plain_thread_makes_intervals_in_a_metered_root() {
    let pool = Pool::new(2).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        spend(5);
        let ended = intervals::Root::new("root").run(|root| {
            spend(10);
            thread::scope(|threads| {
                threads.spawn(|| {
                    let first = root.interval("first").spawn(|_| spend(100));
                    root.interval("second").after(first).spawn(|_| spend(20));
                });
            });
        });
        ended.unwrap();
    });
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (135, 125, 2));
}
