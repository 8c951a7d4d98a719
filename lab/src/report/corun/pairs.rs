//! A table of pairs of rounds, with what is wanted of them.

use crate::experiments::corun::summary::{Balance, PairSummary, Share, Split};
use crate::report::page::escape;

pub(super) fn table(pairs: &[&PairSummary]) -> String {
    let mut rows = String::new();
    for found in pairs {
        for (place, (runtime, balance)) in found.runtimes.iter().enumerate() {
            rows += &row(place == 0, found, runtime, balance);
        }
    }
    format!(
        "<table class=\"numbers\">\n<tr><th>pair</th><th>runtime</th><th>slowdowns, %</th><th>unfairness, mean</th><th>worst</th>\
         <th>useful</th><th>throughput</th><th>variation, %</th><th>processors</th><th>switches/s</th>\
         <th>to hunters + external + other</th></tr>\n{rows}</table>"
    )
}

fn row(first: bool, found: &PairSummary, runtime: &str, balance: &Balance) -> String {
    let each = |figure: &dyn Fn(&Share) -> Option<String>| {
        let all = balance.programs.iter().map(|share| figure(share).unwrap_or("–".to_owned()));
        all.collect::<Vec<_>>().join(" / ")
    };
    let target = found.pair.target.filter(|_| runtime == "locksley");
    // What is wanted stands beside what was measured, and marks it where it is missed.
    let cell = |words: String, wanted: Option<(f64, bool)>| match wanted {
        None => format!("<td>{words}</td>"),
        Some((wanted, true)) => format!("<td title=\"wanted: {wanted}\">{words}</td>"),
        Some((wanted, false)) => {
            format!("<td class=\"low\" title=\"wanted: {wanted}\">{words}</td>")
        }
    };
    let (mean, worst) = (100.0 * balance.unfairness, 100.0 * balance.worst);
    let unfairness = cell(format!("{mean:.0}"), target.map(|wish| (wish.mean, mean <= wish.mean)))
        + &cell(format!("{worst:.0}"), target.map(|wish| (wish.worst, worst <= wish.worst)));
    let useful = balance.useful.map_or("–".to_owned(), |useful| format!("{useful:.2}"));
    let is_useful = |least: f64| balance.useful.is_some_and(|useful| useful >= least);
    let useful = cell(useful, target.map(|wish| (wish.useful, is_useful(wish.useful))));
    let partly = balance
        .partial_overlap()
        .map_or(String::new(), |overlap| format!(" (overlap {overlap:.2})"));
    let name = if first { found.pair.name.as_str() } else { "" };
    format!(
        "<tr{}><th title=\"{}\">{}</th><th>{}{partly}</th><td>{}</td>{unfairness}{useful}\
         <td>{:.2}</td><td>{}</td><td>{}</td><td title=\"voluntary + involuntary\">{}</td>\
         <td>{}</td></tr>\n",
        if first { " class=\"first\"" } else { "" },
        escape(&found.pair.shows),
        escape(name),
        escape(runtime),
        each(&|share| Some(format!("{:.0}", 100.0 * share.slowdown))),
        balance.throughput,
        each(&|share| share.variation.map(|variation| format!("{:.0}", 100.0 * variation))),
        each(&|share| share.processors.map(|processors| format!("{processors:.2}"))),
        each(&|share| share.switches.map(|(waits, taken)| format!("{waits:.0} + {taken:.0}"))),
        each(&|share| {
            let Split { to_hunter, external, other } = share.split?;
            Some(format!("{to_hunter:.0} + {external:.0} + {other:.0}"))
        })
    )
}
