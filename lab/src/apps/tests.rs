//! Every application on every runtime, small, with few and with many workers.

use super::*;
use crate::runtimes;

/// A test for each application, and the sizes that it is computed with: small ones, among them some
/// that do not divide evenly and some with less work than workers.
macro_rules! right_on_every_runtime {
    ($($test:ident: $app:literal, $sizes:expr;)*) => {
        mod right_on_every_runtime {
            $(
                #[test]
                fn $test() {
                    super::is_right_on_every_runtime($app, &$sizes);
                }
            )*
        }

        const TESTED: &[&str] = &[$($app),*];
    };
}

right_on_every_runtime! {
    knary: "knary", ["1,3,1", "5,3,0", "4,3,3", "6,1,0", "5,4,2"];
    heat: "heat", ["3x3x1", "61x47x7", "40x600x4", "5x9000x3"];
    msort: "msort", ["1", "7", "1000", "40961", "80K"];
    mm: "mm", ["16", "32", "48", "128", "208"];
    lu: "lu", ["16", "32", "128", "256"];
    barnes: "barnes", ["1x1", "2x3", "9x2", "700x1"];
    ray: "ray", ["0,1x1", "1,7x5", "2,1x33", "3,16x12"];
    bfs: "bfs", ["1,1", "3,1", "7,3", "11,8", "1500,4"];
    ep: "ep", ["1", "3"];
    cg: "cg", ["S"];
    raytracer: "raytracer", ["1x1", "3x17", "20x15"];
    clip: "clip", ["1x3", "9x4", "150x24"];
    mi: "mi", ["1x1", "2x2", "9x3", "150x1"];
    busy_loop: "loop", ["1x1", "2x50", "33x1000"];
    sorters: "sorters", ["1x1", "7x3", "1000x16-worst", "5000x64", "40961x37"];
}

/// Applications with a smallest problem that takes a while: they are computed on one runtime of
/// each model, and on those with something of their [`OWN`], with one number of workers.
const LONG: &[&str] = &["cg"];

/// With few workers, with as many as processors or about, and with many.
const WORKERS: [usize; 4] = [1, 2, 3, 7];

/// With a deque or an order of their own: what is wrong with these may show in one version only,
/// and with one number of workers.
const OWN: [&str; 4] =
    ["classic-hood", "classic-spinlock", "classic-blocking", "locksley-intervals-oldest"];

/// The first runtime of each model computes every size with every number of workers, and so do
/// those with something of their [`OWN`]. The others differ in which workers search and which
/// sleep, and do each size with one number of workers, another one for the next size: never alone,
/// or nothing is stolen.
fn is_right_on_every_runtime(name: &str, sizes: &[&str]) {
    let app = find(name).unwrap();
    for (nth_size, size) in sizes.iter().enumerate() {
        let problem = problem(app, size).unwrap();
        assert_eq!(problem.parameters, *size);
        let mut instance = problem.prepare(11);
        let mut models = Vec::new();
        for (nth, runtime) in runtimes::ALL.iter().enumerate() {
            if !runtime.can_run(app) {
                continue;
            }
            let model = std::mem::discriminant(&runtime.model);
            let has_all = !models.contains(&model) || OWN.contains(&runtime.name);
            models.push(model);
            let one = 1 + (nth + nth_size) % (WORKERS.len() - 1);
            let workers = match (LONG.contains(&name), has_all) {
                (false, true) => &WORKERS[..],
                (false, false) => &WORKERS[one..=one],
                (true, true) => &[3],
                (true, false) => &[],
            };
            for &workers in workers {
                let crew = runtime.start(workers).unwrap();
                crew.compute(instance.as_mut());
                if let Err(wrong) = instance.check() {
                    panic!("{name} {size} on {} with {workers}: {wrong}", runtime.name);
                }
            }
        }
    }
}

#[test]
fn every_application_has_such_a_test() {
    assert!(ALL.iter().map(|app| app.name).eq(TESTED.iter().copied()));
    assert!(OWN.iter().all(|name| runtimes::find(name).is_ok()));
}

#[test]
fn an_answer_that_was_not_computed_is_rejected() {
    for (name, size) in [
        ("knary", "4,3,1"),
        ("heat", "20x20x3"),
        ("msort", "100"),
        ("sorters", "100x7"),
        ("mm", "32"),
        ("lu", "32"),
        ("barnes", "30x2"),
        ("ray", "1,9x9"),
        ("bfs", "5,2"),
        ("ep", "1"),
        ("cg", "S"),
        ("raytracer", "9x9"),
        ("clip", "5x5"),
        ("mi", "9x2"),
        ("loop", "3x10"),
    ] {
        let mut instance = problem(find(name).unwrap(), size).unwrap().prepare(5);
        instance.reset();
        assert!(instance.check().is_err(), "{name}");
    }
}

