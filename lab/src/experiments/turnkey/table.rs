//! The summary as text.

use std::fmt::Write;

use super::once::{Setting, TURNKEY};
use super::plan;
use super::record::{Record, Throttling};
use super::summary::{AppSummary, Summary};
use crate::experiments::missing;
use crate::experiments::wait::table::number;

/// A table for people.
pub fn text(record: &Record, summary: &Summary) -> String {
    let mut text = String::new();
    let (plan, machine) = (&record.header.plan, &record.header.machine);
    // Writing to a string does not fail, so the results below are dropped.
    let _ = writeln!(
        text,
        "{} processors ({}), {}, seed {}, {}",
        machine.capacity(),
        machine.processor,
        machine.kernel,
        plan.seed,
        record.finished
    );
    if plan.quick {
        let _ = writeln!(text, "{}", plan::subset(plan));
    }
    let _ = writeln!(text, "{}", groups(record));
    let _ = writeln!(text, "{}", readings(summary));
    text += &missing::lines(&record.missing);
    text += &apps(plan.workers.as_slice(), summary);
    text += &phases(summary);
    text += &quotas(summary);
    if let Some(moved) = &summary.moved {
        let _ = writeln!(
            text,
            "\nmoved while it works, {} workers allowed: to a quota of 1, which the pool follows after {:.3} s at most \
             ({} rounds/s, {} without it); and back, after {:.3} s",
            moved.workers,
            moved.lowered_after_s,
            number(moved.tight_rounds_per_s),
            number(moved.free_rounds_per_s),
            moved.raised_after_s
        );
    }
    text
}

/// Whether quotas were measured.
pub fn groups(record: &Record) -> String {
    match &record.header.plan.groups {
        Ok(version) => format!("control groups of version {version}"),
        Err(why) => format!("no quotas, since no control groups can be made: {why}"),
    }
}

/// Of how many readings the figures are.
pub fn readings(summary: &Summary) -> String {
    match summary.readings {
        (_, 0) => "nothing was read".to_owned(),
        (_, 1) => "each figure is a single reading".to_owned(),
        (least, most) if least == most => format!("each figure is of {least} readings"),
        (least, most) => format!("each figure is of {least} to {most} readings"),
    }
}

/// How a number of workers is called.
pub fn name(workers: usize) -> String {
    if workers == TURNKEY { "turnkey".to_owned() } else { format!("P = {workers}") }
}

/// How a setting is called.
pub fn setting(setting: Setting) -> String {
    match setting {
        Setting::Alone => "alone".to_owned(),
        Setting::Beside => "beside a cycler".to_owned(),
        Setting::Under(hundredths) => format!("under a quota of {}", quota(hundredths)),
    }
}

fn quota(hundredths: u64) -> String {
    format!("{:.2}", hundredths as f64 / 100.0)
}

fn apps(workers: &[usize], summary: &Summary) -> String {
    let mut text = String::new();
    for its in summary.settings() {
        let _ =
            write!(text, "\napplications {}: milliseconds, medians\n  {:<20}", setting(its), "");
        let _ = write!(text, "{:>9}", name(TURNKEY));
        for &workers in workers {
            let _ = write!(text, "{:>9}", name(workers));
        }
        let is_under = matches!(its, Setting::Under(_));
        let _ = write!(text, "{:>19}", "turnkey over best");
        let _ = writeln!(text, "{}", if is_under { "   mean of more" } else { "" });
        for app in summary.apps.iter().filter(|app| app.setting == its) {
            let _ = write!(text, "  {:<20}", format!("{} {}", app.app, app.size));
            let millis = |seconds: Option<f64>| seconds.map_or("-".to_owned(), |s| number(s * 1e3));
            let _ = write!(text, "{:>9}", millis(app.turnkey.map(|times| times.median)));
            for &workers in workers {
                let found = app.fixed.iter().find(|(fixed, _)| *fixed == workers);
                let _ = write!(text, "{:>9}", millis(found.map(|(_, times)| times.median)));
            }
            let ratio = app.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
            let _ = write!(text, "{ratio:>19}");
            let equals = app.over_equals().map_or(String::new(), |it| format!("{it:>15.3}"));
            let _ = writeln!(text, "{equals}");
            text += &stops(app);
        }
        text += match its {
            Setting::Alone | Setting::Beside => {
                "  over best: the median of the quotients within a process, where all take turns\n"
            }
            Setting::Under(_) => {
                "  over best: the quotient of medians; over the mean of those with more workers than the quota, which keep as many awake\n"
            }
        };
    }
    text
}

/// In which part of the periods the quota was used up, and how many processors that kept from running.
fn stops(app: &AppSummary) -> String {
    let mut text = String::new();
    for (workers, kept) in &app.throttling {
        let begin = if text.is_empty() { "    used up (stopped): " } else { ", " };
        let (share, stopped) = (kept.share_of_periods * 100.0, kept.stopped);
        let _ = write!(text, "{begin}{} {share:.0}% ({stopped:.3})", name(*workers));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn phases(summary: &Summary) -> String {
    let Some((_, first)) = summary.phases.first() else { return String::new() };
    let mut text = "\nphases: workers awake (at work), rounds/s\n  ".to_owned();
    let _ = write!(text, "{:<10}", "");
    for phase in first {
        let _ = write!(text, "{:>26}", format!("parallelism {}", phase.parallelism));
    }
    text.push('\n');
    for (workers, phases) in &summary.phases {
        let _ = write!(text, "  {:<10}", name(*workers));
        for phase in phases {
            let figures = format!(
                "{:.2} ({:.2}), {}",
                phase.awake,
                phase.working,
                number(phase.rounds_per_s)
            );
            let _ = write!(text, "{figures:>26}");
        }
        text.push('\n');
    }
    text
}

fn quotas(summary: &Summary) -> String {
    let quotas = &summary.quotas;
    if quotas.is_empty() {
        return String::new();
    }
    let mut text = "\nquotas: rounds/s, and over those of the best number; how long a round takes, and how late a thread wakes that sleeps for a millisecond, in ms;\n\
                    periods used up/s, processors stopped thereby, processors that worked\n"
        .to_owned();
    let _ = writeln!(
        text,
        "  {:<16}{:>9}{:>11}{:>8}{:>9}{:>8}{:>8}{:>9}{:>8}{:>9}{:>9}{:>8}",
        "",
        "rounds/s",
        "over best",
        "round",
        "1 in 100",
        "worst",
        "late",
        "1 in 100",
        "worst",
        "used up",
        "stopped",
        "worked"
    );
    for it in quotas {
        let best = summary.best_under(it.hundredths);
        let over = best
            .map_or("-".to_owned(), |best| format!("{:.3}", it.rounds_per_s / best.rounds_per_s));
        let round = |place: usize| it.round_ms.map_or("-".to_owned(), |ms| number(ms[place]));
        let kept = |figure: fn(&Throttling) -> f64| {
            it.throttling.as_ref().map_or("-".to_owned(), |kept| format!("{:.3}", figure(kept)))
        };
        let _ = writeln!(
            text,
            "  {:<16}{:>9}{:>11}{:>8}{:>9}{:>8}{:>8}{:>9}{:>8}{:>9}{:>9}{:>8}",
            format!("{}, {}", quota(it.hundredths), name(it.workers)),
            number(it.rounds_per_s),
            over,
            round(0),
            round(1),
            round(2),
            number(it.median_late_ms),
            number(it.p99_late_ms),
            number(it.worst_late_ms),
            number(it.throttled_per_s),
            kept(|kept| kept.stopped),
            kept(|kept| kept.worked)
        );
    }
    text
}
