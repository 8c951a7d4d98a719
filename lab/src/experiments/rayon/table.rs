//! The summary as text.

use std::fmt::Write;

use super::plan::{self, MOST_EACH, MOST_MEAN, MOST_UNFAIRNESS, OURS, RUNTIMES, Setting, UPSTREAM};
use super::record::Record;
use super::summary::{Balance, Found, SettingSummary, Summary};
use crate::experiments::cliff::table::seconds;
use crate::experiments::times::Times;

/// Tables for people: the times in each setting, and who got what of the machine.
pub fn text(record: &Record, summary: &Summary) -> String {
    let mut text = String::new();
    let common = &record.header.common;
    // Writing to a string does not fail, so the results here and below are dropped.
    let _ = writeln!(
        text,
        "{} processors ({}), {}, seed {}, {}",
        common.machine.capacity(),
        common.machine.processor,
        common.machine.kernel,
        common.plan.seed,
        record.finished
    );
    if common.plan.quick {
        let _ = writeln!(text, "{}", plan::subset(&common.plan));
    }
    if let Some(taken) = summary.disturbance {
        let _ = writeln!(
            text,
            "NOTE: others used {taken:.2} processors meanwhile; all figures suffer from that"
        );
    }
    text += "seconds of a computation: medians of processes; ratio: of two processes one after the other, median (least to most)\n";
    for found in &summary.settings {
        text += &times(found);
    }
    if let Some(found) = summary.on(Setting::Beside) {
        text += &balances(found);
    }
    text
}

fn times(found: &SettingSummary) -> String {
    let mut text = format!("\n{}\n  {:<16}", found.title, "");
    for runtime in RUNTIMES {
        let _ = write!(text, "{runtime:>11}");
    }
    let _ = writeln!(text, "{:>9}", "ratio");
    for workload in &found.workloads {
        let _ = write!(text, "  {:<16}", workload.workload.name);
        for runtime in RUNTIMES {
            let time = workload.on(runtime).map(|found| seconds(found.times.median));
            let _ = write!(text, "{:>11}", time.unwrap_or("-".to_owned()));
        }
        let ratio = workload.ratio.as_ref().map_or("-".to_owned(), ratio_words);
        let mark = if found.is_too_slow(workload) { "  missed" } else { "" };
        let _ = writeln!(text, "    {ratio}{mark}");
    }
    if let Some((mean, is_reached)) = found.mean_ratio().zip(found.is_reached()) {
        let verdict = if is_reached { "reached" } else { "missed" };
        let wanted = wanted(found.setting);
        let _ =
            writeln!(text, "  {:<38}    {mean:.3}  wanted: {wanted}: {verdict}", "geometric mean");
    }
    text
}

/// A ratio, and the range of those that it is the median of.
pub fn ratio_words(ratio: &Times) -> String {
    format!("{:.3} ({:.2} to {:.2})", ratio.median, ratio.least, ratio.most)
}

/// What is wanted of the ratios in a setting.
pub fn wanted(setting: Setting) -> String {
    match setting {
        Setting::Alone => format!("at most {MOST_MEAN:.2}, none above {MOST_EACH:.2}"),
        Setting::Oversubscribed | Setting::Beside => format!("at most {MOST_MEAN:.2}"),
    }
}

fn balances(found: &SettingSummary) -> String {
    let mut text = format!(
        "\n{}: slowdown of the program and of loop; unfairness in points, mean and worst;\nweighted speedup; processors of each\n  {:<16}{:<10}{:>13}{:>8}{:>7}{:>6}{:>12}\n",
        found.title, "", "", "slowdowns", "unfair", "worst", "thr.", "processors"
    );
    for workload in &found.workloads {
        for (place, (runtime, Found { balance, .. })) in workload.runtimes.iter().enumerate() {
            let name = if place == 0 { workload.workload.name.as_str() } else { "" };
            let _ = match balance {
                Some(balance) => write!(text, "  {name:<16}{runtime:<10}{}", row(balance)),
                None => writeln!(text, "  {name:<16}{runtime:<10}{:>13}", "-"),
            };
        }
    }
    for runtime in [UPSTREAM, OURS] {
        let Some((mean, worst)) = found.unfairness(runtime) else { continue };
        let verdict = match (runtime, found.is_fair()) {
            (OURS, Some(true)) => format!("  wanted: at most {MOST_UNFAIRNESS:.0}: reached"),
            (OURS, Some(false)) => format!("  wanted: at most {MOST_UNFAIRNESS:.0}: missed"),
            _ => String::new(),
        };
        let name = if runtime == UPSTREAM { "mean, worst of all" } else { "" };
        let _ = writeln!(
            text,
            "  {name:<20}{runtime:<10}{:>9}{:>8.0}{:>7.0}{verdict}",
            "",
            100.0 * mean,
            100.0 * worst
        );
    }
    text
}

fn row(balance: &Balance) -> String {
    let slowdowns = balance.slowdowns.map(|slowdown| format!("{:.0}%", 100.0 * slowdown)).join("/");
    format!(
        "{slowdowns:>13}{:>8.0}{:>7.0}{:>6.2}{:>12}\n",
        100.0 * balance.unfairness,
        100.0 * balance.worst,
        balance.throughput,
        processors(balance, "/")
    )
}

/// The processors of both.
pub fn processors(balance: &Balance, between: &str) -> String {
    let words = |had: Option<f64>| had.map_or("-".to_owned(), |had| format!("{had:.2}"));
    balance.processors.map(words).join(between)
}
