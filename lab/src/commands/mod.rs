//! The commands, one file each but for the shortest.

mod machine;
mod openmp;
mod papers;
mod rounds;
mod run;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use itertools::Itertools;
use locksley_trace::{Recording, Timeline, Trace, perfetto};

use crate::apps::{self, App};
use crate::cli::{self, Command, Computation};
use crate::corunner::{self, CyclerLine, Watch, stop_when_told, wait_for_start};
use crate::experiment::child::Answer;
use crate::experiment::text::table_as_text;
use crate::experiment::{self, Table};
use crate::experiments;
use crate::fault::{Fault, Outcome};
use crate::files;
use crate::output::{say, say_line};
use crate::runtimes::{self, Runtime};

/// Begins a recording if `LOCKSLEY_TRACE` names a file. Otherwise no pool is traced.
fn record_if_asked() -> Outcome<Option<Recording>> {
    if std::env::var_os("LOCKSLEY_TRACE").is_none() {
        return Ok(None);
    }
    locksley_trace::init().map_err(Fault::input)
}

impl Computation {
    /// The application and the runtime, which has a version of it.
    fn find(&self) -> Outcome<(&'static App, &'static Runtime)> {
        let (app, runtime) = (apps::find(&self.app)?, runtimes::find(&self.runtime)?);
        if !runtime.can_run(app) {
            let (app, runtime) = (app.name, runtime.name);
            return Err(Fault::input(format!("{app} has no version for the runtime '{runtime}'")));
        }
        Ok((app, runtime))
    }
}

/// Carries out a command.
pub fn execute(command: Command) -> Outcome<()> {
    crate::machine::check_variables()?;
    let _recording = match command {
        Command::Run(_) | Command::Rounds(_) | Command::Repeat(_) | Command::Once(_) => {
            record_if_asked()?
        }
        _ => None,
    };
    match command {
        Command::Machine(arguments) => machine::execute(&arguments),
        Command::Apps => apps(),
        Command::Run(arguments) => run::execute(&arguments),
        Command::Rounds(arguments) => rounds::execute(&arguments),
        Command::Cycler(arguments) => cycler(&arguments),
        Command::Measure(experiment) => experiment.execute(),
        Command::Repeat(arguments) => repeat(&arguments),
        #[cfg(target_os = "linux")]
        Command::Soak(arguments) => soak(&arguments),
        Command::Openmp(arguments) => openmp::execute(&arguments),
        Command::Once(arguments) => once(arguments),
        Command::Papers(arguments) => papers::execute(&arguments),
        Command::Report(cli::Report { json, out, picture }) => {
            experiment::report_again(&json, &out, picture.as_deref(), experiments::report)
        }
        #[cfg(target_os = "linux")]
        Command::Top(arguments) => top(&arguments),
        Command::Trace(arguments) => trace(&arguments),
        Command::Nothing => Ok(()),
    }
}

/// `locksley repeat APP`: one application again and again behind a start gate, as a program of
/// `corun`.
fn repeat(arguments: &Computation) -> Outcome<()> {
    let (app, runtime) = arguments.find()?;
    let mut instance = apps::problem(app, &arguments.size)?.prepare(arguments.seed);
    let crew = runtime.start(runtime.workers(arguments.workers))?;
    corunner::repeat(instance.as_mut(), &crew)
}

/// `locksley once`: one measurement of an experiment, in a process of its own.
fn once(arguments: cli::Once) -> Outcome<()> {
    let cli::Once { experiment, cell, seed } = arguments;
    let found = experiments::find(&experiment)
        .ok_or_else(|| Fault::input(format!("there is no experiment '{experiment}'")))?;
    let answer = match (found.once)(&cell, seed) {
        Ok(readings) => Answer::Right(readings),
        // The process that has started this one ends its run.
        Err(Fault::Run(wrong)) => Answer::Wrong { wrong },
        Err(fault) => return Err(fault),
    };
    say_line(&answer)
}

