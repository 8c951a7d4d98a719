//! The picture of the README: the two charts that a page of the cliff begins with, as one SVG file.

use super::page::{STYLE, charts_at_the_top, escape};
use super::theme;
use crate::experiments::cliff::summary::Summary;

const CHART: (u32, u32) = (372, 270);
const HEAD: u32 = 46;

/// The two charts side by side, with a legend. It needs no other file, and follows the reader's
/// choice of light or dark.
pub(crate) fn svg(summary: &Summary, workers: &[usize]) -> String {
    // The style sheet begins with the colours.
    let colours = STYLE.split("* {").next().unwrap_or_default();
    let (width, height) = (2 * CHART.0 + 24, CHART.1 + HEAD + 8);
    let parts = charts_at_the_top(summary, workers).into_iter().enumerate();
    let parts: String = parts
        .map(|(index, (title, about, chart))| {
            let left = 8 + index as u32 * (CHART.0 + 8);
            let size =
                format!("x=\"{left}\" y=\"{HEAD}\" width=\"{}\" height=\"{}\"", CHART.0, CHART.1);
            let chart = chart.replacen("<svg ", &format!("<svg {size} "), 1);
            let (title, about) = (escape(title), escape(about));
            format!(
                "<text x=\"{left}\" y=\"20\" font-weight=\"bold\">{title}</text>\n\
                 <text x=\"{left}\" y=\"37\" font-size=\"12\">{about}</text>\n{chart}\n"
            )
        })
        .collect();
    let legend = legend(summary);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{}\" \
         viewBox=\"0 0 {width} {}\" font-family=\"sans-serif\" font-size=\"14\">\n\
         <style>{colours}text {{ fill: var(--text); }}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"var(--card)\"/>\n{parts}{legend}</svg>\n",
        height + 24,
        height + 24
    )
}

fn legend(summary: &Summary) -> String {
    let mut names: Vec<&str> = Vec::new();
    for runtime in summary.inputs.iter().flat_map(|input| &input.runtimes) {
        if !names.contains(&runtime.runtime.as_str()) {
            names.push(&runtime.runtime);
        }
    }
    let entry = |(index, name): (usize, &&str)| {
        let (left, top) = (16 + 130 * index as u32, CHART.1 + HEAD + 20);
        let colour = theme::look(name).1.variable();
        let (right, middle, text, name) = (left + 22, top - 5, left + 28, escape(name));
        format!(
            "<path d=\"M{left} {middle}H{right}\" stroke=\"var({colour})\" stroke-width=\"3\"/>\
             <text x=\"{text}\" y=\"{top}\" font-size=\"12\">{name}</text>\n"
        )
    };
    names.iter().enumerate().map(entry).collect()
}
