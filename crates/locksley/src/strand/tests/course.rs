//! Through which places of a program its longest path runs: random programs, against an interpreter that keeps a table of each path.

use std::collections::BTreeMap;

use super::*;
use crate::meter::{Origin, Report, Stretch};

/// What a strand, or several, do. Numbers of joins and spawns are those of lines below.
#[derive(Debug)]
enum Tree {
    Work(i64),
    Sequence(Vec<Tree>),
    Join(usize, Box<[Tree; 2]>),
    Scope(Box<Tree>),
    Spawn(usize, Box<Tree>),
}

/// Functions that join.
macro_rules! joins {
    ($($name:ident)*) => {
        $(fn $name(
            worker: &Worker,
            first: impl FnOnce(&Worker) + Send,
            second: impl FnOnce(&Worker) + Send,
        ) {
            worker.join(|w| first(w), |w| second(w));
        })*
    };
}
joins!(join_0 join_1 join_2 join_3 join_4 join_5 join_6 join_7);

/// In one of these eight, or, with `join-lines`, at their one line.
fn join(
    number: usize,
    worker: &Worker,
    first: impl FnOnce(&Worker) + Send,
    second: impl FnOnce(&Worker) + Send,
) {
    match number {
        0 => join_0(worker, first, second),
        1 => join_1(worker, first, second),
        2 => join_2(worker, first, second),
        3 => join_3(worker, first, second),
        4 => join_4(worker, first, second),
        5 => join_5(worker, first, second),
        6 => join_6(worker, first, second),
        _ => join_7(worker, first, second),
    }
}

const SPAWNS: u32 = line!() + 6;
/// At one of four lines.
#[rustfmt::skip]
fn spawn<'s>(number: usize, worker: &Worker, scope: &Scope<'s>, task: impl FnOnce(&Worker, &Scope<'s>) + Send + 's) {
    match number {
        // The lines count.
        0 => scope.spawn_on(worker, task),
        1 => scope.spawn_on(worker, task),
        2 => scope.spawn_on(worker, task),
        _ => scope.spawn(|scope| Worker::with_current(|current| task(current.unwrap(), scope))),
    }
}

fn random_tree(random: &mut Random, depth: u64, in_scope: bool, lines: [u64; 2]) -> Tree {
    if depth == 0 {
        return Tree::Work(1 + random.below(100_000) as i64);
    }
    let mut part = |in_scope| random_tree(random, depth - 1, in_scope, lines);
    let (first, second) = (part(in_scope), part(in_scope));
    let of = |random: &mut Random, lines| random.below(lines) as usize;
    match random.below(8) {
        0..4 => Tree::Join(of(random, lines[0]), Box::new([first, second])),
        4 => Tree::Scope(Box::new(Tree::Sequence(vec![
            random_tree(random, depth - 1, true, lines),
            random_tree(random, 0, true, lines),
        ]))),
        5 | 6 if in_scope => Tree::Sequence(vec![
            Tree::Spawn(of(random, lines[1]), Box::new(first)),
            random_tree(random, 0, true, lines),
        ]),
        _ => Tree::Sequence(vec![first, second]),
    }
}

fn run<'s>(tree: &'s Tree, worker: &Worker, scope: Option<&Scope<'s>>) {
    match tree {
        Tree::Work(ticks) => {
            (0..ticks % 64).for_each(|_| spin_loop());
            spend(*ticks);
        }
        Tree::Sequence(parts) => parts.iter().for_each(|part| run(part, worker, scope)),
        Tree::Join(number, halves) => {
            let [first, second] = &**halves;
            join(*number, worker, |w| run(first, w, scope), |w| run(second, w, scope));
        }
        Tree::Scope(body) => worker.scope(|worker, scope| run(body, worker, Some(scope))),
        Tree::Spawn(number, task) => {
            let scope = scope.expect("it lies in a scope");
            spawn(*number, worker, scope, |worker, scope| run(task, worker, Some(scope)));
        }
    }
}

/// A path: how much of it lies at which line, or in which of the functions that join, whose numbers are below those of all lines.
type Table = BTreeMap<u32, i64>;

fn place(origin: Origin) -> u32 {
    match origin {
        Origin::Line(at) => {
            assert_eq!(at.file(), file!());
            at.line()
        }
        Origin::Function(name) => {
            let (_, number) = name.split_once("::join_").expect("they join");
            number[..1].parse().unwrap()
        }
    }
}

fn length(table: &Table) -> i64 {
    table.values().sum()
}

fn longer(one: Table, other: Table) -> Table {
    if length(&other) > length(&one) { other } else { one }
}

