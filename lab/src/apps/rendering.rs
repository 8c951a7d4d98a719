//! Pictures that are computed ray by ray: the light that a ray brings, the eye, and an instance
//! with a picture for its answer.

use glam::DVec3;

use super::check::same_bits;
use crate::apps::prelude::*;

/// Red, green and blue; one is as bright as a screen can be.
pub(super) type Pixel = [f64; 3];

/// Upwards.
pub(super) const UP: DVec3 = DVec3::Z;

/// How finely the parallel versions divide: some tens of microseconds, or less where pixels show
/// nothing.
const LEAF: usize = 16;

/// Points from `origin` on, in `direction`, which has length one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ray {
    pub(super) origin: DVec3,
    pub(super) direction: DVec3,
}

/// What a surface makes of the light.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surface {
    pub(super) colour: DVec3,
    /// The share that is scattered in all directions.
    pub(super) diffuse: f64,
    /// How strong a highlight is.
    pub(super) highlight: f64,
    /// Phong's exponent: how sharp a highlight is.
    pub(super) shine: i32,
    /// The share that is mirrored.
    pub(super) mirror: f64,
}

/// What gives light, to all sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lamp {
    pub(super) place: DVec3,
    pub(super) brightness: f64,
}

/// Where a ray ends.
pub(super) struct End<'s> {
    pub(super) point: DVec3,
    pub(super) normal: DVec3,
    pub(super) surface: &'s Surface,
}

/// What there is to be seen.
pub(super) trait Scene: Clone + Send + Sync + 'static {
    /// Where the eye is, and what it looks at.
    const EYE: [DVec3; 2];
    /// How much of the height the eye sees, in degrees.
    const ANGLE: f64;
    const LAMPS: &'static [Lamp];
    /// Light that comes from everywhere.
    const AMBIENT: f64 = 0.0;
    /// Where rays pass through a pixel of side one, from its middle: its colour is their mean.
    const PLACES: &'static [[f64; 2]] = &[[0.0; 2]];
    /// What `ray` meets first.
    fn end(&self, ray: Ray) -> Option<End<'_>>;
    /// Whether something is in the way of `ray` up to that distance.
    fn is_shadowed(&self, ray: Ray, distance: f64) -> bool;
    /// What is seen in a direction in which nothing is.
    fn background(direction: DVec3) -> DVec3;
}

/// How often light is mirrored before it is too faint to be followed.
const MOST_MIRRORS: usize = 5;

/// The light that comes to the origin of `ray`, by Phong's model: from where it ends, a ray goes to
/// each lamp, and one to what is mirrored there.
pub(super) fn trace<S: Scene>(scene: &S, ray: Ray, mirrors: usize) -> DVec3 {
    let Some(End { point, normal, surface }) = scene.end(ray) else {
        return S::background(ray.direction);
    };
    let mirrored = ray.direction.reflect(normal);
    let mut light = surface.colour * S::AMBIENT;
    for lamp in S::LAMPS {
        let to_lamp = lamp.place - point;
        let distance = to_lamp.length();
        let direction = to_lamp * distance.recip();
        let facing = direction.dot(normal);
        if facing <= 0.0 || scene.is_shadowed(Ray { origin: point, direction }, distance) {
            continue;
        }
        light += surface.colour * (surface.diffuse * facing * lamp.brightness);
        let along = mirrored.dot(direction).max(0.0);
        let strength = surface.highlight * along.powi(surface.shine) * lamp.brightness;
        light += DVec3::splat(strength);
    }
    if surface.mirror > 0.0 && mirrors > 0 {
        let seen = trace(scene, Ray { origin: point, direction: mirrored }, mirrors - 1);
        light += surface.colour * seen * surface.mirror;
    }
    light
}

/// A scene, and the eye.
pub(super) struct Seen<S> {
    pub(super) scene: S,
    pub(super) camera: Camera,
}

impl<S: Scene> Seen<S> {
    /// The scene in a picture of these sides.
    pub(super) fn new(scene: S, sides: [usize; 2]) -> Seen<S> {
        Seen { scene, camera: Camera::new(S::EYE, S::ANGLE, sides) }
    }

    pub(super) fn pixel(&self, number: usize) -> Pixel {
        let rays = S::PLACES.iter().map(|place| self.camera.ray(number, *place));
        let light: DVec3 = rays.map(|ray| trace(&self.scene, ray, MOST_MIRRORS)).sum();
        (light * (1.0 / S::PLACES.len() as f64)).to_array()
    }

    /// Computes the pixels from number `first` on, row by row. Not inlined, so that all versions
    /// execute the same code.
    #[inline(never)]
    fn render(&self, first: usize, pixels: &mut [Pixel]) {
        for (number, pixel) in (first..).zip(pixels) {
            *pixel = self.pixel(number);
        }
    }
}

/// A picture plane before the eye.
#[derive(Debug)]
pub(super) struct Camera {
    eye: DVec3,
    width: usize,
    /// From the eye to the upper left pixel's middle.
    corner: DVec3,
    /// From a pixel to the next one in its row.
    right: DVec3,
    /// From a pixel to the one below it.
    down: DVec3,
}

impl Camera {
    /// A picture of that many pixels, which are square; the eye sees `angle` degrees of the height.
    pub(super) fn new(
        [eye, looks_at]: [DVec3; 2],
        angle: f64,
        [width, height]: [usize; 2],
    ) -> Camera {
        let ahead = (looks_at - eye).normalize();
        let right = ahead.cross(UP).normalize();
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
        let direction = (self.corner + self.right * column + self.down * row).normalize();
        Ray { origin: self.eye, direction }
    }
}

/// A picture of these sides as a problem, which needs so many bytes besides.
pub(super) fn problem<S: Scene>(
    [width, height]: [usize; 2],
    bytes: u128,
    scene: impl Fn(u64) -> S + Send + Sync + 'static,
) -> Problem {
    // The picture and the serial one to compare with.
    let bytes = bytes.saturating_add(size::product(&[2, width, height, size_of::<Pixel>()]));
    Problem::new(bytes, move |seed| {
        let view = Seen::new(scene(seed), [width, height]);
        let pixels = vec![[0.0; 3]; width * height];
        let mut expected = pixels.clone();
        view.render(0, &mut expected);
        Rendering { width, view: Arc::new(view), pixels, expected }
    })
}

#[derive(Clone)]
struct Rendering<S> {
    width: usize,
    view: Arc<Seen<S>>,
    pixels: Vec<Pixel>,
    expected: Vec<Pixel>,
}

impl<S: Scene> Instance for Rendering<S> {
    fn reset(&mut self) {
        self.pixels.fill([0.0; 3]);
    }

    fork_join!(self, fork => {
        let view = &*self.view;
        let pixels = Rows { first: 0, of: 1, rows: &mut self.pixels };
        reduce(fork, pixels, LEAF, |it| view.render(it.first, it.rows), |(), ()| ());
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
        let [eye, looks_at] = [DVec3::new(2.1, 1.3, 1.7), DVec3::ZERO];
        let camera = Camera::new([eye, looks_at], 45.0, [7, 3]);
        let direction = |number| camera.ray(number, [0.0; 2]).direction;
        let ahead = (looks_at - eye).normalize();
        assert!((direction(10) - ahead).length() < 1e-12);
        let (left, right) = (direction(7), direction(13));
        assert!((left.dot(ahead) - right.dot(ahead)).abs() < 1e-12);
        let (upper, lower) = (direction(3), direction(17));
        assert!(upper.dot(UP) > lower.dot(UP));
    }
}
