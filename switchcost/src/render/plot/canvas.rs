//! A drawing in pixels, on plotters' SVG backend.

use std::fmt::Write as _;
use std::io;

use crate::console::plain_line;
use plotters::prelude::{DrawingBackend, RGBColor, SVGBackend, ShapeStyle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, IntoTextStyle};

use super::theme::{GRID, INK, MUTED, PAPER, hex, series};
use crate::render::html::Escaped;

/// How wide a plot is made: text keeps its size where the plot shrinks, because the page shows one
/// or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::render) enum Size {
    /// For a desk, and for paper.
    Wide,
    /// For a phone.
    Narrow,
    /// Two beside each other on a desk, one below the other on a phone.
    Half,
}

impl Size {
    pub(in crate::render) fn width(self) -> i32 {
        match self {
            Size::Wide => 800,
            Size::Narrow => 340,
            Size::Half => 392,
        }
    }

    /// The page's class for it.
    fn class(self) -> &'static str {
        match self {
            Size::Wide => "plot wide",
            Size::Narrow => "plot narrow",
            Size::Half => "plot half",
        }
    }
}

/// Size of labels, in pixels.
pub(super) const TEXT: f64 = 13.0;
/// Size of what is less important.
pub(in crate::render) const SMALL: f64 = 12.0;

/// How wide a text will be: a sans-serif letter is a little wider than half its height.
pub(in crate::render) fn text_width(text: &str, size: f64) -> i32 {
    (text.chars().count() as f64 * size * 0.56).ceil() as i32
}

/// A text that fits, shortened where it must be.
pub(super) fn fitting(text: &str, size: f64, width: i32) -> String {
    let room = (f64::from(width) / (size * 0.56)).max(1.0) as usize;
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// The shape of a point, so that series differ without their colours too.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl Shape {
    pub(super) fn of_series(index: usize) -> Self {
        let all = [
            Shape::Circle,
            Shape::Square,
            Shape::Triangle,
            Shape::Diamond,
        ];
        all[index % all.len()]
    }

    /// Its corners about a centre.
    fn corners(self, (x, y): (i32, i32), r: i32) -> Vec<(i32, i32)> {
        match self {
            Shape::Circle => Vec::new(),
            Shape::Square => vec![
                (x - r, y - r),
                (x + r, y - r),
                (x + r, y + r),
                (x - r, y + r),
            ],
            Shape::Triangle => vec![(x, y - r - 1), (x + r + 1, y + r), (x - r - 1, y + r)],
            Shape::Diamond => vec![
                (x, y - r - 2),
                (x + r + 2, y),
                (x, y + r + 2),
                (x - r - 2, y),
            ],
        }
    }
}

/// A drawing. What it cannot do, it reports when it is finished: no call needs a `?`.
pub(super) struct Canvas<'a> {
    backend: SVGBackend<'a>,
    fault: Option<String>,
}

