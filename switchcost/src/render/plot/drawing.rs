//! A plot as SVG. A horizontal place is a share of the width, so one drawing serves a desk and a telephone;
//! colours of a page follow the reader's theme, and a file is light everywhere.

use maud::{Markup, PreEscaped, html};

use super::axis::Axis;
use crate::figures::grade::Grade;
use crate::render::layout::lines;
use crate::system::console::brief;

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
#[derive(Default)]
pub(crate) struct Plot {
    pub(super) title: String,
    /// How to read it.
    pub(crate) caption: String,
    /// Line below the title of a file.
    pub(super) note: String,
    pub(super) height: u32,
    pub(super) body: String,
}

/// Width of a letter, as a share of the plot on the narrowest telephone. A label that has no room there is shown on wider
/// screens.
const LETTER: f64 = 7.0 / 328.0;

/// Characters of a line of a file's caption.
const CAPTION: usize = 120;

/// Number of colours.
const COLORS: usize = 6;

impl Plot {
    pub(super) fn new(title: &str, caption: &str) -> Self {
        Plot { title: brief(title), caption: caption.to_owned(), ..Plot::default() }
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
                (brief(text))
            }
        }
        .0;
    }

    pub(super) fn line(&mut self, from: (f64, u32), to: (f64, u32), class: &str) {
        let (x1, x2) = (percent(from.0), percent(to.0));
        self.body += &html! { line x1=(x1) y1=(from.1) x2=(x2) y2=(to.1) class=(class) {} }.0;
    }

    pub(super) fn bar(&mut self, from: f64, to: f64, (y, height): (u32, u32)) {
        let (x, width) = (percent(from), percent((to - from).max(0.002)));
        self.body += &html! { rect x=(x) y=(y) width=(width) height=(height) class="bar" {} }.0;
    }

    /// A point of a series: its shape and its colour tell which. It is open if the figure is not sure.
    pub(super) fn mark(&mut self, (x, y): (f64, u32), series: usize, grade: Grade) {
        let open = if grade == Grade::Sure { "" } else { " open" };
        let (class, x) = (format!("{}{open}", color(series)), percent(x));
        let mark = match series % 4 {
            0 => html! { circle cx=(x) cy=(y) r="4.5" class=(class) {} },
            1 => {
                html! { rect x=(x) y=(y) width="8" height="8" transform="translate(-4 -4)" class=(class) {} }
            }
            2 => html! { ellipse cx=(x) cy=(y) rx="6.5" ry="3.5" class=(class) {} },
            _ => {
                html! { rect x=(x) y=(y) width="12" height="5" transform="translate(-6 -2.5)" class=(class) {} }
            }
        };
        self.body += &mark.0;
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
        let title = format!("{title}{}", axis.remark());
        self.text(&title, (0.5, 0), bottom + 31, "middle", "muted");
        self.height += 42;
        self.body += &marks;
    }

    /// The drawing in a page.
    pub(crate) fn inline(&self) -> Markup {
        html! {
            svg class="plot" role="img" width="100%" height=(self.height) {
                title { (self.title) } (PreEscaped(&self.body))
            }
        }
    }

    /// The drawing as a file that needs nothing else, with its title and how to read it.
    pub(super) fn file(&self) -> String {
        let caption = lines(&self.caption, 0, CAPTION);
        let height = self.height + 82 + 16 * caption.len() as u32;
        let file = html! {
            svg xmlns="http://www.w3.org/2000/svg" class="plot" width="800" height=(height)
                viewBox={ "0 0 800 " (height) } {
                title { (self.title) }
                style { (PreEscaped(light_css())) }
                rect class="paper" width="800" height=(height) {}
                text class="title" x="20" y="32" { (self.title) }
                text class="muted" x="20" y="54" { (self.note) }
                svg x="20" y="68" width="760" height=(self.height) { (PreEscaped(&self.body)) }
                @for (index, line) in caption.iter().enumerate() {
                    text class="muted" x="20" y=(self.height + 84 + 16 * index as u32) { (line) }
                }
            }
        };
        file.0
    }
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

pub(super) fn color(series: usize) -> String {
    format!("s{}", series % COLORS + 1)
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
