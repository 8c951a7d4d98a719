//! The serial program.

use super::view::View;
use super::{Pixel, kernel};

/// Computes all pixels, one after the other.
pub(super) fn render(view: &View, pixels: &mut [Pixel]) {
    kernel::render(view, 0, pixels);
}
