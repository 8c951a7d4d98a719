//! Pictures that are computed ray by ray: the eye, and an instance with a picture for its answer.

use std::sync::Arc;

use super::check::same_bits;
use super::vector::Vector;
use super::{Instance, Problem, size};
use crate::fork::Rows;

/// Red, green and blue; one is as bright as a screen can be.
pub(super) type Pixel = [f64; 3];

/// Upwards.
pub(super) const UP: Vector = Vector([0.0, 0.0, 1.0]);

/// How finely the parallel versions divide: some tens of microseconds, or less where pixels show
/// nothing.
const LEAF: Rows = Rows { of: 1, leaf: 16 };

/// Points from `origin` on, in `direction`, which has length one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ray {
    pub(super) origin: Vector,
    pub(super) direction: Vector,
}

/// What is seen of a scene.
pub(super) trait View: Send + Sync {
    /// Computes the pixels from number `first` on, row by row. Not inlined, so that all versions
    /// execute the same code.
    fn render(&self, first: usize, pixels: &mut [Pixel]);
}

/// A picture plane before the eye.
#[derive(Debug)]
pub(super) struct Camera {
    eye: Vector,
    width: usize,
    /// From the eye to the upper left pixel's middle.
    corner: Vector,
    /// From a pixel to the next one in its row.
    right: Vector,
    /// From a pixel to the one below it.
    down: Vector,
}

impl Camera {
    /// A picture of that many pixels, which are square; the eye sees `angle` degrees of the height.
    pub(super) fn new(
        [eye, looks_at]: [Vector; 2],
        angle: f64,
        [width, height]: [usize; 2],
    ) -> Camera {
        let ahead = (looks_at - eye).unit();
        let right = ahead.cross(UP).unit();
        let down = ahead.cross(right);
        // At distance one, the whole height is twice the tangent of half the angle.
        let pixel = 2.0 * (angle.to_radians() / 2.0).tan() / height as f64;
        let (right, down) = (right * pixel, down * pixel);
        let to_middle = |pixels: usize| (pixels as f64 - 1.0) / 2.0;
        let corner = ahead - right * to_middle(width) - down * to_middle(height);
        Camera { eye, width, corner, right, down }
    }

    /// The ray to that place in a pixel, from its middle; pixels are numbered row by row.
    pub(super) fn ray(&self, number: usize, [across, along]: [f64; 2]) -> Ray {
        let (row, column) = (number / self.width, number % self.width);
        let (column, row) = (column as f64 + across, row as f64 + along);
        let direction = (self.corner + self.right * column + self.down * row).unit();
        Ray { origin: self.eye, direction }
    }
}

/// A picture of these sides as a problem, which needs so many bytes besides.
pub(super) fn problem<V: View + 'static>(
    [width, height]: [usize; 2],
    bytes: u128,
    view: impl Fn(u64) -> V + Send + Sync + 'static,
) -> Problem {
    // The picture and the serial one to compare with.
    let bytes = bytes + size::product(&[2, width, height, size_of::<Pixel>()]);
    Problem::new(bytes, move |seed| {
        let view = view(seed);
        let pixels = vec![[0.0; 3]; width * height];
        let mut expected = pixels.clone();
        view.render(0, &mut expected);
        Rendering { width, view: Arc::new(view), pixels, expected }
    })
}

#[derive(Clone)]
struct Rendering {
    width: usize,
    view: Arc<dyn View>,
    pixels: Vec<Pixel>,
    expected: Vec<Pixel>,
}

impl Instance for Rendering {
    fn reset(&mut self) {
        self.pixels.fill([0.0; 3]);
    }

    fork_join!(self, fork => {
        let view = &*self.view;
        LEAF.halve(fork, &mut self.pixels, |first, pixels| view.render(first, pixels));
    });

    fn check(&self) -> Result<(), String> {
        same_bits(&self.expected, &self.pixels, self.width, |pixel| pixel.map(f64::to_bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_picture_is_what_the_eye_looks_at() {
        let [eye, looks_at] = [Vector([2.1, 1.3, 1.7]), Vector::ZERO];
        let camera = Camera::new([eye, looks_at], 45.0, [7, 3]);
        let direction = |number| camera.ray(number, [0.0; 2]).direction;
        let ahead = (looks_at - eye).unit();
        assert!((direction(10) - ahead).length() < 1e-12);
        let (left, right) = (direction(7), direction(13));
        assert!((left.dot(ahead) - right.dot(ahead)).abs() < 1e-12);
        let (upper, lower) = (direction(3), direction(17));
        assert!(upper.dot(UP) > lower.dot(UP));
    }
}
