//! `ray(depth,width,height)`: a recursive ray tracer and the scene "balls". Pixels are independent
//! of one another and cost very differently: those of the background nothing, those between
//! mirroring balls a hundred rays.

mod balls;
mod hierarchy;
mod kernel;
pub(super) mod vector;
mod view;

use std::sync::Arc;

use super::check::same_bits;
use super::fork::{Rows, fork_join};
use super::{App, Instance, Problem, size};
use crate::picture::Picture;
use balls::Sphere;
use view::View;

/// Red, green and blue; one is as bright as a screen can be.
pub(super) type Pixel = [f64; 3];

/// How finely the parallel versions divide.
const LEAF: Rows = Rows { of: 1, leaf: kernel::LEAF_PIXELS };

/// The application.
pub static APP: App = App {
    name: "ray",
    about: "a ray tracer; the scene is the sphereflake of the Standard Procedural Databases, DEPTH \
        levels of it",
    syntax: "DEPTH,WIDTHxHEIGHT",
    paper_size: "4,512x512",
    quick_size: "4,128x128",
    has_picture: true,
    problem: |parameters| {
        let (depth, sides) = parameters
            .split_once(',')
            .ok_or("it takes a depth, ',' and the sides of the picture")?;
        let [depth] = size::numbers(depth, ',', 0)?;
        let [width, height] = size::numbers(sides, 'x', 1)?;
        let spheres = balls::number(depth).ok_or("that depth has too many spheres")?;
        Ok(Box::new(Scene { depth, spheres, width, height }))
    },
    ..App::BLANK
};

/// How much there is to be seen, and how large.
#[derive(Debug, Clone, Copy)]
struct Scene {
    depth: usize,
    spheres: usize,
    width: usize,
    height: usize,
}

impl Problem for Scene {
    fn parameters(&self) -> String {
        format!("{},{}x{}", self.depth, self.width, self.height)
    }

    fn bytes(&self) -> u128 {
        // The picture and the serial one to compare with; a sphere, and the boxes around it, not
        // quite one for each.
        size::product(&[2, self.width, self.height, size_of::<Pixel>()])
            + size::product(&[4, self.spheres, size_of::<Sphere>()])
    }

    fn prepare(&self, _seed: u64) -> Box<dyn Instance> {
        let view = View::new(self.depth, self.width, self.height);
        let mut expected = vec![[0.0; 3]; self.width * self.height];
        kernel::render(&view, 0, &mut expected);
        let pixels = vec![[0.0; 3]; expected.len()];
        Box::new(Rendering {
            scene: *self,
            view: Arc::new(view),
            pixels,
            expected: expected.into(),
        })
    }
}

#[derive(Clone)]
struct Rendering {
    scene: Scene,
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
        same_bits(&self.expected, &self.pixels, self.scene.width, |pixel| pixel.map(f64::to_bits))
    }

    fn picture(&self) -> Option<Picture> {
        Some(Picture::new(self.scene.width, self.scene.height, &self.pixels))
    }
}
