//! An application, alone or beside a cycler.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::pool;
use crate::apps;
use crate::experiments::turnkey::record::Reading;
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::runtimes::Crew;

/// w of the cycler: some hundred milliseconds at the most.
const INCREMENTS: &str = "500";
/// It ends by itself if nobody ends it.
const AT_MOST: &str = "120";
/// So long it has had before anything is timed.
const HEAD_START: Duration = Duration::from_millis(50);

pub(super) fn measure(
    app: &str,
    size: &str,
    beside: bool,
    workers: usize,
    time: Duration,
    seed: u64,
) -> Outcome<Reading> {
    let problem = apps::problem(apps::find(app)?, size)?;
    let mut instance = problem.prepare(seed);
    let crew = Crew::Locksley(pool(workers)?);
    // Once for the caches.
    crew.compute(instance.as_mut());
    let cycler = beside.then(|| Cycler::start(seed)).transpose()?;
    let begun = Instant::now();
    let mut seconds = Vec::new();
    while seconds.is_empty() || begun.elapsed() < time {
        seconds.push(crew.compute(instance.as_mut()).as_secs_f64());
        instance.check().map_err(|wrong| Fault::run(format!("the answer is wrong: {wrong}")))?;
    }
    drop(cycler);
    Ok(Reading::Time { seconds: seconds.iter().sum::<f64>() / seconds.len() as f64 })
}

/// Another process, which takes processors away until this is dropped.
struct Cycler(Child);

impl Cycler {
    fn start(seed: u64) -> Outcome<Cycler> {
        let fault = |error| Fault::run(format!("the cycler cannot be started: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(fault)?);
        let workers = Machine::here().processors.to_string();
        command.args(["cycler", "--workers", &workers, "--increments", INCREMENTS]);
        command.args(["--secs", AT_MOST, "--seed", &seed.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let cycler = Cycler(command.spawn().map_err(fault)?);
        std::thread::sleep(HEAD_START);
        Ok(cycler)
    }
}

impl Drop for Cycler {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
