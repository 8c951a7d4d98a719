//! The language of Graphviz.

use std::fmt::Write;

use super::{channel_lines, process_lines};
use crate::kahn::report::Report;

pub(super) fn of(report: &Report) -> String {
    let mut text = String::from("digraph network {\n    rankdir=LR;\n    node [shape=box];\n");
    for (number, process) in report.processes().iter().enumerate() {
        let _ = writeln!(text, "    p{number} [label={}];", quoted(&process_lines(process)));
    }
    for (number, channel) in report.channels().iter().enumerate() {
        // An end that nobody has is a point.
        let mut end = |process: Option<usize>, which: &str| match process {
            Some(process) => format!("p{process}"),
            None => {
                let _ = writeln!(text, "    c{number}{which} [shape=point];");
                format!("c{number}{which}")
            }
        };
        let (from, to) = (end(channel.from, "from"), end(channel.to, "to"));
        let _ = writeln!(text, "    {from} -> {to} [label={}];", quoted(&channel_lines(channel)));
    }
    text.push_str("}\n");
    text
}

/// Lines as one quoted string.
fn quoted(lines: &[String]) -> String {
    let escaped = |line: &String| line.replace('\\', r"\\").replace('"', "\\\"").replace('\n', " ");
    let lines: Vec<_> = lines.iter().map(escaped).collect();
    format!("\"{}\"", lines.join(r"\n"))
}
