//! Joins whose halves panic, are stolen, or come back late: where the strand is that goes on after them.

use std::any::Any;
use std::collections::BTreeMap;
use std::process::Command;

use super::*;
use crate::meter::virtually::{adjust, shown};

/// Functions that join.
macro_rules! joins {
    ($($name:ident)*) => {
        $(fn $name<R>(
            worker: &Worker,
            first: impl FnOnce(&Worker) -> R,
            second: impl FnOnce(&Worker) + Send,
        ) -> R {
            worker.join(|w| first(w), |w| second(w)).0
        })*
    };
}
joins!(outer middle in_first in_second after);
joins!(one two three four five six seven eight nine);

/// How the second half of a join comes to run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// Where it was forked, at once.
    AtOnce,
    /// There, but not before what lies on top of it.
    Late,
    /// Elsewhere.
    Stolen,
}

const ALL: [How; 3] = [How::AtOnce, How::Late, How::Stolen];

/// Has the second half of one join come to run like that.
struct Course {
    how: How,
    has_begun: AtomicBool,
}

impl Course {
    fn new(how: How) -> (Self, Pool) {
        let pool = Pool::new(if how == How::Stolen { 2 } else { 1 }).unwrap();
        (Self { how, has_begun: AtomicBool::new(false) }, pool)
    }

    /// Called by the first half, last.
    fn first_ends(&self, worker: &Worker) {
        match self.how {
            How::AtOnce => {}
            How::Late => worker.spawn(|_| ()),
            How::Stolen => {
                while !self.has_begun.load(Ordering::Acquire) {
                    thread::yield_now();
                }
            }
        }
    }

    /// Called by the second half, first.
    fn second_begins(&self) {
        self.has_begun.store(true, Ordering::Release);
    }
}

fn panics() -> ! {
    unwind::resume(Box::new("on purpose"))
}

fn on_purpose(ended: Result<(), Box<dyn Any + Send>>) {
    assert_eq!(ended.unwrap_err().downcast_ref(), Some(&"on purpose"));
}

/// How much of the path is in which of the functions here that join; the rest is at lines.
#[cfg_attr(feature = "join-lines", allow(dead_code, reason = "its joins are at one line then"))]
fn places(figures: &Figures) -> BTreeMap<&'static str, i64> {
    let mut places = BTreeMap::new();
    for part in figures.course.iter().filter(|part| part.ticks > 0) {
        let name = match part.site.expect("all is called somewhere").origin() {
            crate::meter::Origin::Line(_) => "lines",
            crate::meter::Origin::Function(name) => {
                let (_, name) = name.split_once("::halves::").expect("they are here");
                &name[..name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap()]
            }
        };
        *places.entry(name).or_default() += part.ticks;
    }
    places
}

fn join_of(first: Program, second: Program) -> Program {
    Program::Join(Box::new(first), Box::new(second))
}

/// What a strand does whose join has panicked, in [`goes_on`].
fn rest() -> [Program; 6] {
    use Program::{Scope, Spawn, Work};
    [
        Work(3),
        join_of(Work(4), Work(2)),
        Scope(Box::new(Spawn(Box::new(Work(50))))),
        Work(7),
        join_of(Work(5), Work(6)),
        Work(8),
    ]
}

fn goes_on(worker: &Worker) {
    spend(3);
    after(worker, |_| spend(4), |_| spend(2));
    worker.scope(|worker, scope| scope.spawn_on(worker, |_, _| spend(50)));
    spend(7);
    after(worker, |_| spend(5), |_| spend(6));
    spend(8);
}

