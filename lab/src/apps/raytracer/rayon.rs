//! Fork-join with rayon: the pixels are halved down to a leaf.

use super::kernel::{self, LEAF_PIXELS, View};
use crate::apps::ray::Pixel;

/// Computes the pixels from number `first` on.
pub(super) fn render(view: &View, first: usize, pixels: &mut [Pixel]) {
    if pixels.len() <= LEAF_PIXELS {
        return kernel::render(view, first, pixels);
    }
    let half = pixels.len() / 2;
    let (upper, lower) = pixels.split_at_mut(half);
    rayon::join(|| render(view, first, upper), || render(view, first + half, lower));
}
