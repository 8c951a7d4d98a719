//! The seam below the scheduler: code that runs while a pool works takes atomics, locks, threads and
//! the clock from `locksley_sys::primitive`, and none from std. A back end that simulates a machine
//! does not see those of std. If one of its threads waited for such a lock, all threads would stop.

mod sources;

use sources::{code, is_test, root, sources};

const PACKAGES: [&str; 6] = [
    "crates/locksley",
    "crates/locksley-sync",
    "crates/locksley-kahn",
    "crates/locksley-intervals",
    "crates/locksley-profile",
    "lab/classic",
];

/// What the seam has in place of std's.
const REPLACED: [&str; 12] = [
    "atomic",
    "Barrier",
    "Condvar",
    "Instant",
    "LazyLock",
    "mpsc",
    "Mutex",
    "Once",
    "OnceLock",
    "RwLock",
    "SystemTime",
    "thread",
];

/// Where std's is right: initializers that wait for no thread, and a mark that only models have.
const EXCEPTIONS: [(&str, &str); 4] = [
    ("crates/locksley/src/shared/place_map.rs", "OnceLock"),
    ("crates/locksley/src/trace.rs", "OnceLock"),
    ("crates/locksley/src/worker/guest.rs", "OnceLock"),
    ("crates/locksley-sync/src/wait_queue/waiter.rs", "atomic"),
];

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// The items of [`REPLACED`] that the code takes from std.
fn taken_from_std(code: &str) -> Vec<&str> {
    let mut taken = Vec::new();
    let paths = ["std::", "core::sync", "core::hint"];
    for (start, _) in paths.iter().flat_map(|path| code.match_indices(path)) {
        // The path, or the whole tree of a `use`.
        let path = &code[start..];
        let end = match path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
            Some(brace) if path[brace..].starts_with('{') => path.find(';'),
            end => end,
        };
        let path = &path[..end.unwrap_or(path.len())];
        taken.extend(words(path).filter(|word| REPLACED.contains(word)));
    }
    let has_own = code.contains("primitive::thread_local!")
        || words(code).filter(|&word| word == "thread_local").count() > 1;
    if code.contains("thread_local!") && !has_own {
        taken.push("thread_local");
    }
    taken
}

#[test]
fn a_pool_takes_from_std_nothing_that_back_ends_replace() {
    let root = root();
    let mut found = Vec::new();
    for package in PACKAGES {
        let mut files = Vec::new();
        sources(&root.join(package).join("src"), &mut files);
        assert!(!files.is_empty());
        for file in files {
            let name = file.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
            let code = code(&file);
            if !is_test(name.as_ref()) {
                let taken = taken_from_std(&code).into_iter();
                found.extend(taken.map(|item| (name.clone(), item.to_owned())));
            }
        }
    }
    let exceptions = EXCEPTIONS.map(|(file, item)| (file.to_owned(), item.to_owned()));
    let unknown: Vec<_> = found.iter().filter(|it| !exceptions.contains(it)).collect();
    assert!(unknown.is_empty(), "use those of `locksley_sys::primitive`: {unknown:#?}");
    let unused: Vec<_> = exceptions.iter().filter(|it| !found.contains(it)).collect();
    assert!(unused.is_empty(), "exceptions that are none: {unused:#?}");
}

#[test]
fn what_is_taken_from_std_is_found() {
    let of = |code| taken_from_std(code);
    assert_eq!(of("use std::sync::{\nArc,\nMutex,\n};\nuse a::Barrier;"), ["Mutex"]);
    assert_eq!(of("use std::sync::atomic::{AtomicU32, Ordering};"), ["atomic"]);
    assert_eq!(of("if std::thread::panicking() { mpsc() }"), ["thread"]);
    assert_eq!(of("use core::sync::atomic::fence;"), ["atomic"]);
    assert_eq!(of("use std::time::{Duration, Instant};"), ["Instant"]);
    assert_eq!(of("thread_local! {}"), ["thread_local"]);
    assert_eq!(of("use p::thread_local;\nthread_local! {}"), [""; 0]);
    assert_eq!(of("use std::sync::{Arc, PoisonError};"), [""; 0]);
}
