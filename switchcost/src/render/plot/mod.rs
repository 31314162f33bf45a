//! Plots as SVG, to stand in a page: their colours follow its theme and their width its width.

mod axis;
mod canvas;
mod curve;
mod line;
mod strip;
mod theme;

pub(super) use canvas::{SMALL, Size, dot, height_of, swatch, text_width};
pub(super) use curve::curve;
pub(super) use line::memory;
pub(super) use strip::strip;
pub(super) use theme::{INK, PAPER, rules, variables};
