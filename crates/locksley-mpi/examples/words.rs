//! Counts words in files, as a network: one process hands out the files, one on each rank counts,
//! and one adds up. Rank 0 compares the counts with a sequential loop.
//!
//! ```sh
//! cargo build --release --example words
//! mpirun -n 4 --oversubscribe target/release/examples/words README.md src/*.rs
//! ```

use std::collections::BTreeMap;
use std::{env, fs, io};

use locksley::Pool;
use locksley_kahn::{Receiver, Sender};
use locksley_mpi::{Error, Mpi, Product, Ranks};

type Counts = BTreeMap<String, u64>;

fn count(file: &str) -> io::Result<Counts> {
    let mut counts = Counts::new();
    let text = fs::read(file)?;
    for word in String::from_utf8_lossy(&text).split(|it: char| !it.is_alphanumeric()) {
        if !word.is_empty() {
            *counts.entry(word.to_lowercase()).or_default() += 1;
        }
    }
    Ok(counts)
}

fn add(all: &mut Counts, more: Counts) {
    more.into_iter().for_each(|(word, times)| *all.entry(word).or_default() += times);
}

/// Sends each file to the next counter.
async fn list(files: Vec<String>, mut counters: Vec<Sender<String>>) {
    let next = counters.len();
    for (number, file) in files.into_iter().enumerate() {
        counters[number % next].send(file).await;
    }
}

async fn count_all((mut files, mut sum): (Receiver<String>, Sender<Counts>)) {
    while let Some(file) = files.recv().await {
        let counts = count(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        sum.send(counts).await;
    }
}

async fn add_all(mut counters: Vec<Receiver<Counts>>) -> Counts {
    let mut all = Counts::new();
    for counter in &mut counters {
        while let Some(counts) = counter.recv().await {
            add(&mut all, counts);
        }
    }
    all
}

fn run(ranks: &mut Ranks<Mpi>, files: &[String]) -> Result<Option<Counts>, Error> {
    let mut network = ranks.network();
    let (mut to_counters, mut to_sum) = (Vec::new(), Vec::new());
    for rank in 0..ranks.size() {
        let (to_counter, files) = network.channel(format!("files {rank}"), 4);
        let (sum, counts) = network.channel(format!("counts {rank}"), 4);
        network.place(format!("count {rank}"), rank);
        network.process(format!("count {rank}"), (files, sum), count_all);
        to_counters.push(to_counter);
        to_sum.push(counts);
    }
    let files = files.to_vec();
    network.place("list", 0);
    network.process("list", to_counters, move |counters| list(files, counters));
    network.place("sum", 0);
    let counts: Product<Counts> = network.process("sum", to_sum, add_all);
    let pool = Pool::new(2).map_err(|error| Error::Transport(error.to_string()))?;
    ranks.run_network(network, &pool)?;
    Ok(counts.take())
}

fn main() -> Result<(), Error> {
    let files: Vec<_> = env::args().skip(1).collect();
    let mut ranks = Ranks::connect(Mpi::new()?)?;
    match run(&mut ranks, &files) {
        Err(error) => ranks.into_transport().abort(&error),
        Ok(None) => {}
        Ok(Some(counts)) => {
            let mut expected = Counts::new();
            for file in &files {
                add(&mut expected, count(file).expect("it was read before"));
            }
            assert_eq!(counts, expected);
            let (files, different) = (files.len(), counts.len());
            let words: u64 = counts.values().sum();
            let size = ranks.size();
            println!(
                "{{\"files\":{files},\"words\":{words},\"different\":{different},\"ranks\":{size}}}"
            );
        }
    }
    Ok(())
}