/// Goes on with it at the end of a path, at that line; the longest path of each scope that is open is raised.
fn interpret(tree: &Tree, mut at: Table, line: u32, scopes: &mut Vec<Table>) -> Table {
    match tree {
        Tree::Work(ticks) => {
            *at.entry(line).or_default() += ticks;
            at
        }
        Tree::Sequence(parts) => {
            parts.iter().fold(at, |at, part| interpret(part, at, line, scopes))
        }
        Tree::Join(number, halves) => {
            let there = *number as u32;
            let [first, second] =
                halves.each_ref().map(|half| interpret(half, at.clone(), there, scopes));
            longer(first, second)
        }
        Tree::Scope(body) => {
            scopes.push(Table::new());
            let end = interpret(body, at, line, scopes);
            longer(end, scopes.pop().expect("just pushed"))
        }
        Tree::Spawn(number, task) => {
            let end = interpret(task, at.clone(), SPAWNS + *number as u32, scopes);
            let latest = scopes.last_mut().expect("it lies in a scope");
            *latest = longer(std::mem::take(latest), end);
            at
        }
    }
}

/// What the meter says of it, and the interpreter.
fn both(pool: &Pool, tree: &Tree) -> [Table; 2] {
    const ROOT: u32 = line!() + 1;
    let ((), figures) = pool.metered_by(Clock::Virtual, |worker| run(tree, worker, None));
    let mut told = Table::new();
    for part in figures.course.iter().filter(|part| part.ticks > 0) {
        let site = part.site.expect("all is called somewhere");
        *told.entry(place(site.origin())).or_default() += part.ticks;
    }
    let expected = interpret(tree, Table::new(), ROOT, &mut Vec::new());
    assert_eq!(figures.path.span, length(&expected), "{tree:?}");
    [told, expected]
}

#[cfg(not(feature = "join-lines"))]
#[test]
fn up_to_eight_places_are_exact() {
    for workers in [1, 2, 4] {
        let (pool, mut random) = (Pool::new(workers).unwrap(), Random(61 * workers as u64));
        for number in 0..60 {
            let tree = random_tree(&mut random, 6, false, [4, 3]);
            let [told, expected] = both(&pool, &tree);
            assert_eq!(told, expected, "{number}: {tree:?}");
        }
    }
}

#[cfg(not(feature = "join-lines"))]
#[test]
fn of_more_places_none_lacks_more_than_an_eighth() {
    let (pool, mut random) = (Pool::new(3).unwrap(), Random(67));
    let mut most = 0;
    for _ in 0..60 {
        let tree = random_tree(&mut random, 8, false, [8, 4]);
        let [told, expected] = both(&pool, &tree);
        most = most.max(expected.len());
        for (line, ticks) in &expected {
            let kept = told.get(line).copied().unwrap_or_default();
            let lost = (ticks - kept) * KEPT as i64;
            assert!(kept <= *ticks && lost <= length(&expected), "{kept} of {ticks}");
        }
        assert!(told.keys().all(|line| expected.contains_key(line)));
    }
    assert!(most > KEPT, "some run through more: {most}");
}

/// Each with its line, or 0 where it is a function.
fn lines(report: &Report) -> Vec<(u32, u128)> {
    let line = |stretch: &Stretch| match stretch.origin {
        Origin::Line(at) => at.line(),
        Origin::Function(name) => {
            assert!(name.contains("strand::tests::course::"), "{name}");
            0
        }
    };
    report.course.iter().map(|it| (line(it), it.time.as_nanos())).collect()
}

/// Where a join is said to be.
fn join_line(line: u32) -> u32 {
    if cfg!(feature = "join-lines") { line } else { 0 }
}

/// A serial chain beside a wide loop: it is the chain's join that is named; and the loop's line, where that is longer.
#[test]
fn a_chain_beside_a_loop() {
    let items = [0_u32; 256];
    for workers in [1, 2, 3] {
        let pool = Pool::new(workers).unwrap();
        for (chain, leaf) in [(1000, 1), (10, 64)] {
            let line = line!();
            let report = pool.metered_virtually(|worker| {
                spend(3);
                worker.join(
                    |_| spend(chain),
                    |w| w.reduce_in_shape(&items[..], leaf, || (), |(), _| spend(10), |(), ()| ()),
                );
                spend(4);
            });
            let longest = if leaf == 1 { (join_line(line + 3), 1000) } else { (line + 5, 640) };
            assert_eq!(lines(&report), [longest, (line + 1, 7)]);
        }
    }
}

/// The same, said in words.
#[test]
fn advice_names_the_task_that_is_long() {
    let pool = Pool::new(2).unwrap();
    let line = line!();
    let report = pool.metered_virtually(|worker| {
        worker.scope(|worker, scope| {
            (0..10).for_each(|_| scope.spawn_on(worker, |_, _| spend(1)));
            scope.spawn_on(worker, |_, _| spend(1_000_000));
            spend(1);
        });
    });
    let advice = report.advice();
    let named = format!("spawned at {}:{} (100%)", file!(), line + 4);
    assert!(advice[0].starts_with("Parallelism 1.0 on 2 workers"), "{advice:?}");
    assert!(advice[0].contains(&named), "{advice:?}");
}

