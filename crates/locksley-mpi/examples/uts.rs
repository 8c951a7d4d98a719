//! Unbalanced Tree Search (Olivier and others, LCPC 2006): counts the nodes of a tree. Its shape
//! is known only while it is searched.
//!
//! ```sh
//! cargo build --release --example uts
//! mpirun -n 4 --oversubscribe target/release/examples/uts T1
//! ```
//!
//! Rank 0 prints one line of JSON. The options follow the tree: `--workers N` for each rank;
//! `--simulate RANKS`, with `--delay MICROSECONDS`, for ranks within one process; and `--resilient`
//! to go on if a rank dies.

use std::collections::HashMap;
use std::process::exit;
use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;
use locksley_mpi::{Bag, Error, Ranks, Simulation, Transport};
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

/// The published trees.
const TREES: [(&str, Tree); 5] = [
    ("T1", Tree { shape: Shape::Geometric { depth: 10, branching: 4.0 }, seed: 19 }),
    ("T1L", Tree { shape: Shape::Geometric { depth: 13, branching: 4.0 }, seed: 29 }),
    ("T1XL", Tree { shape: Shape::Geometric { depth: 15, branching: 4.0 }, seed: 29 }),
    ("T3", Tree { shape: Shape::Binomial { root: 2000, chance: 0.124_875, many: 8 }, seed: 42 }),
    ("T3L", Tree { shape: Shape::Binomial { root: 2000, chance: 0.200_014, many: 5 }, seed: 7 }),
];

#[derive(Clone, Copy)]
struct Tree {
    shape: Shape,
    seed: u32,
}

#[derive(Clone, Copy)]
enum Shape {
    /// A geometric distribution with this mean above this depth.
    Geometric { depth: u32, branching: f64 },
    /// So many children with this chance, or none.
    Binomial { root: u32, chance: f64, many: u32 },
}

/// A node of which children are left to visit.
#[derive(Serialize, Deserialize)]
struct Node {
    hash: [u8; 20],
    depth: u32,
    next: u32,
    end: u32,
}

impl Tree {
    fn node(&self, hash: [u8; 20], depth: u32) -> Node {
        let last = [hash[16], hash[17], hash[18], hash[19]];
        let chance = f64::from(u32::from_be_bytes(last) & 0x7fff_ffff) / f64::from(1_u32 << 31);
        let end = match self.shape {
            Shape::Geometric { depth: deepest, .. } if depth >= deepest => 0,
            Shape::Geometric { branching, .. } => {
                let p = 1.0 / (1.0 + branching);
                (((1.0 - chance).ln() / (1.0 - p).ln()).floor() as u32).min(100)
            }
            Shape::Binomial { root, .. } if depth == 0 => root,
            Shape::Binomial { chance: most, many, .. } if chance < most => many,
            Shape::Binomial { .. } => 0,
        };
        Node { hash, depth, next: 0, end }
    }

    fn root(&self) -> Node {
        let mut state = [0; 20];
        state[16..].copy_from_slice(&self.seed.to_be_bytes());
        self.node(Sha1::digest(state).into(), 0)
    }

    fn child(&self, parent: &Node, number: u32) -> Node {
        let mut state = [0; 24];
        state[..20].copy_from_slice(&parent.hash);
        state[20..].copy_from_slice(&number.to_be_bytes());
        self.node(Sha1::digest(state).into(), parent.depth + 1)
    }
}

impl Bag for Tree {
    /// A path down the tree.
    type Tasks = Vec<Node>;
    type Output = u64;

    fn process(&self, path: &mut Vec<Node>, items: usize, nodes: &mut u64) -> bool {
        for _ in 0..items {
            let Some(last) = path.last_mut() else { break };
            if last.next == last.end {
                path.pop();
                continue;
            }
            let number = last.next;
            last.next += 1;
            *nodes += 1;
            let child = self.child(last, number);
            if child.end > 0 {
                path.push(child);
            }
        }
        !path.is_empty()
    }

    /// Takes half of the children at each depth.
    fn split(&self, path: &mut Vec<Node>) -> Option<Vec<Node>> {
        let mut half = Vec::new();
        for node in path {
            let middle = node.next + (node.end - node.next).div_ceil(2);
            if middle < node.end {
                half.push(Node { next: middle, ..*node });
                node.end = middle;
            }
        }
        (!half.is_empty()).then_some(half)
    }

