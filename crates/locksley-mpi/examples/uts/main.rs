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

mod tree;

use std::collections::HashMap;
use std::process::exit;
use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;
use locksley_mpi::{Error, Ranks, Simulation, Transport};

use tree::TREES;

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
