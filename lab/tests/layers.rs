//! The layers of the tree: neither the crates nor the folders of a crate depend on each other in a
//! circle. At most three files do.
//!
//! A file depends on another one if its code, without comments and tests, names an item of it by a
//! path that begins with `crate`, `self` or `super`. A name that a file re-exports belongs to the
//! file that defines it. A folder depends on what its files depend on.

mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use sources::{code, is_test, root, sources};

type Graph = BTreeMap<String, BTreeSet<String>>;

/// A path of identifiers, from the root of a crate to a module or to another item.
type ItemPath = Vec<String>;

/// The modules of a crate, each with its code.
type Modules = BTreeMap<ItemPath, String>;

/// The number of files that a circle may have.
const LARGEST_CIRCLE: usize = 3;

fn packages() -> Vec<PathBuf> {
    let crates = folders_in(&root().join("crates"));
    let inner = crates.iter().flat_map(|package| folders_in(package));
    let lab = root().join("lab");
    let all = crates.iter().cloned().chain(inner).chain([lab.join("classic"), lab]);
    all.filter(|path| path.join("Cargo.toml").is_file()).collect()
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).collect()
}

fn modules(package: &Path) -> Modules {
    let src = package.join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut modules = Modules::new();
    for file in &files {
        let inside = file.strip_prefix(&src).unwrap();
        if !is_test(inside) {
            let inside = inside.with_extension("");
            let mut module: ItemPath =
                inside.iter().map(|it| it.to_str().unwrap().into()).collect();
            module.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
            modules.entry(module).or_default().push_str(&code(file));
        }
    }
    modules
}

/// Identifiers, `::`, and other characters one by one.
fn tokens(mut code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    while let Some(first) = code.chars().next() {
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = match code.find(|c| !is_of_name(c)).unwrap_or(code.len()) {
            0 if code.starts_with("::") => 2,
            0 => first.len_utf8(),
            name => name,
        };
        let (token, rest) = code.split_at(length);
        tokens.extend((!token.trim().is_empty()).then_some(token));
        code = rest;
    }
    tokens
}

/// Adds the paths of a tree such as `a::{b, c::d as e}` below `path`, each with the name that it
/// gives to its item. Returns the tokens after the tree.
fn read_tree<'c>(
    mut tokens: &'c [&'c str],
    path: &mut ItemPath,
    found: &mut Vec<(String, ItemPath)>,
) -> &'c [&'c str] {
    match *tokens {
        ["{", ..] => {
            while let ["{" | ",", rest @ ..] = tokens {
                tokens = read_tree(rest, path, found);
            }
            tokens.get(1..).unwrap_or_default()
        }
        ["}", ..] | [] => tokens,
        [name, "::", ref rest @ ..] => {
            path.push(name.to_owned());
            let rest = read_tree(rest, path, found);
            path.pop();
            rest
        }
        [name, ref rest @ ..] => {
            // `a::{self}` names `a`.
            let path: ItemPath =
                path.iter().cloned().chain((name != "self").then(|| name.into())).collect();
            let (name, rest) = match *rest {
                ["as", name, ref rest @ ..] => (name.to_owned(), rest),
                _ => (path.last().cloned().unwrap_or_default(), rest),
            };
            found.push((name, path));
            rest
        }
    }
}

/// The path from the root of the crate, if it begins with `crate`, `self` or `super` in `module`.
fn absolute(module: &[String], path: &[String]) -> Option<ItemPath> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    let base = match path.first()?.as_str() {
        "crate" => &[],
        "self" => module,
        "super" => &module[..module.len().checked_sub(ups)?],
        _ => return None,
    };
    Some([base, &path[ups.max(1)..]].concat())
}

/// The paths that a module names.
fn named(module: &[String], code: &str) -> Vec<ItemPath> {
    let (tokens, mut found) = (tokens(code), Vec::new());
    for at in 0..tokens.len() {
        let begins = matches!(tokens[at..], ["crate" | "self" | "super", "::", ..]);
        if begins && (at == 0 || tokens[at - 1] != "::") {
            read_tree(&tokens[at..], &mut ItemPath::new(), &mut found);
        }
    }
    found.iter().filter_map(|(_, path)| absolute(module, path)).collect()
}

/// The names that a module re-exports, and the path of each in its crate.
fn exported(modules: &Modules, module: &[String]) -> BTreeMap<String, ItemPath> {
    let (tokens, mut found) = (tokens(&modules[module]), Vec::new());
    for at in 1..tokens.len() {
        if tokens[at] == "use" && ["pub", ")"].contains(&tokens[at - 1]) {
            read_tree(&tokens[at + 1..], &mut ItemPath::new(), &mut found);
        }
    }
    let local = |path: &ItemPath| {
        let path = [module, path].concat();
        modules.contains_key(&path[..=module.len()]).then_some(path)
    };
    let known = |(name, path): (String, ItemPath)| {
        Some((name, absolute(module, &path).or_else(|| local(&path))?))
    };
    found.into_iter().filter_map(known).collect()
}

/// True if a module only declares modules, and imports and exports names.
fn is_list(code: &str) -> bool {
    let lines: Vec<_> = code.lines().filter(|line| !line.starts_with('#')).collect();
    lines.join(" ").split(';').all(|statement| {
        let words = statement.trim().trim_start_matches("pub");
        let words = if words.starts_with('(') { words.split_once(')').unwrap().1 } else { words };
        let words = words.trim();
        words.is_empty() || words.starts_with("mod ") || words.starts_with("use ")
    })
}

