//! The eye, and the ray through each pixel.

use super::balls;
use super::hierarchy::{Hierarchy, Ray};
use super::vector::Vector;

/// A scene, and a picture plane before the eye.
#[derive(Debug)]
pub(super) struct View {
    pub(super) spheres: Hierarchy,
    width: usize,
    /// From the eye to the upper left pixel's centre.
    corner: Vector,
    /// From a pixel to the next one in its row.
    right: Vector,
    /// From a pixel to the one below it.
    down: Vector,
}

impl View {
    /// The balls of that depth in a picture of that many pixels, which are square.
    pub(super) fn new(depth: usize, width: usize, height: usize) -> View {
        let ahead = (balls::LOOKS_AT - balls::EYE).unit();
        let right = ahead.cross(balls::UP).unit();
        let down = ahead.cross(right);
        // At distance one, the whole height is twice the tangent of half the angle.
        let pixel = 2.0 * (balls::ANGLE.to_radians() / 2.0).tan() / height as f64;
        let (right, down) = (right * pixel, down * pixel);
        let to_middle = |pixels: usize| (pixels as f64 - 1.0) / 2.0;
        let corner = ahead - right * to_middle(width) - down * to_middle(height);
        View { spheres: Hierarchy::new(balls::spheres(depth)), width, corner, right, down }
    }

    /// The ray through a pixel; pixels are numbered row by row.
    pub(super) fn ray(&self, number: usize) -> Ray {
        let (row, column) = (number / self.width, number % self.width);
        let direction = self.corner + self.right * column as f64 + self.down * row as f64;
        Ray { origin: balls::EYE, direction: direction.unit() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_picture_is_what_the_eye_looks_at() {
        let view = View::new(0, 7, 3);
        let ahead = (balls::LOOKS_AT - balls::EYE).unit();
        assert!((view.ray(10).direction - ahead).length() < 1e-12);
        let (left, right) = (view.ray(7).direction, view.ray(13).direction);
        assert!((left.dot(ahead) - right.dot(ahead)).abs() < 1e-12);
        let (upper, lower) = (view.ray(3).direction, view.ray(17).direction);
        assert!(upper.dot(balls::UP) > lower.dot(balls::UP));
    }
}
