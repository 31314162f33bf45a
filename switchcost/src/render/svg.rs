//! Plots as files of their own: with their title and their legend, on paper.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::console::plain_line;
use record::Metric;

use super::html::Escaped;
use super::memory;
use super::plot::{self, INK, PAPER, SMALL, Size, dot, height_of, swatch, text_width};
use crate::analysis::{Analysis, Curve, Table};

/// Space around the drawing.
const MARGIN: i32 = 20;

/// A plot as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name: the title of its table or curve in lower-case letters, with a number where two
    /// titles have the same.
    pub name: String,
    /// An SVG that needs nothing else.
    pub svg: String,
}

/// Draws every table of times and every curve that has something to show.
pub fn plots(analysis: &Analysis) -> Vec<File> {
    let mut files = Vec::new();
    for table in &analysis.tables {
        let (plots, names, sign) = of_table(table);
        files.extend(file(&table.title, &plots, &names, sign));
    }
    for curve in &analysis.curves {
        let (plots, names) = of_curve(curve);
        files.extend(file(&curve.title, &plots, &names, swatch));
    }
    number(&mut files);
    files
}

type Sign = fn(usize) -> String;

fn of_table(table: &Table) -> (Vec<String>, Vec<String>, Sign) {
    if table.metric != Metric::Memory {
        let table = &table.of_own_metric();
        let names = match table.columns.len() {
            0 | 1 => Vec::new(),
            _ => table.columns.clone(),
        };
        let plot = plot::strip(table, Size::Wide);
        return (plot.into_iter().collect(), names, dot);
    }
    (plot::memory(table, Size::Wide), memory::names(table), swatch)
}

fn of_curve(curve: &Curve) -> (Vec<String>, Vec<String>) {
    let names = curve.series.iter().map(|series| series.name.clone());
    let plot = plot::curve(curve, &curve.marks(), Size::Wide);
    (plot.into_iter().collect(), names.collect())
}

/// Puts the plots below each other; `None` where there are none.
fn file(title: &str, plots: &[String], names: &[String], sign: Sign) -> Option<File> {
    if plots.is_empty() {
        return None;
    }
    let width = Size::Wide.width();
    let mut body = String::new();
    let _ = writeln!(
        body,
        "<text x=\"{MARGIN}\" y=\"{}\" font-size=\"17\" font-weight=\"600\">{}</text>",
        MARGIN + 12,
        Escaped(&plain_line(title))
    );
    let mut y = MARGIN + 32;
    let mut x = MARGIN;
    for (index, name) in names.iter().enumerate() {
        let name = plain_line(name);
        let step = 44 + text_width(&name, SMALL + 1.0);
        if x > MARGIN && x + step > MARGIN + width {
            x = MARGIN;
            y += 22;
        }
        let sign = sign(index).replacen(
            "<svg ",
            &format!("<svg x=\"{x}\" y=\"{y}\" width=\"14\" height=\"14\" "),
            1,
        );
        let _ = writeln!(
            body,
            "{sign}<text x=\"{}\" y=\"{}\" font-size=\"13\">{}</text>",
            x + 20,
            y + 12,
            Escaped(&name)
        );
        x += step;
    }
    y += if names.is_empty() { 0 } else { 32 };
    for svg in plots {
        let height = height_of(svg);
        let placed = format!(
            "<svg x=\"{MARGIN}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" overflow=\"visible\" "
        );
        body.push_str(&svg.replacen("<svg ", &placed, 1));
        y += height + MARGIN;
    }
    let width = width + 2 * MARGIN;
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{y}\" \
         viewBox=\"0 0 {width} {y}\" font-family=\"system-ui, sans-serif\" fill=\"{}\">\n\
         <rect width=\"{width}\" height=\"{y}\" fill=\"{}\"/>\n{body}</svg>\n",
        INK, PAPER,
    );
    Some(File { name: slug(title), svg })
}

/// Makes file names of the slugs, each once.
fn number(files: &mut [File]) {
    let mut taken = HashSet::new();
    for file in files {
        let slug = file.name.clone();
        let mut name = format!("{slug}.svg");
        for number in 2.. {
            if taken.insert(name.clone()) {
                break;
            }
            name = format!("{slug}-{number}.svg");
        }
        file.name = name;
    }
}

/// A title as the stem of a file's name; `plot` where it has no letter or digit of ASCII.
fn slug(title: &str) -> String {
    let words: Vec<String> = title
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    match words.is_empty() {
        true => "plot".to_owned(),
        false => words.join("-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_becomes_a_name() {
        for (title, name) in [
            (
                "What a switch costs: time per hop, 500 tasks",
                "what-a-switch-costs-time-per-hop-500-tasks",
            ),
            ("../a <b> & c", "a-b-c"),
            ("время", "plot"),
            ("", "plot"),
        ] {
            assert_eq!(slug(title), name);
        }
    }

    #[test]
    fn no_two_plots_share_a_name() {
        let mut files = ["a", "b", "a", "a-2", "a"]
            .map(|name| File { name: name.to_owned(), svg: String::new() });
        number(&mut files);
        let names = files.map(|file| file.name);
        assert_eq!(names, ["a.svg", "b.svg", "a-2.svg", "a-2-2.svg", "a-3.svg"]);
    }
}
