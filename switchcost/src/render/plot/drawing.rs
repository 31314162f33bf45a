//! A plot as SVG. A horizontal place is a share of the width, so one drawing serves a desk and a telephone;
//! colours of a page follow the reader's theme, and a file is light everywhere.

use figures::grade::Grade;
use maud::{Markup, PreEscaped, html};

use super::axis::Axis;
use crate::render::layout::lines;

/// Colours of a page and its plots: the light ones first, then the dark ones.
pub(crate) const THEME: &str = include_str!("theme.css");

/// Style sheet of all plots.
pub(crate) const CSS: &str = include_str!("plot.css");

/// The same with the light colours in place of their names, which only browsers know.
fn light_css() -> String {
    let light = THEME.split(['{', '}']).nth(1).unwrap_or_default();
    let colors = light.split(';').filter_map(|color| color.trim().split_once(':'));
    colors.fold(CSS.to_owned(), |css, (name, value)| css.replace(&format!("var({name})"), value))
}

/// A drawing, its height in pixels.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    pub(super) title: String,
    /// How to read it: only what is drawn is explained.
    pub(crate) caption: String,
    /// Line below the title of a file.
    pub note: String,
    /// What it shows, for those who cannot see it.
    pub(super) description: String,
    pub(super) height: u32,
    pub(super) body: String,
}

/// Width of a letter, as a share of the plot on the narrowest telephone. A label that has no room there is shown on
/// wider screens.
const LETTER: f64 = 7.0 / 328.0;

/// Width of a file and of its margins, in pixels: on a telephone, its letters are about as large as a page's.
const WIDTH: u32 = 480;
const MARGIN: u32 = 16;

/// Size of a file's letters: of a page's, they would be too small when a telephone narrows the picture.
const FILE_CSS: &str = ".plot{font-size:14px}.plot .spare{display:none}";

/// Outlines of the marks around their middle: no two series of a plot share a shape or a colour.
const SHAPES: [&str; 6] = [
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    "M-4.5-4.5h9v9h-9z",
    "M0-5.5l5.5 9.5h-11z",
    "M0-6l6 6-6 6-6-6z",
    "M0 5.5l5.5-9.5h-11z",
    "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
];

/// Greatest number of series that a reader can tell apart; more of them are a table.
pub const MOST_SERIES: usize = SHAPES.len();

/// How to read intervals.
const BARS: &str = "Bars: 95 % intervals.";

impl Plot {
    /// A plot with nothing in it, and how to read it; what bars and open marks are is added.
    pub fn new(title: &str, caption: &str) -> Self {
        Plot { title: title.to_owned(), caption: caption.to_owned(), ..Plot::default() }
    }

    /// Adds a sentence to the caption, once.
    pub(super) fn explain(&mut self, sentence: &str) {
        if !self.caption.contains(sentence) {
            let space = if self.caption.is_empty() { "" } else { " " };
            self.caption += &format!("{space}{sentence}");
        }
    }

    /// Text with its middle at a height, moved to the right by some pixels.
    pub(super) fn text(
        &mut self,
        text: &str,
        (x, dx): (f64, i32),
        y: u32,
        anchor: &str,
        class: &str,
    ) {
        self.body += &html! {
            text x=(percent(x)) dx=(dx) y=(y) dy=".35em" text-anchor=(anchor) class=(class) {
                (text)
            }
        }
        .0;
    }

    pub(super) fn line(&mut self, from: (f64, u32), to: (f64, u32), class: &str) {
        let (x1, x2) = (percent(from.0), percent(to.0));
        self.body += &html! { line x1=(x1) y1=(from.1) x2=(x2) y2=(to.1) class=(class) {} }.0;
    }

    /// A horizontal interval: its caps reach beyond a mark that hides the bar.
    pub(super) fn interval(&mut self, [low, high]: [f64; 2], y: u32, reach: u32) {
        self.explain(BARS);
        self.line((low, y), (high, y), "bar");
        for end in [low, high] {
            self.line((end, y - reach), (end, y + reach), "bar");
        }
    }

    /// A vertical interval of a series, likewise.
    pub(super) fn upright(&mut self, x: f64, [top, bottom]: [u32; 2], series: usize) {
        self.explain(BARS);
        let path = format!("M-7 0h14M0 0v{height}m-7 0h14", height = bottom - top);
        self.outline((x, top), &path, &format!("line {}", color(series)));
    }

    /// A point of a series: its shape and its colour tell which. It is open if the figure is not sure.
    pub(super) fn mark(&mut self, place: (f64, u32), series: usize, grade: Grade) {
        let open = if grade == Grade::Sure { "" } else { " open" };
        if grade != Grade::Sure {
            self.explain("Open marks: figures that are not sure.");
        }
        self.outline(place, SHAPES[series % MOST_SERIES], &format!("{}{open}", color(series)));
    }

