//! Plots as SVG, to stand in a page: their colours follow its theme and their width its width.

mod axis;
mod canvas;
mod curve;
mod line;
mod strip;
mod theme;

pub use axis::Mark;
pub(super) use canvas::{Size, dot, swatch};
pub(super) use curve::curve;
pub(super) use line::memory;
pub(super) use strip::strip;
pub(super) use theme::{rules, variables};