/// Draws, and returns the SVG with its title for those who do not see it.
pub(super) fn draw(
    size: Size,
    height: i32,
    title: &str,
    paint: impl FnOnce(&mut Canvas<'_>),
) -> io::Result<String> {
    let mut svg = String::new();
    let dimensions = (size.width() as u32, height as u32);
    let mut canvas = Canvas {
        backend: SVGBackend::with_string(&mut svg, dimensions),
        fault: None,
    };
    paint(&mut canvas);
    let presented = canvas.backend.present();
    canvas.note(presented);
    if let Some(fault) = canvas.fault.take() {
        return Err(io::Error::other(fault));
    }
    drop(canvas);
    Ok(finished(&svg, size, dimensions, title))
}

/// How high a drawing is in pixels.
pub(in crate::render) fn height_of(svg: &str) -> i32 {
    let size = svg
        .split_once("viewBox=\"0 0 ")
        .map_or("", |(_, size)| size);
    let size = size.split('"').next().unwrap_or_default();
    let height = size.split(' ').nth(1).and_then(|h| h.parse().ok());
    height.unwrap_or_default()
}

/// Lets the page decide on the width and the font.
fn finished(svg: &str, size: Size, (width, height): (u32, u32), title: &str) -> String {
    let body = svg.split_once('\n').map_or("", |(_, body)| body);
    let body = body
        .replace(" opacity=\"1\"", "")
        .replace(" font-family=\"sans-serif\"", "")
        .replace(" \"/>", "\"/>");
    let mut out = String::with_capacity(svg.len());
    let _ = write!(
        out,
        "<svg class=\"{}\" role=\"img\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"system-ui, sans-serif\" xmlns=\"http://www.w3.org/2000/svg\">\n\
         <title>{}</title>\n{body}",
        size.class(),
        Escaped(title),
    );
    // Plotters divides the size of fonts by 1.24 and writes all digits of what comes out.
    for size in [TEXT, SMALL] {
        out = out.replace(
            &format!("font-size=\"{}\"", size * 1.24 / 1.24),
            &format!("font-size=\"{size}\""),
        );
    }
    out
}

impl Canvas<'_> {
    fn note<E: std::fmt::Display>(&mut self, result: Result<(), E>) {
        if let Err(e) = result {
            self.fault.get_or_insert(e.to_string());
        }
    }

    pub(super) fn text(&mut self, text: &str, at: (i32, i32), h: HPos, color: RGBColor) {
        self.text_sized(text, at, h, color, SMALL);
    }

    /// Text with its middle at the height of the point.
    pub(super) fn text_sized(
        &mut self,
        text: &str,
        at: (i32, i32),
        h: HPos,
        color: RGBColor,
        size: f64,
    ) {
        let style = ("sans-serif", size * 1.24)
            .into_font()
            .color(&color)
            .into_text_style(&(0, 0))
            .pos(Pos::new(h, VPos::Center));
        let drawn = self.backend.draw_text(&plain_line(text), &style, at);
        self.note(drawn);
    }

    pub(super) fn line(&mut self, from: (i32, i32), to: (i32, i32), color: RGBColor, width: u32) {
        let drawn = self.backend.draw_line(from, to, &color.stroke_width(width));
        self.note(drawn);
    }

    /// A vertical line of dashes.
    pub(super) fn dashes(&mut self, x: i32, from: i32, to: i32, color: RGBColor) {
        for y in (from..to).step_by(7) {
            self.line((x, y), (x, (y + 4).min(to)), color, 1);
        }
    }

    pub(super) fn path(&mut self, points: Vec<(i32, i32)>, color: RGBColor, width: u32) {
        if points.len() > 1 {
            let drawn = self.backend.draw_path(points, &color.stroke_width(width));
            self.note(drawn);
        }
    }

    pub(super) fn rectangle(&mut self, from: (i32, i32), to: (i32, i32), color: RGBColor) {
        let drawn = self.backend.draw_rect(from, to, &color.filled(), true);
        self.note(drawn);
    }

    /// A point that lets those below it shine through.
    pub(super) fn dot(&mut self, at: (i32, i32), radius: u32, color: RGBColor) {
        let style: ShapeStyle = color.mix(0.55).filled();
        let drawn = self.backend.draw_circle(at, radius, &style, true);
        self.note(drawn);
    }

    pub(super) fn shape(&mut self, shape: Shape, at: (i32, i32), radius: i32, color: RGBColor) {
        let drawn = match shape {
            Shape::Circle => {
                let style = color.filled();
                self.backend.draw_circle(at, radius as u32, &style, true)
            }
            _ => {
                let corners = shape.corners(at, radius);
                self.backend.fill_polygon(corners, &color.filled())
            }
        };
        self.note(drawn);
    }

    /// A label with its middle at the point, or as near to it as `width` lets it be.
    pub(super) fn label(&mut self, text: &str, (x, y): (i32, i32), width: i32) {
        let half = text_width(text, SMALL) / 2;
        let x = x.min(width - half).max(half);
        self.text(text, (x, y), HPos::Center, MUTED);
    }

    /// A line with a title above the plot's frame, at its left: nobody reads sideways.
    pub(super) fn title_of_y(&mut self, text: &str) {
        self.text(text, (0, 9), HPos::Left, MUTED);
    }

    pub(super) fn grid_line(&mut self, from: (i32, i32), to: (i32, i32)) {
        self.line(from, to, GRID, 1);
    }

    /// A text in the plot that its lines do not cross.
    pub(super) fn plate(&mut self, text: &str, at: (i32, i32)) {
        let half = text_width(text, SMALL) / 2 + 3;
        self.rectangle((at.0 - half, at.1 - 9), (at.0 + half, at.1 + 9), PAPER);
        self.text(text, at, HPos::Center, INK);
    }
}

/// The sign of a series in a legend: its colour and its shape.
pub(in crate::render) fn swatch(index: usize) -> String {
    let color = hex(series(index));
    match Shape::of_series(index) {
        Shape::Circle => dot(index),
        shape => {
            let corners = shape.corners((8, 8), 5);
            let points: Vec<String> = corners.iter().map(|(x, y)| format!("{x},{y}")).collect();
            let points = points.join(" ");
            sign(&format!("<polygon points=\"{points}\" fill=\"{color}\"/>"))
        }
    }
}

/// The sign of what has its own colour, but no shape.
pub(in crate::render) fn dot(index: usize) -> String {
    let color = hex(series(index));
    sign(&format!(
        "<circle cx=\"8\" cy=\"8\" r=\"5\" fill=\"{color}\"/>"
    ))
}

fn sign(body: &str) -> String {
    format!("<svg class=\"swatch\" viewBox=\"0 0 16 16\" aria-hidden=\"true\">{body}</svg>")
}
