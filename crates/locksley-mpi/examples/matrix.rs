//! Multiplies matrices by panels, as a network. Each rank has some rows of A, and a panel of rows
//! of B. The panels go round a ring; each rank multiplies its rows by each panel that comes by.
//! Rank 0 compares the product with a sequential one.
//!
//! ```sh
//! cargo build --release --example matrix
//! mpirun -n 4 --oversubscribe target/release/examples/matrix 500
//! ```

use std::ops::Range;
use std::process::exit;
use std::time::Instant;

use locksley::Pool;
use locksley_kahn::{Receiver, Sender};
use locksley_mpi::{Error, Mpi, Ranks};

/// Rows of small integers, so that the product is exact in each order.
type Rows = Vec<Vec<f64>>;

fn rows(of: Range<usize>, size: usize, seed: usize) -> Rows {
    let entry = |row: usize, column: usize| ((row * 31 + column * 17 + seed) % 11) as f64 - 5.0;
    of.map(|row| (0..size).map(|column| entry(row, column)).collect()).collect()
}

/// The rows that a part of the matrix has.
fn block(part: usize, parts: usize, size: usize) -> Range<usize> {
    size * part / parts..size * (part + 1) / parts
}

/// Adds the product of columns of A with a panel of B, which begins with row `first`.
fn multiply(a: &Rows, panel: &Rows, first: usize, product: &mut Rows) {
    for (a_row, sums) in a.iter().zip(product) {
        for (factor, b_row) in a_row[first..].iter().zip(panel) {
            for (sum, entry) in sums.iter_mut().zip(b_row) {
                *sum += factor * entry;
            }
        }
    }
}

/// One part of the product.
async fn part(
    (part, parts, size): (usize, usize, usize),
    mut previous: Receiver<Rows>,
    mut next: Sender<Rows>,
    mut result: Sender<Rows>,
) {
    let own = block(part, parts, size);
    let a = rows(own.clone(), size, 1);
    let mut panel = rows(own, size, 2);
    let mut product = vec![vec![0.0; size]; a.len()];
    for step in 0..parts {
        let origin = (part + parts - step) % parts;
        multiply(&a, &panel, block(origin, parts, size).start, &mut product);
        if step + 1 < parts {
            next.send(panel).await;
            panel = previous.recv().await.expect("each part sends as many panels");
        }
    }
    result.send(product).await;
}

fn run(ranks: &mut Ranks<Mpi>, size: usize) -> Result<Option<Rows>, Error> {
    let mut network = ranks.network();
    let parts = ranks.size();
    let ring: Vec<_> = (0..parts).map(|it| network.channel(format!("panels {it}"), 1)).collect();
    let (nexts, mut previous): (Vec<_>, Vec<_>) = ring.into_iter().unzip();
    previous.rotate_right(1);
    let mut results = Vec::new();
    for (number, (next, previous)) in nexts.into_iter().zip(previous).enumerate() {
        let (result, rows) = network.channel(format!("rows {number}"), 1);
        network.place(format!("part {number}"), number);
        network.process(format!("part {number}"), (previous, next, result), move |ends| {
            part((number, parts, size), ends.0, ends.1, ends.2)
        });
        results.push(rows);
    }
    network.place("collect", 0);
    let product = network.process("collect", results, async |mut parts: Vec<Receiver<Rows>>| {
        let mut all = Rows::new();
        for part in &mut parts {
            all.extend(part.recv().await.expect("each part sends its rows"));
        }
        all
    });
    let pool = Pool::new(2).map_err(|error| Error::Transport(error.to_string()))?;
    ranks.run_network(network, &pool)?;
    Ok(product.take())
}

fn main() -> Result<(), Error> {
    let Some(size) = std::env::args().nth(1).and_then(|size| size.parse().ok()) else {
        eprintln!("matrix: give the number of rows");
        exit(2)
    };
    let mut ranks = Ranks::connect(Mpi::new()?)?;
    let start = Instant::now();
    match run(&mut ranks, size) {
        Err(error) => ranks.into_transport().abort(&error),
        Ok(None) => {}
        Ok(Some(product)) => {
            let seconds = start.elapsed().as_secs_f64();
            let mut expected = vec![vec![0.0; size]; size];
            multiply(&rows(0..size, size, 1), &rows(0..size, size, 2), 0, &mut expected);
            assert_eq!(product, expected);
            let parts = ranks.size();
            println!("{{\"rows\":{size},\"seconds\":{seconds:.4},\"ranks\":{parts}}}");
        }
    }
    Ok(())
}
