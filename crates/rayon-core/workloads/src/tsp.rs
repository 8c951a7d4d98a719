//! The travelling salesman by branch and bound: a tree of no regular shape, and a bound that all
//! tasks share.

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use crate::random::Random;
use crate::workload::{Computation, Instance, Workload, checked};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "tsp",
    about: "the shortest tour through all cities, by branch and bound",
    size: 13,
    most: 18,
    prepare,
};

/// Cities to go below which a task divides no more.
const SMALL: usize = 6;

struct Tour {
    /// Distances, by pair.
    apart: Vec<Vec<u32>>,
    shortest: u32,
}

fn prepare(size: usize, seed: u64) -> Box<dyn Instance> {
    let mut random = Random::new(seed);
    let cities: Vec<[f64; 2]> = (0..size).map(|_| [random.unit(), random.unit()]).collect();
    let distance = |a: &[f64; 2], b: &[f64; 2]| ((a[0] - b[0]).hypot(a[1] - b[1]) * 1e6) as u32;
    let apart = cities.iter().map(|a| cities.iter().map(|b| distance(a, b)).collect()).collect();
    checked(Tour { apart, shortest: u32::MAX })
}

/// Goes on from `city`, `length` from the first one, to those in the set `to_go`.
fn go_on(apart: &[Vec<u32>], city: usize, length: u32, to_go: u32, shortest: &AtomicU32) {
    // Each city that is left is yet to be left, or come from: by its shortest way at least.
    let nearest = |from: usize| {
        let others = (0..apart.len()).filter(|&to| to != from).map(|to| apart[from][to]);
        others.min().unwrap_or(0)
    };
    let least: u32 = (0..apart.len()).filter(|&n| to_go >> n & 1 == 1).map(nearest).sum();
    if length + least >= shortest.load(Ordering::Relaxed) {
        return;
    }
    if to_go == 0 {
        shortest.fetch_min(length + apart[city][0], Ordering::Relaxed);
        return;
    }
    let step = |to: usize| {
        go_on(apart, to, length + apart[city][to], to_go & !(1 << to), shortest);
    };
    let next = (0..apart.len()).filter(|&n| to_go >> n & 1 == 1);
    if to_go.count_ones() as usize <= SMALL {
        next.for_each(step);
    } else {
        next.collect::<Vec<_>>().into_par_iter().for_each(step);
    }
}

impl Computation for Tour {
    type Answer = u32;

    fn reset(&mut self) {
        self.shortest = u32::MAX;
    }

    fn run(&mut self) {
        let shortest = AtomicU32::new(u32::MAX);
        let all_but_first = ((1_u32 << self.apart.len()) - 1) & !1;
        go_on(&self.apart, 0, 0, all_but_first, &shortest);
        self.shortest = shortest.into_inner();
    }

    fn answer(&self) -> &u32 {
        &self.shortest
    }

    /// Held and Karp's dynamic program ("A dynamic programming approach to sequencing problems",
    /// 1962).
    fn is_correct(&self) -> bool {
        let cities = self.apart.len();
        let full = 1_usize << cities;
        // The shortest way from the first city through a set, that ends in one of it.
        let mut ways = vec![u32::MAX; full * cities];
        ways[cities] = 0; // the set of the first city alone
        for set in (1..full).filter(|set| set & 1 == 1) {
            for end in (0..cities).filter(|end| set >> end & 1 == 1) {
                let way = ways[set * cities + end];
                if way == u32::MAX {
                    continue;
                }
                for to in (0..cities).filter(|to| set >> to & 1 == 0) {
                    let longer = &mut ways[(set | 1 << to) * cities + to];
                    *longer = (*longer).min(way + self.apart[end][to]);
                }
            }
        }
        let home = |end: usize| ways[(full - 1) * cities + end].checked_add(self.apart[end][0]);
        (0..cities).filter_map(home).min() == Some(self.shortest)
    }
}
