//! Charts of pairs: a row for each runtime.

use crate::experiments::corun::summary::{Balance, PairSummary};
use crate::report::dots::{Dots, Row};

pub(super) fn figure(title: &str, about: &str, svg: &str) -> String {
    format!(
        "<figure>\n<figcaption><b>{title}</b> <span>{about}</span></figcaption>\n{svg}</figure>\n"
    )
}

/// The slowdowns of each pair on each runtime.
pub(super) fn slowdowns<'a>(title: &str, pairs: impl Iterator<Item = &'a PairSummary>) -> String {
    dots(title, "slowdown, %", pairs, |_| true, shown_slowdowns)
}

pub(super) fn slowdowns_on<'a>(
    runtimes: &[&str],
    title: &str,
    pairs: impl Iterator<Item = &'a PairSummary>,
) -> String {
    dots(title, "slowdown, %", pairs, |name| runtimes.contains(&name), shown_slowdowns)
}

fn shown_slowdowns(balance: &Balance) -> Option<(Vec<f64>, String)> {
    let values: Vec<f64> = balance.programs.iter().map(|share| 100.0 * share.slowdown).collect();
    let figures: Vec<String> = values.iter().map(|value| format!("{value:.0}")).collect();
    Some((values, figures.join(" / ")))
}

/// One figure of each pair on each of some runtimes.
pub(super) fn single<'a>(
    title: &str,
    unit: &'static str,
    pairs: impl Iterator<Item = &'a PairSummary>,
    runtimes: &[&str],
    value: impl Fn(&Balance) -> Option<f64>,
    words: impl Fn(f64) -> String,
) -> String {
    dots(
        title,
        unit,
        pairs,
        |name| runtimes.contains(&name),
        |balance| {
            let value = value(balance)?;
            Some((vec![value], words(value)))
        },
    )
}

fn dots<'a>(
    title: &str,
    unit: &'static str,
    pairs: impl Iterator<Item = &'a PairSummary>,
    is_shown: impl Fn(&str) -> bool,
    shown: impl Fn(&Balance) -> Option<(Vec<f64>, String)>,
) -> String {
    let row = |(runtime, balance): &(String, Balance)| {
        let (values, figures) = is_shown(runtime).then(|| shown(balance)).flatten()?;
        Some(Row { runtime: runtime.clone(), values, figures })
    };
    let subjects = pairs.map(|found| {
        (found.pair.name.clone(), found.runtimes.iter().filter_map(row).collect::<Vec<_>>())
    });
    Dots { title: title.to_owned(), unit, subjects: subjects.collect() }.svg()
}
