//! A report as one file of HTML with its charts inside, readable offline.

use super::record::Versions;
use super::text::is_name;
use super::{Chart, Record, Report, Section, Table, chart, text, theme};

/// A longer cell has several lines.
const WORDS: usize = 80;

const STYLE: &str = include_str!("style.css");

/// The page of a record.
pub fn page(record: &Record, report: &Report) -> String {
    let title = escape(&report.title);
    let headline = escape(&report.headline);
    let pictures = gallery(&report.pictures);
    let notes: String = text::notes(record, report)
        .map(|note| format!("<p class=\"note\">{}</p>\n", prose(&note)))
        .collect();
    let sections: String = report.sections.iter().map(section).collect();
    let method: String =
        report.method.iter().map(|point| format!("<li>{}</li>\n", prose(point))).collect();
    let (mut capacity, mut circumstances) = (String::new(), String::new());
    if record.is_measurement() {
        capacity = match record.simulated() {
            Some(model) => format!(" · simulated: {}", escape(model)),
            None => format!(" · {} processors", record.machine.capacity()),
        };
        let facts = table(&facts(record));
        circumstances = format!(
            "<section>\n<h2>Machine and method</h2>\n{facts}\n<ul>\n{method}</ul>\n</section>\n"
        );
    }
    let colours = theme::style_sheet();
    format!(
        "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<title>Locksley: {title}</title>
<style>
{colours}{STYLE}</style>
</head>
<body>
<header>
<p class=\"kicker\">Locksley · {title}{capacity}</p>
<h1>{headline}</h1>
{pictures}{notes}</header>
{sections}{circumstances}</body>
</html>
"
    )
}

fn section(section: &Section) -> String {
    if section.is_empty() {
        return String::new();
    }
    let charts = gallery(&section.charts);
    let shown = section.tables.iter().filter(|table| !table.rows.is_empty());
    let tables: String = shown.map(table).collect();
    let (title, about) = (escape(&section.title), prose(&section.about));
    format!("<section>\n<h2>{title}</h2>\n<p>{about}</p>\n{charts}{tables}</section>\n")
}

fn gallery(charts: &[Chart]) -> String {
    let figures: String = charts.iter().map(chart::figure).collect();
    match figures.as_str() {
        "" => figures,
        _ => format!("<div class=\"gallery\">\n{figures}</div>\n"),
    }
}

fn table(table: &Table) -> String {
    let title = escape(&table.title);
    let line = |(index, cells): (usize, &Vec<String>)| {
        let cells = cells.iter().enumerate().map(|(column, cell)| {
            let tag = if index == 0 || column == 0 { "th" } else { "td" };
            let class = match cell.len() > WORDS {
                true => " class=\"words\"",
                false if is_name(table, column) => " class=\"name\"",
                false => "",
            };
            format!("<{tag}{class}>{}</{tag}>", prose(cell))
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let lines: String =
        std::iter::once(&table.columns).chain(&table.rows).enumerate().map(line).collect();
    format!("<table>\n<caption>{title}</caption>\n{lines}</table>\n")
}

/// The machine, the versions and the choices of a run.
fn facts(record: &Record) -> Table {
    let Record { machine, plan, versions, .. } = record;
    let mut table = Table::new("circumstances", ["", ""]);
    let mut fact = |name: &str, value: String| table.row([name.to_owned(), value]);
    let host = if record.simulated().is_some() { "host: " } else { "" };
    fact(
        &format!("{host}processors allowed"),
        format!("{} ({})", machine.processors, machine.processor),
    );
    let quota = machine.quota.map_or("none".to_owned(), |quota| format!("{quota:.2} processors"));
    fact("quota", quota);
    let memory = |bytes| crate::apps::size::in_bytes(u128::from(bytes));
    fact("memory", machine.memory.map_or("unknown".to_owned(), memory));
    fact("kernel", machine.kernel.clone());
    let assist = |assist: &crate::machine::Assist| match &assist.reason {
        None => assist.name.clone(),
        Some(reason) => format!("{} (missing: {reason})", assist.name),
    };
    fact("assists", machine.assists.iter().map(assist).collect::<Vec<_>>().join(", "));
    let finished = record.finished.as_deref().unwrap_or("(not finished)");
    fact("measured", format!("{} to {finished}", record.started));
    let Versions { locksley, rayon, rustc, build } = versions;
    fact("versions", format!("Locksley {locksley}, rayon {rayon}, {rustc}, build {build}"));
    fact("seed", plan.seed.to_string());
    for (name, value) in &plan.parameters {
        fact(name, value.clone());
    }
    for runtime in &plan.runtimes {
        fact(&runtime.name, format!("{}: {}", runtime.version, runtime.about));
    }
    for (name, why) in &plan.left_out {
        fact(name, format!("not measured: {why}"));
    }
    table
}

/// `text` as HTML, with code between backticks.
fn prose(text: &str) -> String {
    let tag = |(index, part): (usize, &str)| match index % 2 {
        0 => part.to_owned(),
        _ => format!("<code>{part}</code>"),
    };
    escape(text).split('`').enumerate().map(tag).collect()
}

/// `text` as HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
