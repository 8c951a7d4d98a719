//! The summary as text.

use std::fmt::Write;

use super::plan;
use super::record::Record;
use super::summary::{Latency, Summary};

/// A table for people: the sleeper alone, and beside each runtime.
pub fn text(record: &Record, summary: &Summary) -> String {
    let mut text = String::new();
    let machine = &record.machine;
    // Writing to a string does not fail, so the results below are dropped.
    let _ = writeln!(
        text,
        "{} processors ({}), {}, seed {}, {}",
        machine.capacity(),
        machine.processor,
        machine.kernel,
        record.plan.seed,
        record.finished
    );
    if record.plan.quick {
        let _ = writeln!(text, "{}", plan::subset(&record.plan));
    }
    if let Some(taken) = summary.disturbance {
        let _ = writeln!(
            text,
            "NOTE: others used {taken:.2} processors even while the sleeper was alone; all figures suffer from that"
        );
    }
    let naps = record.plan.naps;
    let _ = writeln!(
        text,
        "how late a process wakes that sleeps {} ms at a time, and how long its work of {} steps takes then",
        naps.period as f64 / 1e3,
        naps.steps
    );
    let _ = writeln!(
        text,
        "\n  {:<16}{:>9}{:>9}{:>9}{:>9}{:>9} |{:>9}{:>9}  {:>12}",
        "beside", "late 50%", "90%", "99%", "99.9%", "most", "work 50%", "99%", "rounds/s"
    );
    if let Some(alone) = &summary.alone {
        text += &row("(alone)", alone);
    }
    for group in &summary.groups {
        let _ = writeln!(text, "{} parallelism, P = {}", group.shape, group.workers);
        for (runtime, latency) in &group.runtimes {
            text += &row(runtime, latency);
        }
    }
    text
}

fn row(name: &str, latency: &Latency) -> String {
    let Latency { late, work, .. } = latency;
    format!(
        "  {name:<16}{:>9}{:>9}{:>9}{:>9}{:>9} |{:>9}{:>9}  {:>12}\n",
        time(late.half),
        time(late.p90),
        time(late.p99),
        late.p999.map_or("-".to_owned(), time),
        time(late.most),
        time(work.half),
        time(work.p99),
        latency.rounds_per_second.map_or("-".to_owned(), |rate| format!("{rate:.0}"))
    )
}

/// A time with three digits and its unit.
pub fn time(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s >= 0.9995 => (s, "s"),
        s if s >= 0.000_999_5 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    match number {
        n if n >= 99.95 => format!("{n:.0} {unit}"),
        n if n >= 9.995 => format!("{n:.1} {unit}"),
        n => format!("{n:.2} {unit}"),
    }
}
