//! Points, directions and colours.

use std::ops::{Add, Mul, Neg, Sub};

/// Three numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::apps) struct Vector(pub(in crate::apps) [f64; 3]);

impl Vector {
    pub(in crate::apps) const ZERO: Vector = Vector([0.0; 3]);

    pub(in crate::apps) fn dot(self, other: Vector) -> f64 {
        self.0[0] * other.0[0] + self.0[1] * other.0[1] + self.0[2] * other.0[2]
    }

    pub(in crate::apps) fn cross(self, other: Vector) -> Vector {
        let ([a, b, c], [d, e, f]) = (self.0, other.0);
        Vector([b * f - c * e, c * d - a * f, a * e - b * d])
    }

    pub(in crate::apps) fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// The same direction with length one.
    pub(in crate::apps) fn unit(self) -> Vector {
        self * self.length().recip()
    }

    /// Each number times its fellow.
    pub(in crate::apps) fn scaled(self, other: Vector) -> Vector {
        Vector(std::array::from_fn(|axis| self.0[axis] * other.0[axis]))
    }

    /// The direction in which light that comes in this one leaves a mirror with the given normal.
    pub(in crate::apps) fn mirrored(self, normal: Vector) -> Vector {
        self - normal * (2.0 * self.dot(normal))
    }
}

impl Add for Vector {
    type Output = Vector;

    fn add(self, other: Vector) -> Vector {
        Vector(std::array::from_fn(|axis| self.0[axis] + other.0[axis]))
    }
}

impl Sub for Vector {
    type Output = Vector;

    fn sub(self, other: Vector) -> Vector {
        Vector(std::array::from_fn(|axis| self.0[axis] - other.0[axis]))
    }
}

impl Neg for Vector {
    type Output = Vector;

    fn neg(self) -> Vector {
        self * -1.0
    }
}

impl Mul<f64> for Vector {
    type Output = Vector;

    fn mul(self, factor: f64) -> Vector {
        Vector(self.0.map(|number| number * factor))
    }
}
