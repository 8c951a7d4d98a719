//! Programs alone.

use crate::experiments::corun::plan::ABP;
use crate::experiments::corun::summary::{Cost, Summary, TOLERANCE};
use crate::experiments::corun::table::{title, verdict};
use crate::report::page::escape;

pub(super) fn alone(summary: &Summary) -> String {
    let mut rows = String::new();
    for solo in &summary.solos {
        let Some(title) = title(solo) else { continue };
        for (place, (runtime, rate)) in solo.rates.iter().enumerate() {
            let name = if place == 0 { title.as_str() } else { "" };
            let first = if place == 0 { " class=\"first\"" } else { "" };
            let (name, runtime) = (escape(name), escape(runtime));
            rows +=
                &format!("<tr{first}><th>{name}</th><th>{runtime}</th><td>{rate:.0}</td></tr>\n");
        }
    }
    let rounds = match rows.is_empty() {
        true => String::new(),
        false => format!(
            "<p>Rounds a second: steps of a leaf, leaves in parallel, leaves in a row before them.</p>\n\
             <table class=\"numbers\">\n<tr><th>rounds</th><th>runtime</th><th>a second</th></tr>\n{rows}</table>\n"
        ),
    };
    let costs = costs(summary);
    if rounds.is_empty() && costs.is_empty() {
        return String::new();
    }
    format!("<section>\n<h2>Programs alone</h2>\n{rounds}{costs}</section>\n")
}

/// What each governor costs an application that is alone: section 5.5 of the paper.
fn costs(summary: &Summary) -> String {
    let costs = summary.costs();
    let Some(base) = costs.iter().find(|cost| cost.runtime == ABP) else { return String::new() };
    let apps: Vec<&str> = base.each.iter().map(|(app, _)| app.as_str()).collect();
    let head: String = apps.iter().map(|app| format!("<th>{}</th>", escape(app))).collect();
    let row = |cost: &Cost| {
        let (slow, runtime) = (cost.slow(), escape(&cost.runtime));
        let cell = |app: &&str| {
            let found = cost.each.iter().find(|(name, _)| name == app);
            let mark = if slow.contains(app) { " class=\"low\"" } else { "" };
            found.map_or("<td>–</td>".to_owned(), |(_, ratio)| {
                format!("<td{mark}>{ratio:.2}</td>")
            })
        };
        let each: String = apps.iter().map(cell).collect();
        format!("<tr><th>{runtime}</th><td>{:.2}</td>{each}</tr>\n", cost.mean())
    };
    let rows: String = costs.iter().map(row).collect();
    let verdict = verdict(summary).map_or(String::new(), |verdict| format!("<p>{verdict}.</p>\n"));
    format!(
        "<p>Applications: the time relative to that with {ABP}; marked where it is longer by more than {:.0} %. The paper (section 5.5) finds that waking by busy workers costs \
         7 % on average, and global information 43 %, with 32 workers.</p>\n\
         <table class=\"numbers\">\n<tr><th>runtime</th><th>mean</th>{head}</tr>\n{rows}</table>\n{verdict}",
        100.0 * TOLERANCE
    )
}
