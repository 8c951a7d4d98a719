//! Conway's game of life on a torus: many short parallel loops, one after the other.

use rayon::prelude::*;

use crate::random::Random;
use crate::workload::{Computation, Instance, Workload, checked};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "life",
    about: "a hundred generations on a square torus, by rows",
    size: 384,
    most: 8192,
    prepare,
};

const GENERATIONS: usize = 100;

struct Life {
    side: usize,
    first: Vec<bool>,
    cells: Vec<bool>,
}

fn prepare(side: usize, seed: u64) -> Box<dyn Instance> {
    let mut random = Random::new(seed);
    let first: Vec<bool> = (0..side * side).map(|_| random.below(3) == 0).collect();
    checked(Life { side, cells: first.clone(), first })
}

fn lives(cells: &[bool], side: usize, row: usize, column: usize) -> bool {
    let near = |at: usize| [(at + side - 1) % side, at, (at + 1) % side];
    let mut living = 0;
    for row in near(row) {
        for column in near(column) {
            living += usize::from(cells[row * side + column]);
        }
    }
    // The cell itself has been counted.
    living == 3 || living == 4 && cells[row * side + column]
}

impl Computation for Life {
    type Answer = Vec<bool>;

    fn reset(&mut self) {
        self.cells.copy_from_slice(&self.first);
    }

    fn run(&mut self) {
        let side = self.side;
        for _ in 0..GENERATIONS {
            let mut next = vec![false; side * side];
            let cells = &self.cells;
            next.par_chunks_mut(side).enumerate().for_each(|(row, places)| {
                for (column, place) in places.iter_mut().enumerate() {
                    *place = lives(cells, side, row, column);
                }
            });
            self.cells = next;
        }
    }

    fn answer(&self) -> &Vec<bool> {
        &self.cells
    }

    /// The same by another way: living cells tell their neighbours.
    fn is_correct(&self) -> bool {
        let side = self.side;
        let mut cells = self.first.clone();
        for _ in 0..GENERATIONS {
            let mut neighbours = vec![0_u8; side * side];
            for at in (0..side * side).filter(|&at| cells[at]) {
                for (down, right) in [
                    (0, 1),
                    (1, 0),
                    (1, 1),
                    (0, side - 1),
                    (side - 1, 0),
                    (side - 1, side - 1),
                    (1, side - 1),
                    (side - 1, 1),
                ] {
                    let row = (at / side + down) % side;
                    let column = (at % side + right) % side;
                    neighbours[row * side + column] += 1;
                }
            }
            cells =
                cells.iter().zip(neighbours).map(|(&lives, n)| n == 3 || lives && n == 2).collect();
        }
        cells == self.cells
    }
}
