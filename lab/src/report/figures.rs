//! What runtimes make of a subject, on the pages of `wait` and `channels`.

use super::bars;
use super::page::escape;
use crate::experiments::figures::{Besides, Figure, TOKIO};
use crate::experiments::number::{number, percent};

/// What a headline says of ours, and of tokio's, in brackets, if there is one.
pub(super) fn beside_tokio(
    figures: &[Figure],
    ours: &str,
    figure: impl Fn(&Figure) -> Option<f64>,
) -> Option<(String, String)> {
    let of = |name: &str| {
        figures.iter().find(|found| found.runtime == name).and_then(&figure).map(number)
    };
    Some((of(ours)?, of(TOKIO).map_or(String::new(), |other| format!(" (tokio {other})"))))
}

/// Bars of the medians, or of what memory is beyond futures.
pub(super) fn bars(title: &str, drawn: &str, figures: &[Figure]) -> String {
    let bar = |figure: &Figure| {
        let value = figure.waiting.map_or(figure.each.median, |waiting| waiting.beyond);
        (figure.runtime.clone(), value)
    };
    let bars: Vec<_> = figures.iter().map(bar).collect();
    bars::with_figures(&format!("{title}, {drawn}"), &bars, number)
}

/// A figure with its caption.
pub(super) fn figure(title: &str, drawn: &str, svg: &str) -> String {
    format!(
        "<figure>\n<figcaption><b>{}</b> <span>{drawn}</span></figcaption>\n{svg}</figure>\n",
        escape(title)
    )
}

/// A table of them.
pub(super) fn table(title: &str, unit: &str, besides: Besides, figures: &[Figure]) -> String {
    let heads = match besides {
        Besides::Apart => "<th>apart</th>",
        Besides::Waiting => "<th>its own future</th><th>beyond</th>",
        Besides::Nothing => "",
    };
    let mut rows = String::new();
    for Figure { runtime, each, of_tokio, apart, waiting } in figures {
        let mut cells = format!(
            "<td title=\"{} times\">{}</td><td>{}</td><td>{}</td><td>{}</td>",
            each.number,
            number(each.median),
            number(each.least),
            number(each.most),
            of_tokio.map_or(String::new(), |ratio| format!("{ratio:.2}"))
        );
        if besides == Besides::Apart {
            cells += &format!("<td>{}</td>", apart.map_or(String::new(), percent));
        }
        if let Some(waiting) = waiting {
            let (future, beyond) = (number(waiting.future), number(waiting.beyond));
            cells += &format!("<td>{future}</td><td>{beyond}</td>");
        }
        rows += &format!("<tr><th>{}</th>{cells}</tr>\n", escape(runtime));
    }
    format!(
        "<h3>{}</h3>\n<table class=\"numbers\">\n<tr><th>runtime</th><th>{unit}</th><th>least</th><th>most</th>\
         <th>of tokio</th>{heads}</tr>\n{rows}</table>\n",
        escape(title)
    )
}
