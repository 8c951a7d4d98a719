//! `heat(n,m,steps)`: heat that spreads on a plate of n by m points. Jacobi's iteration with the
//! five-point stencil on two grids; the edge keeps its temperature. Each step reads and writes all
//! of its memory and is followed by a join of everything, so a step is one phase: short phases
//! punish bad balance, large grids test the memory.

mod check;
mod intervals;
mod kernel;
mod static_partition;

use locksley_intervals::Root;

use super::check::same_bits;
use crate::apps::prelude::*;
use kernel::{leaf_rows, relax_rows};

/// The application.
pub static APP: App = App {
    name: "heat",
    about: "Jacobi iteration with a five-point stencil on a grid of ROWS by COLUMNS, STEPS times",
    syntax: "ROWSxCOLUMNSxSTEPS",
    paper_size: "4096x512x100",
    bws_size: None,
    quick_size: "1024x512x40",
    has_static: true,
    has_intervals: true,
    problem: |parameters| {
        let [rows, columns, steps] = size::numbers(parameters, 'x', 1)?;
        if rows < 3 || columns < 3 {
            return Err("a grid inside its edge needs at least 3 rows and 3 columns".to_owned());
        }
        // The input, the two grids, and the serial answer to compare with.
        let bytes = size::product(&[4, rows, columns, size_of::<f64>()]);
        Ok(Problem::new(bytes, move |seed| Heating::new(Plate { rows, columns, steps }, seed)))
    },
};

/// The size of the grid and the number of steps.
#[derive(Debug, Clone, Copy)]
struct Plate {
    rows: usize,
    columns: usize,
    steps: usize,
}

/// The temperatures now, and room for the next ones.
#[derive(Clone)]
struct Grids {
    now: Vec<f64>,
    next: Vec<f64>,
}

impl Grids {
    fn swap(&mut self) {
        std::mem::swap(&mut self.now, &mut self.next);
    }
}

#[derive(Clone)]
struct Heating {
    plate: Plate,
    input: Vec<f64>,
    grids: Grids,
    expected: Vec<f64>,
}

impl Heating {
    fn new(plate: Plate, seed: u64) -> Heating {
        let mut random = Random::new(seed);
        let input: Vec<f64> =
            (0..plate.rows * plate.columns).map(|_| random.next_signed()).collect();
        let mut grids = Grids { now: input.clone(), next: input.clone() };
        spread(&Serial, &mut grids, &plate);
        let expected = std::mem::replace(&mut grids.now, input.clone());
        Heating { plate, input, grids, expected }
    }
}

impl Instance for Heating {
    fn reset(&mut self) {
        self.grids.now.copy_from_slice(&self.input);
    }

    fn intervals(&mut self, pool: &::locksley::Pool) -> Option<()> {
        intervals::spread(
            intervals::MOST,
            || Root::new("heat").on(pool),
            &mut self.grids,
            &self.plate,
        );
        Some(())
    }

    fork_join!(self, fork => spread(fork, &mut self.grids, &self.plate));

    fn static_partition(&mut self, team: &Team) -> Option<Duration> {
        Some(static_partition::spread(team, &mut self.grids, &self.plate))
    }

    fn check(&self) -> Result<(), String> {
        let found = &self.grids.now;
        same_bits(&self.expected, found, self.plate.columns, |point| point.to_bits())?;
        check::closed_form(&self.plate, &self.input, found)
    }
}

/// All steps: the rows of each are halved down to a leaf.
fn spread(fork: &impl Fork, grids: &mut Grids, plate: &Plate) {
    for _ in 0..plate.steps {
        let Grids { now, next } = grids;
        let next = Rows { first: 0, of: plate.columns, rows: next };
        let relax = |it: Rows<'_, f64>| relax_rows(now, it.rows, it.first, plate);
        reduce(fork, next, leaf_rows(plate), relax, |(), ()| ());
        grids.swap();
    }
}