/// In the name of whoever has called: loops and joins on whatever worker there is, tasks from outside, and detached ones.
#[test]
fn calls_are_in_the_name_of_who_calls() {
    let pool = Pool::builder().workers(2).metered_virtually().build().unwrap();
    let course = || lines(&pool.report().unwrap());
    let line = line!();
    pool.run(|_| {
        crate::loops::for_each(&[1][..], |_| spend(100));
        crate::join(|| spend(200), || ());
    });
    assert_eq!(course(), [(join_line(line + 3), 200), (line + 2, 100)]);
    pool.run(|_| spend(300));
    assert_eq!(course(), [(line + 6, 300), (join_line(line + 3), 200), (line + 2, 100)]);
    pool.spawn(|_| crate::spawn(|| spend(1000)));
    limits::at_rest(&pool);
    assert_eq!(course()[0], (line + 8, 1000));
}

/// Who leaves a barrier goes on along the path of who has come the longest way, through its places.
#[test]
fn who_leaves_a_barrier_has_the_course_of_the_longest() {
    let pool = Pool::new(1).unwrap();
    let barrier = Arc::new(crate::sync::Barrier::new(3));
    let line = line!();
    let report = pool.metered_virtually(|_| {
        let meets = |before, after| {
            let barrier = Arc::clone(&barrier);
            async move {
                spend(before);
                barrier.wait().await;
                spend(after);
            }
        };
        let slow = crate::task::spawn(meets(100, 1));
        let others = [(); 2].map(|()| crate::task::spawn(meets(5, 50)));
        slow.join().unwrap();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
    assert_eq!(lines(&report), [(line + 10, 100), (line + 11, 50)]);
}

/// A panic does not take the place of whoever goes on after it.
#[test]
fn panics_keep_to_the_place() {
    for workers in [1, 2] {
        let pool = Pool::new(workers).unwrap();
        let line = line!();
        let report = pool.metered_virtually(|worker| {
            for panics in [false, true] {
                let half = |_: &Worker| {
                    spend(10);
                    if panics {
                        unwind::resume(Box::new(()));
                    }
                };
                drop(unwind::halt(|| worker.join(half, |_| spend(1))));
                spend(100);
            }
        });
        assert_eq!(lines(&report), [(line + 1, 200), (join_line(line + 9), 20)]);
    }
}

/// Whoever has stolen the second half goes on from where it was forked, wherever the first one has been since; and the longer of them goes on.
#[cfg(not(feature = "join-lines"))]
#[test]
fn a_stolen_half_has_the_course_of_its_fork() {
    let pool = Pool::new(2).unwrap();
    for (first, second) in [(1000, 10), (10, 1000)] {
        let [stolen, turned] = [(); 2].map(|()| AtomicBool::new(false));
        let wait = |flag: &AtomicBool| {
            while !flag.load(Ordering::Acquire) {
                thread::yield_now();
            }
        };
        const ROOT: u32 = line!() + 1;
        let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
            spend(1);
            join_0(worker, |_| spend(2), |_| spend(0));
            join_1(
                worker,
                |worker| {
                    wait(&stolen);
                    (0..3).for_each(|_| join_2(worker, |_| spend(0), |_| spend(first)));
                    join_3(worker, |_| spend(first), |_| spend(0));
                    turned.store(true, Ordering::Release);
                },
                |worker| {
                    stolen.store(true, Ordering::Release);
                    wait(&turned);
                    join_4(worker, |_| spend(0), |_| spend(second));
                    join_3(worker, |_| spend(second), |_| spend(0));
                    spend(second);
                },
            );
            spend(4);
        });
        let mut told: Vec<_> = figures.course.iter().filter(|part| part.ticks > 0).collect();
        told.sort_by_key(|part| place(part.site.unwrap().origin()));
        let told: Vec<_> =
            told.iter().map(|part| (place(part.site.unwrap().origin()), part.ticks)).collect();
        let expected = if first > second {
            vec![(0, 2), (2, 3 * first), (3, first), (ROOT, 5)]
        } else {
            vec![(0, 2), (1, second), (3, second), (4, second), (ROOT, 5)]
        };
        assert_eq!(told, expected);
    }
}

/// What one half notes of its course is not taken for the other's, nor for what went before, on one worker and on several; and panics change nothing.
#[cfg(not(feature = "join-lines"))]
#[test]
fn halves_keep_to_their_own_courses() {
    for workers in [1, 2] {
        let pool = Pool::new(workers).unwrap();
        for [first, second] in [[100, 1], [1, 100], [100, 100], [0, 7], [7, 0]] {
            for panics in [false, true] {
                const ROOT: u32 = line!() + 1;
                let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
                    let half = |worker: &Worker, number, ticks| {
                        join(number, worker, |_| spend(ticks), |_| ());
                        if panics {
                            unwind::resume(Box::new(()));
                        }
                    };
                    for _ in 0..3 {
                        let ended = unwind::halt(|| {
                            join_7(worker, |w| half(w, 5, first), |w| half(w, 6, second));
                        });
                        assert_eq!(ended.is_err(), panics);
                        spend(1);
                    }
                });
                let longer = if second > first { (6, 3 * second) } else { (5, 3 * first) };
                let mut told = Table::new();
                for part in figures.course.iter().filter(|part| part.ticks > 0) {
                    told.insert(place(part.site.unwrap().origin()), part.ticks);
                }
                assert_eq!(told, Table::from([longer, (ROOT, 3)]));
            }
        }
    }
}
