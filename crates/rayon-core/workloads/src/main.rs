//! Programs of the kinds that rayon's own demonstrations are of, written against rayon's interface:
//! one is computed again and again, and checked. The laboratory's experiment `rayon` measures it.
//!
//! - `rayon-workloads` lists the workloads;
//! - `rayon-workloads version` says in one line of JSON which core it was built on, and what there
//!   is;
//! - `rayon-workloads WORKLOAD SIZE WORKERS SEED` computes; SIZE `-` means the workload's own. See
//!   [`repetition::repeat`].
//!
//! Which core it runs on is decided when it is built: see `build`. It ends with 1 where an answer
//! is wrong, and with 2 where it cannot do what it is asked.

mod clock;
mod collect;
mod introduction;
mod life;
mod matmul;
mod mergesort;
mod nbody;
mod overheads;
mod quicksort;
mod random;
mod repetition;
mod sieve;
mod tsp;
mod workload;

use std::process::ExitCode;

use workload::Workload;

const ALL: &[Workload] = &[
    quicksort::WORKLOAD,
    mergesort::WORKLOAD,
    matmul::WORKLOAD,
    nbody::WORKLOAD,
    sieve::WORKLOAD,
    life::WORKLOAD,
    tsp::WORKLOAD,
    collect::WORKLOAD,
    overheads::JOINS,
    overheads::SHORT_LOOPS,
    overheads::BRIDGE,
    overheads::SPAWNS,
];

struct Arguments {
    workload: &'static Workload,
    size: usize,
    workers: usize,
    seed: u64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ended = match &arguments[..] {
        [] => {
            for workload in ALL {
                println!("{:<10} {:>9}  {}", workload.name, workload.size, workload.about);
            }
            Ok(())
        }
        [only] if only == "version" => {
            println!("{}", introduction::line(ALL));
            Ok(())
        }
        _ => parse(&arguments).map_err(|message| (2, message)).and_then(|arguments| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(arguments.workers).build();
            let pool = pool.map_err(|error| (2, error.to_string()))?;
            // All threads are there, and have run once.
            pool.broadcast(|_| ());
            let mut instance = (arguments.workload.prepare)(arguments.size, arguments.seed);
            repetition::repeat(instance.as_mut(), &pool).map_err(|message| (1, message))
        }),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, message)) => {
            eprintln!("rayon-workloads: {message}");
            ExitCode::from(code)
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
    let size = if size == "-" { workload.size } else { number(size)? };
    let (workers, seed) = (number(workers)?, number(seed)?);
    if size == 0 || workers == 0 {
        return Err("size and workers are at least 1".to_owned());
    }
    if size > workload.most {
        return Err(format!("{name} goes up to {}", workload.most));
    }
    Ok(Arguments { workload, size, workers, seed })
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("'{text}' is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of several sizes, the smallest too, on as many workers as processors; and no check is
    /// content with the input, neither the first one nor the comparison with an answer that was
    /// right.
    #[test]
    fn all_are_correct_each_time_they_have_run() {
        for workload in ALL {
            for size in [1, 2, 3, 7, 12] {
                let mut instance = (workload.prepare)(size, 1998);
                let name = workload.name;
                for _ in 0..3 {
                    instance.reset();
                    assert!(size < 12 || !instance.check(), "{name} checks nothing");
                    instance.run();
                    assert!(instance.check(), "{name} {size}");
                }
            }
        }
    }

    #[test]
    fn inputs_follow_from_the_seed() {
        for workload in ALL {
            for seed in [0, u64::MAX] {
                let mut instance = (workload.prepare)(12, seed);
                instance.run();
                assert!(instance.check(), "{} {seed}", workload.name);
            }
        }
    }
}
