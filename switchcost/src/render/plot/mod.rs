//! Plots, in a page and as files.

use figures::{Figures, provenance};

use crate::views::answer::Answer;
use crate::views::tables as views;

mod axis;
mod chart;
mod drawing;
mod rows;

pub(super) use chart::curve;
pub use chart::{Series, scatter};
pub(super) use drawing::{CSS, THEME};
pub use drawing::{MOST_SERIES, Plot};
pub use rows::dots;
pub(super) use rows::{answer, of_machines, table};

/// Each plot as a file: its name, made of its title, and its text.
pub fn files(figures: &Figures<'_>, answer: Option<&Answer>) -> Vec<(String, String)> {
    let (tables, curves) = (views::tables(figures), views::curves(figures));
    let plots = tables.iter().filter_map(table).chain(curves.iter().filter_map(curve));
    let machine = provenance::machine(figures.records);
    let named = plots.map(|plot| {
        let plot = Plot { note: machine.clone(), ..plot };
        (slug(&plot.title), plot.file())
    });
    let answer = answer.map(|answer| {
        let mut plot = Plot { note: answer.machine.clone(), ..rows::answer(answer) };
        answer.chains.iter().for_each(|sentence| plot.note += &format!(". {sentence}"));
        answer.schedulers.iter().for_each(|sentence| plot.caption += &format!(" {sentence}"));
        ("answer".to_owned(), plot.file())
    });
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
