//! The summary as text.

use std::fmt::Write;

use super::contest::{Best, Contest};
use super::contestant::Contestant;
use super::earlier;
use super::once::Setting;
use super::plan::{self, TARGET};
use super::record::{Record, Throttling};
use super::summary::{AppSummary, Summary};
use crate::experiments::estimate::{Estimate, FEWEST, Verdict};
use crate::experiments::heading::heading;
use crate::experiments::missing;
use crate::experiments::number::number;

/// What all quotients are.
pub const METHOD: &str = "what the pool to which nobody says a number takes over another: the median of the quotients within a rotation, and the interval of 95 %. \
                          The best number is chosen by the rotations of an even number for the others, and by the others for them. \
                          Each short turn begins with a computation that does not count: what a pool does when it wakes is not in these figures";

/// A table for people.
pub fn text(record: &Record, summary: &Summary) -> String {
    let plan = &record.header.plan;
    let mut text = heading(&record.header.machine, plan.seed, &record.finished);
    // Writing to a string does not fail, so the results below are dropped.
    for note in notes(record, summary) {
        let _ = writeln!(text, "{note}");
    }
    text += &missing::lines(&record.missing);
    let _ = writeln!(text, "{METHOD}");
    text += &apps(summary);
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

/// What must be known of the figures, in sentences.
pub fn notes(record: &Record, summary: &Summary) -> Vec<String> {
    let plan = &record.header.plan;
    let mut notes = Vec::new();
    if record.is_earlier() {
        notes.push(earlier::NOTE.to_owned());
    }
    if plan.quick {
        notes.push(plan::subset(plan));
    }
    notes.push(groups(record));
    notes.push(readings(summary));
    notes
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

/// A quotient in words.
pub fn ratio(ratio: f64) -> String {
    format!("{ratio:.3}")
}

/// An interval in words.
pub fn interval(estimate: Estimate) -> String {
    if estimate.is_bounded() {
        format!("{} to {}", ratio(estimate.low), ratio(estimate.high))
    } else {
        format!("fewer than {FEWEST} rotations")
    }
}

/// Which numbers were the best.
pub fn chosen(best: &Best) -> String {
    match best.chosen {
        [one, other] if one == other => one.to_string(),
        [one, other] => format!("{one}, {other}"),
    }
}

fn apps(summary: &Summary) -> String {
    let mut text = String::new();
    for its in summary.settings() {
        let _ = writeln!(text, "\napplications {}", setting(its));
        let _ = writeln!(
            text,
            "  {:<20}{:>9}{:>11}{:>26}{:>7}  at most {TARGET}",
            "", "ms", "over best", "", "P"
        );
        for app in summary.of_setting(its) {
            let time = app.time(&Contestant::turnkey());
            let millis = time.map_or("-".to_owned(), |time| number(time.median * 1e3));
            let name = format!("{} {}", app.app, app.size);
            text += &row(&name, &millis, app.contest.best.as_ref());
            text += &over(&app.contest);
            text += &stops(app);
        }
        if let Some((number, mean)) = summary.mean(its) {
            text += &line(&format!("geometric mean of {number}"), "", mean, "");
        }
    }
    text
}

/// What it takes over the best number, and whether that is little enough.
fn row(name: &str, time: &str, best: Option<&Best>) -> String {
    match best {
        Some(best) => line(name, time, best.ratio, &chosen(best)),
        None => format!("  {name:<20}{time:>9}{:>11}\n", "-"),
    }
}

fn line(name: &str, time: &str, found: Estimate, chosen: &str) -> String {
    let (figure, interval) = (ratio(found.figure), format!("({})", interval(found)));
    let verdict = Verdict::of(found, TARGET).word();
    format!("  {name:<20}{time:>9}{figure:>11}{interval:>26}{chosen:>7}  {verdict}\n")
}

/// What it takes over each of the others: some lines.
fn over(contest: &Contest) -> String {
    let mut text = String::new();
    for some in contest.over.chunks(4) {
        let words = some.iter().map(|(rival, found)| {
            let interval =
                if found.is_bounded() { format!(" ({})", interval(*found)) } else { String::new() };
            format!("{} {}{interval}", rival.words(), ratio(found.figure))
        });
        let _ = writeln!(text, "    over {}", words.collect::<Vec<_>>().join(", "));
    }
    text
}

/// In which part of the periods the quota was used up, and how many processors that kept from running.
fn stops(app: &AppSummary) -> String {
    let mut text = String::new();
    for some in app.throttling.chunks(6) {
        let words = some.iter().map(|(one, kept)| {
            let (share, stopped) = (kept.share_of_periods * 100.0, kept.stopped);
            format!("{} {share:.0}% ({stopped:.3})", one.words())
        });
        let words = words.collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "    used up (stopped): {words}");
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
    for (one, phases) in &summary.phases {
        let _ = write!(text, "  {:<10}", one.words());
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
    let mut text = "\nquotas: rounds/s, and what turnkey takes for one over that; how long a round takes, and how late a thread wakes that sleeps for a millisecond, in ms;\n\
                    periods used up/s, processors stopped thereby, processors that worked\n"
        .to_owned();
    let _ = writeln!(
        text,
        "  {:<22}{:>9}{:>9}{:>26}{:>8}{:>9}{:>8}{:>8}{:>9}{:>8}{:>9}{:>9}{:>8}",
        "",
        "rounds/s",
        "turnkey",
        "",
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
        let found = summary.over(it);
        let (over, interval) = match found {
            Some(found) => (ratio(found.figure), format!("({})", interval(found))),
            None => ("-".to_owned(), String::new()),
        };
        let round = |place: usize| it.round_ms.map_or("-".to_owned(), |ms| number(ms[place]));
        let kept = |figure: fn(&Throttling) -> f64| {
            it.throttling.as_ref().map_or("-".to_owned(), |kept| format!("{:.3}", figure(kept)))
        };
        let _ = writeln!(
            text,
            "  {:<22}{:>9}{over:>9}{interval:>26}{:>8}{:>9}{:>8}{:>8}{:>9}{:>8}{:>9}{:>9}{:>8}",
            format!("{}, {}", quota(it.hundredths), it.contestant.words()),
            number(it.rounds_per_s),
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
    for (hundredths, contest) in &summary.rounds {
        if let Some(best) = &contest.best {
            let name = format!("{}, over the best", quota(*hundredths));
            text += &line(&name, "", best.ratio, &chosen(best));
        }
    }
    text
}
