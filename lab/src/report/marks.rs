//! What all charts have in common: their size, and how a runtime's line looks.

use std::error::Error;

use plotters::prelude::*;

use super::axis::Axis;
use super::theme::{Marker, look, themed};

pub(super) const SIZE: (u32, u32) = (372, 270);
pub(super) const FONT: &str = "sans-serif";

/// Draws the line of `runtime` with its marks.
pub(super) fn draw<'a>(
    area: &mut ChartContext<'_, SVGBackend<'a>, Cartesian2d<Axis, Axis>>,
    runtime: &str,
    points: Vec<(f64, f64)>,
) -> Result<(), Box<dyn Error + 'a>> {
    let (look, ink) = look(runtime);
    let style = ink.colour().stroke_width(2);
    if look.dashed {
        area.draw_series(DashedLineSeries::new(points.iter().copied(), 6, 4, style))?;
    } else {
        area.draw_series(LineSeries::new(points.iter().copied(), style))?;
    }
    let filled = ink.colour().filled();
    let points = points.into_iter();
    match look.marker {
        Marker::Disc => area.draw_series(points.map(|at| Circle::new(at, 4, filled)))?,
        Marker::Ring => area.draw_series(points.map(|at| Circle::new(at, 4, style)))?,
        Marker::Triangle => {
            area.draw_series(points.map(|at| TriangleMarker::new(at, 5, filled)))?
        }
        Marker::Square => area.draw_series(
            points.map(|at| EmptyElement::at(at) + Rectangle::new([(-4, -4), (4, 4)], filled)),
        )?,
    };
    Ok(())
}

/// The drawing as an element of the page, with what a screen reader says of it, in the page's colours.
pub(super) fn accessible(svg: &str, (width, height): (u32, u32), title: &str) -> String {
    let label = super::page::escape(title);
    let opening = format!("<svg width=\"{width}\" height=\"{height}\"");
    let element = format!("<svg class=\"chart\" role=\"img\" aria-label=\"{label}\"");
    themed(&svg.replacen(&opening, &element, 1))
}
