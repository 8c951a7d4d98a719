//! Programs of the kinds that rayon's own demonstrations are of, written against rayon's interface: one is run once, and
//! checked by other means.
//!
//! `rayon-workloads WORKLOAD SIZE WORKERS SEED` prints a line of JSON; SIZE `-` means the workload's own. Without arguments
//! it lists the workloads. Which core it runs on is decided when it is built.

mod collect;
mod life;
mod matmul;
mod mergesort;
mod nbody;
mod quicksort;
mod random;
mod sieve;
mod tsp;
mod workload;

use std::process::ExitCode;
use std::time::Instant;

use workload::{ALL, Workload};

struct Arguments {
    workload: &'static Workload,
    size: usize,
    workers: usize,
    seed: u64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.is_empty() {
        for workload in ALL {
            println!("{:<10} {:>9}  {}", workload.name, workload.size, workload.about);
        }
        return ExitCode::SUCCESS;
    }
    match parse(&arguments).and_then(|arguments| run(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("rayon-workloads: {message}");
            ExitCode::from(2)
        }
    }
}

fn parse(arguments: &[String]) -> Result<Arguments, String> {
    let [name, size, workers, seed] = arguments else {
        return Err(
            "it takes a workload, a size or '-', a number of workers, and a seed".to_owned()
        );
    };
    let workload = ALL.iter().find(|workload| workload.name == name);
    let workload = workload.ok_or_else(|| format!("there is no workload '{name}'"))?;
    let number = |text: &str| text.parse().map_err(|_| format!("'{text}' is not a number"));
    let size = if size == "-" { workload.size } else { number(size)? };
    let (workers, seed) = (number(workers)?, number(seed)? as u64);
    if size == 0 || workers == 0 {
        return Err("size and workers are at least 1".to_owned());
    }
    if size > workload.most {
        return Err(format!("{name} goes up to {}", workload.most));
    }
    Ok(Arguments { workload, size, workers, seed })
}

/// Whether the answer was right.
fn run(arguments: &Arguments) -> Result<bool, String> {
    let Arguments { workload, size, workers, seed } = *arguments;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
    let pool = pool.map_err(|error| error.to_string())?;
    // All threads are there, and have run once.
    pool.broadcast(|_| ());
    let mut instance = (workload.prepare)(size, seed);
    let begin = Instant::now();
    pool.install(|| instance.run());
    let seconds = begin.elapsed().as_secs_f64();
    let correct = instance.is_correct();
    let name = workload.name;
    println!(
        r#"{{"workload":"{name}","size":{size},"workers":{workers},"seconds":{seconds:.9},"correct":{correct}}}"#
    );
    Ok(correct)
}
