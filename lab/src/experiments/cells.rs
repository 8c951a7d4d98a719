//! Going through the cells of a plan: each is measured again and again, unless it fails.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::course::{Failure, Rotations, Turn};
use super::journal::Journal;
use super::missing::Missing;
use crate::fault::Outcome;
use crate::record::Cell;

/// A measurement of a cell.
pub(super) trait OfCell: Serialize + DeserializeOwned {
    /// Of which.
    fn cell(&self) -> &Cell;
    /// The how-manieth time, from 0.
    fn repeat(&self) -> usize;
}

/// A cell that is measured in each rotation.
struct Repeated {
    cell: Cell,
    repeats: usize,
}

impl<M: OfCell> Turn<M> for Repeated {
    fn name(&self) -> String {
        let Cell { app, size, runtime, workers } = &self.cell;
        format!("{app} {size} on {runtime}, P = {workers}")
    }

    fn repeats(&self) -> usize {
        self.repeats
    }

    fn has_made(&self, measurement: &M, rotation: usize) -> bool {
        *measurement.cell() == self.cell && measurement.repeat() == rotation
    }
}

/// Takes all measurements of `cells` that `journal` does not have yet, each as often as `repeats` says, until they are complete or the time is
/// over. What `take` fails to measure is not tried again, and is returned.
pub(super) fn measure<M: OfCell>(
    rotations: &Rotations,
    cells: Vec<Cell>,
    repeats: impl Fn(&Cell) -> usize,
    journal: &mut Journal<M>,
    mut take: impl FnMut(&Cell, usize) -> Outcome<Result<M, String>>,
) -> Outcome<Vec<Missing>> {
    let turn = |cell| Repeated { repeats: repeats(&cell), cell };
    let turns: Vec<Repeated> = cells.into_iter().map(turn).collect();
    let failures =
        rotations.attempt(&turns, journal, |turn, rotation| take(&turn.cell, rotation))?;
    let missing = |Failure { turn, rotation, why }| {
        let cell = turns[turn].cell.clone();
        Missing { cell, repeat: rotation, why }
    };
    Ok(failures.into_iter().map(missing).collect())
}
