//! One measurement, in a process of its own: the program that is measured computes in this process, and the cycler beside it is a child, which ends with it.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::record::{Alone, Life, Reading, Shared};
use crate::apps::{self, Instance};
use crate::corunner::{CyclerLine, clock};
use crate::cycler::{self, Cycler};
use crate::experiments::bound::Metered;
use crate::experiments::checked::Checked;
use crate::experiments::corun::process::Company;
use crate::experiments::times::Times;
use crate::fault::{Fault, Outcome};
use crate::runtimes::{self, Crew};
use locksley_profile::GrantMeter;

/// What the process prints.
pub type Finding = Checked<Reading>;

/// A program with its input, and its workers.
pub struct Subject {
    instance: Box<dyn Instance>,
    crew: Crew,
    workers: usize,
}

/// So long a cycler may take to be ready, to hear, and to say what it has done.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much a cycler counts on a processor of its own, in so much time; in more if it has not counted at all.
pub fn calibration(time: Duration) -> Outcome<Finding> {
    let cannot = |why| Fault::run(format!("the cycler's worker cannot be started: {why}"));
    let mut time = time;
    let done = loop {
        let done = cycler::calibrated(time, &AtomicBool::new(false)).map_err(cannot)?;
        if done.count > 0 {
            break done;
        }
        time *= 2;
    };
    Ok(Finding::Read(Reading::Rate { per_second: done.rate(), best: done.best_rate() }))
}

impl Subject {
    /// The application `app` with parameters `size` on so many workers of Locksley. It has computed once, for its caches.
    pub fn prepare(app: &str, size: &str, workers: usize, seed: u64) -> Outcome<Subject> {
        let mut instance = apps::problem(apps::find(app)?, size)?.prepare(seed);
        let crew = runtimes::find("locksley")?.start(workers)?;
        crew.compute(instance.as_mut());
        Ok(Subject { instance, crew, workers })
    }

    /// Computes for so much time, at least once, by turns without a profiler and on a pool with
    /// one.
    pub fn alone(&mut self, time: Duration) -> Outcome<Finding> {
        let profiled = runtimes::find("locksley")?.start_profiled(self.workers)?;
        profiled.compute(self.instance.as_mut());
        let (mut seconds, mut metered) = (Vec::new(), Vec::new());
        let begun = Instant::now();
        loop {
            seconds.push(self.crew.compute(self.instance.as_mut()).as_secs_f64());
            metered.push(Metered::new(&profiled.compute(self.instance.as_mut())));
            if begun.elapsed() >= time {
                break;
            }
        }
        let computations = seconds.len();
        let median = |times: Vec<f64>| Times::of(times).map_or(0.0, |times| times.median);
        let metered_median = |of: fn(&Metered) -> f64| median(metered.iter().map(of).collect());
        let metered = Metered {
            work: metered_median(|metered| metered.work),
            critical_path: metered_median(|metered| metered.critical_path),
            burdened_critical_path: metered_median(|metered| metered.burdened_critical_path),
            forks: metered[0].forks,
            uncarried: 0,
        };
        let seconds = median(seconds);
        Ok(self.checked(Reading::Alone(Alone { seconds, computations, metered })))
    }

    /// Computes for so much time, at least once, beside a cycler, which `this` program is in another process.
    pub fn beside(&mut self, cycler: &Cycler, this: &Path, time: Duration) -> Outcome<Finding> {
        let mut company = Company::start(vec![("the cycler".to_owned(), command(cycler, this))])?;
        company.wait_until_ready(PATIENCE)?;
        company.signal()?;
        let meter = GrantMeter::start();
        let begun = clock::now();
        let (mut seconds, mut computations) = (0.0, 0);
        while computations == 0 || clock::seconds(begun, clock::now()) < time.as_secs_f64() {
            seconds += self.crew.compute(self.instance.as_mut()).as_secs_f64();
            computations += 1;
        }
        let ended = clock::now();
        let grant = meter.finish(self.workers);
        let line = heard(&mut company)?;
        company.finish()?;
        let life = Life {
            seconds: line.stretch.seconds(),
            increments: line.increments as f64,
            processor_seconds: line.stretch.processor_seconds,
        };
        Ok(self.checked(Reading::Beside(Shared {
            seconds,
            computations,
            wall: clock::seconds(begun, ended),
            increments: line.account().between(begun, ended),
            others: grant.others.map(|others| others.as_secs_f64()),
            granted: grant.processors,
            life,
        })))
    }

    /// The reading, if the answer is right.
    fn checked(&self, reading: Reading) -> Finding {
        match self.instance.check() {
            Ok(()) => Finding::Read(reading),
            Err(wrong) => Finding::Wrong(wrong),
        }
    }
}

/// Tells the cycler to end, and hears what it did.
fn heard(company: &mut Company) -> Outcome<CyclerLine> {
    company.tell(0)?;
    let (number, line) = company.hear(Instant::now() + PATIENCE)?;
    let Some(line) = line else { return Err(company.complaint(number)) };
    serde_json::from_str(&line)
        .map_err(|error| Fault::run(format!("the cycler printed what nobody understands: {error}")))
}

fn command(cycler: &Cycler, this: &Path) -> Command {
    let mut command = Command::new(this);
    let Cycler { workers, most, seed, .. } = cycler;
    command.args(["cycler", "--gate", "--workers", &workers.to_string()]);
    command.args(["--increments", &most.to_string(), "--seed", &seed.to_string()]);
    command
}
