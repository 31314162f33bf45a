//! Plots as SVG. A horizontal place is a share of the width, so one drawing serves a desk and a telephone;
//! colours of a page follow the reader's theme, and a file is light everywhere.

use maud::{Markup, PreEscaped, html};

use crate::figures::grade::Grade;
use crate::figures::{Figures, provenance};
use crate::render::layout::lines;
use crate::system::console::brief;
use crate::views::answer::Answer;
use crate::views::tables::Tables;

mod axis;
mod chart;
mod rows;

pub(super) use chart::curve;
pub(super) use rows::{answer, ratios, strip, times};

use axis::Axis;

/// Colours of a page and its plots: the light ones first, then the dark ones.
pub(super) const THEME: &str = include_str!("theme.css");

/// Style sheet of all plots.
pub(super) const CSS: &str = include_str!("plot.css");

/// The same with the light colours in place of their names, which only browsers know.
fn light_css() -> String {
    let light = THEME.split(['{', '}']).nth(1).unwrap_or_default();
    let colors = light.split(';').filter_map(|color| color.trim().split_once(':'));
    colors.fold(CSS.to_owned(), |css, (name, value)| css.replace(&format!("var({name})"), value))
}

/// A drawing, its height in pixels.
#[derive(Default)]
pub(super) struct Plot {
    title: String,
    /// How to read it.
    pub(super) caption: String,
    /// Line below the title of a file.
    note: String,
    height: u32,
    body: String,
}

/// Width of a letter, as a share of the plot on the narrowest telephone. A label that has no room there is shown on wider
/// screens.
const LETTER: f64 = 7.0 / 328.0;

/// Characters of a line of a file's caption.
const CAPTION: usize = 120;

/// Number of colours.
const COLORS: usize = 6;

impl Plot {
    fn new(title: &str, caption: &str) -> Self {
        Plot { title: brief(title), caption: caption.to_owned(), ..Plot::default() }
    }

    /// Text with its middle at a height, moved to the right by some pixels.
    fn text(&mut self, text: &str, (x, dx): (f64, i32), y: u32, anchor: &str, class: &str) {
        self.body += &html! {
            text x=(percent(x)) dx=(dx) y=(y) dy=".35em" text-anchor=(anchor) class=(class) {
                (brief(text))
            }
        }
        .0;
    }

    fn line(&mut self, from: (f64, u32), to: (f64, u32), class: &str) {
        let (x1, x2) = (percent(from.0), percent(to.0));
        self.body += &html! { line x1=(x1) y1=(from.1) x2=(x2) y2=(to.1) class=(class) {} }.0;
    }

    fn bar(&mut self, from: f64, to: f64, (y, height): (u32, u32)) {
        let (x, width) = (percent(from), percent((to - from).max(0.002)));
        self.body += &html! { rect x=(x) y=(y) width=(width) height=(height) class="bar" {} }.0;
    }

    /// A point of a series: its shape and its colour tell which. It is open if the figure is not sure.
    fn mark(&mut self, (x, y): (f64, u32), series: usize, grade: Grade) {
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
    fn legend<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
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
    fn foot(&mut self, axis: &Axis, place: impl Fn(f64) -> f64, top: u32, title: &str) {
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
    pub(super) fn inline(&self) -> Markup {
        html! {
            svg class="plot" role="img" width="100%" height=(self.height) {
                title { (self.title) } (PreEscaped(&self.body))
            }
        }
    }

    /// The drawing as a file that needs nothing else, with its title and how to read it.
    fn file(&self) -> String {
        let caption = lines(&self.caption, CAPTION);
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

fn color(series: usize) -> String {
    format!("s{}", series % COLORS + 1)
}

/// The picture of the answer as a file.
pub fn answer_file(of: &Answer) -> String {
    let mut plot = Plot { note: brief(&of.machine), ..answer(of) };
    let sentences = of.chains.iter().chain(&of.schedulers);
    sentences.for_each(|sentence| plot.caption += &format!(" {sentence}"));
    plot.file()
}

/// Each plot as a file: its name, made of its title, and its text.
pub fn files(figures: &Figures<'_>, answer: Option<&Answer>) -> Vec<(String, String)> {
    let Tables { tables, curves } = Tables::of(figures);
    let plots = tables.iter().filter_map(strip).chain(curves.iter().filter_map(curve));
    let times = answer.and_then(|answer| times(figures, answer));
    let machine = provenance::machine(figures.records);
    let named = times.into_iter().chain(plots).map(|plot| {
        let plot = Plot { note: brief(&machine), ..plot };
        (slug(&plot.title), plot.file())
    });
    let answer = answer.map(|answer| ("answer".to_owned(), answer_file(answer)));
    let mut files: Vec<(String, String)> = Vec::new();
    for (slug, svg) in answer.into_iter().chain(named) {
        let more = (2..).map(|number| format!("{slug}-{number}.svg"));
        let mut names = [format!("{slug}.svg")].into_iter().chain(more);
        let free = names.find(|name| files.iter().all(|(taken, _)| taken != name));
        files.extend(free.map(|name| (name, svg)));
    }
    files
}

/// Longest stem of a file's name, in bytes: NAME_MAX is 255.
const LONGEST_STEM: usize = 200;

/// A title as the stem of a file's name; `plot` if it has no letter or digit of ASCII.
fn slug(title: &str) -> String {
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    let mut slug = if words.is_empty() { "plot".to_owned() } else { words.join("-") };
    slug.truncate(LONGEST_STEM);
    slug
}

#[cfg(test)]
mod tests {
    use facts::Quantity;

    use super::*;

    #[test]
    fn a_label_without_room_on_a_telephone_is_spare() {
        let spare = |width: f64, ends: [f64; 2]| {
            let axis = Axis::costs(ends.into_iter(), Quantity::Time);
            let mut plot = Plot::new("", "");
            plot.foot(&axis, |value| width * axis.place(value), 0, "");
            assert!(plot.body.matches("class=\"grid\"").count() == axis.ticks.len());
            plot.body.matches("muted spare").count()
        };
        assert_eq!(spare(0.97, [1_000.0, 30_000.0]), 0);
        assert!(spare(0.4, [100.0, 3_000.0]) > 0);
        assert!(spare(0.7, [100.0, 30_000.0]) > 0);
    }
}