    /// Draws a path with its origin at a place. Paths cannot have shares of a width, but a nested drawing can be
    /// placed.
    fn outline(&mut self, (x, y): (f64, u32), path: &str, class: &str) {
        self.body += &html! {
            svg x=(percent(x)) y=(y) class=(class) { path d=(path) {} }
        }
        .0;
    }

    /// Legend with the mark of each name: two or three beside each other if they are short.
    pub(super) fn legend<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        let names: Vec<&str> = names.collect();
        let columns = match names.iter().map(|name| name.chars().count()).max() {
            Some(..14) if names.len() == 3 => 3,
            Some(..24) => 2,
            _ => 1,
        };
        for (index, name) in names.iter().enumerate() {
            let x = (index % columns) as f64 / columns as f64 + 0.014;
            let y = self.height + 10 + (index / columns) as u32 * 20;
            self.mark((x, y), index, Grade::Sure);
            self.text(name, (x, 12), y, "start", "");
        }
        self.height += names.len().div_ceil(columns) as u32 * 20 + 6;
    }

    /// Vertical lines at the ticks of an axis with their labels below, and its title.
    pub(super) fn foot(&mut self, axis: &Axis, place: impl Fn(f64) -> f64, top: u32, title: &str) {
        let bottom = self.height;
        // Below all that is drawn already.
        let marks = std::mem::take(&mut self.body);
        let mut free = 0.0;
        for (value, label) in &axis.ticks {
            let x = place(*value);
            self.line((x, top), (x, bottom + 4), "grid");
            let width = label.chars().count() as f64 * LETTER;
            let (anchor, left) = match x {
                ..0.06 => ("start", x),
                0.94.. => ("end", x - width),
                _ => ("middle", x - width / 2.0),
            };
            let is_spare = left < free;
            if !is_spare {
                free = left + width + LETTER;
            }
            let class = if is_spare { "muted spare" } else { "muted" };
            self.text(label, (x, 0), bottom + 13, anchor, class);
        }
        self.line((place(axis.low), bottom), (place(axis.high), bottom), "axis");
        let title = format!("{title}{}", axis.remark());
        self.text(&title, (0.5, 0), bottom + 31, "middle", "muted");
        self.height += 42;
        self.body += &marks;
    }

    /// The drawing in a page.
    pub(crate) fn inline(&self) -> Markup {
        html! {
            svg class="plot" role="img" width="100%" height=(self.height) {
                title { (self.title) } desc { (self.description) } (PreEscaped(&self.body))
            }
        }
    }

    /// The drawing as a file that needs nothing else, with its title and how to read it.
    pub fn file(&self) -> String {
        let mut height = 8;
        let title = paragraph(&self.title, "title", &mut height);
        let note = paragraph(&self.note, "muted", &mut height);
        let top = height + 14;
        height = top + self.height;
        let caption = paragraph(&self.caption, "muted", &mut height);
        height += 14;
        let file = html! {
            svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" width=(WIDTH) height=(height)
                viewBox={ "0 0 " (WIDTH) " " (height) } {
                title { (self.title) }
                desc { (self.description) }
                style { (PreEscaped(light_css())) (PreEscaped(FILE_CSS)) }
                rect class="paper" width=(WIDTH) height=(height) {}
                (title) (note)
                svg x=(MARGIN) y=(top) width=(WIDTH - 2 * MARGIN) height=(self.height) { (PreEscaped(&self.body)) }
                (caption)
            }
        };
        file.0
    }
}

/// Lines of text in a file, from a height on. Afterwards, `height` is below them.
fn paragraph(text: &str, class: &str, height: &mut u32) -> Markup {
    let (letters, step) = if class == "title" { (42, 22) } else { (58, 18) };
    let lines = lines(text, 0, letters);
    let top = *height;
    *height += step * lines.len() as u32;
    html! {
        @for (y, line) in (1..).map(|number| top + number * step).zip(lines) {
            text class=(class) x=(MARGIN) y=(y) { (line) }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

pub(super) fn color(series: usize) -> String {
    format!("s{}", series % MOST_SERIES + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_without_room_on_a_telephone_is_spare() {
        let spare = |width: f64, ends: [f64; 2]| {
            let axis = Axis::ratios(ends.into_iter());
            let mut plot = Plot::new("", "");
            plot.foot(&axis, |value| width * axis.place(value), 0, "");
            assert!(plot.body.matches("class=\"grid\"").count() == axis.ticks.len());
            plot.body.matches("muted spare").count()
        };
        assert_eq!(spare(0.97, [1.0, 30.0]), 0);
        assert!(spare(0.4, [1.0, 30.0]) > 0);
    }
}
