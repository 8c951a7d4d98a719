//! The seam below the scheduler: code that runs while a pool works takes atomics, locks, threads and
//! the clock from `locksley_sys::primitive`, and none from std. A back end that simulates a machine
//! does not see those of std. If one of its threads waited for such a lock, all threads would stop.

use std::fs;
use std::path::{Path, PathBuf};

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

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

/// True if a file has nothing but tests or models.
fn is_test(path: &str) -> bool {
    path.split('/').any(|part| {
        let name = part.trim_end_matches(".rs");
        ["tests", "models", "suite"].contains(&name) || name.starts_with("stall")
    })
}

/// The code of a file up to its tests, without comments.
fn code(text: &str) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("mod tests {"));
    lines.filter(|line| !line.starts_with("//")).map(|line| format!("{line}\n")).collect()
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// The items of [`REPLACED`] that the code takes from std.
fn taken_from_std(code: &str) -> Vec<&str> {
    let mut taken = Vec::new();
    for (start, _) in code.match_indices("std::") {
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for package in PACKAGES {
        let mut files = Vec::new();
        sources(&root.join(package).join("src"), &mut files);
        assert!(!files.is_empty());
        for file in files {
            let name = file.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            let code = code(&fs::read_to_string(&file).unwrap());
            if !is_test(&name) {
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
    assert_eq!(of("use std::time::{Duration, Instant};"), ["Instant"]);
    assert_eq!(of("thread_local! {}"), ["thread_local"]);
    assert_eq!(of("use p::thread_local;\nthread_local! {}"), [""; 0]);
    assert_eq!(of("use std::sync::{Arc, PoisonError};"), [""; 0]);
}
