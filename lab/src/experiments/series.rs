//! What experiments have in common that measure one cell of their plan after the other: what they are asked for, what they write
//! down, and what is left when they are done.

use std::cell::Cell as Slot;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::cells::{self, OfCell};
use super::course::{Destination, Header, Rotations};
use super::journal::Journal;
use super::missing::Missing;
use crate::fault::Outcome;
use crate::record::{Cell, Document, time};

/// What the command line asks for.
#[derive(Debug, Clone)]
pub struct Options<P, W> {
    /// What is measured.
    pub plan: P,
    /// What measures it.
    pub programs: W,
    /// Where the record goes.
    pub json: PathBuf,
    /// Where the page goes.
    pub out: PathBuf,
    /// Whether to measure again what has been measured.
    pub fresh: bool,
}

/// What a run has left behind.
#[derive(Debug)]
pub struct Finished<R, S> {
    /// The record.
    pub record: R,
    /// Its summary.
    pub summary: S,
    /// Where the page is.
    pub page: PathBuf,
    /// Whether all had been measured before.
    pub is_old: bool,
}

/// The record of a run: the experiment's plan `P`, and its measurements `M`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record<P, M> {
    /// [`Document::FORMAT`].
    pub format: String,
    /// What was measured, where, and of what.
    #[serde(flatten)]
    pub header: Header<P>,
    /// When the run that completed the record began (UTC).
    pub started: String,
    /// When it ended (UTC).
    pub finished: String,
    /// The measurements, in the order in which they were taken.
    pub measurements: Vec<M>,
    /// Those that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement<R> {
    /// Of what.
    #[serde(flatten)]
    pub cell: Cell,
    /// The how-manieth time, from 0.
    pub repeat: usize,
    /// What was read. Every answer has been checked.
    pub reading: R,
}

impl<R: Serialize + DeserializeOwned> OfCell for Measurement<R> {
    fn cell(&self) -> &Cell {
        &self.cell
    }

    fn repeat(&self) -> usize {
        self.repeat
    }
}

impl<P, M> Record<P, M>
where
    Record<P, M>: Document,
{
    /// The record of a run that ends now.
    pub(super) fn of(
        header: Header<P>,
        started: String,
        measurements: Vec<M>,
        missing: Vec<Missing>,
    ) -> Record<P, M> {
        let (format, finished) = (Self::FORMAT.to_owned(), time::now());
        Record { format, header, started, finished, measurements, missing }
    }
}

/// Has `read` read of each cell, as often as `repeats` says, what `journal` does not have yet, until all is complete or the time is over. Returns what failed.
pub(super) fn read_each<R: Serialize + DeserializeOwned>(
    rotations: &Rotations,
    cells: Vec<Cell>,
    repeats: impl Fn(&Cell) -> usize,
    journal: &mut Journal<Measurement<R>>,
    mut read: impl FnMut(&Cell, usize) -> Outcome<Result<R, String>>,
) -> Outcome<Vec<Missing>> {
    cells::measure(rotations, cells, repeats, journal, |cell, repeat| {
        let reading = read(cell, repeat)?;
        Ok(reading.map(|reading| Measurement { cell: cell.clone(), repeat, reading }))
    })
}

/// Measures what is not measured yet, and writes the record and the page.
pub(super) fn run<P, W, M, S>(
    options: &Options<P, W>,
    measure: impl FnOnce(&Header<P>, &W, &mut Journal<M>) -> Outcome<Vec<Missing>>,
    summary: impl FnOnce(&Record<P, M>) -> S,
    write: impl FnOnce(&Path, &Record<P, M>, &S) -> Outcome<()>,
) -> Outcome<Finished<Record<P, M>, S>>
where
    P: Clone + PartialEq + Serialize + DeserializeOwned,
    M: OfCell,
    Record<P, M>: Document,
{
    let Options { plan, programs, json, out, fresh } = options;
    let destination = Destination { json, out, fresh: *fresh };
    let page = destination.page()?;
    let header = Header::here(plan.clone());
    let missing = Slot::default();
    let (record, is_old) = destination.record(
        &header,
        |earlier: &Record<P, M>| earlier.header == header,
        |journal| measure(&header, programs, journal).map(|found| missing.set(found)),
        |started, measurements| Record::of(header.clone(), started, measurements, missing.take()),
    )?;
    let summary = summary(&record);
    write(&page, &record, &summary)?;
    Ok(Finished { record, summary, page, is_old })
}
