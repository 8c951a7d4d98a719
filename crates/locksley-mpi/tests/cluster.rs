//! The example `cluster`: its trees, and its command line.

#[path = "../examples/cluster/spacings.rs"]
mod spacings;
#[path = "../examples/uts/tree.rs"]
mod tree;

use std::process::{Command, Output};

use locksley_mpi::{Bag, Cluster, Counted};

use spacings::Spacings;
use tree::{TREES, Tree};

impl Counted for Tree {
    fn done(&self, nodes: &u64) -> u64 {
        *nodes
    }
}

/// The published number of nodes of T1.
const T1: u64 = 4_130_071;

#[test]
fn a_published_tree_has_its_published_number_of_nodes() {
    let tree = TREES[0].1;
    let report = Cluster::new(60).run(tree, vec![tree.root()]).unwrap();
    // All but the root.
    assert_eq!((report.output, report.tasks), (T1 - 1, T1 - 1));
}

#[test]
fn a_synthetic_tree_has_the_chosen_number_of_nodes() {
    for nodes in [1, 2, 3, 10, 1000, 123_457, 10_000_000_000] {
        let tree = Spacings { nodes, seed: nodes };
        let (mut all, mut found) = (vec![tree.root()], 0);
        // Pieces are split at odd moments, and processed in parts.
        let mut steps = 0;
        while let Some(mut piece) = all.pop() {
            steps += 1;
            assert_eq!(
                all.iter().chain([&piece]).map(|it| tree.left(it)).sum::<u64>() + found,
                nodes
            );
            let is_more = tree.process(&mut piece, (nodes as usize / 50).max(1), &mut found);
            assert_eq!(is_more, tree.left(&piece) > 0);
            all.extend(tree.split(&mut piece));
            all.extend(is_more.then_some(piece));
        }
        assert_eq!(found, nodes);
        assert!(steps >= nodes.min(10));
    }
}

#[test]
fn a_synthetic_tree_is_the_same_in_parts_of_any_size() {
    let tree = Spacings { nodes: 100_000, seed: 5 };
    let (mut one, mut other, mut found) = (tree.root(), tree.root(), (0, 0));
    tree.process(&mut one, 77_777, &mut found.0);
    for _ in 0..77_777 {
        tree.process(&mut other, 1, &mut found.1);
    }
    assert_eq!((one, found.0), (other, found.1));
}

#[test]
fn a_synthetic_tree_is_as_hard_to_share_as_a_published_one() {
    let cluster = Cluster::new(200).without_naps();
    let tree = TREES[0].1;
    let published = cluster.run(tree, vec![tree.root()]).unwrap().efficiency();
    let mut synthetic: Vec<_> = (0..3)
        .map(|seed| {
            let tree = Spacings { nodes: T1, seed };
            cluster.run(tree, tree.root()).unwrap().efficiency()
        })
        .collect();
    synthetic.sort_by(f64::total_cmp);
    assert!((synthetic[1] - published).abs() < 0.1, "{published}, {synthetic:?}");
}

/// Runs the example, which cargo builds beside the tests.
fn example(arguments: &[&str]) -> Output {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap().join("examples");
    Command::new(folder.join("cluster")).args(arguments).output().expect("cargo test builds it")
}

#[test]
fn wrong_input_is_one_line_and_code_2() {
    let all: [&[&str]; 8] = [
        &[],
        &["T2"],
        &["0"],
        &["T1", "--ranks", "0"],
        &["T1", "--ranks", "1,,2"],
        &["T1", "--latency", "-1"],
        &["T1", "--node"],
        &["T1", "--colour", "red"],
    ];
    for arguments in all {
        let output = example(arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert_eq!((text.lines().count(), output.stdout.len()), (1, 0), "{arguments:?}: {text}");
    }
}

#[test]
fn two_processes_print_equal_hashes() {
    let line = || {
        let output = example(&["rank:1000", "--ranks", "50", "--latency", "0", "--json"]);
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("\"nodes\":50000,"), "{text}");
        text[..text.find("\"host_seconds").unwrap()].to_owned()
    };
    assert_eq!(line(), line());
}
