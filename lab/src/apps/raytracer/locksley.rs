//! Fork-join on an explicit Locksley worker: the pixels are halved down to a leaf.

use locksley::Worker;

use super::kernel::{self, LEAF_PIXELS, View};
use crate::apps::ray::Pixel;

/// Computes the pixels from number `first` on.
pub(super) fn render(worker: &Worker, view: &View, first: usize, pixels: &mut [Pixel]) {
    if pixels.len() <= LEAF_PIXELS {
        return kernel::render(view, first, pixels);
    }
    let half = pixels.len() / 2;
    let (upper, lower) = pixels.split_at_mut(half);
    worker.join(
        |worker| render(worker, view, first, upper),
        |worker| render(worker, view, first + half, lower),
    );
}
