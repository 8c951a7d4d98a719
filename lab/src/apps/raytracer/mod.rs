//! `raytracer(width,height)`: a picture of mirroring balls on a chequered floor, with four rays for
//! each pixel: RayTracer of the BWS paper (section 5.1), which has 800 by 600 pixels.
//! Unlike in `ray`, with its published scene of thousands of spheres with a hierarchy over them,
//! it has few balls, and every ray is compared with all of them.

mod kernel;
mod scene;

use std::sync::Arc;

use super::check::same_bits;
use super::fork::{Rows, fork_join};
use super::ray::Pixel;
use super::{App, Instance, Problem, size};
use crate::picture::Picture;
use crate::random::Random;
use kernel::View;
use scene::Scene;

/// How finely the parallel versions divide.
const LEAF: Rows = Rows { of: 1, leaf: kernel::LEAF_PIXELS };

/// The application.
pub static APP: App = App {
    name: "raytracer",
    about: "a ray tracer with four rays a pixel; the scene is mirroring balls on a chequered floor",
    syntax: "WIDTHxHEIGHT",
    paper_size: "800x600",
    quick_size: "200x150",
    has_picture: true,
    problem: |parameters| {
        let [width, height] = size::numbers(parameters, 'x', 1)?;
        Ok(Box::new(Sides { width, height }))
    },
    ..App::BLANK
};

/// How large the picture is.
#[derive(Debug, Clone, Copy)]
struct Sides {
    width: usize,
    height: usize,
}

impl Problem for Sides {
    fn parameters(&self) -> String {
        format!("{}x{}", self.width, self.height)
    }

    fn bytes(&self) -> u128 {
        // The picture and the serial one to compare with.
        size::product(&[2, self.width, self.height, size_of::<Pixel>()])
    }

    fn prepare(&self, seed: u64) -> Box<dyn Instance> {
        let scene = Scene::random(&mut Random::new(seed));
        let view = View::new(scene, self.width, self.height);
        let mut expected = vec![[0.0; 3]; self.width * self.height];
        kernel::render(&view, 0, &mut expected);
        let pixels = vec![[0.0; 3]; expected.len()];
        let expected = expected.into();
        Box::new(Rendering { sides: *self, view: Arc::new(view), pixels, expected })
    }
}

#[derive(Clone)]
struct Rendering {
    sides: Sides,
    view: Arc<View>,
    pixels: Vec<Pixel>,
    expected: Arc<[Pixel]>,
}

impl Instance for Rendering {
    fn reset(&mut self) {
        self.pixels.fill([0.0; 3]);
    }

    fn serial(&mut self) {
        kernel::render(&self.view, 0, &mut self.pixels);
    }

    fork_join!(self, fork => {
        let view = &*self.view;
        LEAF.halve(fork, &mut self.pixels, |first, pixels| kernel::render(view, first, pixels));
    });

    fn check(&self) -> Result<(), String> {
        same_bits(&self.expected, &self.pixels, self.sides.width, |pixel| pixel.map(f64::to_bits))
    }

    fn picture(&self) -> Option<Picture> {
        Some(Picture::new(self.sides.width, self.sides.height, &self.pixels))
    }
}