/// The figures are those of `Work(1)`, a join of these, and the [`rest`]; and the longest path goes, beside lines, through [`after`] and `through`.
fn check_what_goes_on(figures: Figures, halves: [Program; 2], through: (&'static str, i64)) {
    let pools = [(); 2].map(|()| Pool::new(1).unwrap());
    let [first, second] = halves;
    let mut all = vec![Program::Work(1), join_of(first, second)];
    all.extend(rest());
    let expected = expected(&Program::Sequence(all), 0, &pools);
    let told = (figures.work, figures.forks, figures.path.span, figures.path.burdened);
    let path = expected.path;
    assert_eq!(told, (expected.work, expected.forks, path.span, path.burdened));
    #[cfg(not(feature = "join-lines"))]
    {
        let lines = 1 + 3 + 50 + 7 + 8;
        assert_eq!(places(&figures), BTreeMap::from([("after", 10), ("lines", lines), through]));
    }
    #[cfg(feature = "join-lines")]
    let _ = through;
}

/// Whatever is forked, spawned and joined after it is on the longer path, at its own place.
#[test]
fn the_second_half_alone_panics() {
    for how in ALL {
        for [first, second] in [[1000, 1], [1, 1000], [500, 500]] {
            let (course, pool) = Course::new(how);
            let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
                spend(1);
                on_purpose(unwind::halt(|| {
                    let first = |w: &Worker| {
                        in_first(w, |_| spend(first), |_| ());
                        course.first_ends(w);
                    };
                    let second = |w: &Worker| {
                        course.second_begins();
                        in_second(w, |_| (), |_| spend(second));
                        panics();
                    };
                    outer(worker, first, second);
                }));
                goes_on(worker);
            });
            let work = Program::Work;
            let halves = [join_of(work(first), work(0)), join_of(work(0), work(second))];
            let longer = if second > first { ("in_second", second) } else { ("in_first", first) };
            check_what_goes_on(figures, halves, longer);
        }
    }
}

/// The same where a panic goes through two joins at once.
#[test]
fn a_panic_unwinds_two_joins() {
    for how in ALL {
        for who in [[true, false], [false, true], [true, true]] {
            for [first, second] in [[1000, 1], [1, 1000]] {
                let (course, pool) = Course::new(how);
                let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
                    let half = |w: &Worker, ticks, does: bool| {
                        in_second(w, |_| spend(ticks), |_| ());
                        if does {
                            panics();
                        }
                    };
                    spend(1);
                    on_purpose(unwind::halt(|| {
                        let first = |w: &Worker| {
                            in_first(w, |_| spend(first), |_| ());
                            course.first_ends(w);
                        };
                        let second = |w: &Worker| {
                            course.second_begins();
                            middle(w, |w| half(w, second, who[0]), |w| half(w, second, who[1]));
                        };
                        outer(worker, first, second);
                    }));
                    goes_on(worker);
                });
                let work = Program::Work;
                let half = || join_of(work(second), work(0));
                let halves = [join_of(work(first), work(0)), join_of(half(), half())];
                let longer =
                    if second > first { ("in_second", second) } else { ("in_first", first) };
                check_what_goes_on(figures, halves, longer);
            }
        }
    }
}

/// It is dropped after the join, in the name of who goes on, wherever the second half has panicked.
#[test]
fn what_the_first_half_returned_is_dropped_after_both() {
    struct Spends(i64);
    impl Drop for Spends {
        fn drop(&mut self) {
            spend(self.0);
        }
    }
    for how in ALL {
        let (course, pool) = Course::new(how);
        let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
            spend(1);
            on_purpose(unwind::halt(|| {
                let first = |w: &Worker| {
                    spend(100);
                    course.first_ends(w);
                    Spends(50)
                };
                let second = |_: &Worker| {
                    course.second_begins();
                    spend(10);
                    panics();
                };
                drop(outer(worker, first, second));
            }));
            spend(2);
        });
        assert_eq!((figures.work, figures.path.span), (163, 153), "{how:?}");
        #[cfg(not(feature = "join-lines"))]
        assert_eq!(places(&figures), BTreeMap::from([("lines", 53), ("outer", 100)]), "{how:?}");
    }
}

