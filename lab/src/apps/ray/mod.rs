//! `ray(depth,width,height)`: a recursive ray tracer and the scene "balls". Pixels are independent
//! of one another and cost very differently: those of the background nothing, those between
//! mirroring balls a hundred rays.

mod balls;
mod hierarchy;
mod kernel;

use super::{App, rendering, size};
use balls::Sphere;
use hierarchy::Hierarchy;

/// The application.
pub static APP: App = App {
    name: "ray",
    about: "a ray tracer; the scene is the sphereflake of the Standard Procedural Databases, DEPTH \
        levels of it",
    syntax: "DEPTH,WIDTHxHEIGHT",
    paper_size: "4,512x512",
    quick_size: "4,128x128",
    problem: |parameters| {
        let (depth, sides) = parameters
            .split_once(',')
            .ok_or("it takes a depth, ',' and the sides of the picture")?;
        let [depth] = size::numbers(depth, ',', 0)?;
        let sides = size::numbers(sides, 'x', 1)?;
        let spheres = balls::number(depth).ok_or("that depth has too many spheres")?;
        // A sphere, and the boxes around it, not quite one for each.
        let bytes = size::product(&[4, spheres, size_of::<Sphere>()]);
        Ok(rendering::problem(sides, bytes, move |_| Hierarchy::new(balls::spheres(depth))))
    },
    ..App::BLANK
};
