//! The summary as text.

use std::fmt::Write;

use super::plan;
use super::record::Record;
use super::summary::{Check, Difference, Summary};
use crate::experiments::bound::words;
use crate::experiments::cliff::table::seconds;
use crate::experiments::heading::{disturbance, heading};
use crate::experiments::missing;

/// A table for people: each input with its parallelism, its utilizations and PA beside each cycler, and the constants.
pub fn text(record: &Record, summary: &Summary) -> String {
    let plan = &record.header.plan;
    let mut text = heading(&record.header.machine, plan.seed, &record.finished);
    // Writing to a string does not fail, so the results below are dropped.
    if plan.quick {
        let _ = writeln!(text, "{}", plan::subset(plan));
    }
    text += &disturbance(summary.taken);
    text += &missing::lines(&record.missing);
    text += "utilization T1/(PA TP), and PA in brackets, over all repetitions; times in seconds; T∞, and the T1 of T1/T∞, metered on one worker\n\n";
    for computation in &summary.bound.computations {
        let _ = writeln!(
            text,
            "{}, T1 = {}, T∞ = {}, T1/T∞ = {:.1}{}",
            computation.name(),
            seconds(computation.work),
            seconds(computation.critical_path),
            computation.parallelism(),
            if computation.is_whole { "" } else { "?" }
        );
        for beside in &plan.cyclers {
            let _ = write!(text, "  beside {:<18}", beside.to_string());
            for workers in &plan.workers {
                let _ = match computation.at(*workers, Some(*beside)) {
                    Some(point) => {
                        let (utilization, processors) = (point.utilization, point.processors);
                        write!(text, "  P = {workers:<4}{utilization:.2} ({processors:.2})")
                    }
                    None => write!(text, "  P = {workers:<4}-          "),
                };
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
    }
    text.push('\n');
    for line in words::sentences(&summary.bound).into_iter().chain(granted(summary)) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// PA by the papers' method, beside what the meter says: a sentence for all, and one for each cycler.
pub fn granted(summary: &Summary) -> Vec<String> {
    let Some(difference) = summary.difference() else {
        return vec!["PA by the papers' method: there is nothing to compare".to_owned()];
    };
    let mut sentences = vec![format!(
        "PA by the papers' method, processors less what the cycler counted, is {}",
        words_of(difference)
    )];
    for check in &summary.checks {
        sentences.extend(of_check(check));
    }
    sentences
}

fn of_check(check: &Check) -> Option<String> {
    let (least, most) = check.range()?;
    let account = check.account.map_or(String::new(), |account| {
        format!("; an increment took {account:.3} times the processor time of the calibration")
    });
    Some(format!(
        "beside {}, which had {:.2} processors, PA was {least:.2} to {most:.2}; by the papers' method {}{account}",
        check.beside,
        check.cycler()?,
        words_of(check.difference()?)
    ))
}

fn words_of(difference: Difference) -> String {
    let Difference { mean, distance, most, number } = difference;
    format!(
        "{:.3} {} than by the meter on average ({distance:.3} off, at most {:.3}; {number} measurements)",
        mean.abs(),
        if mean < 0.0 { "less" } else { "more" },
        most.abs()
    )
}
