//! How an unbalanced tree scales to many ranks: the protocol of this crate in virtual time.
//!
//! ```sh
//! cargo run --release --no-default-features --example cluster -- T1XXL --ranks 1000,55680
//! ```
//!
//! Trees are T1, T1L and T1XL of UTS, whose nodes are all hashed, and T1XXL or a number of nodes,
//! which are made by `spacings.rs`. `rank:N` is N nodes for each rank.

mod options;
mod spacings;
#[path = "../uts/tree.rs"]
mod tree;

use std::time::Instant;

use locksley_mpi::{Cluster, Counted, Report};

use options::{Nodes, Options};
use spacings::Spacings;
use tree::TREES;

impl Counted for tree::Tree {
    fn done(&self, nodes: &u64) -> u64 {
        *nodes
    }
}

/// Searches the tree. Returns the number of nodes that it has, if that is known.
fn search(cluster: &Cluster, options: &Options, ranks: usize) -> (Option<u64>, Report<u64>) {
    let synthetic = |nodes| {
        let tree = Spacings { nodes, seed: options.tree_seed };
        (Some(nodes), cluster.run(tree, tree.root()))
    };
    let (expected, report) = match options.nodes {
        Nodes::Published(name) => {
            let tree = TREES.iter().find(|(it, _)| *it == name).expect("checked before").1;
            (None, cluster.run(tree, vec![tree.root()]))
        }
        Nodes::Synthetic(nodes) => synthetic(nodes),
        Nodes::Each(nodes) => synthetic(nodes * ranks as u64),
    };
    (expected, report.unwrap_or_else(|error| options::refuse(&error.to_string())))
}

fn print_text(report: &Report<u64>) {
    let ms = |time: u64| time as f64 / 1e6;
    let per_rank = |number: u64| number as f64 / report.ranks as f64;
    println!(
        "{:>7} ranks: {:.4} efficient; {} nodes, {:.3} ms (half have work at {:.3}, the last one \
         at {:.3}; {} never; the last node at {:.3}, the end is known {:.3} later)",
        report.ranks,
        report.efficiency(),
        report.tasks,
        ms(report.end),
        ms(report.half_started),
        ms(report.last_started),
        report.never_started,
        ms(report.last_task),
        ms(report.end - report.last_task),
    );
    println!(
        "        each rank: {:.1} messages, {:.2} random steals of {:.2}, {:.2} by lifelines of \
         {:.2}; {} waves; hash {:016x}",
        per_rank(report.messages),
        per_rank(report.random_steals),
        per_rank(report.random_requests),
        per_rank(report.lifeline_steals),
        per_rank(report.lifeline_requests),
        report.waves,
        report.hash,
    );
}

fn print_json(options: &Options, report: &Report<u64>, host_seconds: f64) {
    let seconds = |time: u64| time as f64 / 1e9;
    println!(
        "{{\"tree\":\"{}\",\"ranks\":{},\"workers\":{},\"latency_us\":{},\"bandwidth\":{},\
         \"overhead_us\":{},\"node_us\":{},\"naps\":{},\"seed\":{},\"efficiency\":{:.5},\
         \"nodes\":{},\"seconds\":{},\"half_started\":{},\"last_started\":{},\
         \"never_started\":{},\"last_node\":{},\"detection_seconds\":{},\"messages\":{},\
         \"bytes\":{},\"random_requests\":{},\"random_steals\":{},\"lifeline_requests\":{},\
         \"lifeline_steals\":{},\"waves\":{},\"events\":{},\"hash\":\"{:016x}\",\
         \"host_seconds\":{host_seconds:.1}}}",
        options.tree,
        report.ranks,
        report.workers / report.ranks,
        options.latency,
        options.bandwidth,
        options.overhead,
        options.node,
        options.has_naps,
        options.seed,
        report.efficiency(),
        report.tasks,
        seconds(report.end),
        seconds(report.half_started),
        seconds(report.last_started),
        report.never_started,
        seconds(report.last_task),
        seconds(report.end - report.last_task),
        report.messages,
        report.bytes,
        report.random_requests,
        report.random_steals,
        report.lifeline_requests,
        report.lifeline_steals,
        report.waves,
        report.events,
        report.hash,
    );
}

fn main() {
    let options = Options::read(std::env::args().skip(1)).unwrap_or_else(|it| options::refuse(&it));
    for &ranks in &options.ranks {
        let start = Instant::now();
        let (expected, report) = search(&options.cluster(ranks), &options, ranks);
        // Nothing is lost and nothing is done twice.
        let expected = expected.unwrap_or(report.tasks);
        assert_eq!((report.tasks, report.output), (expected, expected), "{ranks} ranks");
        if options.is_json {
            print_json(&options, &report, start.elapsed().as_secs_f64());
        } else {
            print_text(&report);
        }
    }
}
