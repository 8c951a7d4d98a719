//! The layers of the tree: neither the crates nor the folders of a crate depend on each other in a
//! circle.
//!
//! A folder or file directly below `src/` depends on another one if its code, without comments and
//! tests, names it by a `crate::` path.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Graph = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the laboratory lies in the root").into()
}

fn packages() -> Vec<PathBuf> {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    crates.chain([root().join("lab")]).filter(|path| path.join("Cargo.toml").is_file()).collect()
}

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

/// Whether a file has nothing but tests.
fn is_test(path: &Path) -> bool {
    path.iter().filter_map(|part| part.to_str()).any(|part| {
        let name = part.trim_end_matches(".rs");
        ["test", "tests", "models", "suite"].contains(&name) || name.starts_with("stall")
    })
}

/// The code of a file up to its tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.lines().map(str::trim).take_while(|line| !line.starts_with("mod tests {"));
    let code = code.filter(|line| !line.starts_with("//"));
    code.map(|line| line.split(" // ").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The identifiers that follow `crate::`.
fn named(code: &str) -> impl Iterator<Item = &str> {
    code.split("crate::").skip(1).map(|rest| {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        &rest[..rest.find(|c| !is_of_name(c)).unwrap_or(rest.len())]
    })
}

fn folders(package: &Path) -> Graph {
    let src = package.join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let modules: BTreeSet<String> = files.iter().map(|file| module(&src, file)).collect();
    let mut graph = Graph::new();
    for file in files.iter().filter(|file| !is_test(file.strip_prefix(&src).unwrap())) {
        let from = module(&src, file);
        if from == "lib" || from == "main" {
            continue;
        }
        let code = code(file);
        let to = named(&code).filter(|&name| modules.contains(name) && name != from);
        graph.entry(from.clone()).or_default().extend(to.map(str::to_owned));
    }
    graph
}

/// The first part of a file's path below `src/`.
fn module(src: &Path, file: &Path) -> String {
    let first = file.strip_prefix(src).unwrap().iter().next().unwrap().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

fn crates() -> Graph {
    let name = |package: &PathBuf| package.file_name().unwrap().to_str().unwrap().to_owned();
    let names: BTreeSet<String> = packages().iter().map(name).collect();
    let needs = |package: &PathBuf| {
        let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
        let manifest = manifest.split("[dev-dependencies]").next().unwrap().to_owned();
        let keys = manifest.lines().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key);
        keys.filter(|key| names.contains(*key)).map(str::to_owned).collect::<BTreeSet<_>>()
    };
    packages().iter().map(|package| (name(package), needs(package))).collect()
}

/// What can be reached from a node, the node itself only if it lies on a circle.
fn reached(graph: &Graph, from: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![from.to_owned()];
    while let Some(node) = open.pop() {
        for next in graph.get(&node).into_iter().flatten() {
            if found.insert(next.clone()) {
                open.push(next.clone());
            }
        }
    }
    found
}

/// The circles: sets of nodes that reach each other.
fn circles(graph: &Graph) -> BTreeSet<Vec<String>> {
    let reached: BTreeMap<_, _> = graph.keys().map(|node| (node, reached(graph, node))).collect();
    let on_circle = reached.iter().filter(|(node, found)| found.contains(**node));
    let circle = |(node, found): (&&String, &BTreeSet<String>)| {
        let back = |other: &&String| reached.get(other).is_some_and(|it| it.contains(*node));
        found.iter().filter(back).cloned().collect()
    };
    on_circle.map(circle).collect()
}

#[test]
fn no_crates_depend_on_each_other() {
    let graph = crates();
    assert!(graph["locksley"].contains("locksley-sys"), "manifests are read: {graph:?}");
    assert_eq!(circles(&graph), BTreeSet::new());
}

#[test]
fn no_folders_of_a_crate_depend_on_each_other() {
    for package in packages() {
        assert_eq!(circles(&folders(&package)), BTreeSet::new(), "{}", package.display());
    }
}

/// The check can fail.
#[test]
fn a_circle_is_found() {
    let edge = |(from, to): (&str, &str)| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    let graph: Graph = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")].map(edge).into();
    let expected = vec!["b".to_owned(), "c".to_owned()];
    assert_eq!(circles(&graph), BTreeSet::from([expected]));
    assert_eq!(named("use crate::b;\ncrate::c::d").collect::<Vec<_>>(), ["b", "c"]);
}