#[test]
fn sizes_that_cannot_be_are_refused_in_one_line() {
    let wrong = [
        (
            "knary",
            &[
                "",
                "3",
                "3,2",
                "0,2,1",
                "3,0,0",
                "3,2,3",
                "64,9,0",
                "99999999999999999999,2,1",
                "a,b,c",
            ][..],
        ),
        (
            "heat",
            &["", "0x4x4", "2x9x9", "9x9x0", "9x9", "9x9x9x9", "-3x4x4", "9,9,9", "9x9x1.5"][..],
        ),
        (
            "msort",
            &["", "0", "-1", "1.5", "1G", "M", "99999999999999999999", "18446744073709551615M"][..],
        ),
        (
            "sorters",
            &["", "9", "9x0", "0x0", "4x5", "9x3x1", "9x3-", "9x3-better", "-9x3", "1Mx4"][..],
        ),
        (
            "mm",
            &["", "0", "15", "1000", "16x16", "99999999999999999999", "9223372036854775808"][..],
        ),
        ("lu", &["", "0", "15", "48", "1000", "16x16", "99999999999999999999"][..]),
        ("barnes", &["", "0x1", "9x0", "9", "9x9x9", "4294967296x1", "99999999999999999999x1"][..]),
        ("ray", &["", "4", "4,", "4,9", "4,0x9", "9,9x9", "-1,9x9", "4x9x9", "4,9x9x9"][..]),
        ("bfs", &["", "9", "0,4", "9,0", "32,1", "1023,1", "2147483649,1", "9x4", "9,4,1"][..]),
        ("ep", &["", "0", "C", "s", "1.5", "-1", "134217729", "99999999999999999999"][..]),
        ("cg", &["", "C", "s", "1400", "SW"][..]),
        ("raytracer", &["", "9", "0x9", "9x", "9x9x9", "-1x9"][..]),
        ("clip", &["", "9", "0x9", "9x2", "9x0", "9x9x9", "9,9"][..]),
        ("mi", &["", "500", "0x1", "9x0", "9x9x9", "9,9"][..]),
        ("loop", &["", "9", "0x9", "9x0", "9x9x9", "4194304x1048577", "9,9"][..]),
    ];
    for (name, sizes) in wrong {
        for size in sizes {
            let Err(fault) = problem(find(name).unwrap(), size) else {
                panic!("{name} accepted {size}")
            };
            assert!(matches!(fault, Fault::Input(_)), "{name} {size}");
            assert_eq!(fault.to_string().lines().count(), 1, "{name} {size}: {fault}");
        }
    }
}

#[test]
fn memory_that_no_machine_has_is_refused() {
    for (name, size) in [
        ("heat", "9999999999x9999999999x1"),
        ("msort", "9999999999999999"),
        ("sorters", "9999999999999999x9"),
        ("sorters", "9999999999999999x9999999999999999-worst"),
        ("mm", "4611686018427387904"),
        ("lu", "4611686018427387904"),
        ("barnes", "4294967295x1"),
        ("ray", "4,9999999999x9999999999"),
        ("bfs", "31,9999999999"),
        ("raytracer", "9999999999x9999999999"),
        ("clip", "9999999999x9999999999"),
        ("mi", "9999999999x9999999999"),
        ("loop", "4398046511104x1"),
    ] {
        let Err(fault) = problem(find(name).unwrap(), size) else {
            panic!("{name} accepted {size}")
        };
        assert!(fault.to_string().contains("memory"), "{fault}");
    }
}

#[test]
fn a_copy_has_the_same_input_and_its_own_answer() {
    for (name, size) in [
        ("bfs", "6,4"),
        ("ep", "1"),
        ("raytracer", "5x5"),
        ("clip", "9x9"),
        ("mi", "20x2"),
        ("loop", "2x10"),
    ] {
        let mut instance = problem(find(name).unwrap(), size).unwrap().prepare(5);
        instance.reset();
        instance.serial();
        let mut copy = instance.copy();
        copy.reset();
        assert!(copy.check().is_err(), "{name}");
        instance.check().unwrap();
        copy.serial();
        copy.check().unwrap();
    }
}
