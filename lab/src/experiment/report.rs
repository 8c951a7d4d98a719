//! What is said of a record: a headline, and sections with charts and tables. An experiment makes
//! it; the text on the terminal and the page are rendered from it.

use std::collections::BTreeSet;

use itertools::Itertools;

use super::Record;
use super::estimate::Estimate;
use super::text::{known, number};

/// All that is said of a record.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The name of the experiment, for people.
    pub title: String,
    /// The finding in a sentence or two, computed from the record.
    pub headline: String,
    /// The charts right below the headline.
    pub pictures: Vec<Chart>,
    /// What must be known to read it: paragraphs.
    pub notes: Vec<String>,
    /// The figures.
    pub sections: Vec<Section>,
    /// How it was measured: one point each.
    pub method: Vec<String>,
}

/// A part of a report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// What is seen, in a paragraph.
    pub about: String,
    /// Its charts.
    pub charts: Vec<Chart>,
    /// Its tables.
    pub tables: Vec<Table>,
}

/// A table. The first column names the rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// What it shows, with the unit.
    pub title: String,
    /// The heads of all columns.
    pub columns: Vec<String>,
    /// The rows, each as long as the heads.
    pub rows: Vec<Vec<String>>,
}

/// A chart: bars, or lines or separate points over numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// What the bars or the vertical axis count.
    pub unit: String,
    /// Names and lengths, if it is a chart of bars: then it has none of the following.
    pub bars: Option<Vec<(String, f64)>>,
    /// What the horizontal axis counts.
    pub across: String,
    /// Whether the horizontal axis is logarithmic.
    pub is_logarithmic: bool,
    /// Whether the points are not connected.
    pub is_dotted: bool,
    /// A vertical line, with what it marks.
    pub mark: Option<(f64, String)>,
    /// Dashed lines to compare with: the ideal first, then a ceiling.
    pub references: Vec<(String, Vec<(f64, f64)>)>,
    /// A line for each runtime.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// A metric, and how it is presented.
#[derive(Debug, Clone, Copy)]
pub struct Metric<'a> {
    /// Its name in the record.
    pub name: &'a str,
    /// Its unit, as a phrase: "ns a message".
    pub unit: &'a str,
    /// The runtime that the others are relative to.
    pub base: Option<&'a str>,
}

impl Report {
    /// A report without charts at its top and without notes. Each paragraph of `method` is a point.
    pub fn new(title: &str, headline: String, sections: Vec<Section>, method: &str) -> Report {
        let points = method.split("\n\n").map(|point| point.split_whitespace().join(" "));
        let method = points.filter(|point| !point.is_empty()).collect();
        Report { title: title.to_owned(), headline, sections, method, ..Report::default() }
    }

    /// All metrics of a record, of which no more is known.
    pub fn of_all_metrics(record: &Record) -> Report {
        let metrics = record.samples.iter().map(|sample| sample.metric.as_str());
        let metrics: BTreeSet<&str> = metrics.collect();
        let section = |name| {
            let metric = Metric { name, unit: name, base: None };
            Section::of_metric(record, name, "", metric, |_, _| true)
        };
        let headline = format!("A record of {}, an earlier experiment", record.experiment);
        Report::new(&record.experiment, headline, metrics.into_iter().map(section).collect(), "")
    }
}

impl Chart {
    /// A bar for each name.
    pub fn bars(title: impl Into<String>, unit: &str, bars: Vec<(String, f64)>) -> Chart {
        let (title, unit) = (title.into(), unit.to_owned());
        Chart { title, unit, bars: Some(bars), ..Chart::default() }
    }
}

impl Table {
    /// An empty table.
    pub fn new(title: &str, columns: impl IntoIterator<Item: ToString>) -> Table {
        let columns = columns.into_iter().map(|column| column.to_string()).collect();
        Table { title: title.to_owned(), columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item: ToString>) {
        self.rows.push(cells.into_iter().map(|cell| cell.to_string()).collect());
    }
}

impl Section {
    /// A section with these tables.
    pub fn new(
        title: impl Into<String>,
        about: impl Into<String>,
        tables: impl IntoIterator<Item = Table>,
    ) -> Section {
        let tables = tables.into_iter().collect();
        Section { title: title.into(), about: about.into(), charts: Vec::new(), tables }
    }

    /// The same with these charts.
    pub fn with_charts(self, charts: impl IntoIterator<Item = Chart>) -> Section {
        Section { charts: charts.into_iter().collect(), ..self }
    }

    /// The medians of a metric for each subject and number of workers that `is_shown`: bars, and a
    /// table with intervals, and ratios to the base.
    pub fn of_metric(
        record: &Record,
        title: &str,
        about: &str,
        metric: Metric<'_>,
        is_shown: impl Fn(&str, usize) -> bool,
    ) -> Section {
        let Metric { name, unit, base } = metric;
        let columns = ["", "runtime", "median", "95 %", "of"].into_iter().chain(base);
        let mut table = Table::new(unit, columns);
        let mut charts = Vec::new();
        for (subject, workers) in record.groups(name) {
            if !is_shown(subject, workers) {
                continue;
            }
            let group = format!("{subject}, P = {workers}");
            let mut bars = Vec::new();
            for runtime in record.runtimes() {
                let values = record.values(subject, runtime, workers, name);
                let count = values.len();
                let Some(found) = Estimate::of_median(values) else { continue };
                let label = if bars.is_empty() { group.clone() } else { String::new() };
                let mut row = vec![label, runtime.to_owned(), number(found.figure)];
                row.extend([interval(&found), count.to_string()]);
                if let Some(base) = base {
                    let base = record.median(subject, base, workers, name).filter(|it| *it != 0.0);
                    row.push(known(base.map(|base| found.figure / base)));
                }
                table.row(row);
                bars.push((runtime.to_owned(), found.figure));
            }
            charts.push(Chart::bars(group, unit, bars));
        }
        Section::new(title, about, [table]).with_charts(charts)
    }

    /// True if there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.charts.is_empty() && self.tables.iter().all(|table| table.rows.is_empty())
    }
}

/// An interval as text; nothing if too few values were measured for one.
pub fn interval(estimate: &Estimate) -> String {
    if estimate.is_bounded() {
        format!("{} to {}", number(estimate.low), number(estimate.high))
    } else {
        String::new()
    }
}
