//! What runtimes make of a subject, for each of the things that it has many of: nanoseconds, or bytes. `wait` and `channels` compare these.

use std::fmt::Write;

use super::number::{number, percent};
use super::reading::Reading;
use super::series::Measurement;
use super::times::Times;
use crate::record::Cell;

/// What ratios are relative to.
pub const TOKIO: &str = "tokio";

/// What a runtime made of a subject.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The runtime.
    pub runtime: String,
    /// For each task, message or whatever is counted: nanoseconds; of each that waits: bytes.
    pub each: Times,
    /// The median over tokio's with as many workers.
    pub of_tokio: Option<f64>,
    /// Where two take part: the median share of what was looked at in which they were on different threads.
    pub apart: Option<f64>,
    /// Of each that waits.
    pub waiting: Option<Waiting>,
}

/// The memory of what waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waiting {
    /// The size of its own future, in bytes; 0 where it has a stack instead.
    pub future: f64,
    /// What it takes beyond that, and beyond what it is known to hold, in bytes: the median.
    pub beyond: f64,
}

/// What is said of runtimes besides times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Besides {
    /// Nothing.
    Nothing,
    /// [`Figure::apart`].
    Apart,
    /// [`Figure::waiting`].
    Waiting,
}

/// The figures of these cells, one of each runtime, of which each has so many things. Each thing that waits holds so many bytes that are counted neither to its
/// future nor beyond it. What was never measured is left out.
pub(super) fn of(
    measurements: &[Measurement<Reading>],
    cells: impl Iterator<Item = Cell>,
    count: u64,
    held: f64,
) -> Vec<Figure> {
    let mut figures: Vec<Figure> =
        cells.filter_map(|cell| figure(measurements, &cell, count as f64, held)).collect();
    let tokio = figure_of(&figures, TOKIO).map(|tokio| tokio.each.median);
    for figure in &mut figures {
        figure.of_tokio = tokio.map(|tokio| figure.each.median / tokio);
    }
    figures
}

/// What `runtime` made of it.
pub(super) fn figure_of<'a>(figures: &'a [Figure], runtime: &str) -> Option<&'a Figure> {
    figures.iter().find(|figure| figure.runtime == runtime)
}

fn figure(
    measurements: &[Measurement<Reading>],
    cell: &Cell,
    count: f64,
    held: f64,
) -> Option<Figure> {
    let (mut each, mut shares, mut futures) = (Vec::new(), Vec::new(), Vec::new());
    for found in measurements.iter().filter(|found| found.cell == *cell) {
        match found.reading {
            Reading::Time { seconds, apart } => {
                each.push(seconds / count * 1e9);
                shares.extend(apart);
            }
            Reading::Memory { bytes, future } => {
                each.push(bytes as f64 / count);
                futures.push(future as f64);
            }
        }
    }
    let each = Times::of(each)?;
    // One build has one size of future; others would be another build's, and that another record.
    let waiting = Times::of(futures).map(|future| {
        let future = future.median;
        Waiting { future, beyond: each.median - future - held }
    });
    let apart = Times::of(shares).map(|shares| shares.median);
    Some(Figure { runtime: cell.runtime.clone(), each, of_tokio: None, apart, waiting })
}

/// A table of these as text, under a title.
pub(super) fn table(title: &str, besides: Besides, figures: &[Figure]) -> String {
    let mut text = format!("\n{title}\n");
    // Writing to a string does not fail, so the results below are dropped.
    let _ = write!(text, "  {:<15}{:>9}{:>9}{:>9}", "runtime", "median", "least", "most");
    let _ = write!(text, "{:>9}", "of tokio");
    let _ = match besides {
        Besides::Apart => write!(text, "{:>9}", "apart"),
        Besides::Waiting => write!(text, "{:>9}{:>9}", "future", "beyond"),
        Besides::Nothing => Ok(()),
    };
    text.push('\n');
    for Figure { runtime, each, of_tokio, apart, waiting } in figures {
        let _ = write!(
            text,
            "  {runtime:<15}{:>9}{:>9}{:>9}{:>9}",
            number(each.median),
            number(each.least),
            number(each.most),
            of_tokio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))
        );
        if let Some(share) = apart {
            let _ = write!(text, "{:>9}", percent(*share));
        }
        if let Some(waiting) = waiting {
            let _ = write!(text, "{:>9}{:>9}", number(waiting.future), number(waiting.beyond));
        }
        text.push('\n');
    }
    text
}