    fn merge(&self, nodes: &mut u64, more: u64) {
        *nodes += more;
    }
}

#[derive(Clone, Copy)]
struct Options<'a> {
    name: &'a str,
    workers: Option<usize>,
    is_resilient: bool,
}

/// Searches a tree. The root itself is one more node.
fn search<T: Transport>(ranks: &mut Ranks<T>, options: Options<'_>) -> Result<(), Error> {
    let (pool, name) = (&pool(options.workers), options.name);
    ranks.set_resilient(options.is_resilient)?;
    let tree = TREES.iter().find(|(it, _)| *it == name).expect("checked before").1;
    // All ranks have started when an empty run is over.
    ranks.par_map_reduce(pool, 0..0, |_| (), |(), ()| ())?;
    let start = Instant::now();
    let tasks = (ranks.rank() == 0).then(|| vec![tree.root()]);
    if let Some(below) = ranks.run(pool, tree, tasks)? {
        let (nodes, seconds) = (below + 1, start.elapsed().as_secs_f64());
        let (size, workers) = (ranks.size(), pool.workers());
        println!(
            "{{\"tree\":\"{name}\",\"nodes\":{nodes},\"seconds\":{seconds:.4},\"ranks\":{size},\
             \"workers\":{workers}}}"
        );
    }
    Ok(())
}

fn simulate(size: usize, delay: Duration, options: Options<'_>) -> Result<(), Error> {
    let simulation = Simulation::new(size, 1).delay(delay..delay);
    thread::scope(|scope| {
        let ranks = simulation
            .ranks()
            .into_iter()
            .map(|transport| scope.spawn(move || search(&mut Ranks::connect(transport)?, options)));
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().try_for_each(|rank| rank.join().expect("no rank panics"))
    })
}

#[cfg(feature = "mpi")]
fn run(options: Options<'_>) -> Result<(), Error> {
    let mpi = locksley_mpi::Mpi::new()?;
    let mut ranks = Ranks::connect(mpi)?;
    let result = search(&mut ranks, options);
    if let Err(error) = result {
        ranks.into_transport().abort(&error);
    }
    Ok(())
}

#[cfg(not(feature = "mpi"))]
fn run(options: Options<'_>) -> Result<(), Error> {
    simulate(1, Duration::ZERO, options)
}

fn pool(workers: Option<usize>) -> Pool {
    let builder = Pool::builder();
    let pool = workers.map_or(builder, |workers| Pool::builder().workers(workers)).build();
    pool.unwrap_or_else(|error| refuse(&error.to_string()))
}

fn refuse(reason: &str) -> ! {
    eprintln!("uts: {reason}");
    exit(2)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let names = TREES.map(|(name, _)| name).join(", ");
    let name = arguments.next().unwrap_or_else(|| refuse(&format!("name a tree: {names}")));
    if TREES.iter().all(|(it, _)| *it != name) {
        refuse(&format!("there is no tree {name}, but {names}"));
    }
    let (mut options, mut is_resilient) = (HashMap::new(), false);
    while let Some(option) = arguments.next() {
        if option == "--resilient" {
            is_resilient = true;
            continue;
        }
        if !["--workers", "--simulate", "--delay"].contains(&option.as_str()) {
            refuse(&format!("there is no option {option}"));
        }
        let value = arguments.next().and_then(|value| value.parse::<u32>().ok());
        let value = value.unwrap_or_else(|| refuse(&format!("{option} needs a number")));
        options.insert(option, value);
    }
    let workers = options.get("--workers").map(|&workers| workers as usize);
    let of_search = Options { name: &name, workers, is_resilient };
    let delay = Duration::from_micros(options.get("--delay").map_or(0, |&delay| delay.into()));
    let result = match options.get("--simulate") {
        Some(0) => refuse("--simulate needs a rank at least"),
        Some(&size) => simulate(size as usize, delay, of_search),
        None => run(of_search),
    };
    match result {
        Ok(()) => {}
        // The rank with the cause says it.
        Err(Error::Remote { .. }) => exit(2),
        Err(error) => refuse(&error.to_string()),
    }
}
