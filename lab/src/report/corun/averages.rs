//! A table of averages over pairs.

use crate::experiments::corun::summary::Average;
use crate::report::page::escape;

pub(super) fn averages(averages: &[Average]) -> String {
    let row = |average: &Average| {
        format!(
            "<tr><th>{}</th><td>{:.0}</td><td>{:.0}</td><td>{}</td><td>{:.2}</td><td>{}</td><td>{}</td></tr>\n",
            escape(&average.runtime),
            100.0 * average.unfairness,
            100.0 * average.worst,
            average.useful.map_or("–".to_owned(), |useful| format!("{useful:.2}")),
            average.throughput,
            average
                .variation
                .map_or("–".to_owned(), |variation| format!("{:.1}", 100.0 * variation)),
            average.pairs
        )
    };
    if averages.is_empty() {
        return String::new();
    }
    let rows: String = averages.iter().map(row).collect();
    format!(
        "<table class=\"numbers\">\n<tr><th>averages</th><th>unfairness, points</th><th>worst</th>\
         <th>useful</th><th>throughput</th><th>variation, %</th>\
         <th>pairs</th></tr>\n{rows}</table>\n"
    )
}