/// A panic comes out of a loop, which has taken the strand to its own place: the path is the same, whichever half it was, however that was run, and though there
/// are more places than are kept.
#[test]
fn a_loop_panics_in_a_half() {
    let course_of = |how, failing, one_fails_in, places: usize| {
        let (course, pool) = Course::new(how);
        let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
            adjust(|clock| clock.one_fails_in = one_fails_in);
            let visits: [fn(&Worker); 9] = [
                |w| one(w, |_| spend(11), |_| ()),
                |w| two(w, |_| spend(13), |_| ()),
                |w| three(w, |_| spend(17), |_| ()),
                |w| four(w, |_| spend(19), |_| ()),
                |w| five(w, |_| spend(23), |_| ()),
                |w| six(w, |_| spend(29), |_| ()),
                |w| seven(w, |_| spend(31), |_| ()),
                |w| eight(w, |_| spend(37), |_| ()),
                |w| nine(w, |_| spend(41), |_| ()),
            ];
            // Kept, whatever else is.
            spend(1000);
            visits[..places].iter().for_each(|visit| visit(worker));
            let item = |_: &i32| {
                spend(100);
                panics();
            };
            let fails = || crate::loops::for_each(&[1][..], item);
            on_purpose(unwind::halt(|| {
                // What a half has spent elsewhere is in the table; where it was forked it has spent nothing.
                let first = |w: &Worker| {
                    middle(w, |_| spend(43), |_| ());
                    course.first_ends(w);
                    if failing == 0 {
                        fails();
                    }
                };
                let second = |w: &Worker| {
                    course.second_begins();
                    middle(w, |_| spend(43), |_| ());
                    if failing == 1 {
                        fails();
                    }
                };
                outer(worker, first, second);
            }));
            // And goes nowhere else, where others would have to go whom a turn too many has driven out.
            spend(1);
        });
        let part =
            |part: Part| (part.ticks, part.site.filter(|_| part.ticks > 0).map(Site::origin));
        let mut parts = figures.course.map(part);
        parts.sort_by_key(|&(ticks, origin)| (ticks, format!("{origin:?}")));
        (figures.path.span, parts)
    };
    for places in [2, 9] {
        let known = course_of(How::AtOnce, 0, 0, places);
        let before = if places == 2 { 11 + 13 } else { 221 };
        assert_eq!(known.0, 1000 + before + 43 + 100 + 1);
        for failing in [0, 1] {
            for how in ALL {
                for one_fails_in in [0, 1, 3] {
                    let told = course_of(how, failing, one_fails_in, places);
                    assert_eq!(told, known, "{how:?} {failing} {one_fails_in} {places}");
                }
            }
        }
    }
}

/// Its stay is noted where the path turns to that place, and never again; and the clock is read three times for each fork.
#[test]
fn forks_at_one_place_note_nothing_of_it() {
    fn fib(worker: &Worker, n: u32) -> Vec<usize> {
        if n < 2 {
            return vec![worker.running().stay().addr().get()];
        }
        let (mut first, second) = worker.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
        first.extend(second);
        first
    }
    let pool = Pool::new(1).unwrap();
    let ((stays, readings), figures) = pool.metered_by(Clock::Virtual, |worker| {
        adjust(|clock| clock.one_fails_in = 0);
        let before = shown();
        let stays = fib(worker, 12);
        let after = shown();
        (stays, after.glances - before.glances + (after.looks - before.looks))
    });
    assert_eq!(stays.len() as u64, figures.forks + 1);
    assert!(stays.iter().all(|stay| *stay == stays[0]), "{stays:?}");
    assert_eq!(u64::from(readings), 3 * figures.forks);
}

/// What its worker is about before that is no part of it.
#[test]
fn a_half_that_comes_back_late_begins_where_it_was_forked() {
    const READING: i64 = 10;
    let (course, pool) = Course::new(How::Late);
    let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
        adjust(|clock| (clock.one_fails_in, clock.reading) = (0, READING));
        outer(worker, |w| course.first_ends(w), |_| spend(1000));
    });
    // That where it is taken up, and that at the join. All others are before the fork, in the first half, or while it is waited for.
    assert_eq!(figures.path.span, 1000 + 2 * READING);
}

/// What others have noted in frames that it would unwind leads to what is gone.
#[test]
fn a_panic_while_a_strand_is_aside_ends_the_process() {
    const VARIABLE: &str = "LOCKSLEY_TEST_PANICS_ASIDE";
    const NAME: &str = "strand::tests::halves::a_panic_while_a_strand_is_aside_ends_the_process";
    let pool = Pool::new(1).unwrap();
    let aside = |worker: &Worker| on_purpose(unwind::halt(|| worker.while_aside(|| panics())));
    if std::env::var_os(VARIABLE).is_some() {
        pool.metered(aside);
        return;
    }
    pool.run(aside);
    let mut child = Command::new(std::env::current_exe().unwrap());
    let child = child.args([NAME, "--exact", "--nocapture"]).env(VARIABLE, "");
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{output:?}");
    assert!(said.contains("a panic has kept what is metered from going on"), "{output:?}");
}
