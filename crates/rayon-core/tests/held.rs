//! With the feature `held-locks` it is said where a lock is held across a join, in the name of whoever calls; without it nothing is.

use std::process::Command;

use locksley::held::{self, Mark};
use rayon_core::{
    ThreadPoolBuilder, broadcast, in_place_scope, in_place_scope_fifo, join, join_context, scope,
    scope_fifo, yield_local, yield_now,
};

const CASE: &str = "RAYON_CORE_TEST_CASE";

/// What is held, and what it is held across.
const TOLD: [(&str, &str); 20] = [
    ("join", "a join"),
    ("join_context", "a join"),
    ("scope", "a scope"),
    ("scope_fifo", "a scope"),
    ("in_place_scope", "a scope"),
    ("in_place_scope_fifo", "a scope"),
    ("broadcast", "a scope"),
    ("yield_now", "`run_one`"),
    ("yield_local", "`run_one`"),
    ("pool's join", "a join"),
    ("pool's scope", "a scope"),
    ("pool's scope_fifo", "a scope"),
    ("pool's in_place_scope", "a scope"),
    ("pool's in_place_scope_fifo", "a scope"),
    ("pool's broadcast", "a scope"),
    ("pool's yield_now", "`run_one`"),
    ("pool's yield_local", "`run_one`"),
    ("install into another", "a run in another pool"),
    ("join from outside", "a join"),
    ("scope from outside", "a scope"),
];

/// Not a test of its own: what the other one runs in another process.
#[test]
fn child() {
    if std::env::var(CASE).is_err() {
        return;
    }
    let build = || ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (pool, other) = (build(), build());
    pool.install(|| {
        let under = |lock: &'static str, what: &dyn Fn()| {
            let _mark = Mark::new(lock);
            what();
        };
        under("join", &|| _ = join(|| (), || ()));
        under("join_context", &|| _ = join_context(|_| (), |_| ()));
        under("scope", &|| scope(|_| ()));
        under("scope_fifo", &|| scope_fifo(|_| ()));
        under("in_place_scope", &|| in_place_scope(|_| ()));
        under("in_place_scope_fifo", &|| in_place_scope_fifo(|_| ()));
        under("broadcast", &|| _ = broadcast(|_| ()));
        under("yield_now", &|| _ = yield_now());
        under("yield_local", &|| _ = yield_local());
        under("pool's join", &|| _ = pool.join(|| (), || ()));
        under("pool's scope", &|| pool.scope(|_| ()));
        under("pool's scope_fifo", &|| pool.scope_fifo(|_| ()));
        under("pool's in_place_scope", &|| pool.in_place_scope(|_| ()));
        under("pool's in_place_scope_fifo", &|| pool.in_place_scope_fifo(|_| ()));
        under("pool's broadcast", &|| _ = pool.broadcast(|_| ()));
        under("pool's yield_now", &|| _ = pool.yield_now());
        under("pool's yield_local", &|| _ = pool.yield_local());
        under("install into another", &|| other.install(|| ()));
        under("spawned", &|| rayon_core::spawn(|| ()));
    });
    // The first half runs in the global pool, and holds what it returns.
    let _mark = join(|| Mark::new("join from outside"), || ());
    let _mark = scope(|_| Mark::new("scope from outside"));
}

#[test]
fn who_is_told_of_is_who_has_called() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child", "--exact", "--nocapture"]).env(CASE, "held").env("RUST_BACKTRACE", "0");
    let output = child.output().unwrap();
    assert!(output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = errors.lines().filter(|line| line.starts_with("locksley: ")).collect();
    let expected = if held::WATCHED { &TOLD[..] } else { &[] };
    assert_eq!(lines.len(), expected.len(), "{errors}");
    for (lock, wait) in expected {
        let taken = format!("locksley: `{lock}`, taken at {}:", file!());
        let held = format!(" is held across {wait} at {}:", file!());
        let told = |line: &&&str| line.starts_with(&taken) && line.contains(&held);
        assert_eq!(lines.iter().filter(told).count(), 1, "{lock}: {errors}");
    }
}