/// The module that defines what a path names.
fn definition(
    exports: &BTreeMap<&ItemPath, BTreeMap<String, ItemPath>>,
    mut path: ItemPath,
) -> ItemPath {
    // As many re-exports as a name may go through.
    for _ in 0..8 {
        let is_module = |length: &usize| exports.contains_key(&path[..*length].to_vec());
        let length = (0..=path.len()).rev().find(is_module).unwrap_or(0);
        let (module, rest) = path.split_at(length);
        let exported = rest.first().and_then(|name| exports.get(&module.to_vec())?.get(name));
        let Some(exported) = exported else { return module.to_vec() };
        path = [exported, &rest[1..]].concat();
    }
    panic!("{path:?} is re-exported in a circle")
}

/// Which modules depend on which.
fn dependencies(modules: &Modules) -> BTreeMap<ItemPath, BTreeSet<ItemPath>> {
    let exports = modules.keys().map(|module| (module, exported(modules, module))).collect();
    let of = |module: &ItemPath, code: &str| {
        let named = named(module, code).into_iter().map(|path| definition(&exports, path));
        named.filter(|other| other != module).collect()
    };
    let files = modules.iter().filter(|(_, code)| !is_list(code));
    files.map(|(module, code)| (module.clone(), of(module, code))).collect()
}

/// The circles of more than [`LARGEST_CIRCLE`] files.
fn large_circles(modules: &Modules) -> BTreeSet<Vec<String>> {
    let mut graph = Graph::new();
    for (from, to) in dependencies(modules) {
        graph.insert(from.join("::"), to.iter().map(|path| path.join("::")).collect());
    }
    circles(&graph).into_iter().filter(|circle| circle.len() > LARGEST_CIRCLE).collect()
}

/// The circles of the folders and files directly below `src/`, and those of the folders and files
/// of another folder, if one of them is a folder.
fn folder_circles(modules: &Modules) -> BTreeSet<Vec<String>> {
    let dependencies = dependencies(modules);
    let folders: BTreeSet<&[String]> = modules
        .keys()
        .flat_map(|module| (0..module.len()).map(|length| &module[..length]))
        .collect();
    let mut all = BTreeSet::new();
    for folder in folders.iter().copied() {
        let part = |module: &ItemPath| {
            let is_inside = module.starts_with(folder) && module.len() > folder.len();
            is_inside.then(|| module[..=folder.len()].join("::"))
        };
        let mut graph = Graph::new();
        for (from, to) in &dependencies {
            if let Some(from) = part(from) {
                let to = to.iter().filter_map(part).filter(|to| *to != from);
                graph.entry(from.clone()).or_default().extend(to.collect::<Vec<_>>());
            }
        }
        let is_folder = |part: &String| folders.iter().any(|it| it.join("::") == *part);
        let counts = |circle: &Vec<String>| folder.is_empty() || circle.iter().any(is_folder);
        all.extend(circles(&graph).into_iter().filter(counts));
    }
    all
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
    assert!(dependencies(&modules(&root().join("lab"))).len() > 100, "files are read");
    for package in packages() {
        let found = folder_circles(&modules(&package));
        assert_eq!(found, BTreeSet::new(), "{}", package.display());
    }
}

#[test]
fn few_files_depend_on_each_other() {
    for package in packages() {
        assert_eq!(large_circles(&modules(&package)), BTreeSet::new(), "{}", package.display());
    }
}

/// The check can fail.
#[test]
fn a_circle_is_found() {
    let edge = |(from, to): (&str, &str)| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    let graph: Graph = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")].map(edge).into();
    let expected = vec!["b".to_owned(), "c".to_owned()];
    assert_eq!(circles(&graph), BTreeSet::from([expected]));
}

/// Modules with this code, for tests of the checks.
fn given(modules: &[(&str, &str)]) -> Modules {
    let path =
        |text: &str| text.split("::").filter(|it| !it.is_empty()).map(str::to_owned).collect();
    modules.iter().map(|(module, code)| (path(module), (*code).to_owned())).collect()
}

#[test]
fn paths_are_read() {
    let module = ["a".to_owned(), "b".to_owned()];
    let code =
        "use super::{self as up, c::{D, self}, e as f};\nself::g::<crate::h>();super::super::i";
    let found = named(&module, code).iter().map(|path| path.join("::")).collect::<Vec<_>>();
    assert_eq!(found, ["a", "a::c::D", "a::c", "a::e", "a::b::g::<", "h", "i"]);
}

#[test]
fn circles_of_folders_are_found_at_any_depth() {
    let found = |modules: &[_]| folder_circles(&given(modules));
    let circle = |parts: &[&str]| {
        BTreeSet::from([parts.iter().map(|it| it.to_string()).collect::<Vec<_>>()])
    };
    let nested = [
        ("a", "pub use c::d::D; fn f() {}"),
        ("a::b", "super::c::d::D"),
        ("a::c", "mod d;"),
        ("a::c::d", "crate::a::b::B"),
        ("a::e", "super::f::F"),
        ("a::f", "super::e::E"),
    ];
    assert_eq!(found(&nested), circle(&["a::b", "a::c"]));
    assert_eq!(found(&[("", ""), ("a", "super::b::B"), ("b", "crate::a")]), circle(&["a", "b"]));
}

#[test]
fn circles_of_more_than_three_files_are_found() {
    let three = [("a", "super::b::B"), ("b", "crate::list::C"), ("c", "fn f() { crate::a::A }")];
    let list = ("list", "#[test]\npub(crate) use crate::c::{C, E};\npub use super::d::D;");
    let mut modules = given(&three);
    modules.extend(given(&[list, ("d", "crate::a::A")]));
    assert_eq!(large_circles(&modules), BTreeSet::new());
    modules.extend(given(&[("c", "crate::list::{D, E}")]));
    let expected = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    assert_eq!(large_circles(&modules), BTreeSet::from([expected]));
}
