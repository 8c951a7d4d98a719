//! The page of an experiment: one file of HTML with its pictures inside, readable offline.

pub mod alternatives;
mod axis;
mod bars;
mod bound;
pub mod channels;
mod chart;
mod charts;
mod circumstances;
pub mod corun;
mod dots;
mod figures;
mod finding;
pub mod forkjoin;
pub mod intervals;
pub mod locality;
mod marks;
pub mod meter;
mod missing;
pub mod model;
pub mod multiprogram;
pub mod neighbour;
mod page;
mod percentiles;
pub(crate) mod picture;
mod points;
pub mod rayon;
pub mod scatter;
mod tables;
#[cfg(test)]
mod tests;
mod theme;
pub mod turnkey;
pub mod wait;

use std::path::{Path, PathBuf};

use crate::experiments::cliff::summary::Summary;
use crate::fault::Outcome;
use crate::record::{Record, files};

/// Makes sure, before anything is measured, that the page can be written into the folder `out`; says where it will be.
pub fn prepare(out: &Path) -> Outcome<PathBuf> {
    files::make_folder(out)?;
    let page = out.join("index.html");
    files::try_out(&page)?;
    Ok(page)
}

/// Writes the page.
pub fn write(page: &Path, record: &Record, summary: &Summary) -> Outcome<()> {
    files::replace(page, &page::html(record, summary))
}
