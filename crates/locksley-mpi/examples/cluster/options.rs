//! What the command line says.

use std::process::exit;
use std::time::Duration;

use locksley_mpi::Cluster;

use crate::tree::TREES;

const USAGE: &str = "\
cluster TREE [OPTIONS]: an unbalanced tree on many ranks, in virtual time
  TREE               T1, T1L, T1XL; T1XXL or a number of nodes (synthetic);
                     rank:NODES for so many nodes for each rank (synthetic)
  --ranks N,N,..     numbers of ranks [1000]
  --workers N        workers of each rank [1]
  --latency US       of a message [2]
  --bandwidth GB     per second, of a message [10]
  --overhead US      of processor time, at each end of a message [0.5]
  --node US          processor time for a node [1]
  --no-naps          ranks notice messages at once
  --seed N           for the choice of victims [1]
  --tree-seed N      of a synthetic tree [19]
  --json             one line of JSON for each number of ranks";

/// The published number of nodes.
const T1XXL: u64 = 4_230_646_601;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Nodes {
    Published(&'static str),
    Synthetic(u64),
    /// So many for each rank.
    Each(u64),
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) tree: String,
    pub(crate) nodes: Nodes,
    pub(crate) ranks: Vec<usize>,
    pub(crate) workers: usize,
    pub(crate) latency: f64,
    pub(crate) bandwidth: f64,
    pub(crate) overhead: f64,
    pub(crate) node: f64,
    pub(crate) has_naps: bool,
    pub(crate) seed: u64,
    pub(crate) tree_seed: u64,
    pub(crate) is_json: bool,
}

impl Options {
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let tree = arguments.next().ok_or("name a tree, or --help")?;
        if tree == "--help" {
            println!("{USAGE}");
            exit(0);
        }
        let mut options = Self {
            nodes: nodes(&tree)?,
            tree,
            ranks: vec![1000],
            workers: 1,
            latency: 2.0,
            bandwidth: 10.0,
            overhead: 0.5,
            node: 1.0,
            has_naps: true,
            seed: 1,
            tree_seed: 19,
            is_json: false,
        };
        while let Some(option) = arguments.next() {
            match option.as_str() {
                "--no-naps" => options.has_naps = false,
                "--json" => options.is_json = true,
                _ => {
                    let value = arguments.next().ok_or_else(|| format!("{option}: no value"))?;
                    let error = format!("{option} {value}: not understood");
                    options.set(&option, &value).ok_or(error)?;
                }
            }
        }
        for &ranks in &options.ranks {
            if let Nodes::Each(nodes) = options.nodes {
                nodes.checked_mul(ranks as u64).ok_or("that is too large a tree")?;
            }
        }
        Ok(options)
    }

    fn set(&mut self, option: &str, value: &str) -> Option<()> {
        match option {
            "--ranks" => {
                let ranks = value.split(',').map(|number| count(number, 10_000_000));
                self.ranks = ranks.collect::<Option<_>>()?;
            }
            "--workers" => self.workers = count(value, 4096)?,
            "--latency" => self.latency = time(value)?,
            "--bandwidth" => self.bandwidth = time(value).filter(|&it| it >= 1e-3)?,
            "--overhead" => self.overhead = time(value)?,
            "--node" => self.node = time(value).filter(|&it| it >= 1e-3)?,
            "--seed" => self.seed = value.parse().ok()?,
            "--tree-seed" => self.tree_seed = value.parse().ok()?,
            _ => return None,
        }
        Some(())
    }

    pub(crate) fn cluster(&self, ranks: usize) -> Cluster {
        let us = |time: f64| Duration::from_nanos((time * 1e3).round() as u64);
        let cluster = Cluster::new(ranks)
            .workers(self.workers)
            .latency(us(self.latency))
            .bandwidth((self.bandwidth * 1e9) as u64)
            .overhead(us(self.overhead))
            .task(us(self.node))
            .seed(self.seed);
        if self.has_naps { cluster } else { cluster.without_naps() }
    }
}

fn nodes(tree: &str) -> Result<Nodes, String> {
    let number = |text: &str| text.parse().ok().filter(|&number: &u64| number > 0);
    if let Some((name, _)) = TREES.iter().find(|(name, _)| *name == tree) {
        return Ok(Nodes::Published(name));
    }
    if tree == "T1XXL" {
        return Ok(Nodes::Synthetic(T1XXL));
    }
    let each = tree.strip_prefix("rank:").and_then(number).map(Nodes::Each);
    let found = each.or_else(|| number(tree).map(Nodes::Synthetic));
    found.ok_or_else(|| format!("there is no tree {tree}"))
}

fn count(value: &str, most: usize) -> Option<usize> {
    value.parse().ok().filter(|number| (1..=most).contains(number))
}

/// A second at most, in microseconds.
fn time(value: &str) -> Option<f64> {
    value.parse().ok().filter(|time| (0.0..=1e6).contains(time))
}

pub(crate) fn refuse(reason: &str) -> ! {
    eprintln!("cluster: {reason}");
    exit(2)
}
