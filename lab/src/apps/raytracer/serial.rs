//! The serial program.

use super::kernel::{self, View};
use crate::apps::ray::Pixel;

/// Computes all pixels, one after the other.
pub(super) fn render(view: &View, pixels: &mut [Pixel]) {
    kernel::render(view, 0, pixels);
}
