//! Counts words in files, as a process network:
//! `cargo run --release -p locksley-kahn --example word_count FILE...`
//!
//! One process reads the files in pieces, several count the words of a piece, and one adds up. The
//! counts come back in the order in which the pieces were dealt out, so the result does not depend
//! on timing. Memory holds no more of the files than the channels do. Without arguments the example
//! reads its own source.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::io::{BufRead, BufReader};

    use locksley::Pool;
    use locksley_kahn::{Network, Receiver, Sender};

    /// Lines that are counted together.
    const PIECE: usize = 200;

    type Counts = BTreeMap<String, usize>;

    fn counted(lines: &[String]) -> Counts {
        let mut counts = Counts::new();
        let words =
            lines.iter().flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric()));
        for word in words.filter(|word| !word.is_empty()) {
            *counts.entry(word.to_lowercase()).or_default() += 1;
        }
        counts
    }

    let mut files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        files.push(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/word_count.rs").to_owned());
    }

    let pool = Pool::builder().build()?;
    let mut network = Network::new().measured();
    let counters = pool.workers();
    let (mut to_counters, mut from_counters) = (Vec::new(), Vec::new());
    for n in 0..counters {
        let (pieces, piece) = network.channel::<Vec<String>>(format!("pieces {n}"), 4);
        let (counts, count) = network.channel::<Counts>(format!("counts {n}"), 4);
        network.process(format!("count {n}"), (piece, counts), async |(mut pieces, mut counts)| {
            while let Some(piece) = pieces.recv().await {
                counts.send(counted(&piece)).await;
            }
        });
        to_counters.push(pieces);
        from_counters.push(count);
    }
    let read = network.process("read", to_counters, async move |mut pieces: Vec<Sender<_>>| {
        let mut next = 0;
        for file in files {
            let mut lines = BufReader::new(File::open(file)?).lines();
            loop {
                let piece = lines.by_ref().take(PIECE).collect::<Result<Vec<_>, _>>()?;
                if piece.is_empty() {
                    break;
                }
                pieces[next % counters].send(piece).await;
                next += 1;
            }
        }
        Ok::<(), std::io::Error>(())
    });
    let all =
        network.process("add up", from_counters, async move |mut counts: Vec<Receiver<Counts>>| {
            let mut all = Counts::new();
            for next in 0.. {
                let Some(counts) = counts[next % counters].recv().await else { break };
                for (word, count) in counts {
                    *all.entry(word).or_default() += count;
                }
            }
            all
        });
    let report = network.run(&pool)?;
    read.take().expect("the network has ended")?;
    let mut all: Vec<_> = all.take().expect("the network has ended").into_iter().collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    for (word, count) in all.iter().take(10) {
        println!("{count:8} {word}");
    }
    // Where it spent its time: a graph for `dot -Tsvg`.
    eprint!("{}", report.dot());
    Ok(())
}
