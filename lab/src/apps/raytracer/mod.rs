//! `raytracer(width,height)`: a picture of mirroring balls on a chequered floor, with four rays for
//! each pixel: RayTracer of the BWS paper (section 5.1), which has 800 by 600 pixels.
//! Unlike in `ray`, with its published scene of thousands of spheres with a hierarchy over them,
//! it has few balls, and every ray is compared with all of them.

mod kernel;
mod scene;

use super::rendering;
use crate::apps::prelude::*;
use scene::Balls;

/// The application.
pub static APP: App = App {
    name: "raytracer",
    about: "a ray tracer with four rays a pixel; the scene is mirroring balls on a chequered floor",
    syntax: "WIDTHxHEIGHT",
    paper_size: "800x600",
    quick_size: "200x150",
    problem: |parameters| {
        let sides = size::numbers(parameters, 'x', 1)?;
        Ok(rendering::problem(sides, 0, |seed| Balls::random(&mut Random::new(seed))))
    },
    ..App::BLANK
};
