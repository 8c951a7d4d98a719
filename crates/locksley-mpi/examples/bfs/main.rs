//! Breadth-first search in a random graph of the kind of Graph500 (R-MAT), as a network: each rank
//! owns some vertices, and tells the others of the edges that leave its part of each level. Rank 0
//! validates the tree: each edge of it is in the graph, and each depth is that of a sequential
//! search.
//!
//! ```sh
//! cargo build --release --example bfs
//! mpirun -n 4 --oversubscribe target/release/examples/bfs 16
//! ```

mod graph;

use std::process::exit;
use std::time::Instant;

use graph::{Tree, graph, validate};
use locksley::Pool;
use locksley_kahn::{Receiver, Sender};
use locksley_mpi::{Error, Mpi, Ranks};

/// The number of vertices on this level, and new ones with their parents.
type Level = (usize, Vec<(u32, u32)>);

/// The vertices with numbers that are `part` modulo the number of parts. Returns their parents.
async fn search(
    (part, scale): (usize, u32),
    (mut outputs, mut inputs): (Vec<Sender<Level>>, Vec<Receiver<Level>>),
) -> Tree {
    let parts = outputs.len();
    let graph = graph(scale, |vertex| vertex as usize % parts == part);
    let mut parents = vec![None; graph.len()];
    let mut found = if part == 0 { vec![(0, 0)] } else { Vec::new() };
    loop {
        found.retain(|&(vertex, parent)| {
            let slot: &mut Option<u32> = &mut parents[vertex as usize];
            slot.is_none() && slot.replace(parent).is_none()
        });
        let mut next = vec![Vec::new(); parts];
        for &(vertex, _) in &found {
            let others = graph[vertex as usize].iter();
            others.for_each(|&other| next[other as usize % parts].push((other, vertex)));
        }
        for (output, next) in outputs.iter_mut().zip(next) {
            output.send((found.len(), next)).await;
        }
        let mut on_level = 0;
        found.clear();
        for input in &mut inputs {
            let (vertices, more) = input.recv().await.expect("all parts end after this level");
            on_level += vertices;
            found.extend(more);
        }
        if on_level == 0 {
            return parents;
        }
    }
}

/// Rank 0 gets the tree.
fn run(ranks: &mut Ranks<Mpi>, pool: &Pool, scale: u32) -> Result<Option<Tree>, Error> {
    let (mut network, parts) = (ranks.network(), ranks.size());
    let mut ends: Vec<_> = (0..parts).map(|_| (Vec::new(), Vec::new())).collect();
    for (from, to) in (0..parts).flat_map(|from| (0..parts).map(move |to| (from, to))) {
        let (outlet, inlet) = network.channel::<Level>(format!("{from} to {to}"), 1);
        ends[from].0.push(outlet);
        ends[to].1.push(inlet);
    }
    let mut trees = Vec::new();
    for (part, ends) in ends.into_iter().enumerate() {
        let (result, tree) = network.channel::<Tree>(format!("tree {part}"), 1);
        network.place(format!("part {part}"), part);
        network.process(
            format!("part {part}"),
            (ends, result),
            move |(ends, mut result)| async move {
                result.send(search((part, scale), ends).await).await;
            },
        );
        trees.push(tree);
    }
    network.place("tree", 0);
    let tree = network.process("tree", trees, async move |mut trees: Vec<Receiver<Tree>>| {
        let mut all = vec![None; 1 << scale];
        for tree in &mut trees {
            let parents = tree.recv().await.expect("each part sends its tree");
            all.iter_mut().zip(parents).for_each(|(slot, parent)| *slot = slot.or(parent));
        }
        all
    });
    ranks.run_network(network, pool)?;
    Ok(tree.take())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(scale @ 1..=24) = std::env::args().nth(1).and_then(|scale| scale.parse().ok()) else {
        eprintln!("bfs: give the binary logarithm of the number of vertices, from 1 to 24");
        exit(2)
    };
    let pool = Pool::new(2)?;
    let mut ranks = Ranks::connect(Mpi::new()?)?;
    let start = Instant::now();
    match run(&mut ranks, &pool, scale) {
        Err(error) => ranks.into_transport().abort(&error),
        Ok(None) => {}
        Ok(Some(tree)) => {
            let seconds = start.elapsed().as_secs_f64();
            let (reached, deepest) = validate(&tree, &graph(scale, |_| true));
            let ranks = ranks.size();
            println!(
                "{{\"scale\":{scale},\"reached\":{reached},\"deepest\":{deepest},\
                 \"seconds\":{seconds:.4},\"ranks\":{ranks}}}"
            );
        }
    }
    Ok(())
}
