//! A drawing in pixels, as SVG.

use std::fmt::Write as _;

use crate::console::plain_line;

use super::theme::{Color, GRID, INK, MUTED, PAPER, series};
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
        let all = [Shape::Circle, Shape::Square, Shape::Triangle, Shape::Diamond];
        all[index % all.len()]
    }

    /// Its element about a centre.
    fn drawn(self, (x, y): (i32, i32), r: i32, color: Color) -> String {
        let corners = match self {
            Shape::Circle => {
                return format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"{color}\"/>");
            }
            Shape::Square => vec![(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
            Shape::Triangle => vec![(x, y - r - 1), (x + r + 1, y + r), (x - r - 1, y + r)],
            Shape::Diamond => vec![(x, y - r - 2), (x + r + 2, y), (x, y + r + 2), (x - r - 2, y)],
        };
        let corners = listed(&corners);
        format!("<polygon points=\"{corners}\" fill=\"{color}\"/>")
    }
}

/// Side of its point on which a text stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// A drawing: the elements of an SVG.
pub(super) struct Canvas(String);

/// Draws, and returns the SVG with its title for those who do not see it.
pub(super) fn draw(
    size: Size,
    height: i32,
    title: &str,
    paint: impl FnOnce(&mut Canvas),
) -> String {
    let mut canvas = Canvas(String::new());
    paint(&mut canvas);
    format!(
        "<svg class=\"{}\" role=\"img\" viewBox=\"0 0 {} {height}\" \
         font-family=\"system-ui, sans-serif\" xmlns=\"http://www.w3.org/2000/svg\">\n\
         <title>{}</title>\n{}</svg>\n",
        size.class(),
        size.width(),
        Escaped(title),
        canvas.0
    )
}

/// How high a drawing is in pixels.
pub(in crate::render) fn height_of(svg: &str) -> i32 {
    let size = svg.split_once("viewBox=\"0 0 ").map_or("", |(_, size)| size);
    let size = size.split('"').next().unwrap_or_default();
    let height = size.split(' ').nth(1).and_then(|h| h.parse().ok());
    height.unwrap_or_default()
}

/// Points as SVG lists them.
fn listed(points: &[(i32, i32)]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
    points.join(" ")
}

impl Canvas {
    fn element(&mut self, element: std::fmt::Arguments<'_>) {
        // A string takes all that is written.
        let _ = writeln!(self.0, "{element}");
    }

    pub(super) fn text(&mut self, text: &str, at: (i32, i32), anchor: Anchor, color: Color) {
        self.text_sized(text, at, anchor, color, SMALL);
    }

    /// Text with its middle at the height of the point.
    pub(super) fn text_sized(
        &mut self,
        text: &str,
        (x, y): (i32, i32),
        anchor: Anchor,
        color: Color,
        size: f64,
    ) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = plain_line(text);
        self.element(format_args!(
            "<text x=\"{x}\" y=\"{y}\" dy=\"0.35em\" text-anchor=\"{anchor}\" \
             font-size=\"{size}\" fill=\"{color}\">{}</text>",
            Escaped(&text)
        ));
    }

    pub(super) fn line(&mut self, from: (i32, i32), to: (i32, i32), color: Color, width: u32) {
        self.path(&[from, to], color, width);
    }

    /// A vertical line of dashes.
    pub(super) fn dashes(&mut self, x: i32, from: i32, to: i32, color: Color) {
        self.element(format_args!(
            "<path d=\"M{x},{from}V{to}\" stroke=\"{color}\" stroke-dasharray=\"4 3\"/>"
        ));
    }

    pub(super) fn path(&mut self, points: &[(i32, i32)], color: Color, width: u32) {
        if points.len() > 1 {
            let points = listed(points);
            self.element(format_args!(
                "<polyline points=\"{points}\" fill=\"none\" stroke=\"{color}\" \
                 stroke-width=\"{width}\"/>"
            ));
        }
    }

    pub(super) fn rectangle(&mut self, from: (i32, i32), to: (i32, i32), color: Color) {
        let ((x, y), (width, height)) = (from, (to.0 - from.0, to.1 - from.1));
        self.element(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{color}\"/>"
        ));
    }

    /// A point that lets those below it shine through.
    pub(super) fn dot(&mut self, (x, y): (i32, i32), radius: u32, color: Color) {
        self.element(format_args!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" opacity=\"0.55\" fill=\"{color}\"/>"
        ));
    }

    pub(super) fn shape(&mut self, shape: Shape, at: (i32, i32), radius: i32, color: Color) {
        self.element(format_args!("{}", shape.drawn(at, radius, color)));
    }

    /// A label with its middle at the point, or as near to it as `width` lets it be.
    pub(super) fn label(&mut self, text: &str, (x, y): (i32, i32), width: i32) {
        let half = text_width(text, SMALL) / 2;
        let x = x.min(width - half).max(half);
        self.text(text, (x, y), Anchor::Middle, MUTED);
    }

    /// A line with a title above the plot's frame, at its left: nobody reads sideways.
    pub(super) fn title_of_y(&mut self, text: &str) {
        self.text(text, (0, 9), Anchor::Start, MUTED);
    }

    pub(super) fn grid_line(&mut self, from: (i32, i32), to: (i32, i32)) {
        self.line(from, to, GRID, 1);
    }

    /// A text in the plot that its lines do not cross.
    pub(super) fn plate(&mut self, text: &str, at: (i32, i32)) {
        let half = text_width(text, SMALL) / 2 + 3;
        self.rectangle((at.0 - half, at.1 - 9), (at.0 + half, at.1 + 9), PAPER);
        self.text(text, at, Anchor::Middle, INK);
    }
}

/// The sign of a series in a legend: its colour and its shape.
pub(in crate::render) fn swatch(index: usize) -> String {
    sign(&Shape::of_series(index).drawn((8, 8), 5, series(index)))
}

/// The sign of what has its own colour, but no shape.
pub(in crate::render) fn dot(index: usize) -> String {
    sign(&Shape::Circle.drawn((8, 8), 5, series(index)))
}

fn sign(body: &str) -> String {
    format!("<svg class=\"swatch\" viewBox=\"0 0 16 16\" aria-hidden=\"true\">{body}</svg>")
}
