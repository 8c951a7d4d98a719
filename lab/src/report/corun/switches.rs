//! Context switches of applications side by side: the paper's section 5.2.

use super::charts::{figure, single};
use crate::experiments::corun::pairs::Part;
use crate::experiments::corun::plan::ON_APPLICATIONS;
use crate::experiments::corun::summary::{Balance, PairSummary, Share, Summary};
use crate::report::page::escape;

pub(super) fn switches(summary: &Summary) -> String {
    let all = single(
        "context switches",
        "a computation",
        summary.part(Part::Applications),
        &ON_APPLICATIONS,
        |balance| {
            let each = balance.programs.iter().map(|share| share.switches);
            each.map(|pair| pair.map(|(waits, taken)| waits + taken)).sum()
        },
        |value| format!("{value:.0}"),
    );
    let shares = shares(summary);
    let rows: String = summary.part(Part::Applications).map(rows).collect();
    format!(
        "<h3>Context switches of all programs, for one computation of each</h3>
<div class=\"gallery wide\">{}</div>
{shares}<table class=\"numbers\">
<tr><th>pair</th><th>runtime</th><th>switches a computation</th><th>to hunters</th><th>external</th><th>other</th></tr>
{rows}</table>
",
        figure("Both programs", "a computation", &all)
    )
}

/// Of all switches, those to hunters and those to others.
fn shares(summary: &Summary) -> String {
    let of = |runtime: &str| {
        let (to_hunter, external) = summary.shares_of_switches(Part::Applications, runtime)?;
        let (to_hunter, external) = (100.0 * to_hunter, 100.0 * external);
        Some(format!("{}: {to_hunter:.0} % and {external:.0} %", escape(runtime)))
    };
    let shares: Vec<String> = ON_APPLICATIONS.iter().filter_map(|runtime| of(runtime)).collect();
    if shares.is_empty() {
        return "<p>Which of them went to hunters is not known: nobody had records of them.</p>\n"
            .to_owned();
    }
    format!(
        "<p>The shares of those to hunters and of external ones, averages over programs: {}. The paper finds 93 % to hunters (its \
         thieves) with ABP and 32 % with BWS.</p>\n",
        shares.join("; ")
    )
}

fn rows(found: &PairSummary) -> String {
    let is_shown = |name: &str| ON_APPLICATIONS.contains(&name);
    let shown = found.runtimes.iter().filter(|(runtime, _)| is_shown(runtime));
    let row = |(place, (runtime, balance)): (usize, &(String, Balance))| {
        let (first, name) = match place {
            0 => (" class=\"first\"", found.pair.name.as_str()),
            _ => ("", ""),
        };
        format!(
            "<tr{first}><th>{}</th><th>{}</th>{}</tr>\n",
            escape(name),
            escape(runtime),
            cells(balance)
        )
    };
    shown.enumerate().map(row).collect()
}

fn cells(balance: &Balance) -> String {
    let cell = |figure: &dyn Fn(&Share) -> Option<f64>| {
        let words = |share| figure(share).map_or("–".to_owned(), |value| format!("{value:.0}"));
        let all: Vec<String> = balance.programs.iter().map(words).collect();
        format!("<td>{}</td>", all.join(" / "))
    };
    cell(&|share| share.switches.map(|(waits, taken)| waits + taken))
        + &cell(&|share| share.split.map(|split| split.to_hunter))
        + &cell(&|share| share.split.map(|split| split.external))
        + &cell(&|share| share.split.map(|split| split.other))
}