/// `locksley apps`: what can be run, and on what.
fn apps() -> Outcome<()> {
    let columns = ["app", "--size", "paper", "quick", "what it computes"];
    let mut sizes = Table::new("Applications", columns);
    for app in apps::ALL {
        let of_bws = app.bws_size.map_or(String::new(), |size| format!(", in BWS {size}"));
        let paper = format!("{}{of_bws}", app.paper_size);
        sizes.row([app.name, app.syntax, &paper, app.quick_size, app.about]);
    }
    let mut able = Table::new("Runtimes", ["runtime", "applications", "what it is"]);
    for runtime in runtimes::ALL {
        let names = match apps::ALL.iter().all(|app| runtime.can_run(app)) {
            true => "all".to_owned(),
            false => apps::ALL.iter().filter(|it| runtime.can_run(it)).map(|it| it.name).join(" "),
        };
        able.row([runtime.name, &names, runtime.about]);
    }
    say(format!("{}{}", table_as_text(&sizes), table_as_text(&able)).trim())
}

/// `locksley cycler`: the co-runner of the Hood papers, and its one line.
fn cycler(arguments: &cli::Cycler) -> Outcome<()> {
    let stop = stopped_by_signals()?;
    if arguments.gate {
        wait_for_start()?;
        stop_when_told(&stop)?;
    }
    let watch = Watch::start(None);
    let mut done = arguments.cycler.run(&stop)?;
    if !arguments.gate {
        done.stamps.clear();
    }
    say_line(&CyclerLine { done, stretch: watch.stop() })
}

/// A flag that is set when the process is asked to end, or interrupted from the keyboard.
fn stopped_by_signals() -> Outcome<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Fault::run(format!("cannot listen to signals: {error}")))?;
    }
    Ok(stop)
}

/// `locksley trace FILE`: a recording as text, as a page, or for Perfetto.
fn trace(arguments: &cli::Trace) -> Outcome<()> {
    let cli::Trace { file, summary, perfetto, html } = arguments;
    let recorded = Trace::read(file).map_err(Fault::input)?;
    for output in perfetto.iter().chain(html) {
        if files::are_one(output, file) {
            return Err(Fault::input(format!("{} is the recording itself", output.display())));
        }
        files::check_writable(output)?;
    }
    let timeline = Timeline::new(&recorded);
    if let Some(path) = perfetto {
        let mut content = Vec::new();
        perfetto::write(&timeline, &recorded.program, recorded.process, &mut content)
            .map_err(Fault::run)?;
        files::replace(path, content).map_err(Fault::input)?;
    }
    if let Some(path) = html {
        files::replace(path, crate::trace::page(&recorded, &timeline)).map_err(Fault::input)?;
    }
    if *summary || (perfetto.is_none() && html.is_none()) {
        say(&crate::trace::summary(&recorded, &timeline))?;
    }
    Ok(())
}

/// `locksley top`: what the workers of a running program do.
#[cfg(target_os = "linux")]
fn top(arguments: &cli::Top) -> Outcome<()> {
    let process = crate::top::find(arguments.process)?;
    if !arguments.once {
        return crate::top::watch(process, arguments.interval);
    }
    let sample = crate::top::Sample::read(&locksley_trace::live_file(process), arguments.interval)?;
    if arguments.json {
        return say_line(&sample);
    }
    for it in &sample.workers {
        let label = it.label.as_deref().unwrap_or("-");
        let [busy, searching, asleep] = [it.busy, it.searching, it.asleep].map(|it| 100.0 * it);
        say(&format!(
            "{:<16} {:<10} {label:<20} busy {busy:.0}%, search {searching:.0}%, asleep \
             {asleep:.0}%",
            it.name, it.state
        ))?;
    }
    Ok(())
}

/// `locksley soak`: what was run, on lines for people and in a file.
#[cfg(target_os = "linux")]
fn soak(arguments: &cli::Soak) -> Outcome<()> {
    let time = std::time::Duration::from_secs(if arguments.quick { 10 } else { 60 });
    let time = arguments.secs.unwrap_or(time);
    if let Some(workers) = arguments.subject {
        return crate::soak::subject::run(arguments, workers, time);
    }
    if let Some(path) = &arguments.json {
        files::check_writable(path)?;
    }
    let report = arguments.run(time)?;
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&report);
        files::replace(path, text.map_err(Fault::run)?)?;
    }
    say(&report.text())
}
