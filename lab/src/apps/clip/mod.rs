//! `clip(pairs,vertices)`: the areas of the intersections and of the unions of pairs of simple
//! polygons, which spatial databases ask for: CLIP of the BWS paper (section 5.1). A pair is swept
//! from bottom to top: between two neighbouring heights at which an edge begins or ends or crosses
//! another, both polygons are rows of trapezoids. Pairs are independent of one another and cost
//! very differently: about the square of their edges.

mod check;
mod kernel;
mod polygon;

use crate::apps::prelude::*;
use kernel::{Areas, LEAF_PAIRS, Sweep};
use polygon::{Pair, Point};

/// The application.
pub static APP: App = App {
    name: "clip",
    about: "the areas of intersection and union of PAIRS of random concave polygons of up to \
        VERTICES corners",
    syntax: "PAIRSxVERTICES",
    paper_size: "40000x64",
    quick_size: "3000x64",
    problem: |parameters| {
        let [pairs, vertices] = size::numbers(parameters, 'x', 1)?;
        if vertices < polygon::FEWEST {
            return Err(format!("a polygon has at least {} corners", polygon::FEWEST));
        }
        let bytes = size::product(&[pairs, 2, vertices, size_of::<Point>()])
            .saturating_add(size::product(&[pairs, size_of::<Pair>() + size_of::<Areas>()]));
        Ok(Problem::new(bytes, move |seed| {
            let mut random = Random::new(seed);
            let pairs = (0..pairs).map(|_| Pair::random(vertices, &mut random));
            let pairs: Arc<[Pair]> = pairs.collect();
            let areas = vec![Areas::NONE; pairs.len()];
            Clipping { pairs, areas }
        }))
    },
    ..App::BLANK
};

#[derive(Clone)]
struct Clipping {
    pairs: Arc<[Pair]>,
    areas: Vec<Areas>,
}

impl Instance for Clipping {
    fn reset(&mut self) {
        self.areas.fill(Areas::NONE);
    }

    fork_join!(self, fork => {
        let leaf = |(pairs, areas): (&[Pair], &mut [Areas])| Sweep::default().clip(pairs, areas);
        reduce(fork, (&self.pairs[..], &mut self.areas[..]), LEAF_PAIRS, leaf, |(), ()| ());
    });

    fn check(&self) -> Result<(), String> {
        check::all(&self.pairs, &self.areas)
    }
}
