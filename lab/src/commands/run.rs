//! `locksley run APP`: one application, once.

use locksley_profile::Report;
use serde::Serialize;
use serde_json::{Value, json};

use crate::apps;
use crate::cli;
use crate::fault::{Fault, Outcome};
use crate::output::{say, say_line};

/// The line that `--json` prints.
#[derive(Serialize)]
struct Line<'a> {
    app: &'a str,
    runtime: &'a str,
    workers: usize,
    size: &'a str,
    seed: u64,
    seconds: f64,
    correct: bool,
    #[serde(flatten)]
    profile: Option<Value>,
}

/// What it says besides with `--profile`. Times are in seconds.
fn profile(report: &Report) -> Value {
    json!({
        "work": report.work.as_secs_f64(),
        "span": report.span.as_secs_f64(),
        "burdened_span": report.burdened_span.as_secs_f64(),
        "parallelism": report.parallelism(),
        "burdened_parallelism": report.burdened_parallelism(),
        "processors": report.grant.processors,
        "utilization": report.utilization(),
        "of_bound": report.wall.as_secs_f64() / report.bound().as_secs_f64().max(1e-12),
        "tasks": report.tasks,
        "advice": report.advice(),
    })
}

pub(super) fn execute(arguments: &cli::Run) -> Outcome<()> {
    let computation = &arguments.computation;
    let (app, runtime) = computation.find()?;
    let problem = apps::problem(app, &computation.size)?;
    let workers = runtime.workers(computation.workers);

    let mut instance = problem.prepare(computation.seed);
    let (time, report) = if arguments.profile {
        let report = runtime.start_profiled(workers)?(instance.as_mut());
        (report.wall, Some(report))
    } else {
        (runtime.start(workers)?.compute(instance.as_mut()), None)
    };
    let checked = instance.check();

    let line = Line {
        app: app.name,
        runtime: runtime.name,
        workers,
        size: &problem.parameters,
        seed: computation.seed,
        seconds: time.as_secs_f64(),
        correct: checked.is_ok(),
        profile: report.as_ref().map(profile),
    };
    if arguments.json {
        say_line(&line)?;
    } else {
        say(&format!(
            "{} {} on {} with {} worker{}: {:.6} s, the answer is {}",
            line.app,
            line.size,
            line.runtime,
            workers,
            if workers == 1 { "" } else { "s" },
            line.seconds,
            if line.correct { "correct" } else { "wrong" }
        ))?;
        if let Some(report) = &report {
            say(report.to_string().trim_end())?;
        }
    }
    checked.map_err(|wrong| Fault::run(format!("{}'s answer is wrong: {wrong}", app.name)))
}
