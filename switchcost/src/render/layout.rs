//! Text within a given width.

use std::io;

use terminal_size::{Width, terminal_size_of};

/// Widest text.
const WIDEST: usize = 120;

/// Width of what is no terminal.
const USUAL: usize = 80;

/// Narrowest text.
const NARROWEST: usize = 60;

/// Width of text on this standard output.
pub fn width() -> usize {
    terminal_size_of(io::stdout())
        .map_or(USUAL, |(Width(columns), _)| usize::from(columns).clamp(NARROWEST, WIDEST))
}

/// Lines of a text of at most `width` columns as far as its words allow; all but the first are indented. A number keeps
/// its per cent sign.
pub(super) fn lines(text: &str, indent: usize, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = " ".repeat(text.len() - text.trim_start().len());
    let mut is_empty = true;
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let sign = words.next_if(|next| next.starts_with('%'));
        let word = sign.map_or(word.to_owned(), |sign| format!("{word} {sign}"));
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(line);
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(&word);
        is_empty = false;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    #[test]
    fn sentences_are_wrapped_between_words() {
        for (sentence, indent, width, lines) in [
            ("  one two three", 4, 80, "  one two three"),
            ("  one two three", 4, 9, "  one two\n    three"),
            ("  one two three", 4, 1, "  one\n    two\n    three"),
            ("by 5 %, or", 0, 4, "by\n5 %,\nor"),
        ] {
            assert_eq!(super::lines(sentence, indent, width).join("\n"), lines);
        }
    }
}
