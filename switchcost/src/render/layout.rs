//! Text within a given width.

use std::io::{self, Write};
use std::iter;

use terminal_size::{Width, terminal_size_of};

use crate::system::console::{brief, paragraph};

/// Widest text, and the width of what is no terminal.
const WIDEST: usize = 120;

/// Narrowest text.
const NARROWEST: usize = 60;

/// Width of text on this standard output.
pub fn width() -> usize {
    terminal_size_of(io::stdout())
        .map_or(WIDEST, |(Width(columns), _)| usize::from(columns).clamp(NARROWEST, WIDEST))
}

/// Lines of a text of at most so many columns.
pub(super) fn lines(text: &str, width: usize) -> Vec<String> {
    let mut all = Vec::new();
    // A vector takes everything.
    let _ = wrapped(text, 0, width, &mut all);
    String::from_utf8_lossy(&all)
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Writes text in lines of at most `width` columns as far as its words allow; all but the first
/// are indented. A number keeps its per cent sign.
pub(crate) fn wrapped(
    text: &str,
    indent: usize,
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let text = paragraph(text);
    let mut line = " ".repeat(text.len() - text.trim_start().len());
    let mut is_empty = true;
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let sign = words.next_if(|next| next.starts_with('%'));
        let word = sign.map_or(word.to_owned(), |sign| format!("{word} {sign}"));
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            writeln!(out, "{line}")?;
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(&word);
        is_empty = false;
    }
    writeln!(out, "{line}")
}

/// Writes text beside its name, wrapped in the columns from `indent` to `width`.
pub(crate) fn named(
    name: &str,
    text: &str,
    (indent, width): (usize, usize),
    out: &mut impl Write,
) -> io::Result<()> {
    let mut lines = Vec::new();
    wrapped(text, 0, width.saturating_sub(indent), &mut lines)?;
    let name = &brief(name);
    let names = [name.as_str()].into_iter().chain(iter::repeat(""));
    for (name, line) in names.zip(String::from_utf8_lossy(&lines).lines()) {
        // A name that is too long still stands apart.
        let apart = if name.len() < indent { "" } else { " " };
        writeln!(out, "{name:<indent$}{apart}{line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_wrapped_between_words() {
        for (sentence, indent, width, lines) in [
            ("  one two three", 4, 80, "  one two three\n"),
            ("  one two three", 4, 9, "  one two\n    three\n"),
            ("  one two three", 4, 1, "  one\n    two\n    three\n"),
            ("by 5 %, or", 0, 4, "by\n5 %,\nor\n"),
        ] {
            let mut out = Vec::new();
            wrapped(sentence, indent, width, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), lines);
        }
    }
}
