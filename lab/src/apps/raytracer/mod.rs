//! `raytracer(width,height)`: a picture of mirroring balls on a chequered floor, with four rays for each pixel: RayTracer of
//! the BWS paper (section 5.1), whose picture has 800 by 600 pixels. Unlike `ray`, whose scene is a published one of thousands
//! of spheres with a hierarchy over them, it has few balls, and every ray is compared with all of them.

mod kernel;
mod locksley;
mod rayon;
mod scene;
mod serial;

use std::sync::Arc;

use super::ray::Pixel;
use super::ray::check::same_bits;
use super::{App, Instance, Problem, size};
use crate::picture::Picture;
use crate::random::Random;
use kernel::View;
use scene::Scene;

/// The application.
pub struct Raytracer;

impl App for Raytracer {
    fn name(&self) -> &'static str {
        "raytracer"
    }

    fn about(&self) -> &'static str {
        "a ray tracer with four rays a pixel; the scene is mirroring balls on a chequered floor"
    }

    fn syntax(&self) -> &'static str {
        "WIDTHxHEIGHT"
    }

    fn paper_size(&self) -> &'static str {
        "800x600"
    }

    fn quick_size(&self) -> &'static str {
        "200x150"
    }

    fn has_picture(&self) -> bool {
        true
    }

    fn problem(&self, parameters: &str) -> Result<Box<dyn Problem>, String> {
        let [width, height] = size::numbers(parameters, 'x', 1)?;
        Ok(Box::new(Sides { width, height }))
    }
}

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
        serial::render(&view, &mut expected);
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
        serial::render(&self.view, &mut self.pixels);
    }

    fn locksley(&mut self, pool: &::locksley::Pool) {
        pool.install(|worker| locksley::render(worker, &self.view, 0, &mut self.pixels));
    }

    fn rayon(&mut self, pool: &::rayon::ThreadPool) {
        pool.install(|| rayon::render(&self.view, 0, &mut self.pixels));
    }

    fn copy(&self) -> Box<dyn Instance> {
        Box::new(self.clone())
    }

    fn check(&self) -> Result<(), String> {
        same_bits(&self.expected, &self.pixels, self.sides.width)
    }

    fn picture(&self) -> Option<Picture> {
        Some(Picture::new(self.sides.width, self.sides.height, &self.pixels))
    }
}
