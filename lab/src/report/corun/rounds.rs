//! Rounds side by side.

use super::charts::slowdowns;
use super::pairs::table;
use crate::experiments::corun::pairs::Part;
use crate::experiments::corun::summary::{PairSummary, Summary};

/// Rounds of one part, those with targets or those without.
pub(super) fn rounds(summary: &Summary, part: Part) -> String {
    let most = summary.most_useful.map_or(String::new(), |most| {
        format!(" Busy threads alone, one for each processor, make it {most:.2} here.")
    });
    let (title, about) = match part {
        Part::Targets => (
            "Rounds side by side",
            "Small parallel rounds for a fixed time. Each dot is a program's slowdown, the full one that of the first; a long \
             line is an unfair share. <i>Useful</i> is the share of all processors' time that went into leaves.",
        ),
        _ => (
            "Rounds that nobody tuned for",
            "Other leaves, numbers of workers and neighbours, and three programs at once.",
        ),
    };
    let pairs: Vec<&PairSummary> = summary.part(part).collect();
    if pairs.is_empty() {
        return String::new();
    }
    let chart = slowdowns(&format!("slowdowns, {title}"), pairs.iter().copied());
    let table = table(&pairs);
    format!(
        "<section>\n<h2>{title}</h2>\n<p>{about}{most}</p>\n<div class=\"gallery wide\"><figure>{chart}</figure></div>\n\
         {table}\n</section>\n"
    )
}
