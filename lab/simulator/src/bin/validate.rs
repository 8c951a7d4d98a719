//! Predicts runs of `locksley rounds` on a host with two processors, and compares.
//!
//! `validate PROGRAM COSTS` runs PROGRAM (the laboratory's `locksley`) on this host, which must be
//! quiet, and the program `simulator` beside this one, in turn. COSTS is a file that manycore's
//! example `calibrate` has written on this host (`--fit`). It prints a table: rounds per second on
//! the host (median, least and greatest), by the model, and their ratio; and in how many pairs of
//! runtimes that the host decides the model has the same winner. Times of leaves are measured; no
//! other number is fitted to these runs.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use serde_json::Value;

/// How often each run is repeated on the host.
const REPEATS: usize = 5;
/// Seconds of a run on the host.
const SECONDS: f64 = 0.5;
/// The virtual time of a run, in nanoseconds of one processor.
const WORK: u64 = 600_000_000;

/// Steps of a leaf, leaves in parallel, leaves in a row.
const ROUNDS: [(u64, u64, u64); 4] = [(5000, 16, 0), (5000, 32, 16), (20_000, 3, 0), (500, 64, 0)];
const WORKERS: [usize; 4] = [1, 2, 4, 8];
const LOOPS: [usize; 3] = [0, 1, 2];
const RUNTIMES: [&str; 3] = ["locksley", "classic-abp", "static"];

/// A run of all repeats on the host, and by the model.
struct Cell {
    name: String,
    runtime: &'static str,
    host: Vec<f64>,
    model: f64,
}

impl Cell {
    fn median(&self) -> f64 {
        self.host[self.host.len() / 2]
    }

    fn ratio(&self) -> f64 {
        self.model / self.median()
    }
}

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [program, costs] = &arguments[..] else {
        eprintln!(
            "usage: validate PROGRAM COSTS: the laboratory's `locksley`, a calibration's file"
        );
        return ExitCode::from(2);
    };
    let validated = std::fs::read_to_string(costs)
        .map_err(|error| format!("{}: {error}", costs.display()))
        .and_then(|costs| validate(program, &costs));
    match validated {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn validate(program: &Path, costs: &str) -> Result<(), String> {
    let mut cells = Vec::new();
    println!("{:44} {:>10} {:>21} {:>10} {:>6}", "rounds", "host", "range", "model", "ratio");
    for (leaf, chunks, serial) in ROUNDS {
        let leaf_nanos = 1e9 / host(program, "serial", 1, (leaf, 1, 0), 0)?;
        for (workers, loops) in WORKERS.iter().flat_map(|w| LOOPS.map(|l| (*w, l))) {
            for runtime in RUNTIMES {
                let round = (leaf, chunks, serial);
                let run = |_| host(program, runtime, workers, round, loops);
                let mut host: Vec<f64> = (0..REPEATS).map(run).collect::<Result<_, _>>()?;
                host.sort_by(f64::total_cmp);
                let model = model(runtime, workers, (leaf_nanos, chunks, serial), loops, costs)?;
                let name = format!("{leaf},{chunks},{serial} P={workers} beside {loops}");
                let cell = Cell { name, runtime, host, model };
                println!(
                    "{:30} {:13} {:10.0} {:10.0}-{:10.0} {:10.0} {:6.2}",
                    cell.name,
                    cell.runtime,
                    cell.median(),
                    cell.host[0],
                    cell.host[REPEATS - 1],
                    cell.model,
                    cell.ratio(),
                );
                cells.push(cell);
            }
        }
    }
    summarize(&cells);
    Ok(())
}

fn summarize(cells: &[Cell]) {
    let near =
        |within: f64| cells.iter().filter(|cell| (cell.ratio() - 1.0).abs() < within).count();
    println!("{} of {} within 30 %, {} within 15 %", near(0.3), cells.len(), near(0.15));
    let (mut decided, mut same) = (0, 0);
    for (at, a) in cells.iter().enumerate() {
        for b in cells[at + 1..].iter().filter(|b| b.name == a.name) {
            let (slow, fast) = if a.median() < b.median() { (a, b) } else { (b, a) };
            if slow.host[REPEATS - 1] < fast.host[0] {
                decided += 1;
                same += usize::from(slow.model < fast.model);
            }
        }
    }
    println!("the same winner in {same} of {decided} pairs that the host decides");
}

/// A neighbour that ends with this.
struct Neighbour(Child);

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Rounds per second on the host.
fn host(
    program: &Path,
    runtime: &str,
    workers: usize,
    (leaf, chunks, serial): (u64, u64, u64),
    loops: usize,
) -> Result<f64, String> {
    let command = |runtime: &str, workers: usize, seconds: f64| {
        let mut command = Command::new(program);
        command.args(["rounds", "--runtime", runtime]);
        command.args(["--workers", &workers.to_string(), "--secs", &seconds.to_string()]);
        command.stderr(Stdio::inherit());
        command
    };
    let _neighbour = if loops > 0 {
        let mut neighbour = command("loop", loops, 60.0);
        let child = neighbour.stdout(Stdio::null()).spawn();
        std::thread::sleep(std::time::Duration::from_millis(100));
        Some(Neighbour(child.map_err(|error| format!("{}: {error}", program.display()))?))
    } else {
        None
    };
    let mut measured = command(runtime, workers, SECONDS);
    for (option, value) in [("--leaf", leaf), ("--chunks", chunks), ("--serial", serial)] {
        measured.args([option, &value.to_string()]);
    }
    number(&mut measured, "rounds_per_s")
}

/// Rounds per second by the model.
fn model(
    runtime: &str,
    workers: usize,
    (leaf, chunks, serial): (f64, u64, u64),
    loops: usize,
    costs: &str,
) -> Result<f64, String> {
    let of_round = leaf * (chunks + serial) as f64;
    let rounds = (WORK as f64 / of_round).ceil().max(1.0) as u64;
    let (serial, leaf) = ((leaf * serial as f64) as u64, leaf as u64);
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(own.with_file_name("simulator"));
    command.arg(format!("rounds:{rounds}:{serial}:{chunks}:{leaf}"));
    command.args(["--machine", "guest", "--processors", "2", "--runtime", runtime]);
    command.args(["--workers", &workers.to_string()]);
    for cost in costs.lines() {
        command.args(["--cost", cost]);
    }
    if loops > 0 {
        command.args(["--neighbour", &format!("loops:{loops}")]);
    }
    Ok(rounds as f64 / number(&mut command, "seconds")?)
}

/// The number of that name in the line of JSON that a program prints.
fn number(command: &mut Command, name: &str) -> Result<f64, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let line: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{name} cannot be read: {error}"))?;
    line[name].as_f64().ok_or_else(|| format!("there is no {name} in {line}"))
}
